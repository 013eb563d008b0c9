//! Costs, facts and totals, each read in one transaction so that roll-ups and rows are of the same instant.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::{TryStreamExt, pin_mut};
use gpu_cost::{Grain, Moment, Part, Span};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Transaction};

use super::pool::Failing;
use super::timescale::Offer;
use super::{rows, schema};
use crate::codes::part_of;
use crate::dump::State;
use crate::error::StoreError;
use crate::gather::{
    BySet, Gather, MOST_LOOKUPS, Narrow, Plan, Way, add_row, add_sums, distinct, lookups, sum_up,
    without_label,
};
use crate::ledger::{Catalog, Dimension, LABEL_SEPARATOR, SUM_COLUMNS, Segment, Sums, floor, grain_code};
use crate::query::{CostAnswer, CostQuery};
use crate::record::RecordKind;
use crate::store::{Facts, Totals};

const ACT: &str = "read costs";
/// Sets whose dimensions are read together.
const SETS_AT_ONCE: usize = 10_000;

/// The sums as SQL; the server adds whole numbers up to a wider type, which they do not need.
fn summed() -> String {
    let sums: Vec<String> = SUM_COLUMNS
        .iter()
        .map(|column| format!("coalesce(sum({column}), 0)::bigint"))
        .collect();
    sums.join(", ")
}

pub(super) async fn cost(
    client: &mut Client,
    catalog: &Mutex<Catalog>,
    query: &CostQuery,
) -> Result<CostAnswer, StoreError> {
    let transaction = rows::reading(client).await?;
    let (state, _) = schema::read_state(&transaction).await?;
    let plan = Plan::of(query, &state)?;
    let reading = Reading {
        transaction: &transaction,
        query,
        plan: &plan,
        state,
    };
    let mut gather = Gather::new(query);
    let mut by_set = BySet::new();
    let wanted = match plan.way {
        Way::Sets => reading.wanted().await?,
        Way::Slices(_) => None,
    };
    for segment in &plan.segments {
        match (segment.grain, &plan.way) {
            (None, _) => reading.rows(segment.span, &mut by_set).await?,
            (Some(grain), Way::Slices(dimension)) => {
                reading.slices(grain, segment, dimension, &mut gather).await?;
            }
            (Some(grain), Way::Sets) => {
                let few = wanted
                    .as_ref()
                    .filter(|sets| lookups(sets.0.len(), grain, segment.span) <= MOST_LOOKUPS);
                match few {
                    Some(sets) => reading.some_sets(sets, grain, segment.span, &mut by_set).await?,
                    None => reading.sets(grain, segment.span, &mut by_set).await?,
                }
            }
        }
    }
    reading.unfolded(&mut by_set).await?;
    let ids = distinct(by_set.keys().map(|(set, _, _)| *set));
    let broken = |_| StoreError::failed(ACT, "another question failed while it learnt sets");
    let (mut sets, missing) = catalog.lock().map_err(broken)?.find(state.epoch, ids.into_iter());
    for ids in missing.chunks(SETS_AT_ONCE) {
        let found = rows::dimensions(&transaction, ids.iter().copied()).await?;
        let mut catalog = catalog.lock().map_err(broken)?;
        for (id, dimensions) in found {
            sets.insert(id, catalog.learn(state.epoch, id, &dimensions));
        }
    }
    gather.add_sets(&by_set, &sets)?;
    Ok(gather.finish(&plan))
}

struct Reading<'a> {
    transaction: &'a Transaction<'a>,
    query: &'a CostQuery,
    plan: &'a Plan,
    state: State,
}

