//! What a watcher remembers, in a form that can be written down: a restart goes on from it, and so does another replica.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{ContainerName, GpuUuid, MachineId, Partition, Permille, PodUid};
use serde::{Deserialize, Serialize};

use crate::{Claim, End, Event, Gpu, Holder, HolderClass, Machine, Moment, Span};

/// A machine that costs money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineMemo {
    #[serde(with = "shared")]
    pub machine: Arc<Machine>,
    pub launched: Moment,
    pub ready: Option<Moment>,
    pub gone: Option<End>,
    /// The last look that saw it, while looks do not.
    pub missing_since: Option<Moment>,
    pub gpus: Vec<SeenGpu>,
    /// The name by which the API knows it, where that became known after its id was given.
    pub alias: Option<MachineId>,
    pub is_in_api: bool,
    /// Its kubelet had devices to give at the last look.
    pub had_capacity: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGpu {
    pub gpu: Gpu,
    pub at: Moment,
}

/// A pod that holds parts of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodMemo {
    pub machine: MachineId,
    /// With the container of its first claim.
    #[serde(with = "shared")]
    pub holder: Arc<Holder>,
    pub class: HolderClass,
    pub host: Option<Permille>,
    pub bound: Moment,
    pub running: Option<Moment>,
    pub ended: Option<End>,
    /// The last look that saw it, while looks do not.
    pub missing_since: Option<Moment>,
    pub is_in_api: bool,
    /// In the order in which they were seen.
    pub claims: Vec<ClaimMemo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimMemo {
    pub gpu: GpuUuid,
    pub partition: Partition,
    pub container: Option<ContainerName>,
}

/// What one look says of the time before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    pub span: Span,
    pub machines: BTreeMap<MachineId, MachineNotes>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineNotes {
    /// In the order of each pod's claims; what was not read is absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<PodUid, Vec<Option<Permille>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<GpuUuid>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_draining: bool,
    /// Who held what of the machine then is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blind: Vec<Span>,
}

impl Notes {
    pub fn new(span: Span) -> Self {
        Self {
            span,
            machines: BTreeMap::new(),
        }
    }

    pub(super) fn of(&mut self, machine: &MachineId) -> &mut MachineNotes {
        if !self.machines.contains_key(machine) {
            self.machines.insert(machine.clone(), MachineNotes::default());
        }
        self.machines
            .get_mut(machine)
            .expect("it was put there if it was not")
    }
}

impl MachineMemo {
    /// Everything it says.
    pub fn tell(&self, events: &mut Vec<Event>) {
        let id = || self.machine.id.clone();
        events.push(Event::Launched {
            machine: self.machine.clone(),
            at: self.launched,
        });
        if let Some(at) = self.ready {
            events.push(Event::Ready { machine: id(), at });
        }
        for seen in &self.gpus {
            events.push(Event::GpuSeen {
                machine: id(),
                gpu: seen.gpu.clone(),
                at: seen.at,
            });
        }
        if let Some(end) = self.gone {
            events.push(Event::Gone { machine: id(), end });
        }
    }

    /// What an earlier memo of it does not say. What is told again would be taken for news of the past.
    pub(super) fn tell_news(&self, before: &Self, events: &mut Vec<Event>) {
        if self == before {
            return;
        }
        let mut all = Vec::new();
        self.tell(&mut all);
        let mut known = Vec::new();
        before.tell(&mut known);
        all.retain(|event| !known.contains(event));
        events.append(&mut all);
    }
}

impl PodMemo {
    /// Everything it says.
    pub fn tell(&self, events: &mut Vec<Event>) {
        for claim in &self.claims {
            events.push(self.bound_event(claim));
        }
        let (machine, pod) = (&self.machine, &self.holder.uid);
        if let Some(at) = self.running {
            events.push(Event::Running {
                machine: machine.clone(),
                pod: pod.clone(),
                at,
            });
        }
        if let Some(end) = self.ended {
            events.push(Event::Ended {
                machine: machine.clone(),
                pod: pod.clone(),
                end,
            });
        }
    }

    pub(super) fn bound_event(&self, claim: &ClaimMemo) -> Event {
        let holder = if claim.container == self.holder.container {
            self.holder.clone()
        } else {
            Arc::new(Holder {
                container: claim.container.clone(),
                ..(*self.holder).clone()
            })
        };
        Event::Bound {
            machine: self.machine.clone(),
            claim: Claim {
                gpu: claim.gpu.clone(),
                partition: claim.partition.clone(),
                holder,
                class: self.class,
                host: self.host,
            },
            at: self.bound,
        }
    }

    pub(super) fn tell_uses(&self, uses: &[Option<Permille>], span: Span, events: &mut Vec<Event>) {
        let span = Span::new(span.start.max(self.bound), span.end);
        if span.is_empty() {
            return;
        }
        for (claim, utilization) in self.claims.iter().zip(uses) {
            if let Some(utilization) = *utilization {
                events.push(Event::Used {
                    machine: self.machine.clone(),
                    pod: self.holder.uid.clone(),
                    gpu: claim.gpu.clone(),
                    partition: claim.partition.clone(),
                    span,
                    utilization,
                });
            }
        }
    }
}

/// A shared value is written as the value.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}
