//! Rows into roll-ups. The sums and the place up to which rows were folded change in one transaction: a row counts once, on however
//! many replicas.

use futures::pin_mut;
use gpu_cost::{Grain, Moment};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Transaction};

use super::known::Known;
use super::layout::{self, Layout};
use super::pool::Failing;
use super::{rows, schema};
use crate::codes::part_code;
use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{
    ANY_PRICE, Dimension, FoldFrom, FoldInput, SUM_COLUMNS, SetSlice, Slice, Sums, floor, grain_code,
};
use crate::store::Progress;
use crate::stored::MeasuredRow;

/// Rows of one step: a few tenths of a second in which nothing else is written.
const ROWS_AT_ONCE: i64 = 20_000;

pub(super) async fn fold_some(client: &mut Client, known: &mut Known) -> Result<Progress, StoreError> {
    const ACT: &str = "fold rows";
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    let (mut state, _) = schema::read_state(&transaction).await?;
    if state.folded >= state.last {
        return Ok(Progress {
            rows: 0,
            is_done: true,
        });
    }
    known.turn_to(state.epoch);
    let sql = format!(
        "select {} from ledger_row where seq > $1 order by seq limit {ROWS_AT_ONCE}",
        rows::MEASURED
    );
    let found = transaction.query(&sql, &[&state.folded]).await.or_fail(ACT)?;
    let found: Vec<MeasuredRow> = found.iter().map(rows::read_measured).collect::<Result<_, _>>()?;
    if let Some(newest) = found.iter().map(|row| row.span.start).max()
        && Layout::read(&transaction).await? == Layout::Partitions
    {
        layout::make_ahead(&transaction, newest).await?;
    }
    let count = add(&transaction, known, &found, &mut state).await?;
    schema::write_state(&transaction, &state).await?;
    transaction.commit().await.or_fail(ACT)?;
    Ok(Progress {
        rows: count,
        is_done: state.folded >= state.last,
    })
}

async fn add(
    transaction: &Transaction<'_>,
    known: &mut Known,
    found: &[MeasuredRow],
    state: &mut State,
) -> Result<u64, StoreError> {
    let from = FoldFrom {
        floor: state.floors.raw,
        closed: state.closed,
    };
    let fold = &mut known.fold;
    let mut new: Vec<i64> = found.iter().map(|row| row.set).collect();
    new.retain(|set| !fold.knows(*set));
    for (id, dimensions) in rows::dimensions(transaction, new.into_iter()).await? {
        fold.know(id, &dimensions);
    }
    let mut count = 0;
    let mut last = None;
    for row in found {
        let input = FoldInput {
            cluster: row.cluster,
            set: row.set,
            part: row.part,
            price: row.price,
            span: row.span,
            measures: row.measures,
        };
        fold.add(&input, from).ok_or(StoreError::Overflow)?;
        last = Some(row.seq);
        count += 1;
        if fold.is_full() {
            break;
        }
    }
    let folded = fold.finish(from);
    write_sets(transaction, &folded.sets).await?;
    write_slices(transaction, &folded.slices).await?;
    close_days(transaction, state, folded.closes).await?;
    state.folded = last.unwrap_or(state.last);
    Ok(count)
}

/// Sums the hours of every day before an instant up to the day.
pub(super) async fn close_days(
    transaction: &Transaction<'_>,
    state: &mut State,
    until: Moment,
) -> Result<(), StoreError> {
    const ACT: &str = "close a day";
    let sums: Vec<String> = SUM_COLUMNS
        .iter()
        .map(|column| format!("sum({column})::bigint"))
        .collect();
    let sums = sums.join(", ");
    while state.closed < until {
        let next = transaction
            .query_one(
                "select min(bucket) from set_sum where grain = 60 and bucket >= $1 and bucket < $2",
                &[&state.closed.0, &until.0],
            )
            .await
            .or_fail(ACT)?;
        let Some(next) = next.get::<_, Option<i64>>(0) else {
            break;
        };
        let day = floor(Grain::Day, Moment(next));
        let after = day.plus(Grain::Day.milliseconds());
        let dimensions: Vec<i16> = Dimension::codes().collect();
        let sets = format!(
            "insert into set_sum select 1440, $1, cluster, set_id, part, {sums}, {ANY_PRICE} from set_sum
             where grain = 60 and bucket >= $1 and bucket < $2 group by cluster, set_id, part"
        );
        let slices = format!(
            "insert into slice_sum select 1440, dimension, $1, cluster, value, part, {sums} from slice_sum
             where grain = 60 and dimension = any($3::smallint[]) and bucket >= $1 and bucket < $2
             group by dimension, cluster, value, part"
        );
        let run = async |sql: &str, values: &[&(dyn ToSql + Sync)]| {
            transaction.execute(sql, values).await.or_fail(ACT)
        };
        run(&sets, &[&day.0, &after.0]).await?;
        run(&slices, &[&day.0, &after.0, &dimensions]).await?;
        state.closed = after;
    }
    state.closed = state.closed.max(until);
    Ok(())
}

