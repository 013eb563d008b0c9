//! The words and numbers of a record.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpu_model::{CapacityType, Cloud};
use jiff::tz::TimeZone;

use crate::{Holder, Machine, Moment, Part, ShareBasis};

/// A number of smallest units as a decimal: `1500000000` with nine decimals is `1.5`.
pub(super) fn decimal(units: i128, decimals: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", units.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

/// `2026-11-16T00:00:00Z`, to the second, as the format wants it.
pub(super) fn instant(at: Moment) -> String {
    at.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The calendar month in which an instant lies: the billing period of all three clouds.
pub(super) fn month(at: Moment) -> (Moment, Moment) {
    let date = at.timestamp().to_zoned(TimeZone::UTC).date();
    let first = date.first_of_month();
    let next = date.last_of_month().tomorrow().unwrap_or(date);
    let midnight = |date: jiff::civil::Date| {
        let zoned = date.to_zoned(TimeZone::UTC);
        zoned.map_or(at, |zoned| Moment::from(zoned.timestamp()))
    };
    (midnight(first), midnight(next))
}

pub(super) fn provider(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::Aws => "Amazon Web Services",
        Cloud::Gcp => "Google Cloud",
        Cloud::Azure => "Microsoft Azure",
        Cloud::OnPremises => "Own data centre",
    }
}

pub(super) fn service(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::Aws => "Amazon Elastic Compute Cloud",
        Cloud::Gcp => "Compute Engine",
        Cloud::Azure => "Virtual Machines",
        Cloud::OnPremises => "GPU servers",
    }
}

/// What is bought: the same for every account and at every time.
pub(super) fn sku(machine: &Machine) -> String {
    let name = machine.instance_type.as_deref().or(machine.pool.as_deref());
    let name = name.unwrap_or("machine");
    let region = machine.region.as_deref().unwrap_or("own");
    format!("{}/{name}/{region}", machine.cloud.as_str())
}

pub(super) fn description(machine: &Machine) -> String {
    let name = machine.instance_type.as_deref().unwrap_or("machine");
    let place = machine.region.as_deref().unwrap_or("own data centre");
    format!("{name} in {place}, {}", machine.capacity.as_str())
}

pub(super) fn sku_details(machine: &Machine) -> String {
    let mut fields: BTreeMap<&str, serde_json::Value> = BTreeMap::new();
    if let Some(name) = &machine.instance_type {
        fields.insert("InstanceType", name.as_str().into());
    }
    if let Some(gpus) = machine.gpus {
        fields.insert("GpuCount", gpus.into());
    }
    if let Some(vcpus) = machine.vcpus {
        fields.insert("CoreCount", vcpus.into());
    }
    if let Some(memory) = machine.memory {
        fields.insert("MemorySize", (memory.0 >> 30).into());
    }
    if let Some(model) = &machine.gpu_model {
        fields.insert("x_GpuModel", model.as_str().into());
    }
    serde_json::to_string(&fields).unwrap_or_else(|_| "{}".to_owned())
}

pub(super) fn pricing_category(capacity: CapacityType, is_committed: bool) -> &'static str {
    match (capacity, is_committed) {
        (_, true) => "Committed",
        (CapacityType::Spot, false) => "Dynamic",
        (CapacityType::OnDemand | CapacityType::Reserved, false) => "Standard",
        (CapacityType::Owned, false) => "Other",
    }
}

/// The id of the rule by which a row got its share; the catalogue of methods is part of the documentation.
pub(super) fn method(part: Part, basis: ShareBasis) -> &'static str {
    match part {
        Part::Pod => basis.as_str(),
        Part::Idle => "idle-unallocated",
        Part::System => "node-system",
        Part::Boot => "node-boot",
        Part::Drain => "node-drain",
        Part::Unknown => "node-unknown",
        Part::UnusedCommitment => "commitment-unused",
    }
}

/// How the share was found: the ratio, and the GPU time where the row has some.
pub(super) fn method_details(billionths: i64, gpu_hours: Option<&str>) -> String {
    let mut text = format!(
        "{{\"Elements\":[{{\"AllocatedRatio\":{}",
        decimal(i128::from(billionths), 9)
    );
    if let Some(hours) = gpu_hours {
        // Writing to a string cannot fail.
        let _ = write!(text, ",\"UsageUnit\":\"GPU-Hours\",\"UsageQuantity\":{hours}");
    }
    text.push_str("}]}");
    text
}

/// Labels under their own names; what we worked out under our prefix.
pub(super) fn tags(holder: &Holder) -> String {
    let names = &holder.dimensions;
    let mut tags: BTreeMap<String, &str> = BTreeMap::new();
    for (name, value) in &names.labels {
        tags.insert(name.clone(), value);
    }
    let owner = names
        .owner
        .as_ref()
        .map(|owner| format!("{}/{}", owner.kind, owner.name));
    let retry = names.retry.map(|retry| retry.to_string());
    for (name, value) in [
        ("namespace", Some(holder.namespace.as_str())),
        ("team", names.team.as_deref()),
        ("project", names.project.as_deref()),
        ("cost-center", names.cost_center.as_deref()),
        ("experiment-id", names.experiment_id.as_deref()),
        ("owner", owner.as_deref()),
        ("workflow", names.workflow.as_deref()),
        ("step", names.step.as_deref()),
        ("retry", retry.as_deref()),
        ("application", names.application.as_deref()),
    ] {
        if let Some(value) = value {
            tags.insert(format!("gpu-autoscaler.io/{name}"), value);
        }
    }
    serde_json::to_string(&tags).unwrap_or_else(|_| "{}".to_owned())
}
