//! Ends a page: from its cells to one draft a GPU and vocabulary.

use std::collections::BTreeSet;

use gpu_model::{
    Device, GpuIndex, GpuReport, GpuUuid, HolderHint, NodeName, PartReport, Partition, PciAddress, Reading,
    Vendor,
};
use jiff::{SignedDuration, Timestamp};

use super::cells::{Cell, DeviceSlot, HolderOrigin, KeyKind, PartKind, Slot};
use super::fields::Metric;
use super::identity::bare;
use super::resolve::{self, Told, ToldPart};
use super::{Dialect, Memory, PageReader};

/// Clocks of nodes that keep time differ by milliseconds; samples from further in the future are of a clock that does not.
const AHEAD: SignedDuration = SignedDuration::from_secs(5);
/// Exporters that stamp their samples stamp those of some seconds ago; older ones are of a clock that is behind.
const BEHIND: SignedDuration = SignedDuration::from_mins(10);
/// All samples of one scrape carry one time. What is older by more than this is of an earlier scrape, and its series has ended.
const SAME_SCRAPE_MILLIS: i64 = 2000;

/// Where a page came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The node, where somebody better than the page knows it.
    pub(crate) node: Option<&'a NodeName>,
    /// What stands in for the node where neither the page nor anybody else names it.
    pub(crate) host: &'a str,
    /// When the page was taken.
    pub(crate) at: Timestamp,
    /// The exporter's own namespace and pod, which a scraper may have put in place of the holder's.
    pub(crate) exporter: Option<(&'a str, &'a str)>,
    /// Whether samples of several scrapes may be mixed.
    pub(crate) mixture: Mixture,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mixture {
    OneScrape,
    /// Only the newest scrape counts.
    Several,
}

/// What a page told of one GPU in one vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(super) key: String,
    pub(super) kind: KeyKind,
    pub(super) serial: String,
    pub(super) dialect: Dialect,
    pub(super) readings: usize,
    pub(super) report: GpuReport,
}

/// What a page told.
#[derive(Debug, Default)]
pub(crate) struct PageOutcome {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) skipped: u64,
    pub(crate) skewed: u64,
}

impl PageOutcome {
    /// How many GPUs the page told of, each counted once.
    pub(crate) fn gpus(&self) -> usize {
        let keys: BTreeSet<_> = self.drafts.iter().map(|draft| (draft.kind, &draft.key)).collect();
        keys.len()
    }

    /// The node that the page names.
    pub(crate) fn node(&self) -> Option<NodeName> {
        self.drafts.first().map(|draft| draft.report.node.clone())
    }
}

impl PageReader {
    /// Ends the page.
    pub(crate) fn finish(mut self, origin: &Origin<'_>, memory: &mut Memory) -> PageOutcome {
        memory.turn();
        let mut outcome = PageOutcome {
            skipped: self.skipped,
            ..PageOutcome::default()
        };
        let at = self.settle_time(origin, &mut outcome);
        self.forget_exporter(origin);
        let mut cells = std::mem::take(&mut self.tables.cells);
        cells.sort_by_key(|cell| (cell.device, cell.dialect));
        for group in cells.chunk_by(|a, b| (a.device, a.dialect) == (b.device, b.dialect)) {
            match self.draft(group, origin, at, memory) {
                Some(draft) => outcome.drafts.push(draft),
                None => outcome.skipped += 1,
            }
        }
        outcome
    }

    /// When the values were taken. Only the newest scrape counts, and a time that cannot be true does not.
    fn settle_time(&mut self, origin: &Origin<'_>, outcome: &mut PageOutcome) -> Timestamp {
        let cells = &mut self.tables.cells;
        let Some(newest) = cells.iter().filter_map(|cell| cell.at).max() else {
            return origin.at;
        };
        if origin.mixture == Mixture::Several {
            cells.retain(|cell| {
                cell.at
                    .is_none_or(|at| at >= newest.saturating_sub(SAME_SCRAPE_MILLIS))
            });
        }
        let told = Timestamp::from_millisecond(newest).ok();
        let is_true = |told: &Timestamp| {
            let distance = told.duration_since(origin.at);
            distance <= AHEAD && -distance <= BEHIND
        };
        match told.filter(is_true) {
            Some(told) => told,
            None => {
                let stamped = cells.iter().filter(|cell| cell.at.is_some()).count();
                outcome.skewed = u64::try_from(stamped).unwrap_or(u64::MAX);
                origin.at
            }
        }
    }

    /// Prometheus gives every series of a target the labels of the target: the exporter's own pod holds no GPU.
    fn forget_exporter(&mut self, origin: &Origin<'_>) {
        let holders = &self.tables.holders;
        let some_exported = holders
            .iter()
            .any(|holder| holder.origin == HolderOrigin::Exported);
        let is_exporter: Vec<bool> = holders
            .iter()
            .map(|holder| {
                let is_named = origin.exporter == Some((&*holder.namespace, &*holder.pod));
                // Where nobody says which pod the exporter is, its name does.
                let is_likely = origin.mixture == Mixture::Several
                    && origin.exporter.is_none()
                    && holder.pod.contains("exporter")
                    && holder.container.contains("exporter");
                holder.origin == HolderOrigin::Plain && (is_named || is_likely || some_exported)
            })
            .collect();
        for cell in &mut self.tables.cells {
            cell.holder = cell
                .holder
                .filter(|&at| is_exporter.get(usize::from(at)) != Some(&true));
        }
    }

