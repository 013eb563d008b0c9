//! Sums of sets, read page by page.

use std::path::Path;

use rusqlite::{Connection, Row, ToSql};

use super::append::read_state;
use super::failure::Failing;
use super::rows::{self, Shared};
use crate::codes::part_of;
use crate::error::StoreError;
use crate::ledger::{ANY_PRICE, SUM_COLUMNS, grain_code};
use crate::query::{FoundSum, SumPage, SumPlace, SumQuery};

const ACT: &str = "read sums";

pub(super) fn page(
    connection: &mut Connection,
    path: &Path,
    query: &SumQuery,
) -> Result<SumPage, StoreError> {
    let transaction = connection.transaction().or_fail(ACT, path)?;
    query.check(&read_state(&transaction, path)?)?;
    let mut values: Vec<Box<dyn ToSql>> = vec![
        Box::new(grain_code(query.grain)),
        Box::new(query.window.start.0),
        Box::new(query.window.end.0),
    ];
    let mut conditions = String::new();
    if let Some(cluster) = &query.cluster {
        conditions.push_str(" and cluster = (select id from cluster where name = ?)");
        values.push(Box::new(cluster.as_str().to_owned()));
    }
    if let Some(after) = query.after {
        conditions.push_str(" and (bucket, cluster, set_id, part, price) > (?, ?, ?, ?, ?)");
        values.push(Box::new(after.bucket));
        values.push(Box::new(after.cluster));
        values.push(Box::new(after.set));
        values.push(Box::new(after.part));
        values.push(Box::new(after.price));
    }
    let sql = format!(
        "select bucket, cluster, set_id, part, price, {} from set_sum
         where grain = ? and bucket >= ? and bucket < ?{conditions} order by 1, 2, 3, 4, 5 limit {}",
        SUM_COLUMNS.join(", "),
        query.rows() + 1
    );
    let mut select = transaction.prepare_cached(&sql).or_fail(ACT, path)?;
    let mut found = select
        .query(rusqlite::params_from_iter(values))
        .or_fail(ACT, path)?;
    let mut sums = Vec::new();
    while let Some(row) = found.next().or_fail(ACT, path)? {
        sums.push(read(row).or_fail(ACT, path)??);
    }
    let next = (sums.len() > query.rows()).then(|| sums[query.rows() - 1].place);
    sums.truncate(query.rows());
    let mut shared = Shared::default();
    let mut named = Vec::with_capacity(sums.len());
    for sum in &sums {
        let dimensions = shared.set(&transaction, path, sum.place.set)?;
        let price = match sum.place.price {
            ANY_PRICE => None,
            price => Some(shared.price(&transaction, path, price)?),
        };
        named.push(sum.named(query.grain, dimensions, price));
    }
    Ok(SumPage { sums: named, next })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Result<FoundSum, StoreError>> {
    let place = SumPlace {
        bucket: row.get(0)?,
        cluster: row.get(1)?,
        set: row.get(2)?,
        part: row.get(3)?,
        price: row.get(4)?,
    };
    let sums = rows::sums(row, 5)?;
    Ok(part_of(place.part).map(|part| FoundSum { place, part, sums }))
}
