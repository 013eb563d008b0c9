//! The published rules, as far as our columns meet them. They are asked of finished records and know nothing of how those
//! were made.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Column, Level, Record};
use crate::prices::parse_usd;

/// A rule that a record breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Counted from 0; absent where the rule is about several records.
    pub record: Option<usize>,
    pub column: Column,
    pub problem: String,
}

/// Checks every record, and every group of records that share an origin.
pub fn check(records: &[Record]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let mut found = |column: Column, problem: &str| {
            findings.push(Finding {
                record: Some(index),
                column,
                problem: problem.to_owned(),
            });
        };
        presence(record, &mut found);
        values(record, &mut found);
        periods(record, &mut found);
        pricing(record, &mut found);
        commitment(record, &mut found);
        allocation(record, &mut found);
    }
    findings.extend(origins(records));
    findings
}

type Found<'a> = dyn FnMut(Column, &str) + 'a;

fn presence(record: &Record, found: &mut Found<'_>) {
    for column in Column::ALL {
        if column.level() == Level::Required && record.get(*column).is_none() {
            found(*column, "is null and must not be");
        }
        if record.get(*column).is_some_and(str::is_empty) {
            found(*column, "is an empty text instead of null");
        }
    }
}

const DECIMALS: &[Column] = &[
    Column::BilledCost,
    Column::CommitmentDiscountQuantity,
    Column::ConsumedQuantity,
    Column::ContractedCost,
    Column::ContractedUnitPrice,
    Column::EffectiveCost,
    Column::ListCost,
    Column::ListUnitPrice,
    Column::PricingQuantity,
];

const CHOICES: &[(Column, &[&str])] = &[
    (
        Column::ChargeCategory,
        &["Usage", "Purchase", "Tax", "Credit", "Adjustment"],
    ),
    (Column::ChargeClass, &["Correction"]),
    (Column::ChargeFrequency, &["One-Time", "Recurring", "Usage-Based"]),
    (Column::CommitmentDiscountCategory, &["Spend", "Usage"]),
    (Column::CommitmentDiscountStatus, &["Used", "Unused"]),
    (
        Column::PricingCategory,
        &["Standard", "Dynamic", "Committed", "Other"],
    ),
    (Column::ServiceCategory, &["Compute"]),
    (Column::ServiceSubcategory, &["Virtual Machines"]),
    (Column::BillingCurrency, &["USD"]),
];

fn values(record: &Record, found: &mut Found<'_>) {
    for column in DECIMALS {
        // Plain digits: no exponent, no separators, no currency sign.
        let plain = |text: &str| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let points = digits.matches('.').count();
            let only = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            only && points <= 1 && digits.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        };
        if record.get(*column).is_some_and(|text| !plain(text)) {
            found(*column, "is not a plain decimal");
        }
    }
    for (column, allowed) in CHOICES {
        if record.get(*column).is_some_and(|text| !allowed.contains(&text)) {
            found(*column, "is not one of the allowed values");
        }
    }
    for column in [
        Column::AllocatedMethodDetails,
        Column::AllocatedTags,
        Column::SkuPriceDetails,
        Column::Tags,
    ] {
        let object = |text: &str| matches!(serde_json::from_str(text), Ok(Value::Object(_)));
        if record.get(column).is_some_and(|text| !object(text)) {
            found(column, "is not a JSON object");
        }
    }
    if let Some(Ok(Value::Object(details))) = record.get(Column::SkuPriceDetails).map(serde_json::from_str) {
        const DEFINED: &[&str] = &[
            "CoreCount",
            "GpuCount",
            "InstanceSeries",
            "InstanceType",
            "MemorySize",
        ];
        if details
            .keys()
            .any(|key| !DEFINED.contains(&key.as_str()) && !key.starts_with("x_"))
        {
            found(Column::SkuPriceDetails, "has a key of its own without `x_`");
        }
    }
}

