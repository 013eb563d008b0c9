//! Rows into sums. Folding adds each row once, cut at the borders of buckets; a store adds the result to what it holds in the same
//! transaction in which it notes how far it has folded.
//!
//! Days are not folded from rows while they last: a day is closed once, from its hours, when rows of the next one have come. What
//! arrives later for a closed day is added to the day as well.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use gpu_cost::{Grain, Moment, Part, Span};

use super::bucket::floor;
use super::charged::Dimensions;
use super::dimension::Dimension;
use super::growth::Pieces;
use super::sums::{Measures, Sums};

/// A batch of rows makes at most about this many sums, whatever it holds: some 45 MB.
const MOST_SUMS: usize = 400_000;
/// Clusters times parts of one batch. Fewer than a key can hold, because a row may add one after the question was asked.
const MOST_LANES: usize = 4_000;
/// Sets that are remembered from one batch to the next, some 150 bytes each.
const KNOWN_SETS: usize = 200_000;
/// A day is closed when a row was folded that starts this long after its end: settlement is minutes late, not hours.
const CLOSED_AFTER_MS: i64 = Grain::Hour.milliseconds();

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
    /// The number of the price note, by which a bill can be made of hours. Days have none: a price may change every hour.
    pub price: i64,
}

/// The price of sums that are of more than one price.
pub(crate) const ANY_PRICE: i64 = 0;

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
    pub price: i64,
    pub span: Span,
    pub measures: Measures,
}

/// What a batch of rows adds up to, in the order of the keys, which is the order in which a database keeps them.
#[derive(Debug)]
pub struct Folded {
    pub sets: Vec<(SetSlice, Sums)>,
    pub slices: Vec<(Slice, Sums)>,
    /// Days before this one are to be closed from their hours.
    pub closes: Moment,
}

/// From where on a batch is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldFrom {
    /// Nothing before this instant is added: its rows are gone, and its sums were made while they were there.
    pub floor: Moment,
    /// Days before this one have sums of their own.
    pub closed: Moment,
}

/// A value of a dimension that has sums of its own.
#[derive(Debug)]
struct Slot {
    dimension: i16,
    value: Arc<str>,
}

/// Where the sums of a set go.
#[derive(Debug, Clone)]
struct Known {
    /// The first few have sums of five minutes too.
    slots: Arc<[u32]>,
    fine: usize,
}

/// Adds rows up. It remembers the values of sets between batches, and nothing else.
#[derive(Debug, Default)]
pub struct Fold {
    slots: Vec<Slot>,
    slot_numbers: HashMap<(i16, Arc<str>), u32>,
    sets: HashMap<i64, Known>,
    /// Sets with their prices.
    priced_numbers: HashMap<(i64, i64), u32>,
    priced: Vec<(i64, i64)>,
    /// Clusters and parts, which most batches have one of.
    lanes: Vec<(i32, Part)>,
    by_slot: Table,
    by_set: Table,
    newest: Option<Moment>,
}

impl Fold {
    /// Makes the dimensions of a set known, which `add` looks up.
    pub fn know(&mut self, set: i64, dimensions: &Dimensions) {
        let mut slots = Vec::with_capacity(24);
        for grain in [Grain::FiveMinutes, Grain::Hour] {
            for dimension in &Dimension::FIXED {
                let is_fine = dimension.is_summed_at(Grain::FiveMinutes);
                if dimension.is_summed_at(Grain::Day) && is_fine == (grain == Grain::FiveMinutes) {
                    let value = dimension.of(dimensions).unwrap_or_default();
                    slots.push(self.slot(dimension.code(), &value));
                }
            }
        }
        let fine = Dimension::FIXED
            .iter()
            .filter(|dimension| dimension.is_summed_at(Grain::FiveMinutes))
            .count();
        let label = Dimension::Label(String::new()).code();
        let labels = dimensions
            .holder
            .iter()
            .flat_map(|holder| &holder.dimensions.labels);
        for (key, value) in labels {
            slots.push(self.slot(label, &format!("{key}{LABEL_SEPARATOR}{value}")));
        }
        let known = Known {
            slots: slots.into(),
            fine,
        };
        self.sets.insert(set, known);
    }

