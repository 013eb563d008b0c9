//! The join: devices with their readings, containers that hold them, and processes with their owners become shares. Pure.
//!
//! - A container that holds a device or slice alone has its utilisation and memory, less what processes that are proven to
//!   be others' use.
//! - Containers that share one have what the driver measured for their processes. A container has 0 only when every
//!   process of the device was seen and proven not to be its own, and the driver has the device's figure; where that cannot
//!   be proven it has none.
//! - What remains has no owner and a reason. Shares and remainder sum to the device (to the slice, on a slice) in whole
//!   bytes and in billionths of utilisation.
//! - Where the measured shares exceed the device, because they were measured at another instant or overlap in time (MPS),
//!   all of them are scaled down alike, and by how much is told in [`Excess`].
//! - The utilisation of slices is relative to each slice, so a sliced device itself has no remainder of utilisation. If its
//!   slices together exceed its memory, they keep their own figures and the difference is told in [`Excess`].

mod place;
mod resolve;
mod settle;
mod sharers;

use std::collections::BTreeMap;

use gpu_model::Reading;

use super::{Held, ProcessOwner, Sight};
use crate::readings::{DeviceReadings, Field, ProcessReading, SliceId};
use crate::snapshot::{Holder, Identity, Restriction, Unattributed};
use place::{Account, Place, Process};
use resolve::{Target, Whereabouts};
use sharers::hold_without_figures;

/// One device as it was last read.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    pub identity: &'a Identity,
    pub readings: &'a DeviceReadings,
    /// A device whose utilisation is withheld has none to share out either.
    pub restricted: Option<Restriction>,
}

/// What is known of owners at the same instant.
#[derive(Debug, Clone, Copy)]
pub struct Owners<'a> {
    pub held: &'a [Held],
    /// By process id. A process that is missing here counts as unreadable.
    pub processes: &'a BTreeMap<u32, ProcessOwner>,
    pub sight: Sight,
}

/// The owners of what one device did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attribution {
    /// By slice, namespace, pod and container.
    pub holders: Vec<Holder>,
    /// By slice and reason.
    pub unattributed: Vec<Unattributed>,
    pub excess: Excess,
}

/// By how much measured shares exceeded what they are shares of. Nothing of it is published as a share.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Excess {
    pub memory_bytes: f64,
    pub utilization: f64,
}

/// The owners of every device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Joined {
    /// In the order of the devices.
    pub devices: Vec<Attribution>,
    /// How many held devices are none of these: of another vendor, gone, or named in a form that we do not know.
    pub unmatched: usize,
}

