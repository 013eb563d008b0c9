//! The document of `GET /api/v1/cluster`: the fleet in a few numbers, its nodes and what waits for a place.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_model::{Bytes, FleetView, NodeView, Pod};
use jiff::Timestamp;
use serde::Serialize;

use super::source_word;
use super::totals::Totals;
use crate::names::NODE_POOL_LABEL;

/// The document as JSON text.
pub(crate) fn cluster(view: &FleetView) -> serde_json::Result<Vec<u8>> {
    let totals = Totals::of(view);
    serde_json::to_vec(&Document {
        timestamp: view.at,
        source: source_word(view.source),
        cluster: view.cluster.as_str(),
        gpus: Gpus {
            total: totals.gpus,
            allocated: totals.allocated,
            divided: totals.divided,
            failing: totals.failing,
        },
        utilization: totals.utilization.map(|mean| f64::from(mean.get()) / 10.0),
        memory: Memory {
            total: totals.memory_total.map(Bytes::whole_mib),
            used: totals.memory_used.map(Bytes::whole_mib),
        },
        power_usage: totals.power.map(|milliwatts| milliwatts as f64 / 1000.0),
        pods: Pods {
            running: totals.running_pods,
            pending: totals.pending_pods,
        },
        pending: view.pending.iter().take(MAX_PENDING).map(Pending::new).collect(),
        nodes: view.nodes.iter().map(Node::new).collect(),
    })
}

/// A backlog can be thousands of pods long; the oldest say what is wrong, and `pods.pending` counts all.
const MAX_PENDING: usize = 100;

#[derive(Serialize)]
struct Document<'a> {
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    cluster: &'a str,
    gpus: Gpus,
    /// Percent, the mean over the GPUs that report it.
    utilization: Option<f64>,
    memory: Memory,
    /// Watts.
    power_usage: Option<f64>,
    pods: Pods,
    pending: Vec<Pending<'a>>,
    nodes: Vec<Node<'a>>,
}

#[derive(Serialize)]
struct Gpus {
    total: usize,
    allocated: usize,
    divided: usize,
    failing: usize,
}

/// Megabytes of 2^20 bytes.
#[derive(Serialize)]
struct Memory {
    total: Option<u64>,
    used: Option<u64>,
}

#[derive(Serialize)]
struct Pods {
    running: usize,
    pending: usize,
}

#[derive(Serialize)]
struct Pending<'a> {
    namespace: &'a str,
    pod: &'a str,
    resource: &'a str,
    count: u32,
    since: Option<Timestamp>,
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    cloud: &'static str,
    instance_type: Option<&'a str>,
    region: Option<&'a str>,
    zone: Option<&'a str>,
    capacity_type: &'static str,
    pool: Option<&'a str>,
    models: BTreeSet<&'a str>,
    gpus: usize,
}

impl<'a> Pending<'a> {
    fn new(pod: &'a Arc<Pod>) -> Self {
        Self {
            namespace: pod.reference.namespace.as_str(),
            pod: pod.reference.name.as_str(),
            resource: pod.resource.as_str(),
            count: pod.count,
            since: pod.created_at,
        }
    }
}

impl<'a> Node<'a> {
    fn new(view: &'a NodeView) -> Self {
        let node = &view.node;
        Self {
            name: node.name.as_str(),
            cloud: node.cloud.as_str(),
            instance_type: node.instance_type.as_deref(),
            region: node.region.as_deref(),
            zone: node.zone.as_deref(),
            capacity_type: node.capacity_type.as_str(),
            pool: node.labels.get(NODE_POOL_LABEL).map(String::as_str),
            models: view.gpus.iter().map(|gpu| gpu.device.model.as_str()).collect(),
            gpus: view.gpus.len(),
        }
    }
}
