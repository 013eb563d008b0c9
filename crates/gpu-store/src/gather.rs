//! An answer under construction: sums by set of dimensions, grouped and filtered in one place for both stores.

use std::collections::BTreeMap;

use gpu_cost::{Grain, Moment, Part, Span};

use crate::dump::State;
use crate::error::StoreError;
use crate::ledger::{self, Dimension, FoundSets, LABEL_SEPARATOR, Segment, SetValues, Source, Sums};
use crate::query::{CostAnswer, CostLine, CostQuery, MOST_GROUPS, Step};
use crate::stored::MeasuredRow;

/// What fits on no screen and in no report, but still into memory.
const MOST_LINES: usize = 200_000;
/// Sets of dimensions that one question may touch: a year of ten thousand short pods a day would be more, and asks by day instead.
const MOST_SETS: usize = 2_000_000;

/// How a question is answered.
#[derive(Debug)]
pub(crate) enum Way {
    /// From sums of the one dimension that is asked by.
    Slices(Dimension),
    /// From sums of whole sets, grouped here.
    Sets,
}

/// A question with its plan.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) way: Way,
    pub(crate) segments: Vec<Segment>,
    pub(crate) step: Option<Grain>,
}

const SLICE_GRAINS: &[Grain] = &[Grain::FiveMinutes, Grain::Hour, Grain::Day];
const SET_GRAINS: &[Grain] = &[Grain::Hour, Grain::Day];

impl Plan {
    pub(crate) fn of(query: &CostQuery, state: &State) -> Result<Self, StoreError> {
        if query.group_by.len() > MOST_GROUPS {
            return Err(StoreError::TooManyGroups {
                count: query.group_by.len(),
                most: MOST_GROUPS,
            });
        }
        let step = match query.step {
            Step::Whole => None,
            Step::Every(grain) => Some(grain),
        };
        if let Some(grain) = step {
            for edge in [query.window.start, query.window.end] {
                if ledger::floor(grain, edge) != edge {
                    return Err(StoreError::StepEdge {
                        step: grain.as_str(),
                        edge,
                    });
                }
            }
        }
        let way = match query.group_by.as_slice() {
            [] if query.filters.is_empty() => Way::Slices(Dimension::Cluster),
            [only] if query.filters.is_empty() && only.is_summed_at(Grain::Day) => Way::Slices(only.clone()),
            _ => Way::Sets,
        };
        let grains = match &way {
            Way::Slices(dimension) if dimension.is_summed_at(Grain::FiveMinutes) => SLICE_GRAINS,
            Way::Slices(_) | Way::Sets => SET_GRAINS,
        };
        let source = Source {
            grains,
            coarsest: step.unwrap_or(Grain::Day),
            days_until: state.closed,
        };
        let segments = ledger::plan(query.window, source, &state.floors)?;
        Ok(Self { way, segments, step })
    }
}

/// A filter by which a database finds sets without reading all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Narrow<'q> {
    Namespaces(Vec<&'q str>),
    PodUids(Vec<&'q str>),
}

impl<'q> Narrow<'q> {
    /// The narrowest filter of a question that has an index. One that also asks for what is not known has none.
    pub(crate) fn of(query: &'q CostQuery) -> Option<Self> {
        let values = |dimension: &Dimension| -> Option<Vec<&'q str>> {
            let filter = query
                .filters
                .iter()
                .find(|filter| filter.dimension == *dimension)?;
            filter.values.iter().map(Option::as_deref).collect()
        };
        values(&Dimension::PodUid)
            .map(Self::PodUids)
            .or_else(|| values(&Dimension::Namespace).map(Self::Namespaces))
    }
}

/// Sets that are looked up one by one rather than read with all others: each in each bucket costs a few microseconds, reading all of
/// them about one for each set and bucket.
pub(crate) const MOST_LOOKUPS: usize = 40_000;

/// Sums that belong to one set of dimensions.
pub(crate) type BySet = BTreeMap<(i64, Option<Moment>, Part), Sums>;

/// Adds the part of a row that lies in a span, cut at the steps of the answer.
pub(crate) fn add_row(
    into: &mut BySet,
    row: &MeasuredRow,
    window: Span,
    step: Option<Grain>,
) -> Result<(), StoreError> {
    let inside = row.span.overlap(window);
    if inside.is_empty() {
        return Ok(());
    }
    let mut add = |bucket: Option<Moment>, piece: Span| -> Result<(), StoreError> {
        let sums = row.measures.within(row.span, piece);
        add_sums(into, (row.set, bucket, row.part), &sums)
    };
    match step {
        None => add(None, inside),
        Some(grain) => ledger::cut(grain, inside).try_for_each(|(bucket, piece)| add(Some(bucket), piece)),
    }
}

pub(crate) fn add_sums(
    into: &mut BySet,
    key: (i64, Option<Moment>, Part),
    sums: &Sums,
) -> Result<(), StoreError> {
    if into.len() >= MOST_SETS && !into.contains_key(&key) {
        return Err(StoreError::TooManyLines { most: MOST_SETS });
    }
    into.entry(key).or_default().add(sums).ok_or(StoreError::Overflow)
}

