//! GPUSharingPolicy: how pods may share GPUs.

use std::collections::BTreeMap;

use kube_derive::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Condition;

/// How pods may share GPUs.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "gpu-autoscaler.io",
    version = "v1alpha1",
    kind = "GPUSharingPolicy",
    plural = "gpusharingpolicies",
    shortname = "gsp",
    category = "gpu-autoscaler",
    status = "GPUSharingPolicyStatus",
    derive = "PartialEq",
    doc = "How pods may share GPUs.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Strategy", "type": "string", "jsonPath": ".spec.strategy"}"#,
    printcolumn = r#"{"name": "Priority", "type": "integer", "jsonPath": ".spec.priority"}"#,
    printcolumn = r#"{"name": "Pods", "type": "integer", "jsonPath": ".status.appliedPods"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
#[x_kube(validation = Rule::new("!has(self.migConfig) || self.strategy in ['mig', 'auto']").message("migConfig has a meaning only with the strategy mig or auto"))]
#[x_kube(validation = Rule::new("!has(self.mpsConfig) || self.strategy in ['mps', 'auto']").message("mpsConfig has a meaning only with the strategy mps or auto"))]
#[x_kube(validation = Rule::new("!has(self.timeSlicingConfig) || self.strategy in ['timeslicing', 'auto']").message("timeSlicingConfig has a meaning only with the strategy timeslicing or auto"))]
#[x_kube(validation = Rule::new("self.strategy != 'mig' || (has(self.migConfig) && (has(self.migConfig.profile) || self.migConfig.autoSelectProfile))").message("the strategy mig needs migConfig.profile, or migConfig.autoSelectProfile: true"))]
pub struct GPUSharingPolicySpec {
    pub strategy: SharingStrategy,
    /// Only nodes with these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Only pods of namespaces with these labels; all when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Only pods with these labels; all when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    /// Where several policies mean a pod, the highest wins.
    #[serde(default)]
    pub priority: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig_config: Option<MigConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mps_config: Option<MpsConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_slicing_config: Option<TimeSlicingConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SharingStrategy {
    Mig,
    Mps,
    Timeslicing,
    Exclusive,
    Auto,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigConfig {
    /// Such as 1g.10gb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^([0-9]+c\.)?[0-9]+g\.[0-9]+gb(\+[a-z0-9.]+)?$"))]
    pub profile: Option<String>,
    /// Chooses the smallest slice that a pod's past use fits into.
    #[serde(default)]
    pub auto_select_profile: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MpsConfig {
    #[serde(default = "max_clients")]
    #[schemars(range(min = 1, max = 48))]
    pub max_clients: u32,
    /// Percent of a GPU's threads that a client may use.
    #[serde(default = "active_threads")]
    #[schemars(range(min = 1, max = 100))]
    pub default_active_threads: u32,
    /// Device memory that a client may use.
    #[serde(default, rename = "memoryLimitMB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub memory_limit_mb: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSlicingConfig {
    #[serde(default = "replicas_per_gpu", rename = "replicasPerGPU")]
    #[schemars(range(min = 1, max = 16))]
    pub replicas_per_gpu: u32,
}

/// As everywhere in Kubernetes: all parts must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub match_expressions: Vec<LabelExpression>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelExpression {
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    #[schemars(regex(pattern = r"^(In|NotIn|Exists|DoesNotExist)$"))]
    pub operator: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct GPUSharingPolicyStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_pods: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

fn max_clients() -> u32 {
    16
}

fn active_threads() -> u32 {
    100
}

fn replicas_per_gpu() -> u32 {
    4
}