    fn draft(
        &self,
        cells: &[Cell],
        origin: &Origin<'_>,
        at: Timestamp,
        memory: &mut Memory,
    ) -> Option<Draft> {
        let first = cells.first()?;
        let slot = self.tables.devices.get(usize::from(first.device))?;
        let node = match origin.node {
            Some(node) => node.clone(),
            None if slot.node.is_empty() => memory.node(origin.host)?,
            None => memory.node(&slot.node)?,
        };
        let mut told = resolve::resolve(first.dialect, slot, &self.tables.parts, cells);
        told.sample.throttle_times.sort_by_key(|time| time.reason);
        told.sample.faults.sort_by_key(|fault| fault.code);
        let device = memory.device(device(slot, first, &node, cells)?);
        let age = SignedDuration::try_from(told.age).unwrap_or_default();
        let readings = count(&told);
        let parts = told.parts.into_iter();
        let parts = parts.filter_map(|part| self.part(part, memory)).collect();
        let key = match slot.kind {
            KeyKind::Uuid | KeyKind::Serial => slot.key.to_ascii_lowercase(),
            KeyKind::Index => format!("{node}/{}", slot.key),
        };
        Some(Draft {
            key,
            kind: slot.kind,
            serial: slot.serial.clone(),
            dialect: first.dialect,
            readings,
            report: GpuReport {
                node,
                device,
                taken_at: at.checked_sub(age).unwrap_or(at),
                sample: told.sample,
                parts,
            },
        })
    }

    fn part(&self, told: ToldPart, memory: &mut Memory) -> Option<PartReport> {
        let slot = match told.part {
            Some(at) => Some(self.tables.parts.get(usize::from(at))?),
            None => None,
        };
        let partition = match slot.map(|slot| &slot.kind) {
            None => Partition::Whole,
            Some(PartKind::Slice(partition)) => partition.clone(),
            Some(PartKind::Rest) => return None,
        };
        let device_id = slot.and_then(|slot| slot.device_id.as_deref());
        Some(PartReport {
            partition,
            device_id: device_id.and_then(|id| memory.device_id(id)),
            memory_total: told.memory_total,
            usage: told.usage,
            holder: self.holder(told.holder, memory),
            attribution: told.attribution,
        })
    }

    fn holder(&self, at: Slot, memory: &mut Memory) -> Option<HolderHint> {
        let slot = self.tables.holders.get(usize::from(at?))?;
        memory.holder([&slot.namespace, &slot.pod, &slot.container, &slot.uid])
    }
}

fn device(slot: &DeviceSlot, cell: &Cell, node: &NodeName, cells: &[Cell]) -> Option<Device> {
    let vendor = slot.vendor?;
    let told = cells.iter().find(|cell| cell.metric == Metric::Index);
    let told = told.and_then(|cell| u16::try_from(cell.value).ok());
    let index = slot.index.or(told).unwrap_or(cell.device);
    let uuid = match slot.kind {
        KeyKind::Uuid if vendor == Vendor::Nvidia && is_plain_uuid(&slot.uuid) => {
            GpuUuid::new(format!("GPU-{}", bare(&slot.uuid)))
        }
        KeyKind::Uuid => GpuUuid::new(&slot.uuid),
        KeyKind::Serial => GpuUuid::new(&slot.key),
        KeyKind::Index => GpuUuid::new(format!("{node}/{vendor}-{index}")),
    };
    Some(Device {
        uuid: uuid.ok()?,
        index: GpuIndex(index),
        vendor,
        model: slot.model.clone(),
        driver: Some(slot.driver.clone()).filter(|driver| !driver.is_empty()),
        pci_address: pci_address(&slot.pci),
    })
}

/// As nvidia_gpu_exporter writes it: 36 characters without a word in front.
fn is_plain_uuid(uuid: &str) -> bool {
    uuid.len() == 36 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// `00000000:1B:00.0` is `0000:1b:00.0` to the kernel.
fn pci_address(text: &str) -> Option<PciAddress> {
    let text = text.to_ascii_lowercase();
    let short = match text.split_once(':') {
        Some((domain, _)) if domain.len() == 8 && domain.starts_with("0000") => &text[4..],
        _ => &text,
    };
    PciAddress::new(short).ok()
}

/// How much was told, to choose between two who tell of the same GPU.
fn count(told: &Told) -> usize {
    let sample = &told.sample;
    let known = [
        sample.utilization.is_known(),
        sample.memory_bandwidth.is_known(),
        sample.sm_active.is_known(),
        sample.sm_occupancy.is_known(),
        sample.tensor_active.is_known(),
        sample.dram_active.is_known(),
        sample.memory_used.is_known(),
        sample.memory_total.is_known(),
        sample.power.is_known(),
        sample.power_limit.is_known(),
        sample.energy.is_known(),
        sample.temperature.is_known(),
        sample.compute_clock.is_known(),
        sample.busy.is_known(),
        sample.processes.is_known(),
        matches!(sample.throttled_by, Reading::Known(_)),
    ];
    known.into_iter().filter(|known| *known).count() + told.parts.len()
}
