//! Records, written and read page by page.

use gpu_cost::Moment;
use gpu_model::ClusterId;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Transaction};

use super::pool::Failing;
use crate::error::StoreError;
use crate::record::{MOST_RECORDS, Order, Record, RecordError, RecordKind, RecordPage, RecordQuery};

const COLUMNS: &str = "c.name, r.key, r.at_ms, r.subject, r.is_open, r.until_ms, r.body";

/// Writes a new record. False when it is there with the same content.
pub(super) async fn put(
    transaction: &Transaction<'_>,
    cluster: i32,
    record: &Record,
) -> Result<bool, StoreError> {
    const ACT: &str = "write a record";
    if write(transaction, cluster, record, "do nothing").await? == 1 {
        return Ok(true);
    }
    let sql = format!(
        "select {COLUMNS} from record r join cluster c on c.id = r.cluster
         where r.kind = $1 and r.cluster = $2 and r.key = $3"
    );
    let there = transaction
        .query_opt(&sql, &[&record.kind.code(), &cluster, &record.key])
        .await
        .or_fail(ACT)?;
    match there.map(|row| read(&row, record.kind)).transpose()? {
        Some(there) if there == *record => Ok(false),
        _ => Err(StoreError::RecordDiffers {
            kind: record.kind,
            key: record.key.clone(),
        }),
    }
}

/// Writes a record in the place of the one with its key.
pub(super) async fn replace(
    transaction: &Transaction<'_>,
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
    let update =
        "do update set at_ms = excluded.at_ms, subject = excluded.subject, is_open = excluded.is_open,
         until_ms = excluded.until_ms, body = excluded.body";
    write(transaction, cluster, record, update).await?;
    Ok(())
}

async fn write(
    transaction: &Transaction<'_>,
    cluster: i32,
    record: &Record,
    on_conflict: &str,
) -> Result<u64, StoreError> {
    let body = record.checked_body()?;
    let sql = format!(
        "insert into record values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (kind, cluster, key) {on_conflict}"
    );
    let until = record.until.map(|until| until.0);
    transaction
        .execute(
            &sql,
            &[
                &record.kind.code(),
                &cluster,
                &record.key,
                &record.at.0,
                &record.subject,
                &record.is_open,
                &until,
                &body,
            ],
        )
        .await
        .or_fail("write a record")
}

pub(super) fn read(row: &Row, kind: RecordKind) -> Result<Record, StoreError> {
    const ACT: &str = "read a record";
    let body: &str = row.get(6);
    Ok(Record {
        cluster: ClusterId::new(row.get::<_, &str>(0)).map_err(|error| StoreError::failed(ACT, error))?,
        kind,
        key: row.get(1),
        at: Moment(row.get(2)),
        subject: row.get(3),
        is_open: row.get(4),
        until: row.get::<_, Option<i64>>(5).map(Moment),
        body: serde_json::from_str(body).map_err(|error| StoreError::failed(ACT, error))?,
    })
}

/// All records of a kind, for a dump.
pub(super) fn all_of(kind: RecordKind) -> String {
    format!(
        "select {COLUMNS} from record r join cluster c on c.id = r.cluster where r.kind = {}",
        kind.code()
    )
}

pub(super) async fn page(client: &mut Client, query: &RecordQuery) -> Result<RecordPage, StoreError> {
    const ACT: &str = "read records";
    let limit = query.limit.clamp(1, MOST_RECORDS);
    let mut conditions = vec![format!("r.kind = {}", query.kind.code())];
    let mut values: Vec<Box<dyn ToSql + Sync + Send>> = Vec::new();
    if let Some(cluster) = &query.cluster {
        values.push(Box::new(cluster.as_str().to_owned()));
        conditions.push(format!("c.name = ${}", values.len()));
    }
    if let Some(subject) = &query.subject {
        values.push(Box::new(subject.clone()));
        conditions.push(format!("r.subject = ${}", values.len()));
    }
    match query.is_open {
        Some(true) => conditions.push("r.is_open".to_owned()),
        Some(false) => conditions.push("not r.is_open".to_owned()),
        None => {}
    }
    if let Some(from) = query.from {
        conditions.push(format!("r.at_ms >= {}", from.0));
    }
    if let Some(to) = query.to {
        conditions.push(format!("r.at_ms < {}", to.0));
    }
    // Names are compared byte by byte, as SQLite does, whatever the language of the database.
    let place = "(r.at_ms, c.name collate \"C\", r.key)";
    if let Some(after) = &query.after {
        let sign = match query.order {
            Order::NewestFirst => '<',
            Order::OldestFirst => '>',
        };
        values.push(Box::new(after.cluster.as_str().to_owned()));
        values.push(Box::new(after.key.clone()));
        let last = values.len();
        conditions.push(format!("{place} {sign} ({}, ${}, ${last})", after.at.0, last - 1));
    }
    let order = match query.order {
        Order::NewestFirst => "r.at_ms desc, c.name collate \"C\" desc, r.key desc",
        Order::OldestFirst => "r.at_ms, c.name collate \"C\", r.key",
    };
    let sql = format!(
        "select {COLUMNS} from record r join cluster c on c.id = r.cluster where {} order by {order} limit {}",
        conditions.join(" and "),
        limit + 1
    );
    let values: Vec<&(dyn ToSql + Sync)> = values
        .iter()
        .map(|value| &**value as &(dyn ToSql + Sync))
        .collect();
    let found = client.query(&sql, &values).await.or_fail(ACT)?;
    let records = found
        .iter()
        .map(|row| read(row, query.kind))
        .collect::<Result<_, _>>()?;
    Ok(RecordPage::cut(records, limit))
}
