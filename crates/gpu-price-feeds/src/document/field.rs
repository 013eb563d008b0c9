//! Single values of a document, each with its place and what to write instead.

use gpu_cost::prices::{PriceVersion, parse_usd};
use gpu_cost::{Moment, Span};
use gpu_model::{CapacityType, Cloud, NanoUsd, Permille};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A text of this length says enough to find it.
const SHOWN: usize = 60;
/// A document with more faults than this is another kind of document.
const MOST_FAULTS: usize = 20;

/// Collects what is wrong while the rest is read on: somebody who fixes a document wants to know all of it.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) found: Vec<String>,
}

impl Faults {
    /// Notes a fault of a field.
    pub(super) fn add(&mut self, place: &str, what: &str) {
        if self.found.len() < MOST_FAULTS {
            self.found.push(format!("{place}: {what}"));
        }
    }

    fn wrong(&mut self, place: &str, text: &str, expected: &str) {
        let shown: String = text.chars().take(SHOWN).collect();
        self.add(place, &format!("`{shown}` {expected}"));
    }

    /// An amount in dollars that is not negative.
    pub(super) fn usd(&mut self, place: &str, text: &str) -> NanoUsd {
        match parse_usd(text) {
            Ok(amount) if amount.0 >= 0 => return amount,
            Ok(_) => self.wrong(place, text, "is below zero: a price is 0 or more"),
            Err(_) => self.wrong(
                place,
                text,
                "is no amount in dollars: write digits with a point, as 41.50",
            ),
        }
        NanoUsd::ZERO
    }

    pub(super) fn optional_usd(&mut self, place: &str, text: Option<&String>) -> NanoUsd {
        text.map_or(NanoUsd::ZERO, |text| self.usd(place, text))
    }

    /// A share: `12%`, `12.5%` or `0.125`; a tenth of a percent is the finest.
    pub(super) fn share(&mut self, place: &str, text: &str) -> Permille {
        // Read as an amount of billionths, because that is exact.
        let (number, thousandth) = match text.strip_suffix('%') {
            Some(number) => (number, 100_000_000),
            None => (text, 1_000_000),
        };
        let share = parse_usd(number)
            .ok()
            .filter(|amount| amount.0 >= 0 && amount.0 % thousandth == 0)
            .and_then(|amount| u16::try_from(amount.0 / thousandth).ok())
            // A bare 1 is more often meant as a percent than as the whole, which is written 100%.
            .filter(|share| *share < 1000 || text.ends_with('%'))
            .and_then(|share| Permille::new(share).ok());
        match share {
            Some(share) => share,
            None => {
                self.wrong(
                    place,
                    text,
                    "is no share: write 12%, 12.5% or 0.125, from 0 to 100%",
                );
                Permille::default()
            }
        }
    }

    /// A whole number from one on.
    pub(super) fn count(&mut self, place: &str, text: &str) -> u32 {
        match text.parse() {
            Ok(count) if count > 0 => count,
            _ => {
                self.wrong(place, text, "is no number: write a whole number from 1 on");
                1
            }
        }
    }

    /// A factor of one or more in thousandths: `1.3` is 1,300.
    pub(super) fn factor(&mut self, place: &str, text: &str) -> u32 {
        let thousandths = parse_usd(text).ok().map(|amount| amount.0 / 1_000_000);
        match thousandths.and_then(|factor| u32::try_from(factor).ok()) {
            Some(factor) if (1000..=10_000).contains(&factor) => factor,
            _ => {
                self.wrong(
                    place,
                    text,
                    "is no power usage effectiveness: write a factor from 1 to 10, as 1.3",
                );
                1000
            }
        }
    }

    pub(super) fn cloud(&mut self, place: &str, text: &str) -> Cloud {
        let clouds = [Cloud::Aws, Cloud::Gcp, Cloud::Azure, Cloud::OnPremises];
        match clouds.into_iter().find(|cloud| cloud.as_str() == text) {
            Some(cloud) => cloud,
            None => {
                self.wrong(place, text, "is no cloud: write aws, gcp, azure or on-premises");
                Cloud::OnPremises
            }
        }
    }

    pub(super) fn capacity(&mut self, place: &str, text: &str) -> CapacityType {
        let kinds = [
            CapacityType::Spot,
            CapacityType::OnDemand,
            CapacityType::Reserved,
            CapacityType::Owned,
        ];
        match kinds.into_iter().find(|kind| kind.as_str() == text) {
            Some(kind) => kind,
            None => {
                self.wrong(
                    place,
                    text,
                    "is no way of paying: write spot, on-demand, reserved or owned",
                );
                CapacityType::OnDemand
            }
        }
    }

    /// A day, which begins at midnight in UTC, or an instant.
    pub(super) fn moment(&mut self, place: &str, text: &str) -> Moment {
        let instant = text.parse::<Timestamp>().ok();
        let day = || {
            let day: Date = text.parse().ok()?;
            Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
        };
        match instant.or_else(day) {
            Some(at) => Moment::from(at),
            None => {
                self.wrong(
                    place,
                    text,
                    "is no day: write 2026-01-31, or 2026-01-31T12:00:00Z",
                );
                Moment(0)
            }
        }
    }

    /// From a day on, up to and without another; without an end on a side that is not named.
    pub(super) fn span(&mut self, place: &str, from: Option<&String>, until: Option<&String>) -> Span {
        let start = from.map_or(PriceVersion::ALWAYS.start, |text| {
            self.moment(&format!("{place}.from"), text)
        });
        let end = until.map_or(PriceVersion::ALWAYS.end, |text| {
            self.moment(&format!("{place}.until"), text)
        });
        let span = Span::new(start, end);
        if span.is_empty() {
            self.add(
                &format!("{place}.until"),
                "lies before `from`: write a later day, or leave it out",
            );
        }
        span
    }
}
