//! Rows into sums. Folding adds each row once, cut at the borders of buckets; a store adds the result to what it holds in the same
//! transaction in which it notes how far it has folded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use gpu_cost::{Grain, Moment, Part, Span};

use super::bucket::cut;
use super::charged::Dimensions;
use super::dimension::Dimension;
use super::sums::{Measures, Sums};

/// A batch of rows makes at most about this many sums, whatever it holds: some 60 MB.
const MOST_SUMS: usize = 400_000;

/// Parts the key of a label from its value in one text; neither may hold a control character.
pub(crate) const LABEL_SEPARATOR: char = '\u{1f}';

/// The sums of one set of dimensions in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetSlice {
    pub grain: Grain,
    pub bucket: Moment,
    pub cluster: i32,
    pub set: i64,
    pub part: Part,
}

/// The sums of one value of one dimension in one bucket. A value that is not known is the empty text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slice {
    pub grain: Grain,
    pub dimension: i16,
    pub bucket: Moment,
    pub cluster: i32,
    pub value: Arc<str>,
    pub part: Part,
}

/// What folding needs of a row.
#[derive(Debug, Clone, Copy)]
pub struct FoldInput {
    pub cluster: i32,
    pub set: i64,
    pub part: Part,
    pub span: Span,
    pub measures: Measures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SliceKey {
    grain: Grain,
    dimension: i16,
    bucket: Moment,
    cluster: i32,
    value: u32,
    part: Part,
}

/// What a batch of rows adds up to.
#[derive(Debug)]
pub struct Folded {
    pub sets: Vec<(SetSlice, Sums)>,
    pub slices: Vec<(Slice, Sums)>,
}

/// A value of a dimension that has sums of its own.
#[derive(Debug, Clone, Copy)]
struct Summed {
    dimension: i16,
    value: u32,
    /// Whether there are sums of five minutes too.
    is_fine: bool,
}

/// Sums under construction.
#[derive(Debug)]
pub struct Fold {
    /// Nothing before this instant is added: its rows are gone, and its sums were made while they were there.
    from: Moment,
    values: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u32>,
    sets: HashMap<i64, Arc<[Summed]>>,
    slices: HashMap<SliceKey, Sums>,
    set_slices: HashMap<SetSlice, Sums>,
}

impl Fold {
    pub fn from(from: Moment) -> Self {
        Self {
            from,
            values: Vec::new(),
            ids: HashMap::new(),
            sets: HashMap::new(),
            slices: HashMap::new(),
            set_slices: HashMap::new(),
        }
    }

    /// Makes the dimensions of a set known, which `add` looks up.
    pub fn know(&mut self, set: i64, dimensions: &Dimensions) {
        let mut pairs = Vec::with_capacity(24);
        for dimension in &Dimension::FIXED {
            if dimension.is_summed_at(Grain::Day) {
                let value = dimension.of(dimensions).unwrap_or_default();
                pairs.push(Summed {
                    dimension: dimension.code(),
                    value: self.intern(&value),
                    is_fine: dimension.is_summed_at(Grain::FiveMinutes),
                });
            }
        }
        let label = Dimension::Label(String::new()).code();
        let labels = dimensions
            .holder
            .iter()
            .flat_map(|holder| &holder.dimensions.labels);
        for (key, value) in labels {
            pairs.push(Summed {
                dimension: label,
                value: self.intern(&format!("{key}{LABEL_SEPARATOR}{value}")),
                is_fine: false,
            });
        }
        self.sets.insert(set, pairs.into());
    }

    pub fn knows(&self, set: i64) -> bool {
        self.sets.contains_key(&set)
    }

    /// Whether the next batch should be another one.
    pub fn is_full(&self) -> bool {
        self.slices.len() + self.set_slices.len() >= MOST_SUMS
    }

    /// Adds a row. None when a sum left its range, or when the set was not made known.
    pub fn add(&mut self, row: &FoldInput) -> Option<()> {
        let pairs = Arc::clone(self.sets.get(&row.set)?);
        let kept = Span::new(row.span.start.max(self.from), row.span.end);
        for grain in Grain::ALL {
            for (bucket, piece) in cut(grain, kept) {
                let sums = row.measures.within(row.span, piece);
                if grain != Grain::FiveMinutes {
                    let key = SetSlice {
                        grain,
                        bucket,
                        cluster: row.cluster,
                        set: row.set,
                        part: row.part,
                    };
                    self.set_slices.entry(key).or_default().add(&sums)?;
                }
                for summed in pairs.iter() {
                    if grain == Grain::FiveMinutes && !summed.is_fine {
                        continue;
                    }
                    let key = SliceKey {
                        grain,
                        dimension: summed.dimension,
                        bucket,
                        cluster: row.cluster,
                        value: summed.value,
                        part: row.part,
                    };
                    self.slices.entry(key).or_default().add(&sums)?;
                }
            }
        }
        Some(())
    }

    /// The sums in the order of their keys, which is the order in which a database keeps them.
    pub fn finish(self) -> Folded {
        let mut sets: Vec<_> = self.set_slices.into_iter().collect();
        sets.sort_unstable_by_key(|(key, _)| *key);
        let values = self.values;
        let mut slices: Vec<_> = self
            .slices
            .into_iter()
            .map(|(key, sums)| {
                let slice = Slice {
                    grain: key.grain,
                    dimension: key.dimension,
                    bucket: key.bucket,
                    cluster: key.cluster,
                    value: Arc::clone(&values[key.value as usize]),
                    part: key.part,
                };
                (slice, sums)
            })
            .collect();
        slices.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Folded { sets, slices }
    }

    fn intern(&mut self, value: &str) -> u32 {
        let next = u32::try_from(self.values.len()).expect("a batch has fewer values than rows and labels");
        match self.ids.entry(Arc::from(value)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                self.values.push(Arc::clone(free.key()));
                *free.insert(next)
            }
        }
    }
}