    pub fn knows(&self, set: i64) -> bool {
        self.sets.contains_key(&set)
    }

    /// Whether the next batch should be another one.
    pub fn is_full(&self) -> bool {
        self.by_slot.len() + self.by_set.len() >= MOST_SUMS || self.lanes.len() >= MOST_LANES
    }

    /// Adds a row. None when a sum left its range, or when the set was not made known.
    pub fn add(&mut self, row: &FoldInput, from: FoldFrom) -> Option<()> {
        let known = self.sets.get(&row.set)?.clone();
        let lane = self.lane(row.cluster, row.part)?;
        let kept = Span::new(row.span.start.max(from.floor), row.span.end);
        self.newest = self.newest.max(Some(row.span.start));
        let pieces = Pieces::from(&row.measures, row.span, from.floor);
        let all = *pieces.all();
        let (mut hour, mut day) = (Sums::default(), Sums::default());
        for (piece, sums) in pieces {
            for slot in &known.slots[..known.fine] {
                self.by_slot
                    .add(Key::new(Grain::FiveMinutes, piece.start, lane, *slot)?, &sums)?;
            }
            hour.add(&sums)?;
            let ends = |grain: Grain| piece.end == kept.end || floor(grain, piece.end) == piece.end;
            if !ends(Grain::Hour) {
                continue;
            }
            // A row that is not cut says of itself how much of it was used.
            let lies_in =
                |grain: Grain| kept == row.span && floor(grain, row.span.start) == floor(grain, piece.start);
            let is_whole = piece.end == kept.end && lies_in(Grain::Hour);
            let sums = if is_whole { all } else { hour };
            let number = self.number(row.set, row.price);
            self.by_set
                .add(Key::new(Grain::Hour, piece.start, lane, number)?, &sums)?;
            self.add_to(Grain::Hour, piece.start, lane, &known, &sums)?;
            day.add(&sums)?;
            hour = Sums::default();
            if ends(Grain::Day) {
                if floor(Grain::Day, piece.start) < from.closed {
                    let number = self.number(row.set, ANY_PRICE);
                    self.by_set
                        .add(Key::new(Grain::Day, piece.start, lane, number)?, &day)?;
                    self.add_to(Grain::Day, piece.start, lane, &known, &day)?;
                }
                day = Sums::default();
            }
        }
        Some(())
    }

    fn add_to(&mut self, grain: Grain, at: Moment, lane: u16, known: &Known, sums: &Sums) -> Option<()> {
        for slot in known.slots.iter() {
            self.by_slot.add(Key::new(grain, at, lane, *slot)?, sums)?;
        }
        Some(())
    }

    /// Takes what was added up.
    pub fn finish(&mut self, from: FoldFrom) -> Folded {
        let mut sets = Vec::with_capacity(self.by_set.len());
        for (key, sums) in self.by_set.drain() {
            let (cluster, part) = self.lanes[usize::from(key.lane())];
            let (grain, bucket) = key.bucket();
            let (set, price) = self.priced[key.number()];
            let key = SetSlice {
                grain,
                bucket,
                cluster,
                set,
                part,
                price,
            };
            sets.push((key, sums));
        }
        sets.sort_unstable_by_key(|(key, _)| *key);
        let mut slices = Vec::with_capacity(self.by_slot.len());
        for (key, sums) in self.by_slot.drain() {
            let (cluster, part) = self.lanes[usize::from(key.lane())];
            let (grain, bucket) = key.bucket();
            let slot = &self.slots[key.number()];
            let slice = Slice {
                grain,
                dimension: slot.dimension,
                bucket,
                cluster,
                value: Arc::clone(&slot.value),
                part,
            };
            slices.push((slice, sums));
        }
        slices.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let newest = self.newest.take();
        let closes = newest.map_or(from.closed, |newest| {
            floor(Grain::Day, newest.plus(-CLOSED_AFTER_MS))
        });
        self.lanes.clear();
        if self.sets.len().max(self.priced.len()) >= KNOWN_SETS {
            self.forget();
        }
        Folded {
            sets,
            slices,
            closes: closes.max(from.closed),
        }
    }

