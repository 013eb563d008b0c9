//! The document of `GET /api/v1/monitoring/gpu-metrics`: a pure function of the snapshot. What could not be read is
//! `null`, and `errors` says why; nothing becomes 0.

mod history;
mod summary;
mod window;

pub use history::{History, HistorySettings, Point};
pub use summary::{GpuReport, MeanMax, Report, RunState, Summary};
pub use window::{Window, WindowError};

use jiff::Timestamp;
use serde::Serialize;

use crate::page::DRIVER_SOURCES;
use crate::readings::Field;
use crate::snapshot::{DeviceSnapshot, DeviceState, NodeSnapshot, Origin};

/// The whole answer.
#[derive(Debug, Serialize)]
pub struct GpuMetrics<'a> {
    pub timestamp: Timestamp,
    pub status: Status,
    /// Only there when no driver answers: what failed and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Only there when values are not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    pub node: &'a str,
    pub gpus: Vec<Gpu<'a>>,
    pub errors: Vec<Missing<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A driver answers.
    Ok,
    /// No driver answers; what is shown, if anything, is old.
    Unavailable,
}

/// One device.
#[derive(Debug, Serialize)]
pub struct Gpu<'a> {
    pub id: String,
    pub name: &'a str,
    pub uuid: &'a str,
    pub vendor: &'static str,
    /// Percent of the time in which at least one kernel ran.
    pub utilization: Option<f64>,
    /// Percent of the time in which memory was read or written.
    pub memory_utilization: Option<f64>,
    pub memory: Memory,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    /// Watts.
    pub power_usage: Option<f64>,
    pub clock_speeds: ClockSpeeds,
    /// Since the last complete sample.
    pub age_seconds: Option<f64>,
    /// Who holds the device or parts of it.
    pub owners: Vec<Owner<'a>>,
    /// The jobs of a batch system that were given the device or slices of it; not there where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobOwner<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Point>>,
}

/// Megabytes of 2^20 bytes, as the vendors' tools print them.
#[derive(Debug, Serialize)]
pub struct Memory {
    pub total: Option<u64>,
    pub used: Option<u64>,
    pub free: Option<u64>,
}

/// Megahertz.
#[derive(Debug, Serialize)]
pub struct ClockSpeeds {
    pub graphics: Option<u64>,
    pub memory: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct Owner<'a> {
    pub namespace: &'a str,
    pub pod: &'a str,
    pub container: &'a str,
}

#[derive(Debug, Serialize)]
pub struct JobOwner<'a> {
    pub id: &'a str,
    pub user: Option<&'a str>,
    pub partition: Option<&'a str>,
    pub cluster: Option<&'a str>,
}

/// Why a value is `null`, or why all of a device's values are old.
#[derive(Debug, Serialize)]
pub struct Missing<'a> {
    pub gpu: String,
    /// The member of the device's object; `*` for all of them.
    pub field: &'static str,
    pub reason: &'a str,
}

/// Makes the answer; with a history and a window, each device has its points in that window.
pub fn gpu_metrics<'a>(snapshot: &'a NodeSnapshot, history: Option<(&History, Window)>) -> GpuMetrics<'a> {
    let answers = |name: &str| DRIVER_SOURCES.contains(&name);
    let up = snapshot
        .sources
        .iter()
        .any(|source| source.up && answers(source.name));
    let mut errors = Vec::new();
    for device in &snapshot.devices {
        note_missing(&mut errors, device);
    }
    let points = |device: &DeviceSnapshot| {
        history.map(|(history, window)| history.points(&device.identity.uuid, snapshot.at, window))
    };
    GpuMetrics {
        timestamp: snapshot.at,
        status: if up { Status::Ok } else { Status::Unavailable },
        reason: (!up).then(|| why_unavailable(snapshot)),
        source: (snapshot.origin == Origin::Simulated).then_some("sim"),
        node: &snapshot.node,
        gpus: snapshot
            .devices
            .iter()
            .map(|device| Gpu::new(device, points(device)))
            .collect(),
        errors,
    }
}

impl GpuMetrics<'_> {
    /// The answer's body.
    ///
    /// # Errors
    /// Never for values that were read: they are finite.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

fn why_unavailable(snapshot: &NodeSnapshot) -> String {
    let drivers = snapshot
        .sources
        .iter()
        .filter(|source| DRIVER_SOURCES.contains(&source.name));
    let problems: Vec<String> = drivers
        .map(|source| match &source.problem {
            Some(problem) => format!("{}: {problem}", source.name),
            None => format!("{}: not read yet", source.name),
        })
        .collect();
    if problems.is_empty() {
        "no driver is configured".to_owned()
    } else {
        problems.join("; ")
    }
}

