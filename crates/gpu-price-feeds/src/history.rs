//! What a list has said so far: a new price ends the one before it instead of replacing it, so that time that is already
//! settled keeps its price.

use std::collections::BTreeMap;

use gpu_cost::formats::PricePoint;
use gpu_cost::prices::PriceVersion;
use gpu_cost::{Moment, PriceSource, Span};
use gpu_model::{CapacityType, Cloud, NanoUsd};
use serde::{Deserialize, Serialize};

use crate::Wanted;

/// Prices with the instants since which each holds, by place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    #[serde(with = "as_list")]
    places: BTreeMap<Place, Vec<Step>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Place {
    cloud: Cloud,
    region: String,
    instance_type: String,
    zone: Option<String>,
    capacity: CapacityType,
}

/// A price from an instant on; the first of a place has none, because a list tells the last change and not the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Step {
    since: Option<Moment>,
    rate: NanoUsd,
    /// When we first read it. It stays while the price stays: ledger rows name it, and a row must not change because the same
    /// price was read once more.
    learnt: Moment,
}

/// A month of spot prices of fifty types in twenty zones, at a hundred bytes each.
const MOST_STEPS: usize = 100_000;

impl History {
    /// Takes in what a list says now, and whether that changed anything.
    pub fn learn(&mut self, mut points: Vec<PricePoint>, now: Moment) -> bool {
        points.sort();
        points.dedup();
        let before = self.clone();
        for point in points {
            let place = Place {
                cloud: point.cloud,
                region: point.region,
                instance_type: point.instance_type,
                zone: point.zone,
                capacity: point.capacity,
            };
            let steps = self.places.entry(place).or_default();
            take(steps, point.since, point.rate, now);
        }
        *self != before
    }

    /// Drops steps that ended before an instant. Places that are no longer asked for stay, because time that is settled anew
    /// must find the price it had; only when there are too many of them do they go.
    pub fn prune(&mut self, wanted: &Wanted, ended_before: Moment) {
        for steps in self.places.values_mut() {
            let over = steps
                .windows(2)
                .take_while(|pair| pair[1].since.is_some_and(|end| end < ended_before))
                .count();
            steps.drain(..over);
        }
        if self.len() > MOST_STEPS {
            self.places
                .retain(|place, _| wanted.has(place.cloud, &place.region, &place.instance_type));
        }
    }

    /// How many prices are known.
    pub fn len(&self) -> usize {
        self.places.values().map(Vec::len).sum()
    }

    /// Whether no price is known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The prices with their validity: each until the next, the first also before it was known.
    pub fn versions(&self) -> Vec<PriceVersion> {
        let mut versions = Vec::with_capacity(self.len());
        for (place, steps) in &self.places {
            let ends = steps.iter().skip(1).map(|next| next.since).chain([None]);
            for (index, (step, end)) in steps.iter().zip(ends).enumerate() {
                let start = step.since.filter(|_| index > 0);
                let valid = Span::new(
                    start.unwrap_or(PriceVersion::ALWAYS.start),
                    end.unwrap_or(PriceVersion::ALWAYS.end),
                );
                versions.push(PriceVersion {
                    cloud: place.cloud,
                    instance_type: place.instance_type.clone(),
                    region: place.region.clone(),
                    zone: place.zone.clone(),
                    capacity: place.capacity,
                    valid,
                    rate: step.rate,
                    source: PriceSource::Live,
                    as_of: step.learnt,
                });
            }
        }
        versions
    }
}

/// Adds a price to those of a place. Some lists move the instant of every price forward without changing the price; that is no
/// news.
fn take(steps: &mut Vec<Step>, since: Option<Moment>, rate: NanoUsd, now: Moment) {
    let learnt = now;
    let Some(last) = steps.last() else {
        steps.push(Step { since, rate, learnt });
        return;
    };
    // A list that does not say since when: the change happened at the latest now.
    let since = since.unwrap_or_else(|| if last.rate == rate { Moment(i64::MAX) } else { now });
    let after = steps.partition_point(|step| step.since.is_none_or(|at| at <= since));
    let Some(place) = after.checked_sub(1) else {
        // Older than all that is known: it holds before the first.
        if steps[0].rate != rate {
            steps.insert(
                0,
                Step {
                    since: Some(since),
                    rate,
                    learnt,
                },
            );
        }
        return;
    };
    let current = &mut steps[place];
    if current.rate == rate {
        return;
    }
    if current.since == Some(since) {
        // The list corrects itself.
        *current = Step {
            rate,
            learnt,
            ..*current
        };
    } else {
        steps.insert(
            after,
            Step {
                since: Some(since),
                rate,
                learnt,
            },
        );
    }
}

/// Keys of JSON are texts, and a place is none.
mod as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Place, Step};

    pub(super) fn serialize<S: Serializer>(
        places: &BTreeMap<Place, Vec<Step>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        places.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Place, Vec<Step>>, D::Error> {
        let pairs = Vec::<(Place, Vec<Step>)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().filter(|(_, steps)| !steps.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests;
