//! WorkloadAutoscaler: how many replicas a workload has.

use kube_derive::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Condition;

/// How many replicas a workload has.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "gpu-autoscaler.io",
    version = "v1alpha1",
    kind = "WorkloadAutoscaler",
    namespaced,
    shortname = "gwa",
    category = "gpu-autoscaler",
    status = "WorkloadAutoscalerStatus",
    derive = "PartialEq",
    doc = "How many replicas a workload has.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Kind", "type": "string", "jsonPath": ".spec.workloadRef.kind"}"#,
    printcolumn = r#"{"name": "Workload", "type": "string", "jsonPath": ".spec.workloadRef.name"}"#,
    printcolumn = r#"{"name": "Min", "type": "integer", "jsonPath": ".spec.minReplicas"}"#,
    printcolumn = r#"{"name": "Max", "type": "integer", "jsonPath": ".spec.maxReplicas"}"#,
    printcolumn = r#"{"name": "Replicas", "type": "integer", "jsonPath": ".status.currentReplicas"}"#,
    printcolumn = r#"{"name": "Desired", "type": "integer", "jsonPath": ".status.desiredReplicas"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
#[x_kube(validation = Rule::new("self.minReplicas <= self.maxReplicas").message("minReplicas must not be above maxReplicas"))]
#[x_kube(validation = Rule::new("self.minReplicas >= 1 || (self.scaleToZero && has(self.wakeUpQuery))").message("minReplicas: 0 needs scaleToZero: true and a wakeUpQuery, or nothing would ever start the workload again"))]
#[x_kube(validation = Rule::new("has(self.targetGPUPercent) || has(self.targetGPUMemoryPercent) || has(self.targetCPUPercent) || has(self.targetMemoryPercent) || has(self.targetStorageReadThroughput) || has(self.targetStorageWriteThroughput) || has(self.targetStorageIOPS) || has(self.customQuery)").message("at least one target is needed, such as targetGPUPercent"))]
pub struct WorkloadAutoscalerSpec {
    pub workload_ref: WorkloadRef,
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10_000))]
    pub min_replicas: u32,
    #[schemars(range(min = 1, max = 10_000))]
    pub max_replicas: u32,
    /// Lets it go down to none while nothing asks for it.
    #[serde(default)]
    pub scale_to_zero: bool,
    /// A PromQL query; an answer above 0 wakes a workload of no replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub wake_up_query: Option<String>,
    #[serde(default, rename = "targetGPUPercent", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub target_gpu_percent: Option<u32>,
    #[serde(
        default,
        rename = "targetGPUMemoryPercent",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1, max = 100))]
    pub target_gpu_memory_percent: Option<u32>,
    /// Of what the pods ask for, so it may be above 100.
    #[serde(default, rename = "targetCPUPercent", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub target_cpu_percent: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub target_memory_percent: Option<u32>,
    /// MB/s of each replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub target_storage_read_throughput: Option<u64>,
    /// MB/s of each replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub target_storage_write_throughput: Option<u64>,
    /// Operations a second of each replica.
    #[serde(
        default,
        rename = "targetStorageIOPS",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1))]
    pub target_storage_iops: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_query: Option<CustomQuery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_up_policy: Option<ScalePolicy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_down_policy: Option<ScalePolicy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRef {
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    pub kind: WorkloadKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkloadKind {
    Deployment,
    StatefulSet,
    ReplicaSet,
}

/// A figure of your own from Prometheus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CustomQuery {
    /// PromQL that answers with one number, the sum over all replicas.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
    /// How much of it one replica should carry.
    #[schemars(extend("minimum" = 0, "exclusiveMinimum" = true))]
    pub target: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalePolicy {
    /// How long a wish must last before it is followed: 0 upwards and 300 downwards when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub stabilization_window_seconds: Option<u32>,
    /// The most replicas to add or take away at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_scale_change: Option<u32>,
}

#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct WorkloadAutoscalerStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_scale_time: Option<String>,
    #[serde(default)]
    pub scale_up_count: u64,
    #[serde(default)]
    pub scale_down_count: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

fn one() -> u32 {
    1
}
