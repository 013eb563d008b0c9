//! Prices that somebody of this cluster wrote down, in a ConfigMap or a custom resource.

use gpu_model::{CapacityType, Cloud, NanoUsd};
use serde::{Deserialize, Serialize};

use crate::{Machine, Moment, Span};

/// A rule. What it does not name, it does not ask for; a rule that names nothing prices every machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    pub name: String,
    pub cloud: Option<Cloud>,
    pub region: Option<String>,
    pub zone: Option<String>,
    pub instance_type: Option<String>,
    pub capacity: Option<CapacityType>,
    pub pool: Option<String>,
    pub gpu_model: Option<String>,
    pub node: Option<String>,
    pub rate: OverrideRate,
    pub valid: Span,
    /// When it was written.
    pub as_of: Moment,
}

/// What the rule's amount is the price of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OverrideRate {
    NodeHour(NanoUsd),
    /// Times the GPUs of the machine: the rule does not apply to one whose number is not known.
    GpuHour(NanoUsd),
}

impl Override {
    /// How many things it asks for, where the machine has all of them.
    pub(super) fn specificity(&self, machine: &Machine) -> Option<u32> {
        let same =
            |wanted: &Option<String>, is: Option<&str>| wanted.as_deref().map(|wanted| is == Some(wanted));
        let asked = [
            self.cloud.map(|cloud| cloud == machine.cloud),
            self.capacity.map(|capacity| capacity == machine.capacity),
            same(&self.region, machine.region.as_deref()),
            same(&self.zone, machine.zone.as_deref()),
            same(&self.instance_type, machine.instance_type.as_deref()),
            same(&self.pool, machine.pool.as_deref()),
            same(&self.gpu_model, machine.gpu_model.as_deref()),
            same(&self.node, Some(machine.node.as_str())),
        ];
        if asked.contains(&Some(false)) {
            return None;
        }
        // A node's name is one machine; no number of other conditions is more specific.
        let named = if self.node.is_some() { 8 } else { 0 };
        Some(named + asked.iter().flatten().map(|_| 1).sum::<u32>())
    }

    pub(super) fn rate_for(&self, machine: &Machine) -> Option<NanoUsd> {
        match self.rate {
            OverrideRate::NodeHour(rate) => Some(rate),
            OverrideRate::GpuHour(rate) => {
                let gpus = machine.gpus?;
                rate.0.checked_mul(i64::from(gpus)).map(NanoUsd)
            }
        }
    }
}
