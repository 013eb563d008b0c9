//! Gives every device of a snapshot its owners, once a cycle: the kubelet's latest word, the processes' control groups, and
//! the join of both with what was read. It never waits for the kubelet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use gpu_model::Reading;

use super::join::{Device, Owners, join};
use super::kubelet::{Kubelet, Roster};
use super::names::PodNames;
use super::processes::Processes;
use super::{Held, ProcessOwner, Sight};
use crate::snapshot::DeviceSnapshot;

/// How assigning fares since the start, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AssignCounts {
    /// Samples of a device in which the measured shares of memory exceeded it and were scaled down.
    pub scaled_memory: u64,
    /// The same for utilisation.
    pub scaled_utilization: u64,
    /// Held devices of the last cycle that are none of the devices that were read.
    pub unmatched: usize,
    /// Processes of the last cycle whose control group could not be read.
    pub unreadable_processes: usize,
}

/// The one that gives devices their owners.
pub struct Assigner {
    /// Absent where there is no Kubernetes: then every process is outside of it.
    kubelet: Option<Arc<Kubelet>>,
    processes: Processes,
    strangers: BTreeSet<u32>,
    devices: BTreeSet<String>,
    counts: AssignCounts,
}

impl Assigner {
    /// Reads processes under `procfs`; with [`Sight::Own`] none.
    pub fn new(kubelet: Option<Arc<Kubelet>>, procfs: PathBuf, sight: Sight) -> Self {
        Self {
            kubelet,
            processes: Processes::new(procfs, sight),
            strangers: BTreeSet::new(),
            devices: BTreeSet::new(),
            counts: AssignCounts::default(),
        }
    }

    pub fn counts(&self) -> AssignCounts {
        self.counts
    }

    /// Fills in holders and remainders of all devices. It reads small files of `/proc` and so belongs on a thread that may
    /// block for a moment.
    pub fn assign(&mut self, devices: &mut [DeviceSnapshot], now: Instant) {
        let roster = self.kubelet.as_ref().map(|kubelet| kubelet.latest());
        let held = roster
            .as_deref()
            .map_or(&[][..], |roster: &Roster| roster.held(now));
        let no_names = PodNames::default();
        let names = roster.as_deref().map_or(&no_names, |roster| &roster.names);
        let resolved = self.processes.resolve(pids(devices), names);
        self.nudge_for_news(devices, &resolved.owners, held);
        let joined = {
            let views: Vec<Device<'_>> = devices
                .iter()
                .map(|device| Device {
                    identity: &device.identity,
                    readings: &device.readings,
                    restricted: device.restricted,
                })
                .collect();
            let owners = Owners {
                held,
                processes: &resolved.owners,
                sight: self.processes.sight(),
            };
            join(&views, &owners)
        };
        self.counts.unmatched = joined.unmatched;
        self.counts.unreadable_processes = resolved.unreadable;
        for (device, attribution) in devices.iter_mut().zip(joined.devices) {
            self.counts.scaled_memory += u64::from(attribution.excess.memory_bytes > 0.0);
            self.counts.scaled_utilization += u64::from(attribution.excess.utilization > 0.0);
            device.holders = attribution.holders;
            device.unattributed = attribution.unattributed;
        }
    }

    /// Asks the kubelet early when a device came or went, or a process of a pod that holds nothing was seen for the first time.
    /// Only the news counts: a stranger that stays does not keep the kubelet busy.
    fn nudge_for_news(
        &mut self,
        devices: &[DeviceSnapshot],
        owners: &BTreeMap<u32, ProcessOwner>,
        held: &[Held],
    ) {
        let Some(kubelet) = &self.kubelet else {
            return;
        };
        let strangers: BTreeSet<u32> = owners
            .iter()
            .filter(|(_, owner)| is_stranger(owner, held))
            .map(|(pid, _)| *pid)
            .collect();
        let same_devices = devices.len() == self.devices.len()
            && devices
                .iter()
                .all(|device| self.devices.contains(&device.identity.uuid));
        if !same_devices || !strangers.is_subset(&self.strangers) {
            kubelet.nudge();
        }
        if !same_devices {
            self.devices = devices
                .iter()
                .map(|device| device.identity.uuid.clone())
                .collect();
        }
        self.strangers = strangers;
    }
}

fn pids(devices: &[DeviceSnapshot]) -> impl Iterator<Item = u32> {
    devices
        .iter()
        .filter_map(|device| match &device.readings.processes {
            Reading::Known(processes) => Some(processes),
            Reading::Unsupported | Reading::Failed => None,
        })
        .flatten()
        .map(|process| process.pid)
}

fn is_stranger(owner: &ProcessOwner, held: &[Held]) -> bool {
    match owner {
        ProcessOwner::Pod { uid, pod, .. } => !held.iter().any(|held| {
            let by_uid = uid.is_some() && *uid == held.uid;
            let by_name = pod
                .as_ref()
                .is_some_and(|(namespace, name)| (namespace, name) == (&held.namespace, &held.pod));
            by_uid || by_name
        }),
        ProcessOwner::Outside | ProcessOwner::Unreadable => false,
    }
}
