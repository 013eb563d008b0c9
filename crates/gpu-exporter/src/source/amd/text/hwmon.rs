//! hwmon: labels of sensors and their inputs in base units.

use super::trimmed;

/// Where a temperature is taken, from `temp*_label`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemperatureSensor {
    Edge,
    /// The hottest place of the chip.
    Junction,
    Memory,
}

impl TemperatureSensor {
    pub fn from_label(text: &str) -> Option<Self> {
        match trimmed(text) {
            "edge" => Some(Self::Edge),
            "junction" => Some(Self::Junction),
            "mem" => Some(Self::Memory),
            _ => None,
        }
    }
}

/// `temp*_input`, `temp*_crit` and the like: thousandths of a degree.
pub fn celsius(text: &str) -> Option<f64> {
    Some(signed(text)? / 1e3)
}

/// `power*_average`, `power*_input`, `power*_cap*`: microwatts.
pub fn watts(text: &str) -> Option<f64> {
    Some(signed(text)? / 1e6).filter(|watts| *watts >= 0.0)
}

/// `freq*_input`.
pub fn hertz(text: &str) -> Option<f64> {
    signed(text).filter(|hertz| *hertz >= 0.0)
}

/// `in*_input`: millivolts.
pub fn volts(text: &str) -> Option<f64> {
    Some(signed(text)? / 1e3)
}

fn signed(text: &str) -> Option<f64> {
    trimmed(text).parse::<i64>().ok().map(|number| number as f64)
}