/// Lines by their key. Everything that reaches an answer passes through here.
#[derive(Debug)]
pub(crate) struct Gather<'q> {
    query: &'q CostQuery,
    lines: BTreeMap<LineKey, Sums>,
}

/// When, of what, and which part.
type LineKey = (Option<Moment>, Vec<Option<String>>, Part);

impl<'q> Gather<'q> {
    pub(crate) fn new(query: &'q CostQuery) -> Self {
        Self {
            query,
            lines: BTreeMap::new(),
        }
    }

    /// Adds sums of a set of dimensions, where it passes the filters.
    fn add_set(
        &mut self,
        set: &SetValues,
        at: Option<Moment>,
        part: Part,
        sums: &Sums,
    ) -> Result<(), StoreError> {
        let cluster = self.query.cluster.as_ref();
        if cluster.is_some_and(|cluster| *cluster != set.cluster) {
            return Ok(());
        }
        for filter in &self.query.filters {
            let value = set.get(&filter.dimension);
            if !filter.values.iter().any(|wanted| wanted.as_deref() == value) {
                return Ok(());
            }
        }
        let values = self.query.group_by.iter();
        let values = values
            .map(|dimension| set.get(dimension).map(str::to_owned))
            .collect();
        self.add(at, values, part, sums)
    }

    /// Adds what was gathered by set.
    pub(crate) fn add_sets(&mut self, by_set: &BySet, sets: &FoundSets) -> Result<(), StoreError> {
        for ((set, at, part), sums) in by_set {
            let values = sets
                .get(set)
                .ok_or_else(|| StoreError::failed("read costs", format!("set {set} is missing")))?;
            self.add_set(values, *at, *part, sums)?;
        }
        Ok(())
    }

    /// Adds the sums of one value of the one dimension that is asked by.
    pub(crate) fn add_slice(
        &mut self,
        value: &str,
        at: Option<Moment>,
        part: Part,
        sums: &Sums,
    ) -> Result<(), StoreError> {
        let values = match self.query.group_by.first() {
            None => Vec::new(),
            Some(Dimension::Label(_)) => {
                let value = value
                    .split_once(LABEL_SEPARATOR)
                    .map(|(_, value)| value.to_owned());
                vec![value]
            }
            Some(_) => vec![(!value.is_empty()).then(|| value.to_owned())],
        };
        self.add(at, values, part, sums)
    }

    fn add(
        &mut self,
        at: Option<Moment>,
        values: Vec<Option<String>>,
        part: Part,
        sums: &Sums,
    ) -> Result<(), StoreError> {
        let key = (at, values, part);
        if self.lines.len() >= MOST_LINES && !self.lines.contains_key(&key) {
            return Err(StoreError::TooManyLines { most: MOST_LINES });
        }
        self.lines
            .entry(key)
            .or_default()
            .add(sums)
            .ok_or(StoreError::Overflow)
    }

    /// Lines whose sums are all zero are left out: a charge and its reversal.
    pub(crate) fn finish(self, plan: &Plan) -> CostAnswer {
        let lines = self
            .lines
            .into_iter()
            .filter(|(_, sums)| !sums.is_zero())
            .map(|((at, values, part), sums)| CostLine {
                at,
                values,
                part,
                sums,
            })
            .collect();
        let mut grains: Vec<Option<Grain>> = plan.segments.iter().map(|segment| segment.grain).collect();
        grains.sort_unstable_by(|a, b| b.cmp(a));
        grains.dedup();
        CostAnswer { lines, grains }
    }
}

/// How many looks it takes to find sets in each bucket of a span.
pub(crate) fn lookups(sets: usize, grain: Grain, span: Span) -> usize {
    let buckets = span.milliseconds() / grain.milliseconds();
    sets.saturating_mul(usize::try_from(buckets).unwrap_or(usize::MAX))
}

/// Numbers that come in order, each once.
pub(crate) fn distinct(ids: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut ids: Vec<i64> = ids.collect();
    ids.dedup();
    ids
}

/// Adds to what has the same instant and part.
pub(crate) fn sum_up(
    into: &mut BTreeMap<(Option<Moment>, Part), Sums>,
    at: Option<Moment>,
    part: Part,
    sums: &Sums,
) -> Result<(), StoreError> {
    let line = into.entry((at, part)).or_default();
    line.add(sums).ok_or(StoreError::Overflow)
}

/// The parts of a label's answer that no value of the label claimed: all there is, less what has the label.
pub(crate) fn without_label(
    all: &BTreeMap<(Option<Moment>, Part), Sums>,
    labelled: &BTreeMap<(Option<Moment>, Part), Sums>,
) -> Result<Vec<(Option<Moment>, Part, Sums)>, StoreError> {
    let mut rest = Vec::new();
    for ((at, part), sums) in all {
        let mut left = *sums;
        if let Some(taken) = labelled.get(&(*at, *part)) {
            left.subtract(taken).ok_or(StoreError::Overflow)?;
        }
        rest.push((*at, *part, left));
    }
    Ok(rest)
}