    /// Nothing that was remembered is believed any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn number(&mut self, set: i64, price: i64) -> u32 {
        let next = u32::try_from(self.priced.len()).expect("sets and their prices are bounded");
        let number = *self.priced_numbers.entry((set, price)).or_insert(next);
        if number == next {
            self.priced.push((set, price));
        }
        number
    }

    fn lane(&mut self, cluster: i32, part: Part) -> Option<u16> {
        let known = self.lanes.iter().position(|lane| *lane == (cluster, part));
        let lane = known.unwrap_or_else(|| {
            self.lanes.push((cluster, part));
            self.lanes.len() - 1
        });
        u16::try_from(lane).ok()
    }

    fn slot(&mut self, dimension: i16, value: &str) -> u32 {
        let key = (dimension, Arc::from(value));
        if let Some(known) = self.slot_numbers.get(&key) {
            return *known;
        }
        let number = u32::try_from(self.slots.len()).expect("values of sets are bounded as these are");
        self.slots.push(Slot {
            dimension,
            value: Arc::clone(&key.1),
        });
        self.slot_numbers.insert(key, number);
        number
    }
}

/// Grain, bucket, lane and number in one word, so that looking a sum up costs next to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u64);

/// Two bits of grain are above these: 26 of buckets since 1970 reach to the year 2608 in steps of five minutes.
const BUCKET_BITS: u32 = 26;
/// Clusters times parts.
const LANE_BITS: u32 = 12;
/// Sets, or values: sixteen million.
const NUMBER_BITS: u32 = 24;

impl Key {
    /// None for what does not fit, which [`Fold::is_full`] and the check of rows keep away.
    fn new(grain: Grain, at: Moment, lane: u16, number: u32) -> Option<Self> {
        let code = match grain {
            Grain::FiveMinutes => 0,
            Grain::Hour => 1,
            Grain::Day => 2,
        };
        let bucket = u64::try_from(at.0.div_euclid(grain.milliseconds())).ok()?;
        let (lane, number) = (u64::from(lane), u64::from(number));
        if bucket >> BUCKET_BITS != 0 || lane >> LANE_BITS != 0 || number >> NUMBER_BITS != 0 {
            return None;
        }
        Some(Self(
            (((code << BUCKET_BITS | bucket) << LANE_BITS | lane) << NUMBER_BITS) | number,
        ))
    }

    fn bits(self, above: u32, count: u32) -> u64 {
        (self.0 >> above) & ((1 << count) - 1)
    }

    fn number(self) -> usize {
        usize::try_from(self.bits(0, NUMBER_BITS)).expect("24 bits")
    }

    fn lane(self) -> u16 {
        u16::try_from(self.bits(NUMBER_BITS, LANE_BITS)).expect("12 bits")
    }

    fn bucket(self) -> (Grain, Moment) {
        let bucket = self.bits(NUMBER_BITS + LANE_BITS, BUCKET_BITS).cast_signed();
        let grain = Grain::ALL[usize::try_from(self.0 >> (64 - 2)).expect("2 bits")];
        (grain, Moment(bucket * grain.milliseconds()))
    }
}

/// Sums by key.
#[derive(Debug, Default)]
struct Table {
    places: HashMap<Key, u32, BuildHasherDefault<Spread>>,
    sums: Vec<(Key, Sums)>,
}

impl Table {
    fn len(&self) -> usize {
        self.sums.len()
    }

    fn add(&mut self, key: Key, sums: &Sums) -> Option<()> {
        let next = u32::try_from(self.sums.len()).ok()?;
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.sums.push((key, *sums));
            return Some(());
        }
        self.sums.get_mut(usize::try_from(place).ok()?)?.1.add(sums)
    }

    fn drain(&mut self) -> Vec<(Key, Sums)> {
        self.places.clear();
        std::mem::take(&mut self.sums)
    }
}

/// The keys are numbers that we gave ourselves, so nobody can choose them to collide; all that is needed is to spread them.
#[derive(Debug, Default, Clone, Copy)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The odd number nearest to 2^64 divided by the golden ratio.
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