fn periods(record: &Record, found: &mut Found<'_>) {
    let at = |column: Column| {
        let text = record.get(column)?;
        let exact = text.len() == 20 && text.ends_with('Z');
        exact.then(|| text.parse::<jiff::Timestamp>().ok()).flatten()
    };
    let ends = [
        Column::BillingPeriodStart,
        Column::BillingPeriodEnd,
        Column::ChargePeriodStart,
        Column::ChargePeriodEnd,
    ];
    for column in ends {
        if record.get(column).is_some() && at(column).is_none() {
            found(column, "is not YYYY-MM-DDTHH:mm:ssZ");
        }
    }
    if let [Some(billing), Some(billing_end), Some(start), Some(end)] = ends.map(at) {
        if billing_end <= billing || end <= start {
            found(Column::ChargePeriodEnd, "is not after its start");
        }
        if start < billing || end > billing_end {
            found(Column::ChargePeriodStart, "lies outside of the billing period");
        }
    }
}

fn pricing(record: &Record, found: &mut Found<'_>) {
    let is_null = |column: Column| record.get(column).is_none();
    let is_correction = !is_null(Column::ChargeClass);
    let by_sku = [
        Column::PricingCategory,
        Column::PricingQuantity,
        Column::ConsumedQuantity,
        Column::CommitmentDiscountQuantity,
        Column::SkuPriceDetails,
        Column::ListUnitPrice,
        Column::ContractedUnitPrice,
    ];
    if is_null(Column::SkuPriceId) {
        for column in by_sku.into_iter().filter(|column| !is_null(*column)) {
            found(column, "has a value without a SkuPriceId");
        }
    }
    if !is_correction {
        for column in [
            Column::SkuPriceId,
            Column::PricingCategory,
            Column::PricingQuantity,
        ] {
            if is_null(column) {
                found(column, "is null on a usage charge");
            }
        }
    }
    for (quantity, unit) in [
        (Column::PricingQuantity, Column::PricingUnit),
        (Column::ConsumedQuantity, Column::ConsumedUnit),
        (Column::CommitmentDiscountQuantity, Column::CommitmentDiscountUnit),
    ] {
        if !is_null(quantity) && is_null(unit) {
            found(unit, "is null beside a quantity");
        }
    }
    for (cost, price) in [
        (Column::ListCost, Column::ListUnitPrice),
        (Column::ContractedCost, Column::ContractedUnitPrice),
    ] {
        let product = product(record.get(price), record.get(Column::PricingQuantity));
        let cost_of = record.get(cost).and_then(|text| parse_usd(text).ok());
        if let (Some(product), Some(cost_of)) = (product, cost_of) {
            // Costs are whole billionths, divided by largest remainder: two roundings may lie between them.
            let off = (product - i128::from(cost_of.0)).abs();
            if off > 2 {
                found(cost, "is not its unit price times the pricing quantity");
            }
        }
    }
    if !is_null(Column::SkuPriceId) && is_null(Column::SkuId) {
        found(Column::SkuId, "is null beside a SkuPriceId");
    }
}

/// A price times a quantity in billionths, with all the decimals of the quantity.
fn product(price: Option<&str>, quantity: Option<&str>) -> Option<i128> {
    let price = i128::from(parse_usd(price?).ok()?.0);
    let (digits, negative) = match quantity?.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (quantity?, false),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let units = whole.parse::<i128>().ok()? * scale + format!("0{fraction}").parse::<i128>().ok()?;
    let product = (price * units + scale / 2).div_euclid(scale);
    Some(if negative { -product } else { product })
}

fn commitment(record: &Record, found: &mut Found<'_>) {
    let is_null = |column: Column| record.get(column).is_none();
    let columns = [
        Column::CommitmentDiscountCategory,
        Column::CommitmentDiscountQuantity,
        Column::CommitmentDiscountStatus,
        Column::CommitmentDiscountType,
        Column::CommitmentDiscountUnit,
    ];
    let has_one = !is_null(Column::CommitmentDiscountId);
    for column in columns {
        if has_one == is_null(column) {
            found(column, "does not go with the CommitmentDiscountId");
        }
    }
    let committed = record.get(Column::PricingCategory) == Some("Committed");
    if committed != has_one {
        found(
            Column::PricingCategory,
            "does not go with the CommitmentDiscountId",
        );
    }
    let unused = record.get(Column::CommitmentDiscountStatus) == Some("Unused");
    if unused && !is_null(Column::ConsumedQuantity) {
        found(Column::ConsumedQuantity, "is not null on an unused commitment");
    }
    if !unused && is_null(Column::ChargeClass) && is_null(Column::ConsumedQuantity) {
        found(Column::ConsumedQuantity, "is null on a usage charge");
    }
}

