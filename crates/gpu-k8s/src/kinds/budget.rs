//! CostBudget: how much may be spent, who is told and what happens then.

use std::collections::BTreeMap;

use kube_derive::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Condition, Usd};

/// How much may be spent in a month.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "gpu-autoscaler.io",
    version = "v1alpha1",
    kind = "CostBudget",
    shortname = "gcb",
    category = "gpu-autoscaler",
    status = "CostBudgetStatus",
    derive = "PartialEq",
    doc = "How much may be spent in a month.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Limit", "type": "number", "jsonPath": ".spec.monthlyLimit"}"#,
    printcolumn = r#"{"name": "Spent", "type": "number", "jsonPath": ".status.currentSpend"}"#,
    printcolumn = r#"{"name": "Used %", "type": "number", "jsonPath": ".status.percentUsed"}"#,
    printcolumn = r#"{"name": "Status", "type": "string", "jsonPath": ".status.budgetStatus"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct CostBudgetSpec {
    /// In US dollars.
    #[x_kube(validation = Rule::new("self > 0.0").message("monthlyLimit must be above 0; to spend nothing, use enforcement instead"))]
    pub monthly_limit: Usd,
    /// Whose spending; everybody's when it is left out.
    #[serde(default)]
    pub scope: BudgetScope,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub alerts: Vec<Alert>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
    /// The first day that counts, such as 2026-07-01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.*)?$"))]
    pub start_date: Option<String>,
    #[serde(default = "yes")]
    pub enabled: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetScope {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500))]
    pub namespaces: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500))]
    pub teams: Vec<String>,
    #[serde(default, rename = "experimentID", skip_serializing_if = "Option::is_none")]
    pub experiment_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Percent of the limit.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub threshold_percent: f64,
    #[serde(default)]
    pub severity: Severity,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub channels: Vec<Channel>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    #[default]
    Warning,
    Critical,
}

/// Where to tell it. Secrets belong into configSecretRefs, never into config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Channel {
    #[serde(rename = "type")]
    pub kind: ChannelType,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config_secret_refs: BTreeMap<String, SecretKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelType {
    Slack,
    Email,
    Pagerduty,
    Webhook,
}

/// A key of a Secret in the program's own namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKey {
    pub name: String,
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Enforcement {
    pub action: BudgetAction,
    #[serde(default = "grace_period")]
    #[schemars(range(min = 0, max = 43_200))]
    pub grace_period_minutes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle_config: Option<Throttle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BudgetAction {
    Alert,
    Throttle,
    Block,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Throttle {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_spot_instances: Option<u32>,
    #[serde(default)]
    pub block_spot_creation: bool,
    #[serde(default)]
    pub prefer_on_demand: bool,
}

#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct CostBudgetStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// In US dollars, since the beginning of the month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_spend: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_used: Option<f64>,
    /// ok, warning or exceeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_status: Option<String>,
    /// What the month will have cost, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Usd>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

fn yes() -> bool {
    true
}

fn grace_period() -> u32 {
    60
}
