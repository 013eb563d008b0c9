//! From texts to readings, one device at a time.

use gpu_model::Reading;

use super::super::DriverFault;
use super::super::tool::quantity::{Said, Unit, reading, said};
use crate::readings::{DeviceReadings, Field};

/// Takes readings over and remembers whether the device answered at all.
#[derive(Default)]
pub(super) struct Filler {
    pub(super) readings: DeviceReadings,
    is_lost: bool,
    known: u32,
}

impl Filler {
    /// A number from the first text that has one.
    pub(super) fn number<'a>(&mut self, texts: impl Iterator<Item = &'a str>, unit: Unit) -> Reading<f64> {
        match first(texts) {
            Said::Text(text) => self.note(reading(text, unit)),
            other => self.without(other),
        }
    }

    pub(super) fn set(&mut self, field: Field, value: Reading<f64>) {
        self.known += u32::from(value.known().is_some());
        self.readings.set(field, value);
    }

    /// A word for yes or no.
    pub(super) fn flag<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> Reading<bool> {
        let text = match first(texts) {
            Said::Text(text) => text.to_ascii_lowercase(),
            other => return self.without(other).map(|_| false),
        };
        let no = ["no", "not active", "disabled", "unlicensed", "0"];
        let yes = ["yes", "active", "enabled", "licensed", "1"];
        // A licence's status goes on in brackets until when.
        let begins = |word: &&str| {
            text.strip_prefix(*word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
        };
        if no.iter().any(begins) {
            Reading::Known(false)
        } else if yes.iter().any(begins) {
            Reading::Known(true)
        } else {
            self.without(Said::Failed("unreadable")).map(|_| false)
        }
    }

    /// A plain text; none where there is none.
    pub(super) fn word<'a>(&mut self, texts: impl Iterator<Item = &'a str>) -> Option<String> {
        match first(texts) {
            Said::Text(text) => Some(text.to_owned()),
            other => {
                self.is_lost |= other == Said::Lost;
                None
            }
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The readings of a device that answered; one that gave nothing but failures has failed as a whole.
    pub(super) fn finish(self) -> Result<DeviceReadings, DriverFault> {
        if self.is_lost {
            return Err(DriverFault::DeviceLost);
        }
        match self.readings.failed.last() {
            Some(class) if self.known == 0 => Err(DriverFault::Failed { class }),
            _ => Ok(self.readings),
        }
    }

    fn note(&mut self, outcome: Result<Reading<f64>, &'static str>) -> Reading<f64> {
        outcome.unwrap_or_else(|class| {
            self.readings.failed.push(class);
            Reading::Failed
        })
    }

    fn without(&mut self, said: Said<'_>) -> Reading<f64> {
        match said {
            Said::Text(_) | Said::Nothing => Reading::Unsupported,
            Said::Failed(class) => self.note(Err(class)),
            Said::Lost => {
                self.is_lost = true;
                Reading::Failed
            }
        }
    }
}

/// The first text that says something.
fn first<'a>(texts: impl Iterator<Item = &'a str>) -> Said<'a> {
    texts
        .map(said)
        .find(|said| *said != Said::Nothing)
        .unwrap_or(Said::Nothing)
}
