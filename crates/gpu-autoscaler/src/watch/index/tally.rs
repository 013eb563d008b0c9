//! What pods without GPUs ask for, summed by node, exactly: what is added can be taken away again.

use std::collections::BTreeMap;

use gpu_model::{Bytes, HostRequest, NodeName};

/// Wide enough that no number of pods makes a sum wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    cpu_millicores: u128,
    memory: u128,
    pods: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    sums: BTreeMap<NodeName, Sum>,
}

impl Tally {
    /// Adds a pod, and answers with the node's new sum.
    pub(super) fn add(&mut self, node: &NodeName, host: HostRequest) -> Option<HostRequest> {
        let sum = self.sums.entry(node.clone()).or_default();
        sum.cpu_millicores += u128::from(host.cpu_millicores);
        sum.memory += u128::from(host.memory.0);
        sum.pods += 1;
        Some(shown(*sum))
    }

    /// Takes a pod away, and answers with the node's new sum; absent when no pod is left.
    pub(super) fn subtract(&mut self, node: &NodeName, host: HostRequest) -> Option<HostRequest> {
        let sum = self.sums.get_mut(node)?;
        sum.cpu_millicores = sum.cpu_millicores.saturating_sub(u128::from(host.cpu_millicores));
        sum.memory = sum.memory.saturating_sub(u128::from(host.memory.0));
        sum.pods = sum.pods.saturating_sub(1);
        if sum.pods == 0 {
            self.sums.remove(node);
            return None;
        }
        Some(shown(*sum))
    }
}

fn shown(sum: Sum) -> HostRequest {
    HostRequest {
        cpu_millicores: u64::try_from(sum.cpu_millicores).unwrap_or(u64::MAX),
        memory: Bytes(u64::try_from(sum.memory).unwrap_or(u64::MAX)),
        pods: u32::try_from(sum.pods).unwrap_or(u32::MAX),
    }
}