impl Reading<'_> {
    /// Rows that are folded already, for an edge that no roll-up can answer.
    async fn rows(&self, span: Span, into: &mut BySet) -> Result<(), StoreError> {
        let earliest = span.start.0.saturating_sub(self.state.longest_ms);
        let condition = format!(
            "start_ms >= {earliest} and start_ms < {} and end_ms > {} and seq <= {}",
            span.end.0, span.start.0, self.state.folded
        );
        self.add_rows(&condition, span, into).await
    }

    /// Rows that no roll-up holds yet. What lies before the floor was summed up while its rows were there.
    async fn unfolded(&self, into: &mut BySet) -> Result<(), StoreError> {
        if self.state.folded >= self.state.last {
            return Ok(());
        }
        let window = self.query.window;
        let window = Span::new(window.start.max(self.state.floors.raw), window.end);
        let condition = format!(
            "seq > {} and start_ms < {} and end_ms > {}",
            self.state.folded, window.end.0, window.start.0
        );
        self.add_rows(&condition, window, into).await
    }

    async fn add_rows(&self, condition: &str, span: Span, into: &mut BySet) -> Result<(), StoreError> {
        let sql = format!("select {} from ledger_row where {condition}", rows::MEASURED);
        let none: [&(dyn ToSql + Sync); 0] = [];
        let found = self.transaction.query_raw(&sql, none).await.or_fail(ACT)?;
        pin_mut!(found);
        while let Some(row) = found.try_next().await.or_fail(ACT)? {
            add_row(into, &rows::read_measured(&row)?, span, self.plan.step)?;
        }
        Ok(())
    }

    /// The sets that pass a filter with an index, and their clusters.
    async fn wanted(&self) -> Result<Option<(Vec<i64>, Vec<i32>)>, StoreError> {
        let (column, names) = match Narrow::of(self.query) {
            None => return Ok(None),
            Some(Narrow::PodUids(names)) => ("pod_uid", names),
            Some(Narrow::Namespaces(names)) => ("(body::json -> 'holder' ->> 'namespace')", names),
        };
        let sql = format!(
            "select id, cluster from dimension_set where {column} = any($1::text[]) and last_day >= $2"
        );
        let since = floor(Grain::Day, self.query.window.start).0;
        let found = self
            .transaction
            .query(&sql, &[&names, &since])
            .await
            .or_fail(ACT)?;
        Ok(Some(
            found
                .iter()
                .map(|row| (row.get::<_, i64>(0), row.get::<_, i32>(1)))
                .unzip(),
        ))
    }

    /// Looks a few sets up, each in each bucket.
    async fn some_sets(
        &self,
        sets: &(Vec<i64>, Vec<i32>),
        grain: Grain,
        span: Span,
        into: &mut BySet,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "select s.set_id, s.part, {}, {} from unnest($1::bigint[], $2::integer[]) as w (id, cluster)
             cross join generate_series({}::bigint, {}::bigint, {}::bigint) as b
             cross join lateral (select * from set_sum where grain = {} and bucket = b and cluster = w.cluster
                                 and set_id = w.id offset 0) as s",
            self.step(),
            SUM_COLUMNS.join(", "),
            span.start.0,
            span.end.0 - 1,
            grain.milliseconds(),
            grain_code(grain),
        );
        let found = self
            .transaction
            .query(&sql, &[&sets.0, &sets.1])
            .await
            .or_fail(ACT)?;
        for row in &found {
            let (part, at, sums) = read(row, 1)?;
            add_sums(into, (row.get(0), at, part), &sums)?;
        }
        Ok(())
    }

    async fn sets(&self, grain: Grain, span: Span, into: &mut BySet) -> Result<(), StoreError> {
        let sql = format!(
            "select set_id, part, {}, {} from set_sum
             where grain = {} and bucket >= {} and bucket < {}{} group by 1, 2, 3",
            self.step(),
            summed(),
            grain_code(grain),
            span.start.0,
            span.end.0,
            self.of_cluster()
        );
        let found = self
            .transaction
            .query_raw(&sql, self.cluster())
            .await
            .or_fail(ACT)?;
        pin_mut!(found);
        while let Some(row) = found.try_next().await.or_fail(ACT)? {
            let (part, at, sums) = read(&row, 1)?;
            add_sums(into, (row.get(0), at, part), &sums)?;
        }
        Ok(())
    }

    async fn slices(
        &self,
        grain: Grain,
        segment: &Segment,
        dimension: &Dimension,
        gather: &mut Gather<'_>,
    ) -> Result<(), StoreError> {
        let Dimension::Label(key) = dimension else {
            for (value, at, part, sums) in self.slice(grain, segment.span, dimension.code(), None).await? {
                gather.add_slice(&value, at, part, &sums)?;
            }
            return Ok(());
        };
        let mut labelled = BTreeMap::new();
        for (value, at, part, sums) in self
            .slice(grain, segment.span, dimension.code(), Some(key))
            .await?
        {
            sum_up(&mut labelled, at, part, &sums)?;
            gather.add_slice(&value, at, part, &sums)?;
        }
        let mut all = BTreeMap::new();
        let cluster = Dimension::Cluster.code();
        for (_, at, part, sums) in self.slice(grain, segment.span, cluster, None).await? {
            sum_up(&mut all, at, part, &sums)?;
        }
        for (at, part, sums) in without_label(&all, &labelled)? {
            gather.add_slice("", at, part, &sums)?;
        }
        Ok(())
    }

    async fn slice(
        &self,
        grain: Grain,
        span: Span,
        dimension: i16,
        label: Option<&str>,
    ) -> Result<Vec<(String, Option<Moment>, Part, Sums)>, StoreError> {
        let mut values = self.cluster();
        let labels = match label {
            None => String::new(),
            Some(key) => {
                values.push(format!("{key}{LABEL_SEPARATOR}"));
                values.push(format!("{key}\u{20}"));
                let last = values.len();
                format!(" and value >= ${} and value < ${last}", last - 1)
            }
        };
        let sql = format!(
            "select value, part, {}, {} from slice_sum
             where grain = {} and dimension = {dimension} and bucket >= {} and bucket < {}{}{labels} group by 1, 2, 3",
            self.step(),
            summed(),
            grain_code(grain),
            span.start.0,
            span.end.0,
            self.of_cluster(),
        );
        let found = self.transaction.query_raw(&sql, values).await.or_fail(ACT)?;
        pin_mut!(found);
        let mut slices = Vec::new();
        while let Some(row) = found.try_next().await.or_fail(ACT)? {
            let (part, at, sums) = read(&row, 1)?;
            slices.push((row.get(0), at, part, sums));
        }
        Ok(slices)
    }

    /// The bucket of the answer as SQL.
    fn step(&self) -> String {
        match self.plan.step {
            None => "null::bigint".to_owned(),
            Some(grain) => format!("bucket / {0} * {0}", grain.milliseconds()),
        }
    }

    fn of_cluster(&self) -> &'static str {
        match &self.query.cluster {
            None => "",
            Some(_) => " and cluster = (select id from cluster where name = $1)",
        }
    }

    fn cluster(&self) -> Vec<String> {
        let name = self.query.cluster.as_ref();
        name.map(|cluster| cluster.as_str().to_owned())
            .into_iter()
            .collect()
    }
}

