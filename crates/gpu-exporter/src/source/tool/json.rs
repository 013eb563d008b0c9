//! JSON of tools: bounded, with warnings around it, and with keys and types that change from version to version.

use gpu_model::Reading;
use serde_json::{Map, Value};

use super::quantity::{Said, Unit, reading, said};
use crate::readings::{DeviceReadings, Field};
use crate::source::DriverFault;

/// Where a document could begin; the tools print a few lines of warnings before it at most.
const MOST_BEGINNINGS: usize = 64;
/// Names of models are shorter.
const LONGEST_WORD: usize = 256;

/// The first object or list that a line begins with. Depth is bounded by the parser (128), size by what is read from a tool.
pub fn document(text: &str) -> Option<Value> {
    let begins = |line: &str| line.trim_start().starts_with(['{', '[']);
    let mut at = 0;
    let mut beginnings = Vec::new();
    for line in text.split_inclusive('\n') {
        if begins(line) {
            beginnings.push(at);
        }
        at += line.len();
    }
    beginnings.into_iter().take(MOST_BEGINNINGS).find_map(|at| {
        let first = serde_json::Deserializer::from_str(&text[at..])
            .into_iter()
            .next()?;
        first.ok().filter(|value: &Value| {
            value.is_object()
                || value
                    .as_array()
                    .is_some_and(|list| list.iter().all(Value::is_object))
        })
    })
}

/// An object whose keys are compared without case, blanks at the ends and a colon behind: versions differ in all of these.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a>(pub &'a Map<String, Value>);

impl<'a> Object<'a> {
    pub fn of(value: &'a Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    pub fn get(self, name: &str) -> Option<&'a Value> {
        let plain = |key: &'a str| key.trim().trim_end_matches(':').trim_end();
        self.0.get(name).or_else(|| {
            let found = self
                .0
                .iter()
                .find(|(key, _)| plain(key).eq_ignore_ascii_case(name));
            found.map(|(_, value)| value)
        })
    }

    /// The value at a path such as `usage/gfx_activity`; a name may have a stroke of its own.
    pub fn at(self, path: &str) -> Option<&'a Value> {
        if let Some(value) = self.get(path) {
            return Some(value);
        }
        let mut names = path.split('/');
        let first = self.get(names.next()?)?;
        names.try_fold(first, |value, name| Object::of(value)?.get(name))
    }

    /// The first of several names that has a text.
    pub fn word(self, paths: &[&str]) -> Option<String> {
        let mut texts = paths.iter().filter_map(|path| text(self.at(path)?).ok());
        texts.find_map(|text| match said(&text) {
            Said::Text(text) if text.len() <= LONGEST_WORD => Some(text.to_owned()),
            _ => None,
        })
    }
}

/// A number or text as text; an object of value and unit as both. Anything else is of the wrong type.
fn text(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Object(object) => {
            let value = match object.get("value") {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                Some(Value::Null) => return Ok(String::new()),
                _ => return Err("unreadable"),
            };
            // What is not there has a unit all the same.
            let unit = object
                .get("unit")
                .and_then(Value::as_str)
                .filter(|_| matches!(said(&value), Said::Text(_)));
            Ok(format!("{value} {}", unit.unwrap_or_default()))
        }
        Value::Bool(_) | Value::Array(_) => Err("unreadable"),
    }
}

/// A number from a value of any of these forms.
pub fn number(value: &Value, unit: Unit) -> Result<Reading<f64>, &'static str> {
    reading(&text(value)?, unit)
}

/// Takes readings over and counts what failed.
#[derive(Debug, Default)]
pub struct JsonFiller {
    pub readings: DeviceReadings,
    known: u32,
}

impl JsonFiller {
    /// The first of several places that has a value.
    pub fn number(&mut self, object: Object<'_>, paths: &[&str], unit: Unit) -> Reading<f64> {
        let mut found = Reading::Unsupported;
        for value in paths.iter().filter_map(|path| object.at(path)) {
            match number(value, unit) {
                Ok(Reading::Unsupported) => {}
                Ok(reading) => return reading,
                Err(class) => {
                    self.readings.failed.push(class);
                    found = Reading::Failed;
                }
            }
        }
        found
    }

    pub fn set(&mut self, field: Field, value: Reading<f64>) {
        self.known += u32::from(value.known().is_some());
        self.readings.set(field, value);
    }

    pub fn fill(&mut self, object: Object<'_>, places: &[(Field, Unit, &[&str])]) {
        for (field, unit, paths) in places {
            let value = self.number(object, paths, *unit);
            self.set(*field, value);
        }
    }

    /// The chip's first sensor: the edge, or the hottest spot where there is no other.
    pub fn first_temperature(&mut self) {
        let values = &self.readings.values;
        let first = match values.get(Field::EdgeTemperature) {
            Reading::Unsupported => values.get(Field::HotspotTemperature),
            edge => edge,
        };
        self.set(Field::Temperature, first);
    }

    /// The readings of a device that answered; one that gave nothing but failures has failed as a whole.
    pub fn finish(self) -> Result<DeviceReadings, DriverFault> {
        match self.readings.failed.last() {
            Some(class) if self.known == 0 => Err(DriverFault::Failed { class }),
            _ => Ok(self.readings),
        }
    }
}

/// The generation of a bus by the transfers a second on a lane, in billions.
pub fn pcie_generation(gigatransfers: f64) -> Option<f64> {
    let speeds = [
        (2.5, 1.0),
        (5.0, 2.0),
        (8.0, 3.0),
        (16.0, 4.0),
        (32.0, 5.0),
        (64.0, 6.0),
    ];
    speeds
        .into_iter()
        .find(|(speed, _)| (speed - gigatransfers).abs() < 0.1)
        .map(|(_, generation)| generation)
}

/// AMD's unique id as the kernel writes it; a device without one is known by its place, as the driver's own files are read.
pub fn amd_uuid(unique: Option<&str>, address: &str) -> String {
    let digits = unique.map(|text| text.trim().trim_start_matches("0x").trim_start_matches("0X"));
    match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        Some(id) if id != 0 => format!("{id:016x}"),
        _ => format!("amd-{address}"),
    }
}

#[cfg(test)]
mod tests;
