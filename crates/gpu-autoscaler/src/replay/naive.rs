//! The rule that everybody starts with: below 50 % for 5 minutes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use gpu_model::{DeviceId, FleetView, GpuUuid};
use jiff::Timestamp;

/// One part of one GPU.
pub(crate) type Place = (GpuUuid, DeviceId);

const WINDOW: Duration = Duration::from_secs(300);
const THRESHOLD: u32 = 500;

/// Utilisation of the last five minutes, as a dashboard would plot it.
#[derive(Debug, Default)]
pub(crate) struct Naive {
    samples: BTreeMap<Place, VecDeque<(Timestamp, u16)>>,
}

impl Naive {
    pub(crate) fn observe(&mut self, view: &FleetView) {
        for gpu in view.gpus() {
            for part in &gpu.parts {
                let Some(utilization) = part.usage.utilization.known().or(gpu.sample.utilization.known())
                else {
                    continue;
                };
                let place = (gpu.device.uuid.clone(), part.device_id.clone());
                let samples = self.samples.entry(place).or_default();
                samples.push_back((view.at, utilization.get()));
                while samples
                    .front()
                    .is_some_and(|(at, _)| view.at.duration_since(*at) >= signed(WINDOW))
                {
                    samples.pop_front();
                }
            }
        }
    }

    /// Whether the average of the last five minutes is below a half. It needs a sample, and it asks nothing else.
    pub(crate) fn says(&self, place: &Place, now: Timestamp) -> bool {
        let Some(samples) = self.samples.get(place) else {
            return false;
        };
        let recent = samples
            .iter()
            .filter(|(at, _)| now.duration_since(*at) < signed(WINDOW));
        let (count, sum) = recent.fold((0u32, 0u32), |(count, sum), (_, value)| {
            (count + 1, sum + u32::from(*value))
        });
        sum.checked_div(count).is_some_and(|mean| mean < THRESHOLD)
    }
}

fn signed(duration: Duration) -> jiff::SignedDuration {
    jiff::SignedDuration::try_from(duration).unwrap_or(jiff::SignedDuration::MAX)
}
