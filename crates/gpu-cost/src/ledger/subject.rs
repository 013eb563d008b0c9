//! What is paid for: a machine, or a commitment.

use std::sync::Arc;

use gpu_model::{Bytes, CapacityType, Cloud, MachineId, NodeName};
use serde::{Deserialize, Serialize};

/// What a row is about. Rows share it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Machine(Arc<Machine>),
    /// The unused part of a commitment, by the commitment's id.
    Commitment(Arc<CommitmentName>),
}

impl Subject {
    /// The machine's id, or the commitment's.
    pub fn id(&self) -> &str {
        match self {
            Subject::Machine(machine) => machine.id.as_str(),
            Subject::Commitment(commitment) => &commitment.id,
        }
    }

    pub fn machine(&self) -> Option<&Machine> {
        match self {
            Subject::Machine(machine) => Some(machine),
            Subject::Commitment(_) => None,
        }
    }
}

/// What a commitment is called, and where it applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitmentName {
    pub id: String,
    pub cloud: Cloud,
    pub region: Option<String>,
    pub instance_type: Option<String>,
}

/// A machine that is paid for from its launch to its end. What is not known of it is absent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    pub id: MachineId,
    pub node: NodeName,
    pub cloud: Cloud,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    /// The cloud's zone; on AWS the zone id, because the names mean another place in every account.
    pub zone: Option<String>,
    pub capacity: CapacityType,
    pub pool: Option<String>,
    pub gpu_model: Option<String>,
    /// How many GPUs are paid for, whether they have been seen or not.
    pub gpus: Option<u16>,
    pub vcpus: Option<u32>,
    pub memory: Option<Bytes>,
}

impl Machine {
    /// How many of the things that may be absent are there.
    pub(crate) fn known(&self) -> usize {
        [
            self.instance_type.is_some(),
            self.region.is_some(),
            self.zone.is_some(),
            self.pool.is_some(),
            self.gpu_model.is_some(),
            self.gpus.is_some(),
            self.vcpus.is_some(),
            self.memory.is_some(),
        ]
        .into_iter()
        .filter(|is_known| *is_known)
        .count()
    }
}
