//! AutoscalingPolicy: which node pools there are and how they may grow and shrink.

use std::collections::BTreeMap;

use kube_derive::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, Usd};

/// How the pools of GPU nodes grow and shrink.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "gpu-autoscaler.io",
    version = "v1alpha1",
    kind = "AutoscalingPolicy",
    plural = "autoscalingpolicies",
    shortname = "gap",
    category = "gpu-autoscaler",
    status = "AutoscalingPolicyStatus",
    derive = "PartialEq",
    doc = "How the pools of GPU nodes grow and shrink.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Provider", "type": "string", "jsonPath": ".spec.provider"}"#,
    printcolumn = r#"{"name": "Enabled", "type": "boolean", "jsonPath": ".spec.enabled"}"#,
    printcolumn = r#"{"name": "Nodes", "type": "integer", "jsonPath": ".status.currentNodes"}"#,
    printcolumn = r#"{"name": "Desired", "type": "integer", "jsonPath": ".status.desiredNodes"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
#[x_kube(validation = Rule::new("self.minNodes <= self.maxNodes").message("minNodes must not be above maxNodes"))]
#[x_kube(validation = Rule::new("self.scaleDownThreshold < self.scaleUpThreshold").message("scaleDownThreshold must be below scaleUpThreshold, or the cluster would grow and shrink for ever"))]
pub struct AutoscalingPolicySpec {
    /// Off means that nothing is decided by this policy.
    #[serde(default = "yes")]
    pub enabled: bool,
    pub provider: Provider,
    /// Grow when this share of the GPUs is in use, 0 to 1.
    #[serde(default = "scale_up_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub scale_up_threshold: f64,
    /// Shrink when less than this share is in use, 0 to 1.
    #[serde(default = "scale_down_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub scale_down_threshold: f64,
    #[serde(default = "scale_up_cooldown")]
    #[schemars(range(min = 0, max = 86_400))]
    pub scale_up_cooldown_seconds: u32,
    #[serde(default = "scale_down_cooldown")]
    #[schemars(range(min = 0, max = 86_400))]
    pub scale_down_cooldown_seconds: u32,
    /// How long a pod waits before a node is added for it.
    #[serde(default = "pending_pod_timeout")]
    #[schemars(range(min = 0, max = 86_400))]
    pub pending_pod_timeout_seconds: u32,
    #[serde(default)]
    #[schemars(range(min = 0, max = 15_000))]
    pub min_nodes: u32,
    #[serde(default = "max_nodes")]
    #[schemars(range(min = 0, max = 15_000))]
    pub max_nodes: u32,
    /// The share of nodes that may be spot, 0 to 1.
    #[serde(default = "spot_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub spot_instance_percentage: f64,
    #[serde(default = "yes")]
    pub enable_spot_instances: bool,
    /// What is already paid for first: reserved, then spot where pods allow it, then on demand.
    #[serde(default = "yes")]
    pub enable_multi_tier_scaling: bool,
    #[serde(default)]
    pub enable_predictive_scaling: bool,
    /// Only nodes with these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub node_pools: Vec<NodePool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    Aws,
    Gcp,
    Azure,
    /// A gRPC service of your own.
    Custom,
    Kwok,
    /// Decides and does nothing.
    DryRun,
}

/// Nodes of one sort.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
#[x_kube(validation = Rule::new("self.minSize <= self.maxSize").message("minSize must not be above maxSize"))]
pub struct NodePool {
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    #[serde(default)]
    #[schemars(range(min = 0, max = 15_000))]
    pub min_size: u32,
    #[schemars(range(min = 0, max = 15_000))]
    pub max_size: u32,
    /// Such as H100 or nvidia-l4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub instance_types: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_type: Option<CapacityChoice>,
    /// The share of this pool's nodes that may be spot, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub spot_percentage: Option<f64>,
    /// The most to pay for an hour of a spot machine, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub spot_max_price: Option<Usd>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub taints: Vec<NodeTaint>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub availability_zones: Vec<String>,
    /// The cloud's own groups of this pool, one for each type, zone and market.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub groups: Vec<NodeGroupRef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityChoice {
    Spot,
    OnDemand,
    Reserved,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTaint {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    pub effect: String,
}

/// An Auto Scaling group, an instance group, a scale set or an AKS agent pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGroupRef {
    /// The cloud's name or id of the group.
    #[schemars(length(min = 1, max = 512))]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_type: Option<CapacityChoice>,
}

#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct AutoscalingPolicyStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_nodes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_nodes: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub node_pools: Vec<NodePoolStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_scale_up_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_scale_down_time: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    pub name: String,
    pub current_nodes: u32,
    pub desired_nodes: u32,
}

fn yes() -> bool {
    true
}

fn scale_up_threshold() -> f64 {
    0.8
}

fn scale_down_threshold() -> f64 {
    0.2
}

fn scale_up_cooldown() -> u32 {
    180
}

fn scale_down_cooldown() -> u32 {
    600
}

fn pending_pod_timeout() -> u32 {
    120
}

fn max_nodes() -> u32 {
    100
}

fn spot_share() -> f64 {
    0.6
}
