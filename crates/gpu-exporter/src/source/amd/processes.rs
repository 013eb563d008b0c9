//! Which processes are on a GPU, each counted once: those that compute, from the compute driver, and those that draw or
//! decode, from the display driver's clients.
//!
//! The kernel measures the time of clients alone. A process that computes has no measured time of its own, so that containers
//! which share a GPU for computing have shares of its memory and none of its time.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gpu_model::Reading;

use super::card::Card;
use super::clients::{Client, Clients};
use super::kfd::Contexts;
use crate::readings::{DeviceReadings, ProcessReading, SliceId};

pub(super) struct ProcessReader {
    address: String,
    contexts: Contexts,
    clients: Arc<Clients>,
    /// Which slice a render node belongs to.
    renders: Vec<(u32, SliceId)>,
}

impl ProcessReader {
    pub(super) fn new(sysfs: &Path, card: &Card, clients: Arc<Clients>) -> Self {
        let slice = |index| SliceId { gi: index, ci: 0 };
        Self {
            address: card.found.address.clone(),
            contexts: Contexts::new(sysfs, card),
            clients,
            renders: card
                .partitions
                .iter()
                .map(|part| (part.node.render, slice(part.index)))
                .collect(),
        }
    }

    pub(super) fn read(&mut self, into: &mut DeviceReadings) {
        self.contexts.refresh(Instant::now());
        let clients = self.clients.latest();
        // The list of the last tick is filled again: its room is kept.
        let mut list = std::mem::take(&mut into.processes).known().unwrap_or_default();
        list.clear();
        let computing = self.contexts.found.as_deref();
        list.extend(computing.unwrap_or_default().iter().map(|context| {
            ProcessReading {
                pid: context.pid,
                slice: context.slice,
                memory_bytes: context
                    .memory
                    .map_or(Reading::Failed, |bytes| Reading::Known(bytes as f64)),
                utilization: Reading::Unsupported,
            }
        }));
        for client in clients.iter().flat_map(|clients| clients.iter()) {
            if client.address == self.address {
                self.add(client, &mut list);
            }
        }
        into.occupancy.clone_from(&self.contexts.occupancy);
        into.processes = match computing.is_some() || clients.is_some() {
            true => Reading::Known(list),
            false => Reading::Unsupported,
        };
    }

    /// Adds a client that is no computing process, or what it holds beyond what the compute driver counted: that is part of
    /// what the display driver shows, too.
    fn add(&self, client: &Client, list: &mut Vec<ProcessReading>) {
        let slice = self
            .renders
            .iter()
            .find(|(render, _)| Some(*render) == client.render)
            .map(|(_, slice)| *slice);
        let memory = client.memory.map(|bytes| bytes as f64);
        let mut same = list.iter_mut().filter(|one| one.pid == client.pid);
        if let Some(one) = same.next() {
            let is_only = same.next().is_none();
            // On a divided GPU the compute driver's figures are by partition, and these may not be.
            if let (true, true, Reading::Known(known), Some(shown)) =
                (is_only, self.renders.is_empty(), one.memory_bytes, memory)
            {
                one.memory_bytes = Reading::Known(known.max(shown));
            }
            return;
        }
        list.push(ProcessReading {
            pid: client.pid,
            slice,
            memory_bytes: memory.map_or(Reading::Unsupported, Reading::Known),
            utilization: client.utilization.map_or(Reading::Failed, Reading::Known),
        });
    }
}
