//! What goes wrong, how long calls take, and what the driver reports by itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One thing that goes wrong for as long as it is in the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// A function of NVML, or `*` for every call on a device.
    pub function: String,
    /// The uuid of the GPU it concerns; all of them when absent.
    #[serde(default)]
    pub gpu: Option<String>,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The call does not return until the scenario changes; other calls go on.
    Hang,
    /// The call does not return and holds the driver's lock, so that no other call returns either.
    HangAll,
    /// The call returns this code.
    Fail(u32),
    /// Texts come without an end and are not UTF-8.
    GarbageText,
    /// Counts are far beyond what exists or what was asked for.
    AbsurdCount,
}

impl Fault {
    pub fn new(function: &str, kind: FaultKind) -> Fault {
        Fault {
            function: function.to_owned(),
            gpu: None,
            kind,
        }
    }

    #[must_use]
    pub fn on(self, uuid: &str) -> Fault {
        Fault {
            gpu: Some(uuid.to_owned()),
            ..self
        }
    }
}

/// How long calls take.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// Calls return at once.
    None,
    /// Tens to hundreds of microseconds as on a busy server; the blocking calls take as long as they are documented to.
    #[default]
    Realistic,
    /// Microseconds by function; what is not named returns at once.
    Table(BTreeMap<String, u64>),
}

impl Latency {
    /// Microseconds of one call.
    pub(crate) fn of(&self, function: &str) -> u64 {
        match self {
            Latency::None => 0,
            Latency::Table(table) => table.get(function).copied().unwrap_or(0),
            Latency::Realistic => match function {
                // The driver watches the bus for 20 ms and then answers.
                "nvmlDeviceGetPcieThroughput" => 20_000,
                "nvmlInitWithFlags" | "nvmlInit_v2" => 30_000,
                "nvmlGpmSampleGet" | "nvmlGpmMigSampleGet" => 200,
                "nvmlDeviceGetFieldValues" => 120,
                "nvmlDeviceGetProcessUtilization" => 300,
                name if name.contains("RunningProcesses") => 250,
                // Answered from the library's own memory.
                "nvmlDeviceGetUUID"
                | "nvmlDeviceGetName"
                | "nvmlDeviceGetIndex"
                | "nvmlDeviceGetCount_v2"
                | "nvmlSystemGetDriverVersion"
                | "nvmlSystemGetNVMLVersion"
                | "nvmlEventSetWait_v2"
                | "nvmlGpmMetricsGet" => 0,
                _ => 30,
            },
        }
    }
}

/// An XID. Each id is delivered once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XidEvent {
    pub id: u64,
    /// The uuid of the GPU.
    pub gpu: String,
    pub code: u64,
    #[serde(default)]
    pub gpu_instance: Option<u32>,
    #[serde(default)]
    pub compute_instance: Option<u32>,
}
