//! From rows of the ledger to records: origin by origin, so that everything sums up.

use std::collections::BTreeMap;

use gpu_model::Cloud;

use super::texts;
use super::{Column, Record};
use crate::apportion::apportion;
use crate::prices::{Commitment, CommitmentKind};
use crate::{
    Amounts, CommitmentName, Entry, Grain, LedgerRow, Machine, Moment, Part, PriceNote, Slot, Span, Subject,
};

/// Whose bill it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub id: String,
    pub name: Option<String>,
    /// Billing periods that end up to here are closed: what changes in them is a correction.
    pub closed_before: Moment,
}

/// The records, and what cannot be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    pub records: Vec<Record>,
    /// Rows without a price: the format has no cost that is unknown, and an unknown cost is not 0.
    pub unpriced: usize,
}

/// What makes rows parts of the same origin charge. The rows of a reversal are an origin of their own.
type Origin<'a> = (&'a Subject, Moment, &'a PriceNote, u32, bool);

/// Maps rows of the ledger. They may come in any order, charges and reversals mixed; give whole hours, or the ratios of an
/// hour speak of the part that was given.
pub fn export(rows: &[LedgerRow], account: &Account, commitments: &[Commitment]) -> Export {
    let mut origins: BTreeMap<Origin<'_>, Vec<(&LedgerRow, Amounts)>> = BTreeMap::new();
    let mut unpriced = 0;
    for row in rows {
        let Some(amounts) = row.amounts else {
            unpriced += 1;
            continue;
        };
        let hour = Grain::Hour.bucket(row.span.start).start;
        let is_reversal = row.entry != Entry::Charge;
        let origin = (&row.subject, hour, &row.price, row.revision, is_reversal);
        origins.entry(origin).or_default().push((row, amounts));
    }
    let mut records = Vec::with_capacity(rows.len());
    for ((subject, hour, price, revision, _), mut parts) in origins {
        parts.sort_by_key(|(row, _)| row.key);
        let period = Grain::Hour.bucket(hour);
        let mut origin = Record::default();
        describe_time(&mut origin, account, period, revision);
        describe_subject(&mut origin, subject);
        describe_price(&mut origin, subject, price, commitments);
        records.extend(split(&origin, subject, price, &parts));
    }
    Export { records, unpriced }
}

fn describe_time(record: &mut Record, account: &Account, period: Span, revision: u32) {
    let (month, next_month) = texts::month(period.start);
    record.put(Column::BillingAccountId, &account.id);
    record.set(Column::BillingAccountName, account.name.clone());
    record.put(Column::BillingCurrency, "USD");
    record.set(Column::BillingPeriodStart, texts::instant(month));
    record.set(Column::BillingPeriodEnd, texts::instant(next_month));
    record.set(Column::ChargePeriodStart, texts::instant(period.start));
    record.set(Column::ChargePeriodEnd, texts::instant(period.end));
    record.put(Column::ChargeCategory, "Usage");
    record.put(Column::ChargeFrequency, "Usage-Based");
    if revision > 0 && next_month <= account.closed_before {
        record.put(Column::ChargeClass, "Correction");
    }
}

fn describe_subject(record: &mut Record, subject: &Subject) {
    match subject {
        Subject::Machine(machine) => describe_machine(record, machine),
        Subject::Commitment(commitment) => describe_commitment(record, commitment),
    }
    record.put(Column::ServiceCategory, "Compute");
    record.put(Column::ServiceSubcategory, "Virtual Machines");
}

fn describe_machine(record: &mut Record, machine: &Machine) {
    describe_provider(record, machine.cloud);
    record.put(Column::ResourceId, machine.id.as_str());
    record.put(Column::ResourceName, machine.node.as_str());
    record.put(Column::ResourceType, "Virtual Machine");
    record.set(Column::RegionId, machine.region.clone());
    record.set(Column::AvailabilityZone, machine.zone.clone());
    let sku = texts::sku(machine);
    record.set(Column::SkuPriceId, format!("{sku}/{}", machine.capacity.as_str()));
    record.set(Column::SkuId, sku);
    record.put(Column::SkuMeter, "Machine hours");
    record.set(Column::SkuPriceDetails, texts::sku_details(machine));
    record.set(Column::ChargeDescription, texts::description(machine));
}