impl<'a> Gpu<'a> {
    fn new(device: &'a DeviceSnapshot, history: Option<Vec<Point>>) -> Self {
        let identity = &device.identity;
        let read = |member: Member| member.value(device);
        let whole = |member: Member| read(member).map(as_whole);
        Self {
            id: id(device),
            name: &identity.model,
            uuid: &identity.uuid,
            vendor: identity.vendor.as_str(),
            utilization: read(Member::Utilization),
            memory_utilization: read(Member::MemoryUtilization),
            memory: Memory {
                total: whole(Member::MemoryTotal),
                used: whole(Member::MemoryUsed),
                free: whole(Member::MemoryFree),
            },
            temperature: read(Member::Temperature),
            power_usage: read(Member::PowerUsage),
            clock_speeds: ClockSpeeds {
                graphics: whole(Member::GraphicsClock),
                memory: whole(Member::MemoryClock),
            },
            age_seconds: device.age.map(|age| rounded(age.as_secs_f64(), 1e3)),
            owners: device
                .holders
                .iter()
                .map(|holder| Owner {
                    namespace: holder.namespace.as_str(),
                    pod: holder.pod.as_str(),
                    container: holder.container.as_str(),
                })
                .collect(),
            jobs: device
                .jobs
                .iter()
                .map(|job| JobOwner {
                    id: &job.id,
                    user: job.user.as_deref(),
                    partition: job.partition.as_deref(),
                    cluster: job.cluster.as_deref(),
                })
                .collect(),
            history,
        }
    }
}

fn id(device: &DeviceSnapshot) -> String {
    format!("gpu-{}", device.identity.index)
}

/// A member of a device's object that is read from the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Utilization,
    MemoryUtilization,
    MemoryTotal,
    MemoryUsed,
    MemoryFree,
    Temperature,
    PowerUsage,
    GraphicsClock,
    MemoryClock,
}

impl Member {
    const ALL: [Self; 9] = [
        Self::Utilization,
        Self::MemoryUtilization,
        Self::MemoryTotal,
        Self::MemoryUsed,
        Self::MemoryFree,
        Self::Temperature,
        Self::PowerUsage,
        Self::GraphicsClock,
        Self::MemoryClock,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Utilization => "utilization",
            Self::MemoryUtilization => "memory_utilization",
            Self::MemoryTotal => "memory.total",
            Self::MemoryUsed => "memory.used",
            Self::MemoryFree => "memory.free",
            Self::Temperature => "temperature",
            Self::PowerUsage => "power_usage",
            Self::GraphicsClock => "clock_speeds.graphics",
            Self::MemoryClock => "clock_speeds.memory",
        }
    }

    const fn field(self) -> Field {
        match self {
            Self::Utilization => Field::Utilization,
            Self::MemoryUtilization => Field::MemoryBandwidthUtilization,
            Self::MemoryTotal => Field::MemoryTotal,
            Self::MemoryUsed => Field::MemoryUsed,
            Self::MemoryFree => Field::MemoryFree,
            Self::Temperature => Field::Temperature,
            Self::PowerUsage => Field::Power,
            Self::GraphicsClock => Field::GraphicsClock,
            Self::MemoryClock => Field::MemoryClock,
        }
    }

    /// Withheld because another reading contradicts it.
    fn is_restricted(self, device: &DeviceSnapshot) -> bool {
        device.restricted.is_some() && matches!(self, Self::Utilization | Self::MemoryUtilization)
    }

    /// In the unit of the document.
    fn value(self, device: &DeviceSnapshot) -> Option<f64> {
        if self.is_restricted(device) {
            return None;
        }
        let value = device.readings.values.known(self.field())?;
        Some(match self {
            Self::Utilization | Self::MemoryUtilization => rounded(value * 100.0, 1e2),
            Self::MemoryTotal | Self::MemoryUsed | Self::MemoryFree => (value / 1_048_576.0).floor(),
            Self::GraphicsClock | Self::MemoryClock => (value / 1e6).round(),
            Self::Temperature | Self::PowerUsage => rounded(value, 1e3),
        })
    }
}

/// Memory and clocks are read within ranges that a `u64` holds, and are never negative.
fn as_whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is rounded, not negative and below 2^53"
    )]
    let whole = value as u64;
    whole
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

fn note_missing<'a>(errors: &mut Vec<Missing<'a>>, device: &'a DeviceSnapshot) {
    use gpu_model::Reading;
    let whole = match device.state {
        DeviceState::Up => None,
        DeviceState::Failing(class) => Some(class),
        DeviceState::Stuck => Some("stuck"),
        DeviceState::Lost => Some("lost"),
    };
    errors.extend(whole.map(|reason| Missing {
        gpu: id(device),
        field: "*",
        reason,
    }));
    for member in Member::ALL {
        let reason = match (device.restricted, device.readings.values.get(member.field())) {
            (Some(restriction), _) if member.is_restricted(device) => restriction.as_str(),
            (_, Reading::Known(_)) => continue,
            (_, Reading::Unsupported) => "unsupported",
            (_, Reading::Failed) => "failed",
        };
        errors.push(Missing {
            gpu: id(device),
            field: member.name(),
            reason,
        });
    }
}
