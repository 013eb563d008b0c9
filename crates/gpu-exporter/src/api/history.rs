//! The recent past of each device, in rings of a fixed size: what the answer's `window` shows. Nothing is written to disk,
//! and nothing grows.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::window::Window;
use super::{Member, rounded};
use crate::snapshot::{DeviceSnapshot, NodeSnapshot};

/// The size of the rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySettings {
    /// The distance of two points; snapshots in between are left out.
    pub step: Duration,
    /// Points of a device.
    pub points: usize,
    /// Devices at most; more than these are not remembered.
    pub devices: usize,
}

impl Default for HistorySettings {
    /// An hour in steps of five seconds for 64 devices: less than a megabyte when full.
    fn default() -> Self {
        Self {
            step: Duration::from_secs(5),
            points: 720,
            devices: 64,
        }
    }
}

/// The rings, by the device's uuid.
#[derive(Debug)]
pub struct History {
    settings: HistorySettings,
    rings: BTreeMap<String, VecDeque<Packed>>,
    last: Option<Timestamp>,
}

/// One instant of a device, in the units of the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    pub timestamp: Timestamp,
    pub utilization: Option<f64>,
    pub memory_utilization: Option<f64>,
    /// Megabytes.
    pub memory_used: Option<f64>,
    pub temperature: Option<f64>,
    pub power_usage: Option<f64>,
}

/// A point in 20 bytes; NaN stands for what was not read and never leaves this module.
#[derive(Debug, Clone, Copy)]
struct Packed {
    second: i64,
    values: [f32; 5],
}

const MEMBERS: [Member; 5] = [
    Member::Utilization,
    Member::MemoryUtilization,
    Member::MemoryUsed,
    Member::Temperature,
    Member::PowerUsage,
];

impl History {
    pub fn new(settings: HistorySettings) -> Self {
        Self {
            settings,
            rings: BTreeMap::new(),
            last: None,
        }
    }

    /// Takes the newest snapshot in, unless the last one is too near. A clock that stepped back starts a new past.
    pub fn record(&mut self, snapshot: &NodeSnapshot) {
        if let Some(last) = self.last {
            match Duration::try_from(snapshot.at.duration_since(last)) {
                Ok(passed) if passed < self.settings.step => return,
                Ok(_) => {}
                Err(_) => self.rings.clear(),
            }
        }
        self.last = Some(snapshot.at);
        let oldest = self.oldest(snapshot.at);
        // A device that has been away for the whole span is forgotten.
        self.rings
            .retain(|_, ring| ring.back().is_some_and(|newest| newest.second >= oldest));
        for device in &snapshot.devices {
            // A device that did not answer has old readings, which are no points of now.
            if device.age.is_some_and(|age| age < self.settings.step) {
                self.push(device, snapshot.at.as_second());
            }
        }
    }

    fn oldest(&self, now: Timestamp) -> i64 {
        let points = u32::try_from(self.settings.points).unwrap_or(u32::MAX);
        let span = self.settings.step.saturating_mul(points).as_secs();
        now.as_second().saturating_sub_unsigned(span)
    }

    fn push(&mut self, device: &DeviceSnapshot, second: i64) {
        let uuid = device.identity.uuid.as_str();
        if !self.rings.contains_key(uuid) {
            if self.rings.len() >= self.settings.devices {
                return;
            }
            self.rings
                .insert(uuid.to_owned(), VecDeque::with_capacity(self.settings.points));
        }
        let ring = self.rings.get_mut(uuid).expect("inserted above");
        if ring.len() == self.settings.points {
            ring.pop_front();
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "seven digits are more than a chart shows"
        )]
        let values = MEMBERS.map(|member| member.value(device).map_or(f32::NAN, |value| value as f32));
        ring.push_back(Packed { second, values });
    }

    /// The points of a device in the window before `now`, oldest first.
    pub fn points(&self, uuid: &str, now: Timestamp, window: Window) -> Vec<Point> {
        let from = now
            .as_second()
            .saturating_sub_unsigned(window.duration().as_secs());
        let ring = self.rings.get(uuid).into_iter().flatten();
        ring.filter(|packed| packed.second >= from)
            .filter_map(|packed| packed.unpacked())
            .collect()
    }
}

impl Packed {
    fn unpacked(&self) -> Option<Point> {
        let [
            utilization,
            memory_utilization,
            memory_used,
            temperature,
            power_usage,
        ] = self
            .values
            .map(|value| (!value.is_nan()).then(|| rounded(f64::from(value), 1e2)));
        Some(Point {
            timestamp: Timestamp::from_second(self.second).ok()?,
            utilization,
            memory_utilization,
            memory_used,
            temperature,
            power_usage,
        })
    }
}