fn describe_commitment(record: &mut Record, commitment: &CommitmentName) {
    describe_provider(record, commitment.cloud);
    record.put(Column::ResourceId, &commitment.id);
    record.put(Column::ResourceName, &commitment.id);
    record.put(Column::ResourceType, "Commitment");
    record.set(Column::RegionId, commitment.region.clone());
    let name = commitment.instance_type.as_deref().unwrap_or("any machine");
    let sku = format!("{}/commitment/{name}", commitment.cloud.as_str());
    record.set(Column::SkuPriceId, sku.clone());
    record.set(Column::SkuId, sku);
    record.put(Column::SkuMeter, "Committed hours");
    record.set(
        Column::ChargeDescription,
        format!("unused part of the commitment for {name}"),
    );
}

fn describe_provider(record: &mut Record, cloud: Cloud) {
    record.put(Column::ServiceProviderName, texts::provider(cloud));
    record.put(Column::HostProviderName, texts::provider(cloud));
    record.put(Column::InvoiceIssuerName, texts::provider(cloud));
    record.put(Column::ServiceName, texts::service(cloud));
}

fn describe_price(record: &mut Record, subject: &Subject, price: &PriceNote, commitments: &[Commitment]) {
    let PriceNote::Priced {
        rate,
        list,
        source,
        as_of,
        capacity,
        commitment,
        ..
    } = price
    else {
        return;
    };
    let usd = |amount: gpu_model::NanoUsd| texts::decimal(i128::from(amount.0), 9);
    record.put(
        Column::PricingCategory,
        texts::pricing_category(*capacity, commitment.is_some()),
    );
    record.put(Column::PricingUnit, "Hours");
    record.set(Column::ListUnitPrice, usd(*list));
    // What was negotiated holds without a commitment; a commitment's rate is not a contracted price.
    let contracted = if commitment.is_some() { list } else { rate };
    record.set(Column::ContractedUnitPrice, usd(*contracted));
    record.put(Column::PriceSource, source.as_str());
    record.set(Column::PriceAsOf, texts::instant(*as_of));
    let Some(id) = commitment else { return };
    let kind = commitments.iter().find(|known| known.name.id == *id);
    let (category, unit, kind) = match kind.map(|known| &known.kind) {
        Some(CommitmentKind::Spend { .. }) => ("Spend", "USD", "Savings Plan"),
        Some(CommitmentKind::Machines { .. }) | None => ("Usage", "Hours", "Reservation"),
    };
    record.put(Column::CommitmentDiscountId, id);
    record.put(Column::CommitmentDiscountCategory, category);
    record.put(Column::CommitmentDiscountType, kind);
    record.put(Column::CommitmentDiscountUnit, unit);
    let status = match subject {
        Subject::Machine(_) => "Used",
        Subject::Commitment(_) => "Unused",
    };
    record.put(Column::CommitmentDiscountStatus, status);
}

/// Decimals of a quantity in hours: enough that a price times it is the cost to the last billionth.
const HOUR_DECIMALS: usize = 15;
const GPU_HOUR_DECIMALS: usize = 9;

/// The allocated charges of one origin.
fn split(
    origin: &Record,
    subject: &Subject,
    price: &PriceNote,
    parts: &[(&LedgerRow, Amounts)],
) -> Vec<Record> {
    let weights = |value: fn(&Amounts, &LedgerRow) -> i64| -> Vec<u64> {
        parts
            .iter()
            .map(|(row, amounts)| value(amounts, row).unsigned_abs())
            .collect()
    };
    let mut by_cost = weights(|amounts, _| amounts.allocated.0);
    if by_cost.iter().all(|weight| *weight == 0) {
        by_cost = weights(|_, row| row.span.milliseconds());
    }
    let ratios = apportion(1_000_000_000, &by_cost);
    let hours = quantities(parts, price);
    let gpu_hours = gpu_hours(parts);
    let mut records = Vec::with_capacity(parts.len());
    for (index, (row, amounts)) in parts.iter().enumerate() {
        let mut record = origin.clone();
        costs(&mut record, price, amounts);
        record.set(
            Column::PricingQuantity,
            texts::decimal(hours[index], HOUR_DECIMALS),
        );
        let is_gpu = row.time.held_ms != 0;
        let held = texts::decimal(gpu_hours[index], GPU_HOUR_DECIMALS);
        if let Subject::Machine(_) = subject {
            record.set(Column::ConsumedQuantity, held.clone());
            record.put(Column::ConsumedUnit, "GPU-Hours");
            let details = texts::method_details(ratios[index], is_gpu.then_some(held.as_str()));
            record.set(Column::AllocatedMethodDetails, details);
            record.put(Column::AllocatedMethodId, texts::method(row.part, row.basis));
        }
        if record.get(Column::CommitmentDiscountId).is_some() {
            let quantity = if record.get(Column::CommitmentDiscountUnit) == Some("USD") {
                texts::decimal(i128::from(amounts.allocated.0), 9)
            } else {
                texts::decimal(hours[index], HOUR_DECIMALS)
            };
            record.set(Column::CommitmentDiscountQuantity, quantity);
        }
        describe_row(&mut record, row, amounts);
        records.push(record);
    }
    records
}

