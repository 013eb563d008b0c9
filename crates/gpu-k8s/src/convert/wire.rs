//! The fields of objects that are read, and no others: what is not named here is skipped without being kept.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// Go writes an empty list as `null` in places where it is not left out.
fn null_is_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// An object of any kind, with the spec and status that matter.
#[derive(Deserialize)]
#[serde(bound = "S: Deserialize<'de> + Default, T: Deserialize<'de> + Default")]
pub(super) struct Object<S, T> {
    pub metadata: Metadata,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub spec: S,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub status: T,
}

#[derive(Default, Deserialize)]
pub(super) struct Nothing {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub name: String,
    pub namespace: Option<String>,
    #[serde(default)]
    pub uid: String,
    pub creation_timestamp: Option<Timestamp>,
    pub deletion_timestamp: Option<Timestamp>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    #[serde(default)]
    pub controller: Option<bool>,
}

/// A quantity as text; the API writes text, but numbers are allowed too.
#[derive(Debug, Clone)]
pub(super) struct Quantity(pub String);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNumber;
        impl Visitor<'_> for TextOrNumber {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                Ok(Quantity(text.to_owned()))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
                Ok(Quantity(number.to_string()))
            }
        }
        deserializer.deserialize_any(TextOrNumber)
    }
}

pub(super) type Quantities = BTreeMap<String, Quantity>;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub node_name: Option<String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub containers: Vec<Container>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub init_containers: Vec<Container>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub overhead: Quantities,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub resources: Resources,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub resource_claims: Vec<PodClaim>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    pub name: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub resources: Resources,
    pub restart_policy: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Resources {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub requests: Quantities,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub limits: Quantities,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub claims: Vec<ContainerClaim>,
}

#[derive(Deserialize)]
pub(super) struct ContainerClaim {
    pub name: String,
    pub request: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodClaim {
    pub name: String,
    pub resource_claim_name: Option<String>,
    pub resource_claim_template_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodStatus {
    pub phase: Option<String>,
    pub start_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub conditions: Vec<Condition>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub container_statuses: Vec<ContainerStatus>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub init_container_statuses: Vec<ContainerStatus>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub resource_claim_statuses: Vec<PodClaimStatus>,
}

#[derive(Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerStatus {
    pub name: String,
    #[serde(default)]
    pub restart_count: u32,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub state: ContainerState,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub allocated_resources: Quantities,
}

#[derive(Default, Deserialize)]
pub(super) struct ContainerState {
    pub waiting: Option<Waiting>,
}

#[derive(Deserialize)]
pub(super) struct Waiting {
    pub reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodClaimStatus {
    pub name: String,
    pub resource_claim_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSpec {
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    #[serde(default)]
    pub unschedulable: Option<bool>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub taints: Vec<NodeTaint>,
}

#[derive(Deserialize)]
pub(super) struct NodeTaint {
    pub key: String,
    pub value: Option<String>,
    pub effect: String,
}

#[derive(Default, Deserialize)]
pub(super) struct NodeStatus {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub capacity: Quantities,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub allocatable: Quantities,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
pub(super) struct Replicated {
    pub replicas: Option<u32>,
}

#[derive(Default, Deserialize)]
pub(super) struct ServiceSpec {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub selector: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
pub(super) struct BudgetSpec {
    pub selector: Option<LabelSelector>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BudgetStatus {
    /// Present once the controller has looked.
    pub observed_generation: Option<i64>,
    pub disruptions_allowed: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelector {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub match_expressions: Vec<LabelExpression>,
}

#[derive(Deserialize)]
pub(super) struct LabelExpression {
    pub key: String,
    pub operator: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub values: Vec<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct QuotaLists {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub hard: Quantities,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub used: Quantities,
}

#[derive(Default, Deserialize)]
pub(super) struct ClaimSpec {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub devices: ClaimDevices,
}

#[derive(Default, Deserialize)]
pub(super) struct ClaimDevices {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub requests: Vec<ClaimRequest>,
}

/// The first version has the fields of `exactly` at the place of `exactly`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClaimRequest {
    pub name: String,
    pub exactly: Option<ExactRequest>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub first_available: Vec<ExactRequest>,
    #[serde(flatten)]
    pub flat: ExactRequest,
}

#[derive(Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExactRequest {
    pub device_class_name: Option<String>,
    pub allocation_mode: Option<String>,
    pub count: Option<u32>,
}

#[derive(Default, Deserialize)]
pub(super) struct ClaimStatus {
    pub allocation: Option<Allocation>,
}

#[derive(Default, Deserialize)]
pub(super) struct Allocation {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub devices: AllocatedDevices,
}

#[derive(Default, Deserialize)]
pub(super) struct AllocatedDevices {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub results: Vec<AllocatedDevice>,
}

#[derive(Deserialize)]
pub(super) struct AllocatedDevice {
    pub request: String,
    pub driver: String,
}

#[derive(Default, Deserialize)]
pub(super) struct TemplateSpec {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub spec: ClaimSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClassSpec {
    #[serde(default, deserialize_with = "null_is_empty")]
    pub selectors: Vec<ClassSelector>,
    pub extended_resource_name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ClassSelector {
    pub cel: Option<CelSelector>,
}

#[derive(Deserialize)]
pub(super) struct CelSelector {
    pub expression: String,
}
