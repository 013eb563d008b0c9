//! How the table of rows is cut by time: native partitions of a day, or chunks of TimescaleDB.

use gpu_cost::{Grain, Moment};
use jiff::tz::TimeZone;
use tokio_postgres::{Client, Transaction};

use super::pool::Failing;
use super::{schema, timescale};
use crate::error::StoreError;
use crate::ledger::floor;

const DAY: i64 = Grain::Day.milliseconds();
/// Partitions are made so many days before their first row: making one waits for readers, which nobody wants at midnight.
const DAYS_AHEAD: i64 = 3;

/// How the rows of this database are cut. Chosen when the tables are made, and kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Partitions = 1,
    Chunks = 2,
    CompressedChunks = 3,
}

impl Layout {
    pub(super) fn of(offer: &timescale::Offer) -> Self {
        match offer {
            timescale::Offer::Nothing => Self::Partitions,
            timescale::Offer::Chunks { .. } => Self::Chunks,
            timescale::Offer::CompressedChunks { .. } => Self::CompressedChunks,
        }
    }

    pub(super) async fn read(transaction: &Transaction<'_>) -> Result<Self, StoreError> {
        match schema::meta(transaction, "layout").await? {
            Some(1) | None => Ok(Self::Partitions),
            Some(2) => Ok(Self::Chunks),
            Some(3) => Ok(Self::CompressedChunks),
            Some(other) => Err(StoreError::failed(
                "read the layout of the store",
                format!("{other} is no layout that this program knows"),
            )),
        }
    }
}

/// The name of the partition of a day: `ledger_row_20260301`.
pub(super) fn partition_name(day: Moment) -> String {
    let date = day.timestamp().to_zoned(TimeZone::UTC).date();
    format!(
        "ledger_row_{:04}{:02}{:02}",
        date.year(),
        date.month(),
        date.day()
    )
}

/// The day of a partition, from its name.
pub(super) fn day_of(name: &str) -> Option<Moment> {
    let digits = name
        .strip_prefix("ledger_row_")
        .filter(|digits| digits.len() == 8)?;
    let part = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i16>().ok();
    let (month, day) = (i8::try_from(part(4..6)?).ok()?, i8::try_from(part(6..8)?).ok()?);
    let date = jiff::civil::Date::new(part(0..4)?, month, day).ok()?;
    let start = date.to_zoned(TimeZone::UTC).ok()?;
    Some(Moment(start.timestamp().as_millisecond()))
}

/// Makes the partition of a day where it is missing.
pub(super) async fn make_partition(transaction: &Transaction<'_>, day: Moment) -> Result<(), StoreError> {
    let name = partition_name(day);
    let sql = format!(
        "create table if not exists {name} partition of ledger_row for values from ({}) to ({})",
        day.0,
        day.0 + DAY
    );
    transaction
        .batch_execute(&sql)
        .await
        .or_fail("make a partition of the ledger")
}

/// Makes the partitions of the days after the last row.
pub(super) async fn make_ahead(transaction: &Transaction<'_>, newest: Moment) -> Result<(), StoreError> {
    let there = partitions(transaction).await?;
    for ahead in 0..=DAYS_AHEAD {
        let day = floor(Grain::Day, newest).plus(ahead * DAY);
        if !there.contains(&day) {
            make_partition(transaction, day).await?;
        }
    }
    Ok(())
}

/// The days that have a partition.
pub(super) async fn partitions(transaction: &Transaction<'_>) -> Result<Vec<Moment>, StoreError> {
    let rows = transaction
        .query(
            "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
             where i.inhparent = 'ledger_row'::regclass order by 1",
            &[],
        )
        .await
        .or_fail("list the partitions of the ledger")?;
    Ok(rows.iter().filter_map(|row| day_of(row.get(0))).collect())
}

/// Drops the partitions whose rows all ended before the floor: a row is at most a day long. Returns how many.
pub(super) async fn drop_partitions(transaction: &Transaction<'_>, floor: Moment) -> Result<u64, StoreError> {
    let mut dropped = 0;
    for day in partitions(transaction).await? {
        if day.0 + 2 * DAY <= floor.0 {
            let sql = format!("drop table {}", partition_name(day));
            transaction
                .batch_execute(&sql)
                .await
                .or_fail("drop a partition of the ledger")?;
            dropped += 1;
        }
    }
    Ok(dropped)
}

/// The way of TimescaleDB. Compression is a saving, not a promise: when it fails, rows stay as they are.
pub(super) async fn drop_chunks(
    client: &Client,
    layout: Layout,
    floor: Moment,
    now: Moment,
) -> Result<(), StoreError> {
    client
        .batch_execute(&timescale::drop_before(floor.0 - DAY))
        .await
        .or_fail("drop chunks of the ledger")?;
    if layout == Layout::CompressedChunks
        && let Err(error) = client
            .batch_execute(&timescale::compress_before(now.0 - 2 * DAY))
            .await
    {
        tracing::warn!(%error, "could not compress the ledger");
    }
    Ok(())
}