/// Joins every device with its owners. Neither the order of `held` nor that of processes changes the result.
pub fn join(devices: &[Device<'_>], owners: &Owners<'_>) -> Joined {
    let mut targets: Vec<Vec<Target<'_>>> = devices.iter().map(|_| Vec::new()).collect();
    let mut unmatched = 0;
    for held in owners.held {
        match resolve::find(devices, &held.device) {
            Some((device, whereabouts)) => targets[device].push(Target { held, whereabouts }),
            None => unmatched += 1,
        }
    }
    let devices = devices
        .iter()
        .zip(targets)
        .map(|(device, targets)| join_device(device, targets, owners))
        .collect();
    Joined { devices, unmatched }
}

fn join_device(device: &Device<'_>, mut targets: Vec<Target<'_>>, owners: &Owners<'_>) -> Attribution {
    let processes = device.readings.processes.as_ref().map(|list| {
        let process = |reading| Process::new(reading, owners.processes, device.restricted);
        list.iter().map(process).collect::<Vec<_>>()
    });
    let utilization = match device.restricted {
        Some(Restriction::UtilizationPinnedAtZero) => Reading::Failed,
        None => device.readings.values.get(Field::Utilization),
    };
    let memory = device.readings.values.get(Field::MemoryUsed);
    let mut attribution = Attribution::default();
    if device.readings.slices.is_empty() {
        let place = Place {
            slice: None,
            memory: settle::bytes(memory),
            utilization: settle::billionths(utilization),
            sight: owners.sight,
            account: Account::Own,
        };
        let held = at(&targets, |whereabouts| whereabouts == Whereabouts::Whole);
        place.attribute(&held, processes.as_ref(), &mut attribution);
        let elsewhere = at(&targets, |whereabouts| whereabouts != Whereabouts::Whole);
        hold_without_figures(&elsewhere, &mut attribution);
    } else {
        if let Reading::Known(processes) = &processes {
            targets
                .iter_mut()
                .for_each(|target| target.locate_by_processes(processes));
        }
        join_slices(device, &targets, processes, owners.sight, &mut attribution);
    }
    attribution
        .holders
        .sort_by(|a, b| holder_key(a).cmp(&holder_key(b)));
    attribution
        .unattributed
        .sort_by_key(|entry| (entry.slice, entry.reason));
    attribution
}

fn join_slices(
    device: &Device<'_>,
    targets: &[Target<'_>],
    processes: Reading<Vec<Process<'_>>>,
    sight: Sight,
    attribution: &mut Attribution,
) {
    let slices = &device.readings.slices;
    let mut rest = settle::bytes(device.readings.values.get(Field::MemoryUsed));
    let mut account = Account::Own;
    for slice in slices {
        let memory = settle::bytes(slice.values.get(Field::MemoryUsed));
        let utilization = match device.restricted {
            Some(Restriction::UtilizationPinnedAtZero) => Reading::Failed,
            None => slice.values.get(Field::Utilization),
        };
        match memory {
            Reading::Known(used) => {
                rest = rest.map(|rest| {
                    attribution.excess.memory_bytes += used.saturating_sub(rest) as f64;
                    rest.saturating_sub(used)
                });
            }
            Reading::Unsupported | Reading::Failed => account = Account::Mixed,
        }
        let place = Place {
            slice: Some(slice.id),
            memory,
            utilization: settle::billionths(utilization),
            sight,
            account: Account::Own,
        };
        let held = at(targets, |whereabouts| whereabouts == Whereabouts::Slice(slice.id));
        let own = on(&processes, |on| on == Some(slice.id));
        place.attribute(&held, own.as_ref(), attribution);
    }
    let is_slice = |id: SliceId| slices.iter().any(|slice| slice.id == id);
    let beside = on(&processes, |on| !on.is_some_and(is_slice));
    let place = Place {
        slice: None,
        memory: rest,
        utilization: Reading::Unsupported,
        sight,
        account,
    };
    place.attribute(&[], beside.as_ref(), attribution);
    let unlocated = at(targets, |whereabouts| match whereabouts {
        Whereabouts::Slice(id) => !is_slice(id),
        Whereabouts::Whole | Whereabouts::SomeSlice => true,
    });
    hold_without_figures(&unlocated, attribution);
}

/// What is held at one place.
fn at<'a>(targets: &[Target<'a>], wanted: impl Fn(Whereabouts) -> bool) -> Vec<&'a Held> {
    let wanted = targets.iter().filter(|target| wanted(target.whereabouts));
    wanted.map(|target| target.held).collect()
}

/// The processes on one slice.
fn on<'a>(
    processes: &Reading<Vec<Process<'a>>>,
    mut wanted: impl FnMut(Option<SliceId>) -> bool,
) -> Reading<Vec<Process<'a>>> {
    processes.as_ref().map(|list| {
        let wanted = list.iter().filter(|process| wanted(process.reading.slice));
        wanted.copied().collect()
    })
}

fn holder_key(holder: &Holder) -> (Option<SliceId>, &str, &str, &str) {
    (
        holder.slice,
        holder.namespace.as_str(),
        holder.pod.as_str(),
        holder.container.as_str(),
    )
}

impl<'a> Process<'a> {
    fn new(
        reading: &'a ProcessReading,
        owners: &'a BTreeMap<u32, ProcessOwner>,
        restricted: Option<Restriction>,
    ) -> Self {
        let utilization = match restricted {
            Some(Restriction::UtilizationPinnedAtZero) => Reading::Failed,
            None => reading.utilization,
        };
        Self {
            reading,
            owner: owners.get(&reading.pid).unwrap_or(&ProcessOwner::Unreadable),
            memory: settle::bytes(reading.memory_bytes),
            utilization: settle::billionths(utilization),
        }
    }
}

#[cfg(test)]
mod tests;