pub(super) async fn forget(client: &mut Client) -> Result<(), StoreError> {
    const ACT: &str = "forget roll-ups";
    let transaction = client.transaction().await.or_fail(ACT)?;
    schema::take_turn(&transaction).await?;
    let (mut state, _) = schema::read_state(&transaction).await?;
    for table in ["set_sum", "slice_sum"] {
        let sql = format!("delete from {table} where bucket >= $1");
        transaction
            .execute(&sql, &[&state.floors.raw.0])
            .await
            .or_fail(ACT)?;
    }
    state.folded = 0;
    state.closed = state.closed.min(state.floors.raw);
    schema::write_state(&transaction, &state).await?;
    transaction.commit().await.or_fail(ACT)
}

/// What both upserts do with sums that are there already; `t` is the table.
const ADD: &str = "do update set held_ms = t.held_ms + excluded.held_ms, used_ms = t.used_ms + excluded.used_ms, \
     unmeasured_ms = t.unmeasured_ms + excluded.unmeasured_ms, unpriced_ms = t.unpriced_ms + excluded.unpriced_ms, \
     list = t.list + excluded.list, allocated = t.allocated + excluded.allocated, used = t.used + excluded.used, \
     unused = t.unused + excluded.unused, unmeasured = t.unmeasured + excluded.unmeasured, \
     estimated = t.estimated + excluded.estimated";

/// The ten sums as arrays, one a column.
fn columns<'a>(sums: impl Iterator<Item = &'a Sums>) -> [Vec<i64>; 10] {
    let mut columns: [Vec<i64>; 10] = Default::default();
    for sums in sums {
        for (column, sum) in columns.iter_mut().zip(sums.to_array()) {
            column.push(sum);
        }
    }
    columns
}

/// Where sums of a grain begin that are surely not there yet. They are copied in, which costs a third of looking for each.
async fn first_new(transaction: &Transaction<'_>, grain: Grain, table: &str) -> Result<Moment, StoreError> {
    // Every row has a cluster, so the last bucket of that dimension is the last of all; the key finds it at once.
    let first = match table {
        "slice_sum" => format!(" and dimension = {}", Dimension::Cluster.code()),
        _ => String::new(),
    };
    let sql = format!("select max(bucket) from {table} where grain = $1{first}");
    let row = transaction
        .query_one(&sql, &[&grain_code(grain)])
        .await
        .or_fail("write roll-ups")?;
    let last: Option<i64> = row.get(0);
    Ok(last.map_or(Moment(i64::MIN), |last| Moment(last + 1)))
}

/// Parts sums, which come in the order of grain and bucket, into those that may be there and those that are new.
async fn part_new<'s, K>(
    transaction: &Transaction<'_>,
    table: &str,
    sums: &'s [(K, Sums)],
    bucket: impl Fn(&K) -> (Grain, Moment),
) -> Result<(Vec<&'s (K, Sums)>, Vec<&'s (K, Sums)>), StoreError> {
    let mut first = [None; 3];
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for sum in sums {
        let (grain, at) = bucket(&sum.0);
        let place = &mut first[grain as usize];
        let first = match place {
            Some(first) => *first,
            None => *place.insert(first_new(transaction, grain, table).await?),
        };
        if at >= first { new.push(sum) } else { old.push(sum) }
    }
    Ok((old, new))
}

