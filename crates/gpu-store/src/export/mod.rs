//! The ledger of a window as a table for people and bills, written page by page: memory does not grow with the window. Rows as long as
//! they are kept, the sums of their hours and days for the time before; an export never looks whole when it is not.

mod csv;
mod focus;

use std::io::Write;

use gpu_cost::{Amounts, GpuTime, Grain, LedgerRow, Moment, Span};
use gpu_model::{ClusterId, NanoUsd};

use csv::write_cells;
pub use csv::{Csv, dollars};
pub use focus::{FocusWritten, export_focus};

use crate::error::StoreError;
use crate::ledger::{Measures, Segment, WindowError, ceil, floor};
use crate::query::{MOST_ROWS, RowQuery, SetSum, SumQuery};
use crate::retention::Floors;
use crate::store::Store;

/// How a row becomes a line.
pub trait RowFormat {
    /// The names of the columns.
    fn columns(&self) -> Vec<String>;
    /// The cells of a row, in the order of the columns; none is an empty cell.
    fn cells(&self, row: &LedgerRow) -> Vec<Option<String>>;
    /// The cells of a sum that is left of rows; none when the format has no place for sums, which refuses the time before the rows.
    fn sum_cells(&self, _sum: &SetSum) -> Option<Vec<Option<String>>> {
        None
    }
}

/// Writes the rows that touch the window, in the order in which they were written to the ledger. Time whose rows are dropped is written
/// from sums of hours and, before those, of days, whose borders the window has to keep. Returns the count of lines.
pub async fn export(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    window: Span,
    format: &(dyn RowFormat + Sync),
    mut to: impl Write + Send,
) -> Result<u64, StoreError> {
    let floors = store.facts().await?.floors;
    let segments = segments(window, &floors)?;
    let mut line = String::new();
    let mut write = |cells: &[Option<String>]| {
        line.clear();
        write_cells(&mut line, cells);
        to.write_all(line.as_bytes())
            .map_err(|error| StoreError::failed("write the export", error))
    };
    let head: Vec<Option<String>> = format.columns().into_iter().map(Some).collect();
    write(&head)?;
    let mut count = 0;
    for segment in segments {
        let (cluster, span) = (cluster.clone(), segment.span);
        if let Some(grain) = segment.grain {
            sums_of(store, cluster, grain, span, |sum| {
                let cells = format.sum_cells(sum).ok_or(WindowError::Dropped {
                    kept_from: floors.raw,
                })?;
                count += 1;
                write(&cells)
            })
            .await?;
            continue;
        }
        // The part before the floor of a row that reaches over it is in the sums.
        let is_after_sums = window.start < span.start;
        let mut query = RowQuery {
            cluster,
            window: Some(span),
            limit: MOST_ROWS,
            ..RowQuery::default()
        };
        loop {
            let page = store.rows(query.clone()).await?;
            for row in page.rows {
                let row = if is_after_sums && row.span.start < span.start {
                    clipped(row, span.start)
                } else {
                    row
                };
                write(&format.cells(&row))?;
                count += 1;
            }
            if page.next.is_none() {
                break;
            }
            query.after = page.next;
        }
    }
    to.flush()
        .map_err(|error| StoreError::failed("write the export", error))?;
    Ok(count)
}

/// What each part of the window is written from: days, then hours, then rows.
fn segments(window: Span, floors: &Floors) -> Result<Vec<Segment>, WindowError> {
    if window.is_empty() {
        return Err(WindowError::Empty {
            from: window.start,
            to: window.end,
        });
    }
    if window.start < floors.day {
        return Err(WindowError::Dropped {
            kept_from: floors.day,
        });
    }
    let borders = [
        (Some(Grain::Day), floors.hour),
        (Some(Grain::Hour), floors.raw),
        (None, Moment(i64::MAX)),
    ];
    let mut segments = Vec::new();
    let mut start = window.start;
    for (grain, until) in borders {
        let span = Span::new(start, window.end.min(until));
        if span.is_empty() {
            continue;
        }
        if let Some(grain) = grain {
            for edge in [span.start, span.end] {
                if floor(grain, edge) != edge {
                    return Err(WindowError::TooFine {
                        edge,
                        kept: if grain == Grain::Day { "day" } else { "hour" },
                        before: floor(grain, edge),
                        after: ceil(grain, edge),
                    });
                }
            }
        }
        segments.push(Segment { grain, span });
        start = span.end;
    }
    Ok(segments)
}

/// Hands out the sums of a span one after the other.
async fn sums_of(
    store: &dyn Store,
    cluster: Option<ClusterId>,
    grain: Grain,
    window: Span,
    mut each: impl FnMut(&SetSum) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut query = SumQuery {
        cluster,
        grain,
        window,
        after: None,
        limit: MOST_ROWS,
    };
    loop {
        let page = store.sums(query.clone()).await?;
        page.sums.iter().try_for_each(&mut each)?;
        if page.next.is_none() {
            return Ok(());
        }
        query.after = page.next;
    }
}

/// The later part of a row.
fn clipped(row: LedgerRow, from: Moment) -> LedgerRow {
    let span = Span::new(row.span.start.max(from), row.span.end);
    let sums = Measures::of(&row).within(row.span, span);
    LedgerRow {
        span,
        time: GpuTime {
            held_ms: sums.held_ms,
            used_ms: sums.used_ms,
            unmeasured_ms: sums.unmeasured_ms,
        },
        amounts: row.amounts.map(|_| Amounts {
            list: NanoUsd(sums.list),
            allocated: NanoUsd(sums.allocated),
            used: NanoUsd(sums.used),
            unused: NanoUsd(sums.unused),
            unmeasured: NanoUsd(sums.unmeasured),
        }),
        ..row
    }
}
