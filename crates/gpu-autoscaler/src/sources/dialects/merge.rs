//! One report a GPU, however many pages and vocabularies told of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_model::{GpuReport, GpuSample, Reading, Vendor};

use super::Draft;
use super::cells::KeyKind;

/// Joins what several pages told. Ours is preferred, then who told more, then who told last; what the first does not know is taken
/// from the next. The result is ordered by node, index and uuid.
pub(crate) fn merge(drafts: impl IntoIterator<Item = Draft>) -> Vec<GpuReport> {
    let mut by_key: BTreeMap<(KeyKind, String), Draft> = BTreeMap::new();
    for draft in drafts {
        let key = (draft.kind, draft.key.clone());
        add(&mut by_key, key, draft);
    }
    let by_key = join_aliases(by_key);
    let mut reports: Vec<GpuReport> = by_key.into_values().map(|draft| draft.report).collect();
    reports.sort_by(|a, b| {
        let (one, other) = (&a.device, &b.device);
        (&a.node, one.index, &one.uuid).cmp(&(&b.node, other.index, &other.uuid))
    });
    reports
}

fn add(by_key: &mut BTreeMap<(KeyKind, String), Draft>, key: (KeyKind, String), draft: Draft) {
    match by_key.remove(&key) {
        Some(other) => by_key.insert(key, combine(other, draft)),
        None => by_key.insert(key, draft),
    };
}

/// AMD's exporter knows serial numbers, or nothing but an index: a GPU that somebody else knows by its uuid is the same GPU.
fn join_aliases(by_key: BTreeMap<(KeyKind, String), Draft>) -> BTreeMap<(KeyKind, String), Draft> {
    let mut serials = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (key, draft) in &by_key {
        let device = &draft.report.device;
        if key.0 == KeyKind::Uuid && device.vendor == Vendor::Amd {
            if !draft.serial.is_empty() {
                serials.insert(draft.serial.to_ascii_lowercase(), key.clone());
            }
            places.insert((draft.report.node.clone(), device.index), key.clone());
        }
    }
    let mut joined = BTreeMap::new();
    for (key, draft) in by_key {
        let place = (draft.report.node.clone(), draft.report.device.index);
        let other = match key.0 {
            KeyKind::Uuid => None,
            KeyKind::Serial => serials.get(&key.1),
            KeyKind::Index => places.get(&place),
        };
        let key = other.cloned().unwrap_or(key);
        add(&mut joined, key, draft);
    }
    joined
}

/// Of two drafts of one GPU, the better one with its gaps filled.
fn combine(a: Draft, b: Draft) -> Draft {
    let rank = |draft: &Draft| {
        (
            draft.dialect,
            Reverse(draft.readings),
            Reverse(draft.report.taken_at),
        )
    };
    let (mut better, other) = if rank(&a) <= rank(&b) { (a, b) } else { (b, a) };
    fill_sample(&mut better.report.sample, other.report.sample);
    if better.report.parts.is_empty() {
        better.report.parts = other.report.parts;
    }
    better
}

fn fill_sample(sample: &mut GpuSample, other: GpuSample) {
    fill(&mut sample.utilization, other.utilization);
    fill(&mut sample.memory_bandwidth, other.memory_bandwidth);
    fill(&mut sample.sm_active, other.sm_active);
    fill(&mut sample.sm_occupancy, other.sm_occupancy);
    fill(&mut sample.tensor_active, other.tensor_active);
    fill(&mut sample.dram_active, other.dram_active);
    fill(&mut sample.memory_used, other.memory_used);
    fill(&mut sample.memory_total, other.memory_total);
    fill(&mut sample.power, other.power);
    fill(&mut sample.power_limit, other.power_limit);
    fill(&mut sample.energy, other.energy);
    fill(&mut sample.temperature, other.temperature);
    fill(&mut sample.memory_temperature, other.memory_temperature);
    fill(&mut sample.compute_clock, other.compute_clock);
    fill(&mut sample.memory_clock, other.memory_clock);
    fill(&mut sample.busy, other.busy);
    fill(&mut sample.pcie_received, other.pcie_received);
    fill(&mut sample.pcie_sent, other.pcie_sent);
    fill(&mut sample.processes, other.processes);
    fill(&mut sample.ecc_uncorrected, other.ecc_uncorrected);
    fill(&mut sample.row_remap_failed, other.row_remap_failed);
    fill(&mut sample.row_remap_pending, other.row_remap_pending);
    fill(&mut sample.throttled_by, other.throttled_by);
    if sample.throttle_times.is_empty() {
        sample.throttle_times = other.throttle_times;
    }
    if sample.faults.is_empty() {
        sample.faults = other.faults;
    }
}

/// Fills what was never there. What failed stays failed: another's figure may be from before the failure.
fn fill<T>(place: &mut Reading<T>, other: Reading<T>) {
    if matches!(place, Reading::Unsupported) {
        *place = other;
    }
}
