//! CostAttribution: a standing question about costs, answered in its status.

use std::collections::BTreeMap;

use kube_derive::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, Usd};

/// A standing question about costs, answered in its status.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "gpu-autoscaler.io",
    version = "v1alpha1",
    kind = "CostAttribution",
    shortname = "gca",
    category = "gpu-autoscaler",
    status = "CostAttributionStatus",
    derive = "PartialEq",
    doc = "A standing question about costs, answered in its status.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Namespace", "type": "string", "jsonPath": ".spec.namespace"}"#,
    printcolumn = r#"{"name": "Team", "type": "string", "jsonPath": ".spec.team"}"#,
    printcolumn = r#"{"name": "Month", "type": "number", "jsonPath": ".status.monthlyCost"}"#,
    printcolumn = r#"{"name": "GPU hours", "type": "number", "jsonPath": ".status.gpuHours"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
#[x_kube(validation = Rule::new("has(self.namespace) || has(self.labels) || has(self.experimentID) || has(self.team) || has(self.project) || has(self.costCenter)").message("say whose costs: namespace, labels, experimentID, team, project or costCenter"))]
pub struct CostAttributionSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, rename = "experimentID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub experiment_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub team: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub cost_center: Option<String>,
    /// Words of your own that reports repeat.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    #[serde(default = "retention")]
    #[schemars(range(min = 1, max = 365))]
    pub retention_days: u32,
}

#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct CostAttributionStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hourly_cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monthly_cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_pods: Option<u32>,
    #[serde(default, rename = "activeGPUs", skip_serializing_if = "Option::is_none")]
    pub active_gpus: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_hours: Option<f64>,
    #[serde(default, rename = "costPerGPUHour", skip_serializing_if = "Option::is_none")]
    pub cost_per_gpu_hour: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_updated: Option<String>,
    /// The largest shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub breakdown: Vec<CostShare>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

/// One workload's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostShare {
    pub name: String,
    pub cost: Usd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_hours: Option<f64>,
}

fn retention() -> u32 {
    90
}
