//! An answer under construction: sums by set of dimensions, grouped and filtered in one place for both stores.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gpu_cost::{Grain, Moment, Part, Span};

use crate::error::StoreError;
use crate::ledger::{self, Dimension, Dimensions, LABEL_SEPARATOR, Measures, Segment, Source, Sums};
use crate::query::{CostAnswer, CostLine, CostQuery, MOST_GROUPS, Step};
use crate::retention::Floors;

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
    pub(crate) fn of(query: &CostQuery, floors: &Floors) -> Result<Self, StoreError> {
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
        };
        let segments = ledger::plan(query.window, source, floors)?;
        Ok(Self { way, segments, step })
    }
}

/// Sums that belong to one set of dimensions.
pub(crate) type BySet = BTreeMap<(i64, Option<Moment>, Part), Sums>;

/// Adds the part of a row that lies in a span, cut at the steps of the answer.
pub(crate) fn add_row(
    into: &mut BySet,
    set: i64,
    part: Part,
    measures: &Measures,
    row: Span,
    window: Span,
    step: Option<Grain>,
) -> Result<(), StoreError> {
    let inside = row.overlap(window);
    if inside.is_empty() {
        return Ok(());
    }
    let mut add = |bucket: Option<Moment>, piece: Span| -> Result<(), StoreError> {
        let sums = measures.within(row, piece);
        add_sums(into, (set, bucket, part), &sums)
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
    pub(crate) fn add_set(
        &mut self,
        dimensions: &Dimensions,
        at: Option<Moment>,
        part: Part,
        sums: &Sums,
    ) -> Result<(), StoreError> {
        let cluster = self.query.cluster.as_ref();
        if cluster.is_some_and(|cluster| *cluster != dimensions.cluster) {
            return Ok(());
        }
        for filter in &self.query.filters {
            let value = filter.dimension.of(dimensions);
            if !filter
                .values
                .iter()
                .any(|wanted| wanted.as_deref() == value.as_deref())
            {
                return Ok(());
            }
        }
        let values = self.query.group_by.iter();
        let values = values
            .map(|dimension| dimension.of(dimensions).map(Cow::into_owned))
            .collect();
        self.add(at, values, part, sums)
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
