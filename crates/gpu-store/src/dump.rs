//! A whole store as lines of JSON, the same from either kind, so that one can become the other. The last line says what the others
//! amount to, and a restore is done only when the store says the same.

use std::io::{BufRead, Read, Write};

use gpu_cost::{Grain, Moment, Part, PriceNote};
use gpu_model::ClusterId;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::error::StoreError;
use crate::ledger::{Dimensions, SetSlice, Slice, Sums};
use crate::record::Record;
use crate::retention::Floors;
use crate::store::{Store, Totals};
use crate::stored::{StoredRow, digest};

const FORMAT: &str = "gpu-store-dump";
const VERSION: u32 = 1;
/// A record's body ends at 256 KiB; no line of ours comes near this.
const LONGEST_LINE: u64 = 4 * 1024 * 1024;
/// Lines that travel together.
const LINES_AT_ONCE: usize = 2_000;

/// Pieces of a dump on their way.
pub type LineReceiver = mpsc::Receiver<Result<Vec<Line>, StoreError>>;
pub(crate) type LineSender = mpsc::Sender<Result<Vec<Line>, StoreError>>;

/// What a restore may do to the store it goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    MustBeEmpty,
    MayBeReplaced,
}

/// How far a store has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub floors: Floors,
    /// The last row that is part of the roll-ups.
    pub folded: i64,
    /// The last row there is.
    pub last: i64,
    /// The length of the longest row that was ever written.
    pub longest_ms: i64,
    /// Days before this one have sums of their own; later ones are answered by their hours. A dump that does not say is of a program
    /// that summed up every day at once: whoever loads it looks at the days.
    #[serde(default = "nothing_closed")]
    pub closed: Moment,
    /// Changes when the numbers of sets may mean something else than before. It is the store's own, and no part of a dump.
    #[serde(skip)]
    pub epoch: i64,
}

fn nothing_closed() -> Moment {
    State::EMPTY.closed
}

impl State {
    pub(crate) const EMPTY: Self = Self {
        floors: Floors::NOTHING_DROPPED,
        folded: 0,
        last: 0,
        longest_ms: 0,
        closed: Floors::NOTHING_DROPPED.day,
        epoch: 0,
    };
}

/// A line. Numbers of clusters, sets and prices are those of the store it came from, and are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "line")]
pub enum Line {
    Header {
        format: String,
        version: u32,
    },
    State(State),
    Cluster {
        id: i32,
        name: ClusterId,
    },
    Price {
        id: i64,
        last_day: Moment,
        note: PriceNote,
    },
    Set {
        id: i64,
        last_day: Moment,
        dimensions: Dimensions,
    },
    Row(StoredRow),
    SetSum {
        grain: Grain,
        bucket: Moment,
        cluster: i32,
        set: i64,
        part: Part,
        /// None in dumps of programs that did not sum up by price.
        #[serde(default)]
        price: i64,
        sums: Sums,
    },
    SliceSum {
        grain: Grain,
        dimension: i16,
        bucket: Moment,
        cluster: i32,
        value: String,
        part: Part,
        sums: Sums,
    },
    Record(Record),
    Trailer(Totals),
}

/// Lines that a store sends together, and pieces that wait for a slow writer: a few megabytes.
pub(crate) const SENT_AT_ONCE: usize = 1_000;
pub(crate) const PIECES: usize = 4;

/// The tables that a dump is of, such that nothing refers to what went before it.
pub(crate) const TABLES: [&str; 7] = [
    "ledger_row",
    "set_sum",
    "slice_sum",
    "record",
    "dimension_set",
    "price_note",
    "cluster",
];

/// The key of a line of sums.
#[derive(Debug)]
pub(crate) enum SumKey {
    Set(SetSlice),
    Slice(Slice),
}

impl Line {
    /// The key and the sums of a line that has some.
    pub(crate) fn sums(&self) -> Option<(SumKey, Sums)> {
        match self {
            Self::SetSum {
                grain,
                bucket,
                cluster,
                set,
                part,
                price,
                sums,
            } => {
                let key = SetSlice {
                    grain: *grain,
                    bucket: *bucket,
                    cluster: *cluster,
                    set: *set,
                    part: *part,
                    price: *price,
                };
                Some((SumKey::Set(key), *sums))
            }
            Self::SliceSum {
                grain,
                dimension,
                bucket,
                cluster,
                value,
                part,
                sums,
            } => {
                let key = Slice {
                    grain: *grain,
                    dimension: *dimension,
                    bucket: *bucket,
                    cluster: *cluster,
                    value: value.as_str().into(),
                    part: *part,
                };
                Some((SumKey::Slice(key), *sums))
            }
            Self::Header { .. }
            | Self::State(_)
            | Self::Cluster { .. }
            | Self::Price { .. }
            | Self::Set { .. }
            | Self::Row(_)
            | Self::Record(_)
            | Self::Trailer(_) => None,
        }
    }
}

