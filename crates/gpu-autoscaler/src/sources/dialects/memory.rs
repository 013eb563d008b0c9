//! What a target said the last time, so that names which come back every cycle are not stored anew every cycle.

use std::sync::Arc;

use gpu_model::{Device, DeviceId, HolderHint, NodeName};

/// The names of one target. Those that a page no longer has are forgotten with it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    before: Names,
    now: Names,
}

#[derive(Debug, Default)]
struct Names {
    devices: Vec<Arc<Device>>,
    holders: Vec<HolderHint>,
    nodes: Vec<NodeName>,
    ids: Vec<DeviceId>,
}

impl Memory {
    /// Begins a page: what was said at the last one is known, and nothing yet of this one.
    pub(super) fn turn(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    pub(super) fn device(&mut self, device: Device) -> Arc<Device> {
        let known = self.before.devices.iter().find(|known| ***known == device);
        let device = known.cloned().unwrap_or_else(|| Arc::new(device));
        self.now.devices.push(device.clone());
        device
    }

    pub(super) fn holder(&mut self, words: [&str; 4]) -> Option<HolderHint> {
        let same = |known: &&HolderHint| is_holder(known, words);
        let known = self.now.holders.iter().find(same);
        if let Some(known) = known {
            return Some(known.clone());
        }
        let known = self.before.holders.iter().find(same).cloned();
        let holder = known.or_else(|| make_holder(words))?;
        self.now.holders.push(holder.clone());
        Some(holder)
    }

    pub(super) fn node(&mut self, name: &str) -> Option<NodeName> {
        shared(&self.before.nodes, &mut self.now.nodes, name, |name| {
            NodeName::new(name).ok()
        })
    }

    pub(super) fn device_id(&mut self, id: &str) -> Option<DeviceId> {
        shared(&self.before.ids, &mut self.now.ids, id, |id| {
            DeviceId::new(id).ok()
        })
    }
}

fn shared<T: Clone + AsRef<str>>(
    before: &[T],
    now: &mut Vec<T>,
    text: &str,
    make: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let same = |known: &&T| (*known).as_ref() == text;
    if let Some(known) = now.iter().find(same) {
        return Some(known.clone());
    }
    let name = before.iter().find(same).cloned().or_else(|| make(text))?;
    now.push(name.clone());
    Some(name)
}

fn is_holder(known: &HolderHint, [namespace, pod, container, uid]: [&str; 4]) -> bool {
    known.pod.as_str() == pod
        && known.namespace.as_str() == namespace
        && known.container.as_ref().map_or("", |name| name.as_str()) == container
        && known.uid.as_ref().map_or("", |uid| uid.as_str()) == uid
}

fn make_holder([namespace, pod, container, uid]: [&str; 4]) -> Option<HolderHint> {
    Some(HolderHint {
        namespace: namespace.parse().ok()?,
        pod: pod.parse().ok()?,
        uid: uid.parse().ok(),
        container: container.parse().ok(),
    })
}
