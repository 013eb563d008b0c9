//! Our own kinds, group `gpu-autoscaler.io/v1alpha1`. Their definitions in the chart are made from these types by a test
//! (`cargo xtask bless` writes them), so that what the API server accepts is what we can read.
#![expect(
    unreachable_pub,
    reason = "the derive writes public copies of our types into bodies of functions"
)]

mod attribution;
mod autoscaling;
mod budget;
mod sharing;
mod workload;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt as _;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use gpu_model::NanoUsd;

pub use attribution::{CostAttribution, CostAttributionSpec, CostAttributionStatus, CostShare};
pub use autoscaling::{
    AutoscalingPolicy, AutoscalingPolicySpec, AutoscalingPolicyStatus, CapacityChoice, NodeGroupRef,
    NodePool, NodePoolStatus, NodeTaint, Provider,
};
pub use budget::{
    Alert, BudgetAction, BudgetScope, Channel, ChannelType, CostBudget, CostBudgetSpec, CostBudgetStatus,
    Enforcement, SecretKey, Severity, Throttle,
};
pub use sharing::{
    GPUSharingPolicy, GPUSharingPolicySpec, GPUSharingPolicyStatus, LabelExpression, LabelSelector,
    MigConfig, MpsConfig, SharingStrategy, TimeSlicingConfig,
};
pub use workload::{
    CustomQuery, ScalePolicy, WorkloadAutoscaler, WorkloadAutoscalerSpec, WorkloadAutoscalerStatus,
    WorkloadKind, WorkloadRef,
};

/// The definitions of all our kinds.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        AutoscalingPolicy::crd(),
        CostAttribution::crd(),
        CostBudget::crd(),
        GPUSharingPolicy::crd(),
        WorkloadAutoscaler::crd(),
    ]
}

/// One aspect of an object's state, as everywhere in Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about, such as Ready.
    #[serde(rename = "type")]
    pub kind: String,
    pub status: ConditionStatus,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// When the status last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// The generation of the object that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// An amount of US dollars. It is written as a number and never kept as a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "f64")]
#[schemars(with = "f64")]
pub struct Usd(pub NanoUsd);

impl From<Usd> for f64 {
    /// For the API alone, whose numbers are floats; what is read back is the same amount.
    fn from(amount: Usd) -> f64 {
        let text = format!("{}.{:09}", amount.0.0 / NANOS, amount.0.0 % NANOS);
        text.parse().unwrap_or(f64::NAN)
    }
}

const NANOS: i64 = 1_000_000_000;

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        // The shortest text that means this number: up to fifteen digits it is what was written.
        let text = number.to_string();
        let nanos =
            nanos(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no amount of US dollars")))?;
        Ok(Self(NanoUsd(nanos)))
    }
}

fn nanos(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(NANOS)?
        .checked_add(fraction)
}

#[cfg(test)]
mod tests;
