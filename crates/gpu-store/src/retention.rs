//! How long things are kept, and from when on they still are.

use gpu_cost::{Grain, Moment};
use serde::{Deserialize, Serialize};

use crate::ledger::floor;

/// Days that each kind of row is kept. A `CostAttribution` may lengthen these, never shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    pub raw_days: u16,
    pub five_minute_days: u16,
    pub hourly_days: u16,
    pub daily_days: u16,
    /// Decisions with their reasons, which people ask about weeks later.
    pub decision_days: u16,
    /// Usage windows of workload templates.
    pub usage_days: u16,
}

/// Ten years: longer is a mistake in a unit.
const MOST_DAYS: u16 = 3660;

impl Default for Retention {
    fn default() -> Self {
        Self {
            raw_days: 7,
            // As long as the rows they are made of: below an hour, rows and sums answer together.
            five_minute_days: 7,
            hourly_days: 30,
            daily_days: 400,
            decision_days: 90,
            usage_days: 30,
        }
    }
}

/// Why a retention cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetentionError {
    #[error("`{field}` is {days} days; give at least 1 and at most 3660")]
    Range { field: &'static str, days: u16 },
    #[error(
        "`{coarse}` ({coarse_days} days) is shorter than `{fine}` ({fine_days} days); coarser sums are kept at least as long"
    )]
    Order {
        fine: &'static str,
        fine_days: u16,
        coarse: &'static str,
        coarse_days: u16,
    },
}

impl Retention {
    pub fn checked(self) -> Result<Self, RetentionError> {
        for (field, days) in [
            ("raw-days", self.raw_days),
            ("five-minute-days", self.five_minute_days),
            ("hourly-days", self.hourly_days),
            ("daily-days", self.daily_days),
            ("decision-days", self.decision_days),
            ("usage-days", self.usage_days),
        ] {
            if days == 0 || days > MOST_DAYS {
                return Err(RetentionError::Range { field, days });
            }
        }
        let ordered = [
            ("raw-days", self.raw_days, "hourly-days", self.hourly_days),
            (
                "five-minute-days",
                self.five_minute_days,
                "hourly-days",
                self.hourly_days,
            ),
            ("hourly-days", self.hourly_days, "daily-days", self.daily_days),
        ];
        for (fine, fine_days, coarse, coarse_days) in ordered {
            if coarse_days < fine_days {
                return Err(RetentionError::Order {
                    fine,
                    fine_days,
                    coarse,
                    coarse_days,
                });
            }
        }
        Ok(self)
    }

    /// What a `CostAttribution` with `retentionDays` asks for: hourly detail that long. Fewer days than are kept anyway change nothing.
    #[must_use]
    pub fn lengthened_by(self, retention_days: u16) -> Self {
        let hourly_days = self.hourly_days.max(retention_days.min(MOST_DAYS));
        Self {
            hourly_days,
            daily_days: self.daily_days.max(hourly_days),
            ..self
        }
    }

    /// From when on everything has to be kept at `now`. Floors are whole days, so that a bucket is kept or dropped as a whole.
    pub fn floors(&self, now: Moment) -> Floors {
        let before = |days: u16| floor(Grain::Day, now.plus(-Grain::Day.milliseconds() * i64::from(days)));
        Floors {
            raw: before(self.raw_days),
            five_minutes: before(self.five_minute_days),
            hour: before(self.hourly_days),
            day: before(self.daily_days),
        }
    }
}

/// Before every row. Not the lowest number there is, so that a span that starts here still has a length.
const LONG_AGO: i64 = -62_135_596_800_000;

/// From when on each kind is still there. A new store has dropped nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floors {
    pub raw: Moment,
    pub five_minutes: Moment,
    pub hour: Moment,
    pub day: Moment,
}

impl Floors {
    pub const NOTHING_DROPPED: Self = Self {
        raw: Moment(LONG_AGO),
        five_minutes: Moment(LONG_AGO),
        hour: Moment(LONG_AGO),
        day: Moment(LONG_AGO),
    };

    pub fn of(&self, grain: Option<Grain>) -> Moment {
        match grain {
            None => self.raw,
            Some(Grain::FiveMinutes) => self.five_minutes,
            Some(Grain::Hour) => self.hour,
            Some(Grain::Day) => self.day,
        }
    }

    /// A floor never sinks: what was dropped does not come back because the clock was set back or the days were lengthened.
    #[must_use]
    pub fn raised_to(self, other: Self) -> Self {
        Self {
            raw: self.raw.max(other.raw),
            five_minutes: self.five_minutes.max(other.five_minutes),
            hour: self.hour.max(other.hour),
            day: self.day.max(other.day),
        }
    }
}
