//! Counters of the firmware as growth between two tables: shares of time, seconds, and sums that do not wrap. Pure; the time
//! comes in. Sums over a board's life are never turned into shares: idle boards are known to claim that they were throttled
//! ever since.

/// Ticks beyond this between two tables are no growth but a counter that began again: a day at a thousand ticks a second.
const MOST_TICKS: u64 = 86_400_000;

/// How far a counter went since before. Counters of 32 bits wrap; a smaller number that is no wrap is a new beginning, of
/// which nothing is known.
pub(super) fn growth(before: u64, now: u64) -> Option<u64> {
    let grown = if now >= before {
        now - before
    } else if before <= u64::from(u32::MAX) {
        now + (u64::from(u32::MAX) + 1) - before
    } else {
        return None;
    };
    (grown <= MOST_TICKS).then_some(grown)
}

/// One counter and what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Held {
    last: Option<u64>,
    /// The share of the last interval in which anything was counted.
    share: Option<f64>,
    /// The shares summed over time.
    seconds: Option<f64>,
}

impl Held {
    /// Takes the counter over; `ticks` is how many the firmware counted since the last table, in `seconds`.
    pub(super) fn update(&mut self, now: Option<u64>, ticks: Option<u64>, seconds: f64) {
        let Some(now) = now else {
            self.share = None;
            return;
        };
        let sum = self.seconds.get_or_insert(0.0);
        let grown = self.last.and_then(|last| growth(last, now));
        match (grown, ticks) {
            // The same table again says nothing new.
            (Some(0), Some(0)) => {}
            (Some(grown), Some(ticks)) if ticks > 0 => {
                let share = (grown as f64 / ticks as f64).clamp(0.0, 1.0);
                self.share = Some(share);
                *sum += share * seconds;
            }
            _ => self.share = None,
        }
        self.last = Some(now);
    }

    pub(super) fn share(&self) -> Option<f64> {
        self.share
    }

    pub(super) fn seconds(&self) -> Option<f64> {
        self.seconds
    }
}

/// The firmware's own tick counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ticks(Option<u64>);

impl Ticks {
    /// How many ticks passed since the last table.
    pub(super) fn pass(&mut self, now: Option<u64>) -> Option<u64> {
        let before = std::mem::replace(&mut self.0, now);
        growth(before?, now?)
    }
}

/// A counter of 32 bits as one that does not wrap: the energy of the oldest tables starts again every few minutes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unwrapped {
    last: Option<u32>,
    sum: u64,
}

impl Unwrapped {
    pub(super) fn take(&mut self, now: u32) -> u64 {
        self.sum += match self.last {
            Some(last) => u64::from(now.wrapping_sub(last)),
            None => u64::from(now),
        };
        self.last = Some(now);
        self.sum
    }
}

#[cfg(test)]
mod tests {
    //! Shares come from differences alone.

    use super::{Held, Ticks, Unwrapped, growth};

    #[test]
    fn counters_grow_wrap_and_begin_again() {
        assert_eq!(growth(5, 9), Some(4));
        assert_eq!(growth(u64::from(u32::MAX) - 1, 3), Some(5));
        assert_eq!(growth(4_000_000, 12), None, "a driver that was loaded again");
        assert_eq!(growth(u64::from(u32::MAX) + 9, 3), None);
        assert_eq!(growth(0, u64::MAX), None);
    }

    /// Two tables under load, five seconds apart, as they were published for an MI300X.
    #[test]
    fn a_power_limited_board_shows_its_share() {
        let (mut ticks, mut power) = (Ticks::default(), Held::default());
        let passed = ticks.pass(Some(55_257_356));
        power.update(Some(749_905), passed, 0.0);
        assert_eq!((power.share(), power.seconds()), (None, Some(0.0)));
        let passed = ticks.pass(Some(55_262_364));
        power.update(Some(754_247), passed, 5.0);
        assert!((power.share().unwrap() - 0.867).abs() < 0.001);
        assert!((power.seconds().unwrap() - 4.335).abs() < 0.001);
    }

    #[test]
    fn an_idle_board_whose_sums_say_that_it_always_was_throttled_is_not() {
        let (mut ticks, mut power) = (Ticks::default(), Held::default());
        for (at, counted) in [(1_000, 1_000), (2_000, 1_000)] {
            power.update(Some(counted), ticks.pass(Some(at)), 1.0);
        }
        assert_eq!((power.share(), power.seconds()), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn the_same_table_again_changes_nothing() {
        let mut ticks = Ticks::default();
        let mut held = Held::default();
        for (at, counted) in [(1_000, 10), (2_000, 510), (2_000, 510)] {
            held.update(Some(counted), ticks.pass(Some(at)), 1.0);
        }
        assert_eq!((held.share(), held.seconds()), (Some(0.5), Some(0.5)));
        held.update(None, ticks.pass(None), 1.0);
        assert_eq!((held.share(), held.seconds()), (None, Some(0.5)));
    }

    #[test]
    fn what_is_not_counted_has_no_seconds() {
        let mut held = Held::default();
        held.update(None, Some(1_000), 1.0);
        assert_eq!(held, Held::default());
    }

    #[test]
    fn a_short_counter_is_made_long() {
        let mut energy = Unwrapped::default();
        assert_eq!(energy.take(4_000_000_000), 4_000_000_000);
        assert_eq!(energy.take(5), 4_294_967_301);
    }
}