/// Part, bucket and sums, from a column on.
fn read(row: &Row, first: usize) -> Result<(Part, Option<Moment>, Sums), StoreError> {
    let at: Option<i64> = row.get(first + 1);
    Ok((
        part_of(row.get(first))?,
        at.map(Moment),
        rows::sums(row, first + 2),
    ))
}

pub(super) async fn facts(client: &mut Client) -> Result<Facts, StoreError> {
    const ACT: &str = "describe the store";
    let offer = Offer::ask(client).await?;
    let transaction = rows::reading(client).await?;
    let (state, _) = schema::read_state(&transaction).await?;
    let row = transaction
        .query_one(
            "select current_setting('server_version'),
             (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
              join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'm')),
             (select count(*) from ledger_row where seq > $2)",
            &[&super::pool::SCHEMA, &state.folded],
        )
        .await
        .or_fail(ACT)?;
    let mut version = format!("PostgreSQL {}", row.get::<_, &str>(0));
    if let Some(more) = offer.version() {
        version = format!("{version}, {more}");
    }
    Ok(Facts {
        kind: "postgres",
        version,
        schema: schema::newest(),
        bytes: u64::try_from(row.get::<_, i64>(1)).ok(),
        floors: state.floors,
        unfolded: row.get::<_, i64>(2).unsigned_abs(),
    })
}

pub(super) async fn totals(client: &mut Client) -> Result<Totals, StoreError> {
    const ACT: &str = "add up the store";
    let transaction = rows::reading(client).await?;
    let counted = async |sql: &str| -> Result<(u64, Sums), StoreError> {
        let row = transaction.query_one(sql, &[]).await.or_fail(ACT)?;
        Ok((row.get::<_, i64>(0).unsigned_abs(), rows::sums(&row, 1)))
    };
    let plain = summed();
    let of_rows = plain
        .replace(
            "coalesce(sum(unpriced_ms), 0)",
            "coalesce(sum(held_ms) filter (where allocated is null), 0)",
        )
        .replace(
            "coalesce(sum(estimated), 0)",
            "coalesce(sum(allocated) filter (where is_estimate), 0)",
        );
    let rows = counted(&format!("select count(*), {of_rows} from ledger_row")).await?;
    let sets = counted(&format!("select count(*), {plain} from set_sum")).await?;
    let slices = counted(&format!("select count(*), {plain} from slice_sum")).await?;
    let count = transaction
        .query_one("select count(*) from dimension_set", &[])
        .await
        .or_fail(ACT)?;
    let mut totals = Totals {
        rows: rows.0,
        row_sums: rows.1,
        sets: count.get::<_, i64>(0).unsigned_abs(),
        set_slices: sets.0,
        slices: slices.0,
        slice_sums: sets.1,
        records: BTreeMap::new(),
    };
    totals.slice_sums.add(&slices.1).ok_or(StoreError::Overflow)?;
    let records = transaction
        .query("select kind, count(*) from record group by kind", &[])
        .await
        .or_fail(ACT)?;
    for row in &records {
        if let Some(kind) = RecordKind::from_code(row.get(0)) {
            totals.records.insert(kind, row.get::<_, i64>(1).unsigned_abs());
        }
    }
    Ok(totals)
}