pub(super) async fn write_sets(
    transaction: &Transaction<'_>,
    sums: &[(SetSlice, Sums)],
) -> Result<(), StoreError> {
    if sums.is_empty() {
        return Ok(());
    }
    const ACT: &str = "write roll-ups";
    let (old, new) = part_new(transaction, "set_sum", sums, |key| (key.grain, key.bucket)).await?;
    if !new.is_empty() {
        let types = [
            Type::INT2,
            Type::INT8,
            Type::INT4,
            Type::INT8,
            Type::INT2,
            Type::INT8,
        ];
        let key = "set_sum (grain, bucket, cluster, set_id, part, price";
        copy_sums(transaction, key, &types, &new, |key| {
            vec![
                Box::new(grain_code(key.grain)),
                Box::new(key.bucket.0),
                Box::new(key.cluster),
                Box::new(key.set),
                Box::new(part_code(key.part)),
                Box::new(key.price),
            ]
        })
        .await?;
    }
    if old.is_empty() {
        return Ok(());
    }
    let grains: Vec<i16> = old.iter().map(|(key, _)| grain_code(key.grain)).collect();
    let buckets: Vec<i64> = old.iter().map(|(key, _)| key.bucket.0).collect();
    let clusters: Vec<i32> = old.iter().map(|(key, _)| key.cluster).collect();
    let sets: Vec<i64> = old.iter().map(|(key, _)| key.set).collect();
    let parts: Vec<i16> = old.iter().map(|(key, _)| part_code(key.part)).collect();
    let prices: Vec<i64> = old.iter().map(|(key, _)| key.price).collect();
    let [a, b, c, d, e, f, g, h, i, j] = columns(old.iter().map(|(_, sums)| sums));
    let sql = format!(
        "insert into set_sum as t select * from unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[],
         $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
         $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[])
         on conflict (grain, bucket, cluster, set_id, part, price) {ADD}"
    );
    transaction
        .execute(
            &sql,
            &[
                &grains, &buckets, &clusters, &sets, &parts, &a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &prices,
            ],
        )
        .await
        .or_fail(ACT)?;
    Ok(())
}

/// Copies sums in; the columns of the key come first.
async fn copy_sums<K>(
    transaction: &Transaction<'_>,
    table_and_key: &str,
    key_types: &[Type],
    sums: &[&(K, Sums)],
    key: impl for<'k> Fn(&'k K) -> Vec<Box<dyn ToSql + Sync + Send + 'k>>,
) -> Result<(), StoreError> {
    const ACT: &str = "write roll-ups";
    let sums_columns = SUM_COLUMNS.join(", ");
    let sql = format!("copy {table_and_key}, {sums_columns}) from stdin (format binary)");
    let sink = transaction.copy_in(&sql).await.or_fail(ACT)?;
    let mut types = key_types.to_vec();
    types.extend([Type::INT8; 10]);
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for (of, sums) in sums {
        let mut values = key(of);
        values.extend(
            sums.to_array()
                .map(|sum| Box::new(sum) as Box<dyn ToSql + Sync + Send>),
        );
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
        writer.as_mut().write(&values).await.or_fail(ACT)?;
    }
    writer.finish().await.or_fail(ACT)?;
    Ok(())
}

pub(super) async fn write_slices(
    transaction: &Transaction<'_>,
    sums: &[(Slice, Sums)],
) -> Result<(), StoreError> {
    if sums.is_empty() {
        return Ok(());
    }
    let (old, new) = part_new(transaction, "slice_sum", sums, |key| (key.grain, key.bucket)).await?;
    if !new.is_empty() {
        let types = [
            Type::INT2,
            Type::INT2,
            Type::INT8,
            Type::INT4,
            Type::TEXT,
            Type::INT2,
        ];
        let key = "slice_sum (grain, dimension, bucket, cluster, value, part";
        copy_sums(transaction, key, &types, &new, |key| {
            vec![
                Box::new(grain_code(key.grain)),
                Box::new(key.dimension),
                Box::new(key.bucket.0),
                Box::new(key.cluster),
                Box::new(&*key.value),
                Box::new(part_code(key.part)),
            ]
        })
        .await?;
    }
    if old.is_empty() {
        return Ok(());
    }
    let grains: Vec<i16> = old.iter().map(|(key, _)| grain_code(key.grain)).collect();
    let dimensions: Vec<i16> = old.iter().map(|(key, _)| key.dimension).collect();
    let buckets: Vec<i64> = old.iter().map(|(key, _)| key.bucket.0).collect();
    let clusters: Vec<i32> = old.iter().map(|(key, _)| key.cluster).collect();
    let values: Vec<&str> = old.iter().map(|(key, _)| &*key.value).collect();
    let parts: Vec<i16> = old.iter().map(|(key, _)| part_code(key.part)).collect();
    let [a, b, c, d, e, f, g, h, i, j] = columns(old.iter().map(|(_, sums)| sums));
    let sql = format!(
        "insert into slice_sum as t select * from unnest($1::smallint[], $2::smallint[], $3::bigint[], $4::integer[],
         $5::text[], $6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
         $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[])
         on conflict (grain, dimension, bucket, cluster, value, part) {ADD}"
    );
    transaction
        .execute(
            &sql,
            &[
                &grains,
                &dimensions,
                &buckets,
                &clusters,
                &values,
                &parts,
                &a,
                &b,
                &c,
                &d,
                &e,
                &f,
                &g,
                &h,
                &i,
                &j,
            ],
        )
        .await
        .or_fail("write roll-ups")?;
    Ok(())
}
