//! Instants and spans of the ledger: whole milliseconds, and the grid on which it is cut.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// An instant in whole milliseconds since 1970, UTC.
///
/// Clouds bill by the second and drivers sample by the second: a millisecond loses nothing that anybody measured, and an
/// `i64` of them can be multiplied with a price without leaving an `i128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds * 1000)
    }

    /// The instant as a timestamp; one outside the calendar is its nearest end.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
    }

    /// So many milliseconds later.
    #[must_use]
    pub const fn plus(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(at.as_millisecond())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.timestamp().fmt(f)
    }
}

/// The time from an instant up to, and without, another. A span that ends before it starts is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start: Moment,
    pub end: Moment,
}

impl Span {
    pub const fn new(start: Moment, end: Moment) -> Self {
        Self { start, end }
    }

    pub fn milliseconds(self) -> i64 {
        self.end.0.saturating_sub(self.start.0).max(0)
    }

    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    pub fn contains(self, at: Moment) -> bool {
        self.start <= at && at < self.end
    }

    /// The time both have.
    #[must_use]
    pub fn overlap(self, other: Self) -> Self {
        Self {
            start: self.start.max(other.start),
            end: self.end.min(other.end),
        }
    }
}

/// How long a bucket of the ledger is. Buckets start at whole multiples since 1970, so a day is a day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grain {
    FiveMinutes,
    Hour,
    Day,
}

impl Grain {
    pub const ALL: [Self; 3] = [Self::FiveMinutes, Self::Hour, Self::Day];

    pub const fn milliseconds(self) -> i64 {
        match self {
            Grain::FiveMinutes => 300_000,
            Grain::Hour => 3_600_000,
            Grain::Day => 86_400_000,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Grain::FiveMinutes => "5m",
            Grain::Hour => "1h",
            Grain::Day => "1d",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grain| grain.as_str() == text)
    }

    /// The bucket in which an instant lies.
    pub fn bucket(self, at: Moment) -> Span {
        let length = self.milliseconds();
        let start = Moment(at.0.div_euclid(length) * length);
        Span::new(start, start.plus(length))
    }

    /// The buckets that a span touches, in order.
    pub fn buckets(self, span: Span) -> impl Iterator<Item = Span> {
        let mut next = self.bucket(span.start);
        std::iter::from_fn(move || {
            if span.is_empty() || next.start >= span.end {
                return None;
            }
            let bucket = next;
            next = Span::new(bucket.end, bucket.end.plus(self.milliseconds()));
            Some(bucket)
        })
    }
}