/// What a store keeps as text.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(body: &str) -> Result<T, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::failed("dump the store", error))
}

/// What a store keeps as text, and the short name of that text.
pub(crate) fn written(value: &impl Serialize) -> Result<(String, [u8; 16]), StoreError> {
    let body = serde_json::to_string(value).map_err(|error| StoreError::failed("restore a line", error))?;
    let name = digest(&body);
    Ok((body, name))
}

/// Adds a line to what the lines amount to.
pub(crate) fn count(line: &Line, totals: &mut Totals) -> Result<(), StoreError> {
    match line {
        Line::Header { .. }
        | Line::State(_)
        | Line::Cluster { .. }
        | Line::Price { .. }
        | Line::Trailer(_) => {}
        Line::Set { .. } => totals.sets += 1,
        Line::Row(row) => {
            totals.rows += 1;
            let sums = row.measures().within(row.span(), row.span());
            totals.row_sums.add(&sums).ok_or(StoreError::Overflow)?;
        }
        Line::SetSum { sums, .. } => {
            totals.set_slices += 1;
            totals.slice_sums.add(sums).ok_or(StoreError::Overflow)?;
        }
        Line::SliceSum { sums, .. } => {
            totals.slices += 1;
            totals.slice_sums.add(sums).ok_or(StoreError::Overflow)?;
        }
        Line::Record(record) => *totals.records.entry(record.kind).or_default() += 1,
    }
    Ok(())
}

/// Writes the store as it is now; others may go on writing to it. Returns what was written.
///
/// The writer is called between two waits: give it a file, not a connection that may stand still.
pub async fn save(store: &dyn Store, mut to: impl Write + Send) -> Result<Totals, StoreError> {
    let mut lines = store.dump().await?;
    let mut totals = Totals::default();
    let header = Line::Header {
        format: FORMAT.to_owned(),
        version: VERSION,
    };
    write_line(&mut to, &header)?;
    while let Some(piece) = lines.recv().await {
        for line in piece? {
            count(&line, &mut totals)?;
            write_line(&mut to, &line)?;
        }
    }
    write_line(&mut to, &Line::Trailer(totals.clone()))?;
    to.flush()
        .map_err(|error| StoreError::failed("write the dump", error))?;
    Ok(totals)
}

fn write_line(to: &mut impl Write, line: &Line) -> Result<(), StoreError> {
    let mut text =
        serde_json::to_vec(line).map_err(|error| StoreError::failed("write a line of the dump", error))?;
    text.push(b'\n');
    to.write_all(&text)
        .map_err(|error| StoreError::failed("write the dump", error))
}

/// Fills a store from a dump and proves that it holds what the dump says.
pub async fn restore(
    store: &dyn Store,
    mut from: impl BufRead + Send,
    target: Target,
) -> Result<Totals, StoreError> {
    let first = read_line(&mut from, 1)?;
    match first {
        Some(Line::Header { format, version }) if format == FORMAT && version <= VERSION => {}
        Some(Line::Header { version, .. }) if version > VERSION => {
            return Err(damaged(format!(
                "it has version {version}, this program knows {VERSION}"
            )));
        }
        _ => return Err(damaged("its first line is not the head of a dump".to_owned())),
    }
    store.begin_load(target).await?;
    let mut read = Totals::default();
    let mut number = 1_u64;
    let mut piece = Vec::with_capacity(LINES_AT_ONCE);
    let promised = loop {
        number += 1;
        let line = read_line(&mut from, number)?;
        match line {
            None => return Err(damaged(format!("it ends at line {number} without its last line"))),
            Some(Line::Trailer(totals)) => break totals,
            Some(line) => {
                count(&line, &mut read)?;
                piece.push(line);
            }
        }
        if piece.len() >= LINES_AT_ONCE {
            store.load(std::mem::take(&mut piece)).await?;
        }
    };
    if read != promised {
        return Err(damaged(
            "its lines do not amount to what its last line says".to_owned(),
        ));
    }
    store.load(piece).await?;
    let held = store.totals().await?;
    if held != promised {
        return Err(damaged(
            "the store does not hold what the dump says after loading".to_owned(),
        ));
    }
    store.end_load().await?;
    Ok(held)
}

fn read_line(from: &mut impl BufRead, number: u64) -> Result<Option<Line>, StoreError> {
    let mut text = Vec::new();
    let length = from
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut text)
        .map_err(|error| StoreError::failed("read the dump", error))?;
    if length == 0 {
        return Ok(None);
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| damaged(format!("line {number} is not of a dump: {error}")))
}

fn damaged(detail: String) -> StoreError {
    StoreError::Dump { detail }
}
