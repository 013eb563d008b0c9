//! Who uses a device, and how much of it. The buffers belong to the caller and grow only when more processes came.

use gpu_model::Bytes;
use nvml_wrapper_sys::bindings::{nvmlProcessInfo_t, nvmlProcessUtilizationSample_t};

use crate::device::Device;
use crate::fault::{Answer, Fault};
use crate::mig::MigInstance;
use crate::raw::{Fill, Listing, NO_PROCESS, NO_SAMPLE};

/// More processes than a GPU has contexts for; a driver that claims more is not believed.
const MOST_PROCESSES: usize = 4096;
/// The driver keeps about a hundred samples of each process.
const MOST_SAMPLES: usize = 65_536;
/// Room for what comes between being told the size and asking again.
const SPARE: usize = 8;
/// A list that grows faster than it can be read fails after this many attempts.
const ATTEMPTS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub pid: u32,
    /// Where it runs on a sliced GPU.
    pub instance: Option<MigInstance>,
    pub kind: ProcessKind,
    /// Absent where the driver does not know.
    pub memory: Option<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessKind {
    Compute,
    Graphics,
    ComputeAndGraphics,
    /// A client of an MPS server.
    Mps,
}

/// The processes on a device, each once, ordered by pid.
#[derive(Default)]
pub struct ProcessList {
    room: Vec<nvmlProcessInfo_t>,
    list: Vec<Process>,
}

/// What a process used in one of the driver's sampling periods, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSample {
    pub pid: u32,
    /// Microseconds since the epoch.
    pub at: u64,
    pub sm: u32,
    pub memory: u32,
    pub encoder: u32,
    pub decoder: u32,
}

/// Samples of all processes since a moment.
#[derive(Default)]
pub struct ProcessSamples {
    room: Vec<nvmlProcessUtilizationSample_t>,
    list: Vec<ProcessSample>,
}

impl ProcessList {
    pub fn iter(&self) -> impl Iterator<Item = &Process> {
        self.list.iter()
    }

    pub fn as_slice(&self) -> &[Process] {
        &self.list
    }

    fn add(&mut self, count: usize, listing: Listing) {
        for info in &self.room[..count] {
            // The driver pads its lists with entries of no process.
            if info.pid == 0 {
                continue;
            }
            let found = Process {
                pid: info.pid,
                instance: MigInstance::from_numbers(info.gpuInstanceId, info.computeInstanceId),
                kind: match listing {
                    Listing::Compute => ProcessKind::Compute,
                    Listing::Graphics => ProcessKind::Graphics,
                    Listing::Mps => ProcessKind::Mps,
                },
                memory: (info.usedGpuMemory != u64::MAX).then_some(Bytes(info.usedGpuMemory)),
            };
            let key = |process: &Process| (process.pid, process.instance);
            match self.list.binary_search_by_key(&key(&found), key) {
                Ok(place) => self.list[place].join(found),
                Err(place) => self.list.insert(place, found),
            }
        }
    }
}

impl Process {
    /// The same process in another list: it has one memory, not two.
    fn join(&mut self, other: Process) {
        self.memory = self.memory.max(other.memory);
        self.kind = match (self.kind, other.kind) {
            (ProcessKind::Mps, _) | (_, ProcessKind::Mps) => ProcessKind::Mps,
            (one, two) if one == two => one,
            _ => ProcessKind::ComputeAndGraphics,
        };
    }
}

impl ProcessSamples {
    pub fn iter(&self) -> impl Iterator<Item = &ProcessSample> {
        self.list.iter()
    }

    /// The newest moment in the list: what to ask from next time.
    pub fn newest(&self) -> Option<u64> {
        self.list.iter().map(|sample| sample.at).max()
    }
}

impl Device {
    /// Processes of every kind. A kind that this GPU does not list is left out; all of them missing is a fault.
    pub fn processes(&self, into: &mut ProcessList) -> Answer<()> {
        into.list.clear();
        let mut supported = false;
        for listing in [Listing::Compute, Listing::Graphics, Listing::Mps] {
            let filled = fill(&mut into.room, MOST_PROCESSES, NO_PROCESS, |room| {
                self.handle.processes(listing, room)
            });
            match filled {
                Ok(count) => {
                    supported = true;
                    into.add(count, listing);
                }
                Err(Fault::Unsupported) => {}
                Err(fault) => {
                    into.list.clear();
                    return Err(fault);
                }
            }
        }
        if supported {
            Ok(())
        } else {
            Err(Fault::Unsupported)
        }
    }

    /// Samples newer than `since` (microseconds since the epoch; 0 for all that is kept). None is an empty list. Not on
    /// sliced GPUs.
    pub fn process_utilization(&self, since: u64, into: &mut ProcessSamples) -> Answer<()> {
        into.list.clear();
        let filled = fill(&mut into.room, MOST_SAMPLES, NO_SAMPLE, |room| {
            self.handle.process_utilization(room, since)
        });
        let count = match filled {
            Ok(count) => count,
            Err(Fault::NotFound) => 0,
            Err(fault) => return Err(fault),
        };
        let samples = into.room[..count]
            .iter()
            .filter(|sample| sample.pid != 0 && sample.timeStamp > since);
        into.list.extend(samples.map(|sample| ProcessSample {
            pid: sample.pid,
            at: sample.timeStamp,
            sm: sample.smUtil,
            memory: sample.memUtil,
            encoder: sample.encUtil,
            decoder: sample.decUtil,
        }));
        Ok(())
    }
}

/// Asks until the room suffices. The first question of all has no room, which is how NVML is asked for the size; later
/// ones use the room that sufficed before.
fn fill<T: Copy>(
    room: &mut Vec<T>,
    most: usize,
    empty: T,
    mut ask: impl FnMut(&mut [T]) -> Answer<Fill>,
) -> Answer<usize> {
    for _ in 0..ATTEMPTS {
        match ask(room)? {
            Fill::Filled(count) => return Ok(count.min(room.len())),
            Fill::Needs(count) if room.len() < most => {
                let wanted = count.max(room.len()).saturating_add(SPARE).min(most);
                room.resize(wanted, empty);
            }
            Fill::Needs(_) => return Err(Fault::Implausible),
        }
    }
    Err(Fault::NoData)
}

#[cfg(test)]
mod tests;