fn costs(record: &mut Record, price: &PriceNote, amounts: &Amounts) {
    let usd = |amount: i64| texts::decimal(i128::from(amount), 9);
    let is_committed = matches!(
        price,
        PriceNote::Priced {
            commitment: Some(_),
            ..
        }
    );
    record.set(Column::EffectiveCost, usd(amounts.allocated.0));
    record.set(Column::ListCost, usd(amounts.list.0));
    // What a commitment covers is billed where the commitment is bought, which is not a row of ours.
    let (billed, contracted) = if is_committed {
        (0, amounts.list.0)
    } else {
        (amounts.allocated.0, amounts.allocated.0)
    };
    record.set(Column::BilledCost, usd(billed));
    record.set(Column::ContractedCost, usd(contracted));
    record.set(Column::UsedCost, usd(amounts.used.0));
    record.set(Column::UnusedCost, usd(amounts.unused.0));
    record.set(Column::UnmeasuredCost, usd(amounts.unmeasured.0));
}

fn describe_row(record: &mut Record, row: &LedgerRow, amounts: &Amounts) {
    record.put(Column::ClusterId, row.cluster.as_str());
    record.put(Column::Part, row.part.as_str());
    record.set(Column::RowKey, row.key.to_string());
    let assumed = matches!(row.price, PriceNote::Priced { estimate: true, .. });
    let estimate = row.basis.is_estimate() || assumed;
    record.put(Column::Estimate, if estimate { "true" } else { "false" });
    if let Slot::Gpu { gpu, partition } = &row.slot {
        record.put(Column::GpuUuid, gpu.as_str());
        record.set(Column::Partition, partition.as_ref().map(ToString::to_string));
    }
    debug_assert!(amounts.allocated.0 == amounts.used.0 + amounts.unused.0 + amounts.unmeasured.0);
    if let (Part::Pod | Part::System, Some(holder)) = (row.part, &row.holder) {
        record.put(Column::AllocatedResourceId, holder.uid.as_str());
        record.set(
            Column::AllocatedResourceName,
            format!("{}/{}", holder.namespace, holder.pod),
        );
        record.set(Column::AllocatedTags, texts::tags(holder));
        record.put(Column::Namespace, holder.namespace.as_str());
    }
}

/// The priced hours of every part, such that the unit price times them is the list cost.
fn quantities(parts: &[(&LedgerRow, Amounts)], price: &PriceNote) -> Vec<i128> {
    let rate = price.list().map_or(0, |list| i128::from(list.0));
    parts
        .iter()
        .map(|(_, amounts)| {
            if rate == 0 {
                return 0;
            }
            let exact = i128::from(amounts.list.0) * 10i128.pow(15);
            (exact + rate / 2).div_euclid(rate)
        })
        .collect()
}

/// GPU time in hours: every part rounded by itself would not sum to the origin, so the whole is rounded and divided.
fn gpu_hours(parts: &[(&LedgerRow, Amounts)]) -> Vec<i128> {
    const HOUR_MS: i128 = 3_600_000;
    let held: Vec<i64> = parts.iter().map(|(row, _)| row.time.held_ms).collect();
    let total: i128 = held.iter().map(|held| i128::from(*held)).sum();
    let units = total * 10i128.pow(9) / HOUR_MS;
    let weights: Vec<u64> = held.iter().map(|held| held.unsigned_abs()).collect();
    let units = i64::try_from(units).unwrap_or(0);
    apportion(units, &weights).into_iter().map(i128::from).collect()
}
