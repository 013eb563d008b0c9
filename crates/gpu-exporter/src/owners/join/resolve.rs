//! Finding the device that a kubelet's id names.

use gpu_model::Vendor;

use super::place::Process;
use super::sharers::{Relation, relation};
use super::{Device, Held};
use crate::owners::device_id::{DeviceRef, PublishedMig};
use crate::readings::{SliceId, SliceReadings};
use crate::snapshot::Identity;

/// Where on its device a container's part lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whereabouts {
    Whole,
    Slice(SliceId),
    /// A slice, and the name does not tell which.
    SomeSlice,
}

/// A held device that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) held: &'a Held,
    pub(super) whereabouts: Whereabouts,
}

impl Target<'_> {
    /// A container whose processes all run on one slice holds that slice, whatever its claim is called.
    pub(super) fn locate_by_processes(&mut self, processes: &[Process<'_>]) {
        if self.whereabouts != Whereabouts::SomeSlice {
            return;
        }
        let mut slices = processes
            .iter()
            .filter(|process| relation(process.owner, self.held) == Relation::Own)
            .map(|process| process.reading.slice);
        if let Some(Some(first)) = slices.next()
            && slices.all(|slice| slice == Some(first))
        {
            self.whereabouts = Whereabouts::Slice(first);
        }
    }
}

/// The device and the part of it that `wanted` names.
pub(super) fn find(devices: &[Device<'_>], wanted: &DeviceRef) -> Option<(usize, Whereabouts)> {
    let by = |fits: &dyn Fn(&Identity) -> bool| devices.iter().position(|device| fits(device.identity));
    match wanted {
        DeviceRef::Gpu(uuid) => Some((by(&|identity| same(&identity.uuid, uuid))?, Whereabouts::Whole)),
        DeviceRef::Mig(uuid) => devices.iter().enumerate().find_map(|(at, device)| {
            let slice = device
                .readings
                .slices
                .iter()
                .find(|slice| same(&slice.uuid, uuid))?;
            Some((at, Whereabouts::Slice(slice.id)))
        }),
        DeviceRef::MigOfGpu { gpu, slice } => {
            let at = by(&|identity| same(&identity.uuid, gpu))?;
            Some((at, only(devices[at], |candidate| candidate.id == *slice)))
        }
        DeviceRef::Minor { minor, gi } => {
            let at = by(&|identity| is_nvidia(identity, *minor))?;
            let whereabouts = match gi {
                Some(gi) => only(devices[at], |slice| slice.id.gi == *gi),
                None => Whereabouts::Whole,
            };
            Some((at, whereabouts))
        }
        DeviceRef::Published { minor, mig } => {
            let at = by(&|identity| is_nvidia(identity, *minor))?;
            let whereabouts = match mig {
                Some(PublishedMig::Profile(profile)) => {
                    only(devices[at], |slice| published_profile(&slice.profile) == *profile)
                }
                // Only the one slice of a device can be told by the driver's number of its profile.
                Some(PublishedMig::ProfileNumber(_)) => only(devices[at], |_| true),
                None => Whereabouts::Whole,
            };
            Some((at, whereabouts))
        }
        DeviceRef::PciAddress(address) => {
            let at = by(&|identity| identity.vendor == Vendor::Amd && same_address(identity, address))?;
            Some((at, first_of(devices[at])))
        }
        DeviceRef::AmdPartition(number) => {
            let name = format!("amdgpu_xcp_{number}");
            amd_slice(devices, |slice| slice.uuid == name)
        }
        // The card's number is that of the whole GPU or of the partition, depending on the kernel; the render node is unique.
        DeviceRef::AmdCard { render, .. } => {
            let is_it = |identity: &Identity| {
                identity.vendor == Vendor::Amd && identity.board.render == Some(*render)
            };
            let whole = by(&is_it).map(|at| (at, first_of(devices[at])));
            whole.or_else(|| amd_slice(devices, |slice| slice.render == Some(*render)))
        }
        DeviceRef::Unknown { .. } => None,
    }
}

/// What the name of an AMD GPU itself stands for: all of it, or the first of its partitions, which has no other name.
fn first_of(device: Device<'_>) -> Whereabouts {
    let first = device.readings.slices.iter().min_by_key(|slice| slice.id);
    match first {
        None => Whereabouts::Whole,
        // One that is missing has left its name behind; the others have names of their own.
        Some(slice) if slice.id.gi == 0 => Whereabouts::Slice(slice.id),
        Some(_) => Whereabouts::SomeSlice,
    }
}

fn amd_slice(devices: &[Device<'_>], fits: impl Fn(&SliceReadings) -> bool) -> Option<(usize, Whereabouts)> {
    let of_amd = devices
        .iter()
        .enumerate()
        .filter(|(_, device)| device.identity.vendor == Vendor::Amd);
    of_amd.into_iter().find_map(|(at, device)| {
        let slice = device.readings.slices.iter().find(|slice| fits(slice))?;
        Some((at, Whereabouts::Slice(slice.id)))
    })
}

/// The one slice that fits; several that do are none.
fn only(device: Device<'_>, fits: impl Fn(&SliceReadings) -> bool) -> Whereabouts {
    let mut fitting = device.readings.slices.iter().filter(|slice| fits(slice));
    match (fitting.next(), fitting.next()) {
        (Some(slice), None) => Whereabouts::Slice(slice.id),
        _ => Whereabouts::SomeSlice,
    }
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

fn is_nvidia(identity: &Identity, minor: u32) -> bool {
    identity.vendor == Vendor::Nvidia && identity.minor.unwrap_or(identity.index) == minor
}

/// The dynamic resource driver's spelling of `1g.10gb+me`: `1g10gb-me`.
fn published_profile(profile: &str) -> String {
    let plain = profile.chars().filter(|letter| *letter != '.');
    plain
        .map(|letter| match letter.to_ascii_lowercase() {
            '+' => '-',
            other => other,
        })
        .collect()
}

/// NVML writes the domain with eight digits, the kernel with four.
fn same_address(identity: &Identity, address: &str) -> bool {
    let short = |text: &str| text.trim_start_matches('0').to_ascii_lowercase();
    short(&identity.pci_bus_id) == short(address)
}
