//! What each GPU did from the start of the exporter to its end: the document of `--final-report`. Pure; snapshots and their
//! times come in. What was never measured is left out, never 0.

use std::collections::BTreeMap;

use gpu_model::Reading;
use jiff::Timestamp;
use serde::Serialize;

use crate::readings::{Field, Values};
use crate::snapshot::{DeviceSnapshot, DeviceState, NodeSnapshot, Origin, Workload};

/// As in the sums of the collection: a longer gap was not observed and is not filled in.
const LONGEST_GAP_SECONDS: f64 = 10.0;
/// A machine has fewer GPUs and slices; beyond these nothing is remembered.
const MOST_TRACKS: usize = 512;

/// The document.
#[derive(Debug, Serialize)]
pub struct Report {
    pub node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// What is known of the workflow, by the names of the page's labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub workflow: BTreeMap<&'static str, String>,
    pub started: Timestamp,
    pub ended: Timestamp,
    /// Whether the run has ended with it; until then it is what is known so far.
    #[serde(rename = "final")]
    pub is_final: bool,
    pub gpus: Vec<GpuReport>,
}

/// A GPU, or a slice of one.
#[derive(Debug, Clone, Serialize)]
pub struct GpuReport {
    pub uuid: String,
    /// The GPU that a slice is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    pub index: u32,
    pub vendor: &'static str,
    pub model: String,
    /// The time in which it was observed: gaps in which it did not answer are not counted.
    pub seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilization: Option<MeanMax>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_watts: Option<MeanMax>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_peak_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_total_bytes: Option<f64>,
    /// Faults that the driver reported, all codes together; left out where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<u64>,
}

/// Over the seconds in which the value was known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanMax {
    pub mean: f64,
    pub max: f64,
}

/// Whether more will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    Running,
    Ended,
}

/// What is remembered of a run.
#[derive(Debug, Default)]
pub struct Summary {
    started: Option<Timestamp>,
    last_sequence: u64,
    node: String,
    origin: Option<Origin>,
    workload: Option<Workload>,
    ended: Option<Timestamp>,
    /// By index of the GPU and uuid of it or its slice, in the order of the document.
    tracks: BTreeMap<(u32, String), Track>,
}

#[derive(Debug)]
struct Track {
    report: GpuReport,
    at: Timestamp,
    utilization: Integral,
    power: Integral,
    energy: Counted,
    memory_peak: Option<f64>,
}

/// A value over time.
#[derive(Debug, Default)]
struct Integral {
    sum: f64,
    seconds: f64,
    max: Option<f64>,
}

/// A counter that may begin anew.
#[derive(Debug, Default)]
struct Counted {
    last: Option<f64>,
    sum: Option<f64>,
}

impl Summary {
    /// Takes a snapshot in; the same one twice counts once.
    pub fn record(&mut self, snapshot: &NodeSnapshot) {
        if snapshot.sequence == 0 || snapshot.sequence == self.last_sequence {
            return;
        }
        self.last_sequence = snapshot.sequence;
        self.started.get_or_insert(snapshot.at);
        self.ended = Some(snapshot.at);
        self.node.clone_from(&snapshot.node);
        self.origin = Some(snapshot.origin);
        self.workload = snapshot.workload.as_deref().cloned();
        for device in &snapshot.devices {
            // What is shown of a device that does not answer is from before.
            if device.state != DeviceState::Up || device.age.is_none() {
                continue;
            }
            self.record_device(snapshot.at, device);
        }
    }

    fn record_device(&mut self, at: Timestamp, device: &DeviceSnapshot) {
        let identity = &device.identity;
        let is_restricted = device.restricted.is_some();
        let values = &device.readings.values;
        let energy = device.totals.energy_joules;
        let track = self.track(at, (identity.index, identity.uuid.clone()), || named(device));
        if let Some(track) = track {
            track.record(at, values, energy, is_restricted);
            let faults: u64 = device.faults.iter().map(|(_, count)| count).sum();
            track.report.faults = (faults > 0).then_some(faults);
        }
        for slice in &device.readings.slices {
            let of_slice = || GpuReport {
                parent: Some(identity.uuid.clone()),
                profile: Some(slice.profile.clone()),
                uuid: slice.uuid.clone(),
                ..named(device)
            };
            let key = (identity.index, slice.uuid.clone());
            if let Some(track) = self.track(at, key, of_slice) {
                track.record(at, &slice.values, Reading::Unsupported, is_restricted);
            }
        }
    }