fn allocation(record: &Record, found: &mut Found<'_>) {
    let is_null = |column: Column| record.get(column).is_none();
    let is_split = !is_null(Column::AllocatedMethodId);
    for column in [
        Column::AllocatedMethodDetails,
        Column::AllocatedResourceId,
        Column::AllocatedResourceName,
        Column::AllocatedTags,
    ] {
        if !is_split && !is_null(column) {
            found(column, "has a value on a charge that is not split");
        }
    }
    if is_split && ratio(record).is_none() {
        found(
            Column::AllocatedMethodDetails,
            "has no `Elements` with an `AllocatedRatio`",
        );
    }
    if is_null(Column::AllocatedResourceId) && !is_null(Column::AllocatedTags) {
        found(Column::AllocatedTags, "has a value on the unallocated part");
    }
}

/// The ratio of a record in billionths, read from the text and not through a float.
fn ratio(record: &Record) -> Option<i64> {
    let text = record.get(Column::AllocatedMethodDetails)?;
    let Ok(Value::Object(details)) = serde_json::from_str(text) else {
        return None;
    };
    let elements = details.get("Elements")?.as_array()?;
    let mut sum = 0;
    for element in elements {
        let ratio = element.get("AllocatedRatio")?;
        let complete = element.get("UsageQuantity").is_none() || element.get("UsageUnit").is_some();
        if !ratio.is_number() || !complete {
            return None;
        }
        sum += parse_usd(&ratio.to_string()).ok()?.0;
    }
    Some(sum)
}

/// Columns that describe an origin and are the same on all of its parts.
const OF_ORIGIN: &[Column] = &[
    Column::AvailabilityZone,
    Column::ChargeDescription,
    Column::ContractedUnitPrice,
    Column::ListUnitPrice,
    Column::RegionId,
    Column::ResourceName,
    Column::ServiceName,
    Column::SkuId,
];

fn origins(records: &[Record]) -> Vec<Finding> {
    let mut groups: BTreeMap<Vec<Option<&str>>, Vec<&Record>> = BTreeMap::new();
    for record in records
        .iter()
        .filter(|record| record.get(Column::AllocatedMethodId).is_some())
    {
        // Charges and the corrections that take them back have the same origin columns, and different signs.
        let negative = record
            .get(Column::EffectiveCost)
            .is_some_and(|cost| cost.starts_with('-'));
        let key = [
            Column::ResourceId,
            Column::ChargePeriodStart,
            Column::ChargeClass,
            Column::SkuPriceId,
            Column::ListUnitPrice,
            Column::ContractedUnitPrice,
            Column::CommitmentDiscountId,
            Column::PriceSource,
            Column::PriceAsOf,
        ]
        .map(|column| record.get(column));
        let mut key = key.to_vec();
        key.push(Some(if negative { "-" } else { "+" }));
        groups.entry(key).or_default().push(record);
    }
    let mut findings = Vec::new();
    for parts in groups.into_values() {
        let sum: i64 = parts.iter().filter_map(|record| ratio(record)).sum();
        // Several corrections of one hour are several origins with the same columns.
        if sum == 0 || sum % 1_000_000_000 != 0 {
            findings.push(Finding {
                record: None,
                column: Column::AllocatedMethodDetails,
                problem: format!("ratios of one origin sum to {sum} billionths"),
            });
        }
        for column in OF_ORIGIN {
            if parts
                .iter()
                .any(|record| record.get(*column) != parts[0].get(*column))
            {
                findings.push(Finding {
                    record: None,
                    column: *column,
                    problem: "differs between parts of one origin".to_owned(),
                });
            }
        }
    }
    findings
}
