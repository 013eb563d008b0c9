//! Costs, facts and totals, each read in one transaction so that roll-ups and rows are of the same instant.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpu_cost::{Grain, Moment, Part, Span};
use rusqlite::{Connection, Row, ToSql, Transaction};

use super::append::read_state;
use super::failure::Failing;
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
const SUMS: &str = "sum(held_ms), sum(used_ms), sum(unmeasured_ms), sum(unpriced_ms), sum(list), sum(allocated), \
     sum(used), sum(unused), sum(unmeasured), sum(estimated)";

/// Reads, and remembers the sets that it has met.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) catalog: Catalog,
}

pub(super) fn cost(reader: &mut Reader, path: &Path, query: &CostQuery) -> Result<CostAnswer, StoreError> {
    let transaction = reader.connection.transaction().or_fail(ACT, path)?;
    let state = read_state(&transaction, path)?;
    let plan = Plan::of(query, &state)?;
    let reading = Reading {
        transaction: &transaction,
        path,
        query,
        plan: &plan,
        state,
    };
    let mut gather = Gather::new(query);
    let mut by_set = BySet::new();
    let wanted = match plan.way {
        Way::Sets => reading.wanted()?,
        Way::Slices(_) => None,
    };
    for segment in &plan.segments {
        match (segment.grain, &plan.way) {
            (None, _) => reading.rows(segment.span, &mut by_set)?,
            (Some(grain), Way::Slices(dimension)) => {
                reading.slices(grain, segment, dimension, &mut gather)?;
            }
            (Some(grain), Way::Sets) => {
                let few = wanted
                    .as_ref()
                    .filter(|sets| lookups(sets.len(), grain, segment.span) <= MOST_LOOKUPS);
                match few {
                    Some(sets) => reading.some_sets(sets, grain, segment.span, &mut by_set)?,
                    None => reading.sets(grain, segment.span, &mut by_set)?,
                }
            }
        }
    }
    reading.unfolded(&mut by_set)?;
    let ids = distinct(by_set.keys().map(|(set, _, _)| *set));
    let (mut sets, missing) = reader.catalog.find(state.epoch, ids.into_iter());
    for id in missing {
        let dimensions = rows::dimensions(&transaction, path, id)?;
        sets.insert(id, reader.catalog.learn(state.epoch, id, &dimensions));
    }
    gather.add_sets(&by_set, &sets)?;
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
        let sql = format!("select {} from ledger_row where {condition}", rows::MEASURED);
        let mut select = self.transaction.prepare_cached(&sql).or_fail(ACT, self.path)?;
        let mut found = select
            .query(rusqlite::params_from_iter(values))
            .or_fail(ACT, self.path)?;
        while let Some(row) = found.next().or_fail(ACT, self.path)? {
            let row = rows::read_measured(row).or_fail(ACT, self.path)??;
            add_row(into, &row, span, self.plan.step)?;
        }
        Ok(())
    }

    /// The sets that pass a filter with an index.
    fn wanted(&self) -> Result<Option<Vec<(i64, i32)>>, StoreError> {
        let (column, names) = match Narrow::of(self.query) {
            None => return Ok(None),
            Some(Narrow::PodUids(names)) => ("pod_uid", names),
            Some(Narrow::Namespaces(names)) => ("json_extract(body, '$.holder.namespace')", names),
        };
        let sql = format!("select id, cluster from dimension_set where {column} = ?1 and last_day >= ?2");
        let mut select = self.transaction.prepare_cached(&sql).or_fail(ACT, self.path)?;
        let since = floor(Grain::Day, self.query.window.start).0;
        let mut sets = BTreeSet::new();
        for name in names {
            let found = select
                .query_map(rusqlite::params![name, since], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .or_fail(ACT, self.path)?;
            for set in found {
                sets.insert(set.or_fail(ACT, self.path)?);
            }
        }
        Ok(Some(sets.into_iter().collect()))
    }

    /// Looks a few sets up, each in each bucket.
    fn some_sets(
        &self,
        sets: &[(i64, i32)],
        grain: Grain,
        span: Span,
        into: &mut BySet,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "select part, {}, {} from set_sum where grain = ?1 and bucket = ?2 and cluster = ?3 and set_id = ?4",
            self.step(),
            SUM_COLUMNS.join(", ")
        );
        let mut select = self.transaction.prepare_cached(&sql).or_fail(ACT, self.path)?;
        for bucket in grain.buckets(span) {
            for (set, cluster) in sets {
                let values = rusqlite::params![grain_code(grain), bucket.start.0, cluster, set];
                let mut found = select.query(values).or_fail(ACT, self.path)?;
                while let Some(row) = found.next().or_fail(ACT, self.path)? {
                    let (part, at, sums) = self.read(row, 0)?;
                    add_sums(into, (*set, at, part), &sums)?;
                }
            }
        }
        Ok(())
    }

    fn sets(&self, grain: Grain, span: Span, into: &mut BySet) -> Result<(), StoreError> {
        let (cluster, mut values) = self.of_cluster();
        // Not grouped here: adding up as they come is quicker than sorting them first.
        let sql = format!(
            "select set_id, part, {}, {} from set_sum where grain = ? and bucket >= ? and bucket < ?{cluster}",
            self.step(),
            SUM_COLUMNS.join(", ")
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
                sum_up(&mut labelled, at, part, sums)?;
                gather.add_slice(value, at, part, sums)
            },
        )?;
        let mut all = BTreeMap::new();
        let cluster = Dimension::Cluster.code();
        self.each_slice(grain, segment.span, cluster, None, |_, at, part, sums| {
            sum_up(&mut all, at, part, sums)
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
        let part = part_of(row.get(first).or_fail(ACT, self.path)?)?;
        let at: Option<i64> = row.get(first + 1).or_fail(ACT, self.path)?;
        let sums = rows::sums(row, first + 2).or_fail(ACT, self.path)?;
        Ok((part, at.map(Moment), sums))
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
    let sums: Vec<String> = SUM_COLUMNS
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
    Ok((row.get::<_, i64>(0)?.unsigned_abs(), rows::sums(row, 1)?))
}