    fn track(
        &mut self,
        at: Timestamp,
        key: (u32, String),
        report: impl FnOnce() -> GpuReport,
    ) -> Option<&mut Track> {
        if self.tracks.len() >= MOST_TRACKS && !self.tracks.contains_key(&key) {
            return None;
        }
        Some(self.tracks.entry(key).or_insert_with(|| Track {
            report: report(),
            at,
            utilization: Integral::default(),
            power: Integral::default(),
            energy: Counted::default(),
            memory_peak: None,
        }))
    }

    /// The document; `None` before anything was recorded.
    pub fn report(&self, state: RunState) -> Option<Report> {
        Some(Report {
            node: self.node.clone(),
            is_final: state == RunState::Ended,
            source: (self.origin == Some(Origin::Simulated)).then_some("sim"),
            namespace: self
                .workload
                .as_ref()
                .map(|own| own.namespace.as_str().to_owned()),
            pod: self.workload.as_ref().map(|own| own.pod.as_str().to_owned()),
            workflow: self
                .workload
                .iter()
                .flat_map(|own| own.workflow.clone())
                .collect(),
            started: self.started?,
            ended: self.ended?,
            gpus: self.tracks.values().map(Track::report).collect(),
        })
    }
}

fn named(device: &DeviceSnapshot) -> GpuReport {
    let identity = &device.identity;
    GpuReport {
        uuid: identity.uuid.clone(),
        parent: None,
        profile: None,
        index: identity.index,
        vendor: identity.vendor.as_str(),
        model: identity.model.clone(),
        seconds: 0.0,
        utilization: None,
        power_watts: None,
        energy_joules: None,
        memory_peak_bytes: None,
        memory_total_bytes: None,
        faults: None,
    }
}

impl Track {
    fn record(&mut self, at: Timestamp, values: &Values, energy: Reading<f64>, is_restricted: bool) {
        let gap = at.duration_since(self.at).as_secs_f64();
        // A clock that was set is no time that passed.
        let seconds = if (0.0..=LONGEST_GAP_SECONDS).contains(&gap) {
            gap
        } else {
            0.0
        };
        self.at = at;
        self.report.seconds += seconds;
        if !is_restricted {
            self.utilization.add(values.known(Field::Utilization), seconds);
        }
        self.power.add(values.known(Field::Power), seconds);
        self.energy.add(energy.known());
        if let Some(used) = values.known(Field::MemoryUsed) {
            self.memory_peak = Some(self.memory_peak.map_or(used, |peak| peak.max(used)));
        }
        if let Some(total) = values.known(Field::MemoryTotal) {
            self.report.memory_total_bytes = Some(total);
        }
    }

    fn report(&self) -> GpuReport {
        GpuReport {
            seconds: rounded(self.report.seconds, 1e3),
            utilization: self.utilization.finish(1e4),
            power_watts: self.power.finish(1e1),
            energy_joules: self.energy.sum.map(|sum| rounded(sum, 1e1)),
            memory_peak_bytes: self.memory_peak,
            ..self.report.clone()
        }
    }
}

impl Integral {
    fn add(&mut self, value: Option<f64>, seconds: f64) {
        let Some(value) = value else {
            return;
        };
        self.sum += value * seconds;
        self.seconds += seconds;
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }

    /// A single sample is its own mean.
    fn finish(&self, parts: f64) -> Option<MeanMax> {
        let max = self.max?;
        let mean = if self.seconds > 0.0 {
            self.sum / self.seconds
        } else {
            max
        };
        Some(MeanMax {
            mean: rounded(mean, parts),
            max: rounded(max, parts),
        })
    }
}

impl Counted {
    fn add(&mut self, now: Option<f64>) {
        let Some(now) = now else {
            return;
        };
        let grown = match self.last {
            // It began anew: what it shows has come since.
            Some(last) if now < last => now,
            Some(last) => now - last,
            None => 0.0,
        };
        self.sum = Some(self.sum.unwrap_or_default() + grown);
        self.last = Some(now);
    }
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
