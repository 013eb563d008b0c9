//! What detection knows besides samples: the cluster, prices, and what workloads usually do.

use std::collections::BTreeMap;

use gpu_model::{ClusterPicture, NanoUsd, NodeName};

use crate::Patterns;

#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Absent for fleets without Kubernetes: rules that need it stay silent.
    pub picture: Option<&'a ClusterPicture>,
    /// What a GPU of each node costs now, from the ledger's prices.
    pub rates: &'a BTreeMap<NodeName, GpuRate>,
    pub patterns: Option<&'a Patterns>,
}

/// The price of one whole GPU of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuRate {
    pub per_gpu_hour: Option<NanoUsd>,
    /// Which price it is, or why there is none.
    pub note: String,
}
