//! One page from one snapshot: the exporter's own health first, then each vocabulary in the order of its catalogue.

use std::sync::Arc;

use gpu_exposition::{Format, WriteError};

use super::applications::Joined;
use super::catalog::{self, AMD_SOURCE, DRIVER_SOURCES, Supply, Vocabulary};
use super::labels::NodeLabels;
use super::plan::Plan;
use super::rows;
use super::settings::{PageSettings, Subset};
use super::sink::{Lines, Sink, Tally};
use super::workloads;
use crate::snapshot::{DeviceSnapshot, DeviceState, NodeSnapshot, SourceStatus};

/// The families at the end of a page, which say what the limit did; room for them is kept from the start.
const CLOSING_SERIES: usize = 3;

/// A page as text, made for this once: for `--once` and for tests. A server keeps a [`super::PageCache`].
pub fn page_text(
    snapshot: &NodeSnapshot,
    settings: &PageSettings,
    format: Format,
    subset: Subset,
) -> Result<String, WriteError> {
    let plan = Plan::new(settings);
    let labels = NodeLabels::new(snapshot, settings, &plan.dcgm_labels)?;
    let mut page = String::new();
    render(
        &mut page,
        snapshot,
        &Look {
            plan: &plan,
            labels: &labels,
            applications: &Joined::default(),
            format,
            subset,
            dropped_before: 0,
        },
    );
    Ok(page)
}

/// How a page is to look.
pub(super) struct Look<'a> {
    pub(super) plan: &'a Plan,
    pub(super) labels: &'a NodeLabels,
    pub(super) applications: &'a Joined,
    pub(super) format: Format,
    pub(super) subset: Subset,
    /// Series that earlier pages left out.
    pub(super) dropped_before: u64,
}

/// Appends a page to `page`.
pub(super) fn render(page: &mut String, snapshot: &NodeSnapshot, look: &Look<'_>) -> Tally {
    let mut sink = Sink::new(page, look.format, look.plan.cap.saturating_sub(CLOSING_SERIES));
    health(&mut sink, snapshot, look);
    for chapter in look.plan.chapters(look.subset, snapshot) {
        for family in &chapter.families {
            sink.family(&family.meta(), |lines| {
                if let Supply::NodeCount = family.spec.supply {
                    node_count(lines, chapter.vocabulary, snapshot, look);
                    return;
                }
                for device in look.labels.devices(chapter.vocabulary, snapshot) {
                    rows::write(lines, chapter.vocabulary, family.spec, &look.plan.health, device);
                }
            });
        }
    }
    if look.subset == Subset::Full {
        look.applications.write(&mut sink, snapshot.at);
    }
    sink.release(CLOSING_SERIES);
    closing(&mut sink, look);
    sink.finish()
}

/// How many GPUs there are to whoever asks for one: a device that is cut into slices counts as its slices. Nothing is said on
/// a node whose driver was not asked.
fn node_count(lines: &mut Lines<'_, '_>, vocabulary: Vocabulary, snapshot: &NodeSnapshot, look: &Look<'_>) {
    let of_device = |(device, _): (&DeviceSnapshot, _)| device.readings.slices.len().max(1);
    let count: usize = look.labels.devices(vocabulary, snapshot).map(of_device).sum();
    let is_asked = snapshot
        .sources
        .iter()
        .any(|source| source.name == AMD_SOURCE && source.up);
    if count > 0 || is_asked {
        lines.sample(&look.labels.amd_node, count as u64);
    }
}

