//! Sums of sets, read page by page.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::pool::Failing;
use super::{rows, schema};
use crate::codes::part_of;
use crate::error::StoreError;
use crate::ledger::{ANY_PRICE, SUM_COLUMNS, grain_code};
use crate::query::{FoundSum, SumPage, SumPlace, SumQuery};

const ACT: &str = "read sums";

pub(super) async fn page(client: &mut Client, query: &SumQuery) -> Result<SumPage, StoreError> {
    let transaction = rows::reading(client).await?;
    let (state, _) = schema::read_state(&transaction).await?;
    query.check(&state)?;
    let mut conditions = String::new();
    let name = query.cluster.as_ref().map(|cluster| cluster.as_str());
    let mut values: Vec<&(dyn ToSql + Sync)> = Vec::new();
    if let Some(name) = &name {
        conditions.push_str(" and cluster = (select id from cluster where name = $1)");
        values.push(name);
    }
    if let Some(after) = query.after {
        conditions = format!(
            "{conditions} and (bucket, cluster, set_id, part, price) > ({}, {}, {}, {}, {})",
            after.bucket, after.cluster, after.set, after.part, after.price
        );
    }
    let sql = format!(
        "select bucket, cluster, set_id, part, price, {} from set_sum
         where grain = {} and bucket >= {} and bucket < {}{conditions} order by 1, 2, 3, 4, 5 limit {}",
        SUM_COLUMNS.join(", "),
        grain_code(query.grain),
        query.window.start.0,
        query.window.end.0,
        query.rows() + 1
    );
    let found = transaction.query(&sql, &values).await.or_fail(ACT)?;
    let mut sums: Vec<FoundSum> = found.iter().map(read).collect::<Result<_, _>>()?;
    let next = (sums.len() > query.rows()).then(|| sums[query.rows() - 1].place);
    sums.truncate(query.rows());
    let sets = rows::dimensions(&transaction, sums.iter().map(|sum| sum.place.set)).await?;
    let prices = rows::prices(&transaction, sums.iter().map(|sum| sum.place.price)).await?;
    let missing = || StoreError::failed(ACT, "a set or a price of a sum is missing");
    let mut named = Vec::with_capacity(sums.len());
    for sum in &sums {
        let dimensions = sets.get(&sum.place.set).cloned().ok_or_else(missing)?;
        let price = match sum.place.price {
            ANY_PRICE => None,
            price => Some(prices.get(&price).cloned().ok_or_else(missing)?),
        };
        named.push(sum.named(query.grain, dimensions, price));
    }
    Ok(SumPage { sums: named, next })
}

fn read(row: &Row) -> Result<FoundSum, StoreError> {
    let place = SumPlace {
        bucket: row.get(0),
        cluster: row.get(1),
        set: row.get(2),
        part: row.get(3),
        price: row.get(4),
    };
    Ok(FoundSum {
        place,
        part: part_of(place.part)?,
        sums: rows::sums(row, 5),
    })
}
