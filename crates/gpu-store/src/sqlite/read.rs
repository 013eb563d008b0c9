//! Costs, facts and totals, each read in one transaction so that roll-ups and rows are of the same instant.

use std::collections::BTreeMap;
use std::path::Path;

use gpu_cost::{Grain, Moment, Part, Span};
use rusqlite::{Connection, Row, ToSql, Transaction};

use super::append::read_state;
use super::failure::Failing;
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
const SUMS: &str = "sum(held_ms), sum(used_ms), sum(unmeasured_ms), sum(unpriced_ms), sum(list), sum(allocated), \
     sum(used), sum(unused), sum(unmeasured), sum(estimated)";

pub(super) fn cost(
    connection: &mut Connection,
    path: &Path,
    query: &CostQuery,
) -> Result<CostAnswer, StoreError> {
    let transaction = connection.transaction().or_fail(ACT, path)?;
    let state = read_state(&transaction, path)?;
    let plan = Plan::of(query, &state.floors)?;
    let reading = Reading {
        transaction: &transaction,
        path,
        query,
        plan: &plan,
        state,
    };
    let mut gather = Gather::new(query);
    let mut by_set = BySet::new();
    for segment in &plan.segments {
        match (segment.grain, &plan.way) {
            (None, _) => reading.rows(segment.span, &mut by_set)?,
            (Some(grain), Way::Slices(dimension)) => {
                reading.slices(grain, segment, dimension, &mut gather)?;
            }
            (Some(grain), Way::Sets) => reading.sets(grain, segment.span, &mut by_set)?,
        }
    }
    reading.unfolded(&mut by_set)?;
    let mut last = None;
    for ((set, at, part), sums) in &by_set {
        // Sums come in the order of their sets, so each set is read once.
        let dimensions = match last.take() {
            Some((id, dimensions)) if id == *set => dimensions,
            _ => rows::dimensions(&transaction, path, *set)?,
        };
        gather.add_set(&dimensions, *at, *part, sums)?;
        last = Some((*set, dimensions));
    }
    Ok(gather.finish(&plan))
}

struct Reading<'a> {
    transaction: &'a Transaction<'a>,
    path: &'a Path,
    query: &'a CostQuery,
    plan: &'a Plan,
    state: State,
}