fn health(sink: &mut Sink<'_>, snapshot: &NodeSnapshot, look: &Look<'_>) {
    let node = &look.labels.node;
    sink.family(&catalog::BUILD_INFO, |lines| {
        lines.sample(node.with(&[("version", env!("CARGO_PKG_VERSION"))]), 1);
    });
    sink.family(&catalog::DCGM_UP, |lines| {
        lines.sample(node, i32::from(driver_answers(snapshot)))
    });
    let sources = || distinct(&snapshot.sources);
    sink.family(&catalog::SOURCE_UP, |lines| {
        sources()
            .for_each(|source| lines.sample(node.with(&[("source", source.name)]), i32::from(source.up)));
    });
    sink.family(&catalog::SOURCE_AGE, |lines| {
        for (source, age) in sources().filter_map(|source| Some((source, source.last_success_age?))) {
            lines.float(
                node.with(&[("source", source.name)]),
                milliseconds(age.as_secs_f64()),
            );
        }
    });
    sink.family(&catalog::SOURCE_DURATION, |lines| {
        for (source, took) in sources().filter_map(|source| Some((source, source.last_duration?))) {
            lines.float(node.with(&[("source", source.name)]), took.as_secs_f64());
        }
    });
    sink.family(&catalog::SOURCE_ERRORS, |lines| {
        for source in sources() {
            for (class, count) in &source.errors {
                lines.sample(node.with(&[("source", source.name), ("class", class)]), *count);
            }
        }
    });
    device_health(sink, snapshot, look.labels);
    if let Some(skipped) = look.plan.skipped {
        sink.family(&catalog::COUNTERS_SKIPPED, |lines| {
            lines.sample(node, skipped as u64)
        });
    }
    if let Some((labels, left_out)) = &look.labels.api {
        if snapshot.node_labels.as_ref().is_some_and(|told| !told.is_empty()) {
            sink.family(&catalog::NODE_LABELS, |lines| lines.sample(labels, 1));
        }
        sink.family(&catalog::LABELS_LEFT_OUT, |lines| {
            lines.sample(node, *left_out as u64)
        });
    }
    sink.family(&catalog::JOB_INFO, |lines| {
        for (device, labels) in look.labels.devices(Vocabulary::Gpu, snapshot) {
            workloads::write_jobs(lines, device, labels);
        }
    });
    if let Some(labels) = &look.labels.workload {
        sink.family(&catalog::WORKFLOW_INFO, |lines| lines.sample(labels, 1));
    }
    if look.subset == Subset::Full {
        look.applications.write_health(sink, node, snapshot.at);
    }
}

fn device_health(sink: &mut Sink<'_>, snapshot: &NodeSnapshot, labels: &NodeLabels) {
    let devices = || labels.devices(Vocabulary::Gpu, snapshot);
    sink.family(&catalog::DEVICE_ERRORS, |lines| {
        for (device, labels) in devices() {
            for (class, count) in &device.errors {
                lines.sample(labels.whole.bare.with(&[("class", class)]), *count);
            }
        }
    });
    sink.family(&catalog::SLOW_AGE, |lines| {
        for (device, labels) in devices() {
            if let Some(age) = device.slow_age {
                lines.float(&labels.whole.bare, milliseconds(age.as_secs_f64()));
            }
        }
    });
    sink.family(&catalog::REJECTED, |lines| {
        for (device, labels) in devices() {
            lines.sample(&labels.whole.bare, device.rejected_total);
        }
    });
    sink.family(&catalog::RESTRICTED, |lines| {
        for (device, labels) in devices() {
            if let Some(restriction) = device.restricted {
                lines.sample(labels.whole.bare.with(&[("reason", restriction.as_str())]), 1);
            }
        }
    });
}

fn closing(sink: &mut Sink<'_>, look: &Look<'_>) {
    let node = &look.labels.node;
    let tally = sink.tally();
    let dropped = look.dropped_before + tally.series_dropped as u64;
    sink.family(&catalog::PAGE_SERIES, |lines| {
        lines.sample(node, (tally.series + CLOSING_SERIES) as u64);
    });
    sink.family(&catalog::FAMILIES_DROPPED, |lines| {
        lines.sample(node, tally.families_dropped as u64)
    });
    sink.family(&catalog::SERIES_DROPPED, |lines| lines.sample(node, dropped));
}

/// One GPU that hangs may hold up the listing of all; as long as another one answers, so does the driver.
fn driver_answers(snapshot: &NodeSnapshot) -> bool {
    let is_up = |source: &SourceStatus| source.up && DRIVER_SOURCES.contains(&source.name);
    let answers = |device: &DeviceSnapshot| device.state == DeviceState::Up && device.age.is_some();
    snapshot.sources.iter().any(is_up) || snapshot.devices.iter().any(answers)
}

/// Each source once.
fn distinct(sources: &[SourceStatus]) -> impl Iterator<Item = &SourceStatus> {
    let is_first = |at: usize| {
        sources[..at]
            .iter()
            .all(|earlier| earlier.name != sources[at].name)
    };
    sources
        .iter()
        .enumerate()
        .filter(move |(at, _)| is_first(*at))
        .map(|(_, source)| source)
}

fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Labels together with the snapshot they were made of.
pub(super) struct KeptLabels {
    pub(super) of: Arc<NodeSnapshot>,
    pub(super) labels: NodeLabels,
}
