//! Rows of a window as a table for people and bills, written page by page: memory does not grow with the window.

use std::io::Write;

use gpu_cost::focus::{self, Account};
use gpu_cost::prices::Commitment;
use gpu_cost::{Entry, Grain, LedgerRow, Span};
use gpu_model::ClusterId;

use crate::error::StoreError;
use crate::ledger::{Dimension, Dimensions, WindowError, floor};
use crate::query::{MOST_ROWS, RowQuery};
use crate::store::Store;

/// How a row becomes a line.
pub trait RowFormat {
    /// The names of the columns.
    fn columns(&self) -> Vec<String>;
    /// The cells of a row, in the order of the columns; none is an empty cell.
    fn cells(&self, row: &LedgerRow) -> Vec<Option<String>>;
}

/// Writes the rows that touch the window, in the order in which they were written to the ledger. Returns their count.
pub async fn export(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    window: Span,
    format: &(dyn RowFormat + Sync),
    mut to: impl Write + Send,
) -> Result<u64, StoreError> {
    refuse_dropped(store, window).await?;
    let failed = |error| StoreError::failed("write the export", error);
    let head: Vec<Option<String>> = format.columns().into_iter().map(Some).collect();
    let mut line = String::new();
    write_cells(&mut line, &head);
    to.write_all(line.as_bytes()).map_err(failed)?;
    let mut count = 0;
    let mut query = RowQuery {
        cluster,
        window: Some(window),
        limit: MOST_ROWS,
        ..RowQuery::default()
    };
    loop {
        let page = store.rows(query.clone()).await?;
        for row in &page.rows {
            line.clear();
            write_cells(&mut line, &format.cells(row));
            to.write_all(line.as_bytes()).map_err(failed)?;
            count += 1;
        }
        if page.next.is_none() {
            break;
        }
        query.after = page.next;
    }
    to.flush().map_err(failed)?;
    Ok(count)
}

/// An export may not look whole when it is not.
async fn refuse_dropped(store: &dyn Store, window: Span) -> Result<(), StoreError> {
    let kept_from = store.facts().await?.floors.raw;
    if window.start < kept_from {
        return Err(WindowError::Dropped { kept_from }.into());
    }
    Ok(())
}

/// What was written as FOCUS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FocusWritten {
    pub records: u64,
    /// Rows that have no price, and so no place in a bill.
    pub unpriced: u64,
}

/// Writes the rows that start in the window as FOCUS 1.3 with its columns for split costs. An hour is read and written at a time:
/// its rows have to be together, because their ratios sum to one.
pub async fn export_focus(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    window: Span,
    account: &Account,
    commitments: &[Commitment],
    mut to: impl Write + Send,
) -> Result<FocusWritten, StoreError> {
    for edge in [window.start, window.end] {
        if floor(Grain::Hour, edge) != edge {
            return Err(StoreError::StepEdge {
                step: Grain::Hour.as_str(),
                edge,
            });
        }
    }
    refuse_dropped(store, window).await?;
    let mut written = FocusWritten::default();
    let mut text = String::new();
    for (number, hour) in Grain::Hour.buckets(window).enumerate() {
        let rows = rows_of(store, cluster.clone(), hour).await?;
        let export = focus::export(&rows, account, commitments);
        written.records += u64::try_from(export.records.len()).unwrap_or(u64::MAX);
        written.unpriced += u64::try_from(export.unpriced).unwrap_or(u64::MAX);
        text.clear();
        focus::write_csv(&mut text, &export.records)
            .map_err(|error| StoreError::failed("write the export", error))?;
        // Every hour comes with the line of names, which is written once.
        let lines = match number {
            0 => text.as_str(),
            _ => text.split_once('\n').map_or("", |(_, lines)| lines),
        };
        to.write_all(lines.as_bytes())
            .map_err(|error| StoreError::failed("write the export", error))?;
    }
    to.flush()
        .map_err(|error| StoreError::failed("write the export", error))?;
    Ok(written)
}

async fn rows_of(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    hour: Span,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut query = RowQuery {
        cluster,
        window: Some(hour),
        limit: MOST_ROWS,
        ..RowQuery::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = store.rows(query.clone()).await?;
        rows.extend(page.rows.into_iter().filter(|row| hour.contains(row.span.start)));
        if page.next.is_none() {
            return Ok(rows);
        }
        query.after = page.next;
    }
}

/// One line of CSV as RFC 4180 has it. A cell that a spreadsheet would take for a formula is quoted by an apostrophe.
fn write_cells(line: &mut String, cells: &[Option<String>]) {
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

/// Every column that the ledger has. Money is in dollars with nine decimals, exactly.
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
        let money =
            |of: fn(gpu_cost::Amounts) -> gpu_model::NanoUsd| row.amounts.map(|amounts| dollars(of(amounts)));
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
                gpu_cost::PriceNote::Priced { source, .. } => source.as_str().to_owned(),
                gpu_cost::PriceNote::Unpriced { reason } => format!("unpriced: {}", reason.as_str()),
            }),
        ];
        let dimensions = Dimensions::of(row);
        for dimension in &Dimension::FIXED {
            cells.push(dimension.of(&dimensions).map(|value| value.into_owned()));
        }
        let labels = row.holder.as_ref().map(|holder| &holder.dimensions.labels);
        cells.push(labels.filter(|labels| !labels.is_empty()).map(|labels| {
            let pairs: Vec<String> = labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            pairs.join(";")
        }));
        cells
    }
}

/// Dollars with all nine decimals and without a sign for the currency.
pub fn dollars(amount: gpu_model::NanoUsd) -> String {
    let sign = if amount.0 < 0 { "-" } else { "" };
    let magnitude = amount.0.unsigned_abs();
    format!(
        "{sign}{}.{:09}",
        magnitude / 1_000_000_000,
        magnitude % 1_000_000_000
    )
}
