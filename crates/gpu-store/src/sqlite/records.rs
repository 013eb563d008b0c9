//! Records, written and read page by page.

use std::path::Path;

use gpu_cost::Moment;
use gpu_model::ClusterId;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params};

use super::failure::Failing;
use crate::error::StoreError;
use crate::record::{MOST_RECORDS, Order, Record, RecordError, RecordKind, RecordPage, RecordQuery};

/// Writes a new record. False when it is there with the same content.
pub(super) fn put(
    transaction: &Transaction<'_>,
    path: &Path,
    cluster: i32,
    record: &Record,
) -> Result<bool, StoreError> {
    const ACT: &str = "write a record";
    let body = record.checked_body()?;
    let written = transaction
        .prepare_cached("insert or ignore into record values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        .and_then(|mut insert| {
            insert.execute(params![
                record.kind.code(),
                cluster,
                record.key,
                record.at.0,
                record.subject,
                record.is_open,
                record.until.map(|until| until.0),
                body
            ])
        })
        .or_fail(ACT, path)?;
    if written == 1 {
        return Ok(true);
    }
    let there = transaction
        .prepare_cached(
            "select c.name, key, at_ms, subject, is_open, until_ms, body from record r join cluster c on c.id = r.cluster
             where kind = ?1 and cluster = ?2 and key = ?3",
        )
        .and_then(|mut select| {
            select
                .query_row(params![record.kind.code(), cluster, record.key], raw)
                .optional()
        })
        .or_fail(ACT, path)?;
    match there.map(|there| there.record(record.kind)).transpose()? {
        Some(there) if there == *record => Ok(false),
        _ => Err(StoreError::RecordDiffers {
            kind: record.kind,
            key: record.key.clone(),
        }),
    }
}

/// Writes a record in the place of the one with its key.
pub(super) fn replace(
    transaction: &Transaction<'_>,
    path: &Path,
    cluster: i32,
    record: &Record,
) -> Result<(), StoreError> {
    if record.kind.is_final() {
        return Err(RecordError::Final {
            kind: record.kind,
            key: record.key.clone(),
        }
        .into());
    }
    let body = record.checked_body()?;
    transaction
        .prepare_cached(
            "insert into record values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             on conflict (kind, cluster, key) do update set at_ms = excluded.at_ms, subject = excluded.subject,
             is_open = excluded.is_open, until_ms = excluded.until_ms, body = excluded.body",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                record.kind.code(),
                cluster,
                record.key,
                record.at.0,
                record.subject,
                record.is_open,
                record.until.map(|until| until.0),
                body
            ])
        })
        .or_fail("replace a record", path)?;
    Ok(())
}

/// A record as it is kept.
pub(super) struct Raw {
    cluster: String,
    key: String,
    at: i64,
    subject: String,
    is_open: bool,
    until: Option<i64>,
    body: String,
}

pub(super) fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        cluster: row.get(0)?,
        key: row.get(1)?,
        at: row.get(2)?,
        subject: row.get(3)?,
        is_open: row.get(4)?,
        until: row.get(5)?,
        body: row.get(6)?,
    })
}

impl Raw {
    pub(super) fn record(self, kind: RecordKind) -> Result<Record, StoreError> {
        const ACT: &str = "read a record";
        Ok(Record {
            cluster: ClusterId::new(&self.cluster).map_err(|error| StoreError::failed(ACT, error))?,
            kind,
            key: self.key,
            at: Moment(self.at),
            subject: self.subject,
            is_open: self.is_open,
            until: self.until.map(Moment),
            body: serde_json::from_str(&self.body).map_err(|error| StoreError::failed(ACT, error))?,
        })
    }
}

pub(super) fn page(
    connection: &mut Connection,
    path: &Path,
    query: &RecordQuery,
) -> Result<RecordPage, StoreError> {
    const ACT: &str = "read records";
    let limit = query.limit.clamp(1, MOST_RECORDS);
    let mut conditions = vec!["kind = ?"];
    let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(query.kind.code())];
    if let Some(cluster) = &query.cluster {
        conditions.push("c.name = ?");
        values.push(Box::new(cluster.as_str().to_owned()));
    }
    if let Some(subject) = &query.subject {
        conditions.push("subject = ?");
        values.push(Box::new(subject.clone()));
    }
    match query.is_open {
        // A literal, so that the index of open records can be used.
        Some(true) => conditions.push("is_open = 1"),
        Some(false) => conditions.push("is_open = 0"),
        None => {}
    }
    for (bound, condition) in [(query.from, "at_ms >= ?"), (query.to, "at_ms < ?")] {
        if let Some(at) = bound {
            conditions.push(condition);
            values.push(Box::new(at.0));
        }
    }
    if let Some(after) = &query.after {
        conditions.push(match query.order {
            Order::NewestFirst => "(at_ms, c.name, key) < (?, ?, ?)",
            Order::OldestFirst => "(at_ms, c.name, key) > (?, ?, ?)",
        });
        values.push(Box::new(after.at.0));
        values.push(Box::new(after.cluster.as_str().to_owned()));
        values.push(Box::new(after.key.clone()));
    }
    let order = match query.order {
        Order::NewestFirst => "at_ms desc, c.name desc, key desc",
        Order::OldestFirst => "at_ms, c.name, key",
    };
    let sql = format!(
        "select c.name, key, at_ms, subject, is_open, until_ms, body from record r join cluster c on c.id = r.cluster
         where {} order by {order} limit {}",
        conditions.join(" and "),
        limit + 1
    );
    let mut select = connection.prepare_cached(&sql).or_fail(ACT, path)?;
    let found = select
        .query_map(rusqlite::params_from_iter(values), raw)
        .or_fail(ACT, path)?;
    let mut records = Vec::new();
    for row in found {
        records.push(row.or_fail(ACT, path)?.record(query.kind)?);
    }
    Ok(RecordPage::cut(records, limit))
}
