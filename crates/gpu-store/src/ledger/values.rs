//! The values of sets, as questions need them, remembered between questions: reading ten thousand sets anew for each takes longer than
//! all the rest of an answer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gpu_model::ClusterId;

use super::charged::Dimensions;
use super::dimension::Dimension;

/// Sets that are remembered, some 600 bytes each.
const MOST_SETS: usize = 120_000;

/// What a set of dimensions says to every question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SetValues {
    pub(crate) cluster: ClusterId,
    /// In the order of [`Dimension::FIXED`], which is that of their codes.
    fixed: Box<[Option<Arc<str>>]>,
    labels: Box<[(Arc<str>, Arc<str>)]>,
}

impl SetValues {
    fn of(dimensions: &Dimensions, texts: &mut HashSet<Arc<str>>) -> Self {
        let mut shared = |text: &str| -> Arc<str> {
            if let Some(known) = texts.get(text) {
                return Arc::clone(known);
            }
            let new: Arc<str> = Arc::from(text);
            texts.insert(Arc::clone(&new));
            new
        };
        let fixed = Dimension::FIXED
            .iter()
            .map(|dimension| dimension.of(dimensions).map(|value| shared(&value)))
            .collect();
        let labels = dimensions
            .holder
            .iter()
            .flat_map(|holder| &holder.dimensions.labels)
            .map(|(key, value)| (shared(key), shared(value)))
            .collect();
        Self {
            cluster: dimensions.cluster.clone(),
            fixed,
            labels,
        }
    }

    pub(crate) fn get(&self, dimension: &Dimension) -> Option<&str> {
        if let Dimension::Label(key) = dimension {
            let label = self.labels.iter().find(|(name, _)| **name == **key);
            return label.map(|(_, value)| &**value);
        }
        let place = usize::try_from(dimension.code()).ok()?;
        self.fixed.get(place)?.as_deref()
    }
}

/// Sets that were read before. Their numbers mean the same as long as the store's epoch stays: it changes with a restore, and when
/// numbers may be given anew.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    epoch: i64,
    texts: HashSet<Arc<str>>,
    sets: HashMap<i64, Arc<SetValues>>,
}

/// The sets of one question.
pub(crate) type FoundSets = HashMap<i64, Arc<SetValues>>;

impl Catalog {
    /// What is remembered of these sets, and which have to be read.
    pub(crate) fn find(&mut self, epoch: i64, ids: impl Iterator<Item = i64>) -> (FoundSets, Vec<i64>) {
        self.turn_to(epoch);
        let (mut found, mut missing) = (FoundSets::new(), Vec::new());
        for id in ids {
            match self.sets.get(&id) {
                Some(values) => {
                    found.insert(id, Arc::clone(values));
                }
                None => missing.push(id),
            }
        }
        (found, missing)
    }

    /// Takes a set that was read, and hands its values out.
    pub(crate) fn learn(&mut self, epoch: i64, id: i64, dimensions: &Dimensions) -> Arc<SetValues> {
        self.turn_to(epoch);
        if self.sets.len() >= MOST_SETS {
            self.sets.clear();
            self.texts.clear();
        }
        let values = Arc::new(SetValues::of(dimensions, &mut self.texts));
        self.sets.insert(id, Arc::clone(&values));
        values
    }

    fn turn_to(&mut self, epoch: i64) {
        if self.epoch != epoch {
            *self = Self {
                epoch,
                ..Self::default()
            };
        }
    }
}
