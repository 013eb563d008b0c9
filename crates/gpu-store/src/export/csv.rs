//! The ledger as a table for people.

use gpu_cost::{Amounts, Entry, Grain, LedgerRow, PriceNote};
use gpu_model::NanoUsd;

use super::RowFormat;
use crate::ledger::{Dimension, Dimensions, Measures, Sums};
use crate::query::SetSum;

/// One line of CSV as RFC 4180 has it. A cell that a spreadsheet would take for a formula is quoted by an apostrophe.
pub(super) fn write_cells(line: &mut String, cells: &[Option<String>]) {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        let Some(cell) = cell else { continue };
        let is_number = cell.parse::<f64>().is_ok();
        let guard = if !is_number && cell.starts_with(['=', '+', '-', '@']) {
            "'"
        } else {
            ""
        };
        if cell.contains(['"', ',', '\n', '\r']) || cell.is_empty() {
            line.push('"');
            line.push_str(guard);
            line.push_str(&cell.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(guard);
            line.push_str(cell);
        }
    }
    line.push_str("\r\n");
}

/// Every column that the ledger has. Money is in dollars with nine decimals, exactly. `kept-as` says whether a line is a row, or the sum
/// that is left of rows; a sum has no key, phase and basis, and a sum of a day no price.
#[derive(Debug, Clone, Copy)]
pub struct Csv;

impl RowFormat for Csv {
    fn columns(&self) -> Vec<String> {
        let fixed = [
            "start",
            "end",
            "key",
            "reverses",
            "part",
            "phase",
            "basis",
            "gpu-ms",
            "gpu-used-ms",
            "gpu-unmeasured-ms",
            "list-usd",
            "allocated-usd",
            "used-usd",
            "unused-usd",
            "unmeasured-usd",
            "price-source",
            "gpu-unpriced-ms",
            "estimated-usd",
            "kept-as",
        ];
        let dimensions = Dimension::FIXED
            .iter()
            .map(|dimension| dimension.name().into_owned());
        fixed
            .iter()
            .map(|name| (*name).to_owned())
            .chain(dimensions)
            .chain(["labels".to_owned()])
            .collect()
    }

    fn cells(&self, row: &LedgerRow) -> Vec<Option<String>> {
        let all = Measures::of(row).within(row.span, row.span);
        let money = |of: fn(Amounts) -> NanoUsd| row.amounts.map(|amounts| dollars(of(amounts)));
        let mut cells = vec![
            Some(row.span.start.to_string()),
            Some(row.span.end.to_string()),
            Some(row.key.to_string()),
            match row.entry {
                Entry::Charge => None,
                Entry::Reversal { of } => Some(of.to_string()),
            },
            Some(row.part.as_str().to_owned()),
            Some(row.phase.as_str().to_owned()),
            Some(row.basis.as_str().to_owned()),
            Some(row.time.held_ms.to_string()),
            Some(row.time.used_ms.to_string()),
            Some(row.time.unmeasured_ms.to_string()),
            money(|amounts| amounts.list),
            money(|amounts| amounts.allocated),
            money(|amounts| amounts.used),
            money(|amounts| amounts.unused),
            money(|amounts| amounts.unmeasured),
            Some(match &row.price {
                PriceNote::Priced { source, .. } => source.as_str().to_owned(),
                PriceNote::Unpriced { reason } => format!("unpriced: {}", reason.as_str()),
            }),
            Some(all.unpriced_ms.to_string()),
            Some(dollars(NanoUsd(all.estimated))),
            Some("row".to_owned()),
        ];
        push_dimensions(&mut cells, &Dimensions::of(row));
        cells
    }

    fn sum_cells(&self, sum: &SetSum) -> Option<Vec<Option<String>>> {
        let Sums {
            held_ms,
            used_ms,
            unmeasured_ms,
            unpriced_ms,
            list,
            allocated,
            used,
            unused,
            unmeasured,
            estimated,
        } = sum.sums;
        // Where nothing has a price, the money is not known, and not 0.
        let is_priced = unpriced_ms == 0 || unpriced_ms != held_ms || allocated != 0;
        let money = |amount: i64| is_priced.then(|| dollars(NanoUsd(amount)));
        let mut cells = vec![
            Some(sum.bucket.start.to_string()),
            Some(sum.bucket.end.to_string()),
            None,
            None,
            Some(sum.part.as_str().to_owned()),
            None,
            None,
            Some(held_ms.to_string()),
            Some(used_ms.to_string()),
            Some(unmeasured_ms.to_string()),
            money(list),
            money(allocated),
            money(used),
            money(unused),
            money(unmeasured),
            match sum.price.as_deref() {
                Some(PriceNote::Priced { source, .. }) => Some(source.as_str().to_owned()),
                Some(PriceNote::Unpriced { reason }) => Some(format!("unpriced: {}", reason.as_str())),
                None => None,
            },
            Some(unpriced_ms.to_string()),
            money(estimated),
            Some(match sum.grain {
                Grain::FiveMinutes => "sum of five minutes".to_owned(),
                Grain::Hour => "sum of an hour".to_owned(),
                Grain::Day => "sum of a day".to_owned(),
            }),
        ];
        push_dimensions(&mut cells, &sum.dimensions);
        Some(cells)
    }
}

fn push_dimensions(cells: &mut Vec<Option<String>>, dimensions: &Dimensions) {
    for dimension in &Dimension::FIXED {
        cells.push(dimension.of(dimensions).map(|value| value.into_owned()));
    }
    let labels = dimensions.holder.as_ref().map(|holder| &holder.dimensions.labels);
    cells.push(labels.filter(|labels| !labels.is_empty()).map(|labels| {
        let pairs: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        pairs.join(";")
    }));
}

/// Dollars with all nine decimals and without a sign for the currency.
pub fn dollars(amount: NanoUsd) -> String {
    let sign = if amount.0 < 0 { "-" } else { "" };
    let magnitude = amount.0.unsigned_abs();
    format!(
        "{sign}{}.{:09}",
        magnitude / 1_000_000_000,
        magnitude % 1_000_000_000
    )
}
