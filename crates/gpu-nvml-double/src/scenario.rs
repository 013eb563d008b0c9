//! What the double pretends to be: a driver, its GPUs, and what goes wrong with them.
//!
//! A scenario is one JSON file. A GPU in it names a preset and overrides what differs; a value that is absent is one
//! the GPU does not support.

mod boards;
mod faults;
mod fleets;
mod gpu;
mod presets;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use boards::Model;
pub use faults::{Fault, FaultKind, Latency, XidEvent};
pub use gpu::{
    Bar1, Clocks, Ecc, EccCounts, Fabric, Gpu, Licence, Memory, Mig, MigInstance, NvLink, NvLinkErrors, Pcie,
    Power, Process, ProcessKind, Remapped, Remote, Retired, Temperatures, Throttled, Utilization,
};

/// A machine with its driver, as of now. Replacing the file changes the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    pub driver: String,
    pub nvml: String,
    /// As NVML gives it: 12040 is 12.4.
    pub cuda: i32,
    pub gpus: Vec<Gpu>,
    /// Counters stand still, so that two looks give the same page.
    pub frozen: bool,
    pub latency: Latency,
    pub faults: Vec<Fault>,
    /// Functions that answer as if this driver did not have them.
    pub hide: Vec<String>,
    /// No driver is loaded. Once seen, a caller has to start afresh even when it is back.
    pub driver_gone: bool,
    /// The library and the kernel module are of different versions.
    pub version_mismatch: bool,
    /// The device files may not be opened.
    pub no_permission: bool,
    pub events: Vec<XidEvent>,
}

impl Default for Scenario {
    fn default() -> Self {
        Scenario {
            driver: "570.133.20".to_owned(),
            nvml: "12.570.133.20".to_owned(),
            cuda: 12_080,
            gpus: Vec::new(),
            frozen: true,
            latency: Latency::Realistic,
            faults: Vec::new(),
            hide: Vec::new(),
            driver_gone: false,
            version_mismatch: false,
            no_permission: false,
            events: Vec::new(),
        }
    }
}

/// Why a text is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("failed to parse the scenario")]
    Parse(#[from] serde_json::Error),
    #[error("`gpus[{0}]` names no known `model`")]
    Model(usize),
}

impl Scenario {
    /// Reads a scenario, laying every GPU's values over those of its preset.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let mut root: Value = serde_json::from_str(text)?;
        if let Some(gpus) = root.get_mut("gpus").and_then(Value::as_array_mut) {
            for (index, gpu) in gpus.iter_mut().enumerate() {
                let model = gpu
                    .get("model")
                    .and_then(|model| Model::deserialize(model).ok())
                    .ok_or(ScenarioError::Model(index))?;
                let mut whole = serde_json::to_value(Gpu::preset(model, index))?;
                lay_over(&mut whole, gpu.take());
                *gpu = whole;
            }
        }
        Ok(serde_json::from_value(root)?)
    }

    /// The scenario as a file's text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a scenario holds only names, numbers and lists")
    }
}

/// Objects are merged key by key; everything else is replaced.
fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => merge(below, above),
        (below, above) => *below = above,
    }
}

fn merge(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match below.get_mut(&key) {
            Some(slot) => lay_over(slot, value),
            None => {
                below.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
