//! The owner of GPUs where the exporter runs beside one workload in its pod: no kubelet is asked, because every GPU that the
//! pod was given is the pod's. Pure.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{ContainerName, Namespace, PodName, PodUid};

use super::device_id::DeviceRef;
use super::join::{Device, Owners, join};
use super::{Given, Held, Sight};
use crate::snapshot::DeviceSnapshot;

/// As many GPUs and slices as one pod can be given, and then some.
const MOST_NAMES: usize = 256;

/// The pod and its container that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPod {
    pub namespace: Namespace,
    pub pod: PodName,
    pub container: ContainerName,
    pub uid: Option<PodUid>,
    pub sharing: Sharing,
}

/// Whether other pods work on the same GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// What a GPU does, it does for this pod.
    Exclusive,
    /// Nothing in a pod can tell its own part from that of the others.
    Shared,
}

/// Which of the GPUs that can be seen were given to the pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnGpus {
    All,
    /// uuids of GPUs and of MIG slices, or indexes.
    Named(BTreeSet<String>),
}

impl OwnGpus {
    /// Reads what the device plugin put into `NVIDIA_VISIBLE_DEVICES`: `all`, or names separated by commas or line ends.
    /// Everything else (`none`, `void`, nothing) is no GPU.
    pub fn parse(text: &str) -> Self {
        let words = text
            .split([',', '\n', '\r', ' ', '\t'])
            .filter(|word| !word.is_empty());
        let names: BTreeSet<String> = words.take(MOST_NAMES).map(str::to_ascii_lowercase).collect();
        if names.contains("all") {
            return Self::All;
        }
        let is_name = |name: &String| !matches!(name.as_str(), "none" | "void");
        Self::Named(names.into_iter().filter(is_name).collect())
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(&name.to_ascii_lowercase()),
        }
    }

    fn has_whole(&self, device: &DeviceSnapshot) -> bool {
        let identity = &device.identity;
        let names = [&identity.uuid, &identity.pci_bus_id, &identity.index.to_string()];
        names.into_iter().any(|name| self.has(name))
    }

    /// Whether the device, or a slice of it, is the pod's.
    pub fn touches(&self, device: &DeviceSnapshot) -> bool {
        let mut slices = device.readings.slices.iter();
        self.has_whole(device) || slices.any(|slice| self.has(&slice.uuid))
    }
}

impl OwnPod {
    /// Makes the pod the holder of its devices and slices.
    pub fn attribute(&self, own: &OwnGpus, devices: &mut [DeviceSnapshot]) {
        let held: Vec<Held> = devices.iter().flat_map(|device| self.held(own, device)).collect();
        let joined = {
            let views: Vec<Device<'_>> = devices
                .iter()
                .map(|device| Device {
                    identity: &device.identity,
                    readings: &device.readings,
                    restricted: device.restricted,
                })
                .collect();
            // Nobody's process can be told from another's in here, and nobody's has to be.
            let owners = Owners {
                held: &held,
                processes: &BTreeMap::new(),
                sight: Sight::Own,
            };
            join(&views, &owners)
        };
        for (device, attribution) in devices.iter_mut().zip(joined.devices) {
            device.holders = attribution.holders;
            device.unattributed = attribution.unattributed;
        }
    }

    fn held(&self, own: &OwnGpus, device: &DeviceSnapshot) -> Vec<Held> {
        let whole = own.has_whole(device);
        let slices = &device.readings.slices;
        let parts: Vec<DeviceRef> = if slices.is_empty() {
            let uuid = device.identity.uuid.clone();
            whole.then_some(DeviceRef::Gpu(uuid)).into_iter().collect()
        } else {
            let own = slices.iter().filter(|slice| whole || own.has(&slice.uuid));
            own.map(|slice| DeviceRef::Mig(slice.uuid.clone())).collect()
        };
        let held = |part| Held {
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
            container: self.container.clone(),
            uid: self.uid.clone(),
            device: part,
            given: match self.sharing {
                Sharing::Exclusive => Given::Alone,
                Sharing::Shared => Given::Replica("0".to_owned()),
            },
        };
        parts.into_iter().map(held).collect()
    }
}
