//! Which processes are on a device, what memory each holds and what share of the time each used since the last tick.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gpu_model::Reading;
use gpu_nvml::{Device, Process, ProcessList, ProcessSamples};

use super::Asker;
use crate::readings::{DeviceReadings, ProcessReading, SliceId};
use crate::source::DriverFault;

/// The driver measures every sixth of a second, on some boards once a second. A tick without a measurement, shorter than
/// this after the last one, says nothing: the last one stands. After it nothing ran.
const STANDS_FOR: Duration = Duration::from_secs(2);

pub(super) struct ProcessReader {
    /// The driver does not measure time per process on a sliced device.
    sliced: bool,
    list: ProcessList,
    samples: ProcessSamples,
    since: u64,
    shares: BTreeMap<u32, u64>,
    /// Over how many periods the shares were measured.
    periods: u64,
    measured_at: Option<Instant>,
}

impl ProcessReader {
    pub(super) fn new(sliced: bool) -> Self {
        Self {
            sliced,
            list: ProcessList::default(),
            samples: ProcessSamples::default(),
            since: 0,
            shares: BTreeMap::new(),
            periods: 0,
            measured_at: None,
        }
    }

    pub(super) fn read(
        &mut self,
        asker: &mut Asker,
        device: &Device,
        into: &mut DeviceReadings,
    ) -> Result<(), DriverFault> {
        let list = &mut self.list;
        let listed = asker.ask(into, || device.processes(list))?;
        let periods = if self.sliced {
            Reading::Unsupported
        } else {
            self.measure(asker, device, into)?
        };
        // The list of the last tick is filled again: its room is kept.
        let mut processes = std::mem::take(&mut into.processes).known().unwrap_or_default();
        processes.clear();
        into.processes = listed.map(|()| {
            processes.extend(
                self.list
                    .iter()
                    .map(|process| reading(process, periods, &self.shares)),
            );
            processes
        });
        Ok(())
    }

    /// Sums the samples of each process since the last tick; returns over how many periods they were taken.
    fn measure(
        &mut self,
        asker: &mut Asker,
        device: &Device,
        into: &mut DeviceReadings,
    ) -> Result<Reading<u64>, DriverFault> {
        let (samples, since) = (&mut self.samples, self.since);
        let answered = asker.ask(into, || device.process_utilization(since, samples))?;
        let now = Instant::now();
        let is_news = self.samples.newest().is_some();
        let stands = |at: Instant| now.saturating_duration_since(at) < STANDS_FOR;
        if !is_news && self.measured_at.is_some_and(stands) {
            return Ok(answered.map(|()| self.periods));
        }
        self.measured_at = is_news.then_some(now);
        self.shares.clear();
        let mut instants: Vec<u64> = Vec::new();
        for sample in self.samples.iter() {
            *self.shares.entry(sample.pid).or_default() += u64::from(sample.sm);
            instants.push(sample.at);
        }
        self.since = self.samples.newest().unwrap_or(self.since);
        instants.sort_unstable();
        instants.dedup();
        self.periods = instants.len() as u64;
        Ok(answered.map(|()| self.periods))
    }
}

/// A process without a sample in a period did not run in it. Without a single period nothing ran: that is measured, too.
fn reading(process: &Process, periods: Reading<u64>, shares: &BTreeMap<u32, u64>) -> ProcessReading {
    let used = shares.get(&process.pid).copied().unwrap_or(0) as f64;
    ProcessReading {
        pid: process.pid,
        slice: process.instance.map(|instance| SliceId {
            gi: instance.gpu_instance,
            ci: instance.compute_instance,
        }),
        memory_bytes: process
            .memory
            .map_or(Reading::Unsupported, |memory| Reading::Known(memory.0 as f64)),
        utilization: periods.map(|periods| (used / periods.max(1) as f64 / 100.0).clamp(0.0, 1.0)),
    }
}
