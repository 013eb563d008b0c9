//! What the tests have said about the fake nodes; the engine reads it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{FleetClock, LateDevices};

/// Whether a node renews its lease and reports its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Speaking,
    Silent,
}

/// One fake node.
#[derive(Debug, Clone)]
pub(super) struct FakeNode {
    pub(super) group: String,
    pub(super) clock: FleetClock,
    pub(super) address: Ipv4Addr,
    pub(super) voice: Voice,
    /// Removed when they have been published.
    pub(super) late: Option<LateDevices>,
}

impl FakeNode {
    pub(super) fn new(group: &str, clock: FleetClock, address: Ipv4Addr, late: Option<LateDevices>) -> Self {
        Self {
            group: group.to_owned(),
            clock,
            address,
            voice: Voice::Speaking,
            late,
        }
    }
}

/// All fake nodes of a fleet by name, and those whose test has ended.
#[derive(Debug, Default)]
pub(super) struct Registry {
    nodes: Mutex<BTreeMap<String, FakeNode>>,
    retired: Mutex<Vec<String>>,
    addresses: AtomicU32,
    waker: Arc<Notify>,
}

/// The first address of nodes; no packet ever goes there.
const FIRST_NODE: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 1);

/// The first address of pods; no packet ever goes there.
const FIRST_POD: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 1);

impl Registry {
    /// Wakes the engine.
    pub(super) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.waker)
    }

    pub(super) fn next_node_address(&self) -> Ipv4Addr {
        self.next_address(FIRST_NODE)
    }

    pub(super) fn next_pod_address(&self) -> Ipv4Addr {
        self.next_address(FIRST_POD)
    }

    fn next_address(&self, first: Ipv4Addr) -> Ipv4Addr {
        Ipv4Addr::from_bits(first.to_bits() + self.addresses.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn insert(&self, name: String, node: FakeNode) {
        self.nodes().insert(name, node);
        self.waker.notify_one();
    }

    pub(super) fn remove(&self, name: &str) {
        self.nodes().remove(name);
    }

    pub(super) fn set_silent(&self, name: &str, voice: Voice) {
        if let Some(node) = self.nodes().get_mut(name) {
            node.voice = voice;
        }
        self.waker.notify_one();
    }

    /// The test of this group has ended: its nodes are to be deleted.
    pub(super) fn retire_group(&self, group: &str) {
        let mut retired: Vec<String> = Vec::new();
        self.nodes().retain(|name, node| {
            let stays = node.group != group;
            if !stays {
                retired.push(name.clone());
            }
            stays
        });
        self.retired
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(retired);
        self.waker.notify_one();
    }

    pub(super) fn take_retired(&self) -> Vec<String> {
        std::mem::take(&mut *self.retired.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The node's address and the time on its clock, if it exists and speaks.
    pub(super) fn speaking(&self, name: &str) -> Option<(Ipv4Addr, Duration)> {
        let nodes = self.nodes();
        let node = nodes.get(name).filter(|node| node.voice == Voice::Speaking)?;
        Some((node.address, node.clock.elapsed()))
    }

    /// The names of all nodes that speak.
    pub(super) fn all_speaking(&self) -> Vec<String> {
        let nodes = self.nodes();
        nodes
            .iter()
            .filter(|(_, node)| node.voice == Voice::Speaking)
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Takes the devices whose time has come; a caller that fails to publish them gives them back.
    pub(super) fn take_due_devices(&self) -> Vec<(String, LateDevices)> {
        let mut due = Vec::new();
        for (name, node) in self.nodes().iter_mut() {
            let now = node.clock.elapsed();
            if node.voice == Voice::Speaking && node.late.as_ref().is_some_and(|late| late.at <= now) {
                due.extend(node.late.take().map(|late| (name.clone(), late)));
            }
        }
        due
    }

    pub(super) fn give_back_devices(&self, name: &str, late: LateDevices) {
        if let Some(node) = self.nodes().get_mut(name) {
            node.late = Some(late);
        }
    }

    fn nodes(&self) -> MutexGuard<'_, BTreeMap<String, FakeNode>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