impl Reading<'_> {
    /// Rows that are folded already, for an edge that no roll-up can answer.
    fn rows(&self, span: Span, into: &mut BySet) -> Result<(), StoreError> {
        let earliest = span.start.0.saturating_sub(self.state.longest_ms);
        let condition = "start_ms >= ? and start_ms < ? and end_ms > ? and seq <= ?";
        let values = [earliest, span.end.0, span.start.0, self.state.folded];
        self.add_rows(condition, &values, span, into)
    }

    /// Rows that no roll-up holds yet. What lies before the floor was summed up while its rows were there.
    fn unfolded(&self, into: &mut BySet) -> Result<(), StoreError> {
        let window = self.query.window;
        let window = Span::new(window.start.max(self.state.floors.raw), window.end);
        let condition = "seq > ? and start_ms < ? and end_ms > ?";
        let values = [self.state.folded, window.end.0, window.start.0];
        self.add_rows(condition, &values, window, into)
    }

    fn add_rows(
        &self,
        condition: &str,
        values: &[i64],
        span: Span,
        into: &mut BySet,
    ) -> Result<(), StoreError> {
        let sql = format!("select {} from ledger_row where {condition}", rows::COLUMNS);
        let mut select = self.transaction.prepare_cached(&sql).or_fail(ACT, self.path)?;
        let mut found = select
            .query(rusqlite::params_from_iter(values))
            .or_fail(ACT, self.path)?;
        while let Some(row) = found.next().or_fail(ACT, self.path)? {
            let row = rows::read(row).or_fail(ACT, self.path)??;
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

    fn sets(&self, grain: Grain, span: Span, into: &mut BySet) -> Result<(), StoreError> {
        let (cluster, mut values) = self.of_cluster();
        let sql = format!(
            "select set_id, part, {}, {SUMS} from set_sum
             where grain = ? and bucket >= ? and bucket < ?{cluster} group by 1, 2, 3",
            self.step()
        );
        let mut all: Vec<Box<dyn ToSql>> = vec![
            Box::new(grain_code(grain)),
            Box::new(span.start.0),
            Box::new(span.end.0),
        ];
        all.append(&mut values);
        let mut select = self.transaction.prepare_cached(&sql).or_fail(ACT, self.path)?;
        let mut found = select
            .query(rusqlite::params_from_iter(all))
            .or_fail(ACT, self.path)?;
        while let Some(row) = found.next().or_fail(ACT, self.path)? {
            let set: i64 = row.get(0).or_fail(ACT, self.path)?;
            let (part, at, sums) = self.read(row, 1)?;
            add_sums(into, (set, at, part), &sums)?;
        }
        Ok(())
    }

    fn slices(
        &self,
        grain: Grain,
        segment: &Segment,
        dimension: &Dimension,
        gather: &mut Gather<'_>,
    ) -> Result<(), StoreError> {
        let Dimension::Label(key) = dimension else {
            return self.each_slice(
                grain,
                segment.span,
                dimension.code(),
                None,
                |value, at, part, sums| gather.add_slice(value, at, part, sums),
            );
        };
        let mut labelled = BTreeMap::new();
        let prefix = format!("{key}{LABEL_SEPARATOR}");
        self.each_slice(
            grain,
            segment.span,
            dimension.code(),
            Some(&prefix),
            |value, at, part, sums| {
                sum(&mut labelled, at, part, sums)?;
                gather.add_slice(value, at, part, sums)
            },
        )?;
        let mut all = BTreeMap::new();
        let cluster = Dimension::Cluster.code();
        self.each_slice(grain, segment.span, cluster, None, |_, at, part, sums| {
            sum(&mut all, at, part, sums)
        })?;
        for (at, part, sums) in without_label(&all, &labelled)? {
            gather.add_slice("", at, part, &sums)?;
        }
        Ok(())
    }

    fn each_slice(
        &self,
        grain: Grain,
        span: Span,
        dimension: i16,
        prefix: Option<&str>,
        mut with: impl FnMut(&str, Option<Moment>, Part, &Sums) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (cluster, mut values) = self.of_cluster();
        let labels = if prefix.is_some() {
            " and value >= ? and value < ?"
        } else {
            ""
        };
        let sql = format!(
            "select value, part, {}, {SUMS} from slice_sum
             where grain = ? and dimension = ? and bucket >= ? and bucket < ?{cluster}{labels} group by 1, 2, 3",
            self.step()
        );
        let mut all: Vec<Box<dyn ToSql>> = vec![
            Box::new(grain_code(grain)),
            Box::new(dimension),
            Box::new(span.start.0),
            Box::new(span.end.0),
        ];
        all.append(&mut values);
        if let Some(prefix) = prefix {
            all.push(Box::new(prefix.to_owned()));
            all.push(Box::new(after_prefix(prefix)));
        }
        let mut select = self.transaction.prepare_cached(&sql).or_fail(ACT, self.path)?;
        let mut found = select
            .query(rusqlite::params_from_iter(all))
            .or_fail(ACT, self.path)?;
        while let Some(row) = found.next().or_fail(ACT, self.path)? {
            let (part, at, sums) = self.read(row, 1)?;
            let value = row.get_ref(0).or_fail(ACT, self.path)?;
            let value = value.as_str().map_err(|error| StoreError::failed(ACT, error))?;
            with(value, at, part, &sums)?;
        }
        Ok(())
    }

    /// Part, bucket and sums, from a column on.
    fn read(&self, row: &Row<'_>, first: usize) -> Result<(Part, Option<Moment>, Sums), StoreError> {
        let number = |column: usize| row.get::<_, i64>(column).or_fail(ACT, self.path);
        let part = part_of(row.get(first).or_fail(ACT, self.path)?)?;
        let at: Option<i64> = row.get(first + 1).or_fail(ACT, self.path)?;
        let mut sums = [0; 10];
        for (column, sum) in (first + 2..).zip(&mut sums) {
            *sum = number(column)?;
        }
        Ok((part, at.map(Moment), Sums::from_array(sums)))
    }

    /// The bucket of the answer as SQL.
    fn step(&self) -> String {
        match self.plan.step {
            None => "null".to_owned(),
            Some(grain) => format!("bucket / {0} * {0}", grain.milliseconds()),
        }
    }

    fn of_cluster(&self) -> (&'static str, Vec<Box<dyn ToSql>>) {
        match &self.query.cluster {
            None => ("", Vec::new()),
            Some(cluster) => (
                " and cluster = (select id from cluster where name = ?)",
                vec![Box::new(cluster.as_str().to_owned())],
            ),
        }
    }
}

/// The first text after all that begin with the prefix, which ends with the separator.
fn after_prefix(prefix: &str) -> String {
    let mut text = prefix.to_owned();
    text.pop();
    text.push('\u{20}');
    text
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

pub(super) fn facts(connection: &mut Connection, path: &Path) -> Result<Facts, StoreError> {
    let transaction = connection.transaction().or_fail("describe the store", path)?;
    let state = read_state(&transaction, path)?;
    let unfolded: i64 = transaction
        .query_row(
            "select count(*) from ledger_row where seq > ?1",
            [state.folded],
            |row| row.get(0),
        )
        .or_fail("describe the store", path)?;
    let size =
        |ending: &str| std::fs::metadata(super::lock::beside(path, ending)).map_or(0, |file| file.len());
    Ok(Facts {
        kind: "sqlite",
        version: format!("SQLite {}", rusqlite::version()),
        schema: schema::newest(),
        bytes: Some(size("") + size("-wal")),
        floors: state.floors,
        unfolded: u64::try_from(unfolded).unwrap_or(0),
    })
}

pub(super) fn totals(connection: &mut Connection, path: &Path) -> Result<Totals, StoreError> {
    const ACT: &str = "add up the store";
    let transaction = connection.transaction().or_fail(ACT, path)?;
    let one = |sql: &str| transaction.query_row(sql, [], counted).or_fail(ACT, path);
    let none = "0, 0, 0, 0, 0, 0, 0, 0, 0, 0";
    let rows = one(
        "select count(*), coalesce(sum(held_ms), 0), coalesce(sum(used_ms), 0), coalesce(sum(unmeasured_ms), 0),
         coalesce(sum(case when allocated is null then held_ms else 0 end), 0), coalesce(sum(list), 0),
         coalesce(sum(allocated), 0), coalesce(sum(used), 0), coalesce(sum(unused), 0), coalesce(sum(unmeasured), 0),
         coalesce(sum(case when is_estimate then allocated else 0 end), 0) from ledger_row",
    )?;
    let sums: Vec<String> = crate::ledger::SUM_COLUMNS
        .iter()
        .map(|column| format!("coalesce(sum({column}), 0)"))
        .collect();
    let sums = sums.join(", ");
    let sets = one(&format!("select count(*), {sums} from set_sum"))?;
    let slices = one(&format!("select count(*), {sums} from slice_sum"))?;
    let mut totals = Totals {
        rows: rows.0,
        row_sums: rows.1,
        sets: one(&format!("select count(*), {none} from dimension_set"))?.0,
        set_slices: sets.0,
        slices: slices.0,
        slice_sums: sets.1,
        records: BTreeMap::new(),
    };
    totals.slice_sums.add(&slices.1).ok_or(StoreError::Overflow)?;
    for kind in RecordKind::ALL {
        let sql = format!("select count(*), {none} from record where kind = {}", kind.code());
        let (count, _) = one(&sql)?;
        if count > 0 {
            totals.records.insert(kind, count);
        }
    }
    Ok(totals)
}

fn counted(row: &Row<'_>) -> rusqlite::Result<(u64, Sums)> {
    let mut sums = [0; 10];
    for (column, sum) in (1..).zip(&mut sums) {
        *sum = row.get(column)?;
    }
    Ok((row.get::<_, i64>(0)?.unsigned_abs(), Sums::from_array(sums)))
}
