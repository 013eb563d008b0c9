//! How the price of a node is divided between its GPUs and the rest. The parts always sum to the node's price.

use gpu_model::{NanoUsd, Permille};
use serde::{Deserialize, Serialize};

use crate::Machine;

/// The rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NodeSplit {
    /// Everything to the GPUs: what is left of processors and memory on a GPU node is of no use to anybody without one.
    #[default]
    AllToGpu,
    /// A fixed share to the GPUs.
    Ratio { gpu: Permille },
    /// Processors and memory at the price they have on machines without GPUs, and what is left to the GPUs. Where the
    /// machine's size is not known, everything goes to the GPUs.
    Residual {
        core_hour: NanoUsd,
        gibibyte_hour: NanoUsd,
    },
    /// In the ratio of three reference prices, as OpenCost does it.
    Reference {
        gpu_hour: NanoUsd,
        core_hour: NanoUsd,
        gibibyte_hour: NanoUsd,
    },
}

impl NodeSplit {
    /// OpenCost's reference prices. They do not know the GPU's model, so a B300 comes out cheaper than a B200: offered for
    /// comparison with its reports, not as a default.
    pub const OPENCOST: Self = Self::Reference {
        gpu_hour: NanoUsd(950_000_000),
        core_hour: NanoUsd(31_611_000),
        gibibyte_hour: NanoUsd(4_237_000),
    };

    /// The weights of the GPUs and of the rest in a node's hourly price.
    pub fn weights(&self, node_hour: NanoUsd, machine: &Machine) -> (u64, u64) {
        let positive = |amount: i128| u64::try_from(amount.max(0)).unwrap_or(u64::MAX);
        match self {
            NodeSplit::AllToGpu => (1, 0),
            NodeSplit::Ratio { gpu } => (u64::from(gpu.get()), u64::from(1000 - gpu.get())),
            NodeSplit::Residual {
                core_hour,
                gibibyte_hour,
            } => match host(machine, *core_hour, *gibibyte_hour) {
                None => (1, 0),
                Some(host) => {
                    let node = i128::from(node_hour.0).max(1);
                    let host = host.clamp(0, node);
                    (positive(node - host), positive(host))
                }
            },
            NodeSplit::Reference {
                gpu_hour,
                core_hour,
                gibibyte_hour,
            } => match (host(machine, *core_hour, *gibibyte_hour), machine.gpus) {
                (Some(host), Some(gpus)) if gpus > 0 => {
                    let gpus = i128::from(gpu_hour.0) * i128::from(gpus);
                    if gpus <= 0 {
                        (1, 0)
                    } else {
                        (positive(gpus), positive(host))
                    }
                }
                _ => (1, 0),
            },
        }
    }
}

fn host(machine: &Machine, core_hour: NanoUsd, gibibyte_hour: NanoUsd) -> Option<i128> {
    const GIBIBYTE: i128 = 1 << 30;
    let cores = i128::from(core_hour.0) * i128::from(machine.vcpus?);
    let memory = i128::from(gibibyte_hour.0) * i128::from(machine.memory?.0) / GIBIBYTE;
    Some(cores + memory)
}
