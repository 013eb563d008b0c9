//! Costs, facts and totals, each read in one transaction so that roll-ups and rows are of the same instant.

use std::collections::{BTreeMap, BTreeSet};

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
use crate::gather::{BySet, Gather, Plan, Way, add_row, add_sums, without_label};
use crate::ledger::{Dimension, LABEL_SEPARATOR, Segment, Sums, grain_code};
use crate::query::{CostAnswer, CostQuery};
use crate::record::RecordKind;
use crate::store::{Facts, Totals};

const ACT: &str = "read costs";
/// Sets whose dimensions are read together.
const SETS_AT_ONCE: usize = 10_000;

/// The sums as SQL; the server adds whole numbers up to a wider type, which they do not need.
fn summed() -> String {
    let sums: Vec<String> = crate::ledger::SUM_COLUMNS
        .iter()
        .map(|column| format!("coalesce(sum({column}), 0)::bigint"))
        .collect();
    sums.join(", ")
}

pub(super) async fn cost(client: &mut Client, query: &CostQuery) -> Result<CostAnswer, StoreError> {
    let transaction = rows::reading(client).await?;
    let (state, _) = schema::read_state(&transaction).await?;
    let plan = Plan::of(query, &state.floors)?;
    let reading = Reading {
        transaction: &transaction,
        query,
        plan: &plan,
        state,
    };
    let mut gather = Gather::new(query);
    let mut by_set = BySet::new();
    for segment in &plan.segments {
        match (segment.grain, &plan.way) {
            (None, _) => reading.rows(segment.span, &mut by_set).await?,
            (Some(grain), Way::Slices(dimension)) => {
                reading.slices(grain, segment, dimension, &mut gather).await?;
            }
            (Some(grain), Way::Sets) => reading.sets(grain, segment.span, &mut by_set).await?,
        }
    }
    reading.unfolded(&mut by_set).await?;
    let ids: Vec<i64> = by_set
        .keys()
        .map(|(set, _, _)| *set)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    for ids in ids.chunks(SETS_AT_ONCE) {
        let sets = rows::dimensions(&transaction, ids.iter().copied()).await?;
        for id in ids {
            let dimensions = sets
                .get(id)
                .ok_or_else(|| StoreError::failed(ACT, format!("set {id} is missing")))?;
            let first = (*id, None, Part::Pod);
            let of_set = by_set.range(first..).take_while(|((set, _, _), _)| set == id);
            for ((_, at, part), sums) in of_set {
                gather.add_set(dimensions, *at, *part, sums)?;
            }
        }
    }
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
        let sql = format!("select {} from ledger_row where {condition}", rows::COLUMNS);
        let none: [&(dyn ToSql + Sync); 0] = [];
        let found = self.transaction.query_raw(&sql, none).await.or_fail(ACT)?;
        pin_mut!(found);
        while let Some(row) = found.try_next().await.or_fail(ACT)? {
            let row = rows::read(&row)?;
            let measures = row.measures();
            add_row(
                into,
                row.set,
                row.part,
                &measures,
                row.span(),
                span,
                self.plan.step,
            )?;
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
            sum(&mut labelled, at, part, &sums)?;
            gather.add_slice(&value, at, part, &sums)?;
        }
        let mut all = BTreeMap::new();
        let cluster = Dimension::Cluster.code();
        for (_, at, part, sums) in self.slice(grain, segment.span, cluster, None).await? {
            sum(&mut all, at, part, &sums)?;
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
    let mut sums = [0; 10];
    for (column, sum) in (first + 2..).zip(&mut sums) {
        *sum = row.get(column);
    }
    let at: Option<i64> = row.get(first + 1);
    Ok((part_of(row.get(first))?, at.map(Moment), Sums::from_array(sums)))
}

fn sum(
    into: &mut BTreeMap<(Option<Moment>, Part), Sums>,
    at: Option<Moment>,
    part: Part,
    sums: &Sums,
) -> Result<(), StoreError> {
    let line = into.entry((at, part)).or_default();
    line.add(sums).ok_or(StoreError::Overflow)
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
        let mut sums = [0; 10];
        for (column, sum) in (1..).zip(&mut sums) {
            *sum = row.get(column);
        }
        Ok((row.get::<_, i64>(0).unsigned_abs(), Sums::from_array(sums)))
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
