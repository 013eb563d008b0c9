//! Names of labels that more than one room reads.

/// The label by which nodes of one pool know each other.
pub(crate) const NODE_POOL_LABEL: &str = "gpu-autoscaler.io/node-pool";
