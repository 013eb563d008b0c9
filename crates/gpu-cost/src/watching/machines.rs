//! Machines that come, get ready, are withheld from scheduling, and go.

use std::sync::Arc;

use gpu_model::{ClusterNode, GpuUuid, MachineId, Node, NodeName, NodeView, Readiness, Taint};

use super::{MachineMemo, Noted, Notes, Round, SeenGpu, Watcher};
use crate::{End, Event, Gpu, Machine, Moment};

/// A machine with the last look that saw it.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) memo: MachineMemo,
    pub(super) last_seen: Moment,
    /// Whether any of its GPUs was in the newest look.
    pub(super) has_gpus_in_view: bool,
}

/// The label by which nodes of one pool know each other.
const NODE_POOL: &str = "gpu-autoscaler.io/node-pool";
/// How many GPUs a node has, as GPU feature discovery counts them, sharing and slices aside.
const GPU_COUNT: &str = "nvidia.com/gpu.count";
/// Taints by which somebody says that a node will end, by their key or what it begins with.
const ENDING_TAINTS: [&str; 7] = [
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "remediator.kubernetes.azure.com/unschedulable",
    "gpu-autoscaler.io/termination",
];

/// The machine behind a node, as far as anybody knows it.
pub fn machine_of(
    id: MachineId,
    node: &Node,
    known: Option<&ClusterNode>,
    gpu_model: Option<&str>,
) -> Machine {
    let mut machine = Machine {
        id,
        node: node.name.clone(),
        cloud: node.cloud,
        instance_type: node.instance_type.clone(),
        region: node.region.clone(),
        zone: node.zone.clone(),
        capacity: node.capacity_type,
        pool: node.labels.get(NODE_POOL).cloned(),
        gpu_model: gpu_model.map(str::to_owned),
        gpus: None,
        vcpus: known.and_then(|known| u32::try_from(known.host.cpu_millicores.div_ceil(1000)).ok()),
        memory: known.map(|known| known.host.memory),
    };
    machine.complete_from_type();
    if machine.gpus.is_none() {
        machine.gpus = node.labels.get(GPU_COUNT).and_then(|text| text.parse().ok());
    }
    machine
}

impl Watcher {
    pub(super) fn look_at_machines(&mut self, round: &Round<'_>, noted: &mut Noted, notes: &mut Notes) {
        for watched in self.machines.values_mut() {
            watched.has_gpus_in_view = false;
        }
        let view = &round.look.view.nodes;
        for node in view {
            let known = round
                .look
                .picture
                .and_then(|picture| picture.nodes.get(&node.node.name));
            self.look_at_machine(
                &node.node,
                Some(node),
                known.map(AsRef::as_ref),
                round,
                noted,
                notes,
            );
        }
        // A node that boots has no GPU to show, and costs money already.
        let Some(picture) = round.look.picture else { return };
        for (name, known) in &picture.nodes {
            let is_in_view = view.binary_search_by(|node| node.node.name.cmp(name)).is_ok();
            if !is_in_view && (has_gpus(known) || self.nodes.contains_key(name)) {
                self.look_at_machine(&known.node, None, Some(known), round, noted, notes);
            }
        }
    }

    fn look_at_machine(
        &mut self,
        node: &Node,
        view: Option<&NodeView>,
        known: Option<&ClusterNode>,
        round: &Round<'_>,
        noted: &mut Noted,
        notes: &mut Notes,
    ) {
        let Some(id) = self.identify(&node.name, known, round, noted) else {
            noted.set_aside += 1;
            return;
        };
        let gpus = view.map_or(&[][..], |view| &view.gpus);
        let model = gpus.first().map(|gpu| gpu.device.model.as_str());
        let machine = machine_of(id.clone(), node, known, model);
        let is_new = !self.machines.contains_key(&id);
        let watched = self
            .machines
            .entry(id.clone())
            .or_insert_with(|| Watched::new(machine.clone(), known, round));
        let before = watched.memo.clone();
        watched.last_seen = round.at;
        watched.has_gpus_in_view = !gpus.is_empty();
        let memo = &mut watched.memo;
        memo.missing_since = None;
        memo.learn(&machine, known);
        let is_old = is_new && (round.is_fresh || round.before.is_some_and(|before| memo.launched < before));
        let is_ready = known.is_none_or(|known| known.readiness == Readiness::Ready);
        if is_ready && memo.ready.is_none() {
            memo.ready = Some(if is_old { memo.launched } else { round.at });
        }
        for gpu in gpus {
            if !memo.gpus.iter().any(|seen| seen.gpu.uuid == gpu.device.uuid) {
                // Devices could be had before, so it was the page that came late.
                let was_there = is_old || before.had_capacity;
                let at = memo.ready.filter(|_| was_there).unwrap_or(round.at);
                let gpu = Gpu {
                    uuid: gpu.device.uuid.clone(),
                    model: Some(gpu.device.model.clone()),
                    compute_dies: None,
                };
                memo.gpus.push(SeenGpu { gpu, at });
            }
        }
        memo.had_capacity = match known {
            Some(known) => !known.gpu_capacity.is_empty(),
            None => !gpus.is_empty(),
        };
        if is_new {
            memo.tell(&mut noted.events);
        } else {
            memo.tell_news(&before, &mut noted.events);
        }
        if is_new || *memo != before {
            noted.machines.insert(id);
        }
        watched.note(view, known, round, notes);
    }

    /// The machine behind a name. A name that comes back with another machine ends the one before.
    fn identify(
        &mut self,
        name: &NodeName,
        known: Option<&ClusterNode>,
        round: &Round<'_>,
        noted: &mut Noted,
    ) -> Option<MachineId> {
        let told = known.map(|known| &known.machine);
        if let Some(id) = self.nodes.get(name)
            && let Some(watched) = self.machines.get(id)
            && watched.memo.gone.is_none()
        {
            let memo = &watched.memo;
            let is_same = told.is_none_or(|told| told == id || memo.alias.as_ref() == Some(told));
            // It had only its name until the API told more.
            if is_same || (!memo.is_in_api && memo.alias.is_none()) {
                return Some(id.clone());
            }
            let (id, end) = (id.clone(), End::assumed(watched.last_seen));
            self.end_machine(&id, end, noted);
        }
        let own = match told {
            Some(told) => told.clone(),
            None => MachineId::new(name.as_str()).ok()?,
        };
        // One that went and comes back begins anew: its end is in the books.
        let id = if self.machines.contains_key(&own) {
            MachineId::new(format!("{own}@{}", round.at.0)).ok()?
        } else {
            own
        };
        self.nodes.insert(name.clone(), id.clone());
        Some(id)
    }

    pub(super) fn miss_machines(&mut self, round: &Round<'_>, noted: &mut Noted, notes: &mut Notes) {
        let mut ended = Vec::new();
        for (id, watched) in &mut self.machines {
            if watched.last_seen >= round.at || watched.memo.gone.is_some() {
                continue;
            }
            notes.of(id).blind.push(round.span);
            if watched.memo.missing_since.is_none() {
                watched.memo.missing_since = Some(watched.last_seen);
                noted.machines.insert(id.clone());
            }
            let is_told = round.look.picture.is_some() && watched.memo.is_in_api;
            let is_long = round.at.0 - watched.last_seen.0 > self.settings.missing_for_ms;
            if (is_told && round.is_missed_twice(watched.last_seen)) || (!is_told && is_long) {
                ended.push((id.clone(), End::assumed(watched.last_seen)));
            }
        }
        for (id, end) in ended {
            self.end_machine(&id, end, noted);
        }
    }

    /// Takes note that a machine's end was told, by its cloud or by the API.
    pub fn machine_ended(&mut self, id: &MachineId, at: Moment) -> Noted {
        let mut noted = Noted::default();
        self.end_machine(id, End::reported(at), &mut noted);
        noted
    }

    fn end_machine(&mut self, id: &MachineId, end: End, noted: &mut Noted) {
        let Some(watched) = self.machines.get_mut(id) else {
            return;
        };
        watched.memo.gone = Some(end);
        noted.machines.insert(id.clone());
        noted.events.push(Event::Gone {
            machine: id.clone(),
            end,
        });
        for (uid, pod) in &mut self.pods {
            if pod.memo.machine == *id && pod.memo.ended.is_none() {
                pod.end(end, uid, noted);
            }
        }
    }

    pub(super) fn absorb_machine(&mut self, memo: MachineMemo, last: Moment, noted: &mut Noted) {
        memo.tell(&mut noted.events);
        let id = memo.machine.id.clone();
        if let Some(own) = self.machines.get_mut(&id) {
            let own = &mut own.memo;
            own.launched = own.launched.min(memo.launched);
            own.ready = [own.ready, memo.ready].into_iter().flatten().min();
            for seen in memo.gpus {
                match own.gpus.iter_mut().find(|own| own.gpu.uuid == seen.gpu.uuid) {
                    Some(own) => own.at = own.at.min(seen.at),
                    None => own.gpus.push(seen),
                }
            }
            return;
        }
        if memo.gone.is_none() {
            self.nodes
                .entry(memo.machine.node.clone())
                .or_insert_with(|| id.clone());
        }
        let last_seen = memo.missing_since.unwrap_or(last);
        self.machines.insert(
            id,
            Watched {
                memo,
                last_seen,
                has_gpus_in_view: false,
            },
        );
    }
}

impl Watched {
    fn new(machine: Machine, known: Option<&ClusterNode>, round: &Round<'_>) -> Self {
        let created = known.map(|known| Moment::from(known.created_at).min(round.at));
        Self {
            memo: MachineMemo {
                machine: Arc::new(machine),
                launched: created.unwrap_or(round.at),
                ready: None,
                gone: None,
                missing_since: None,
                gpus: Vec::new(),
                alias: None,
                is_in_api: known.is_some(),
                had_capacity: false,
            },
            last_seen: round.at,
            has_gpus_in_view: false,
        }
    }

    /// What the look says of the time since the one before.
    fn note(
        &self,
        view: Option<&NodeView>,
        known: Option<&ClusterNode>,
        round: &Round<'_>,
        notes: &mut Notes,
    ) {
        let memo = &self.memo;
        let id = &memo.machine.id;
        if memo.ready.is_none() {
            return;
        }
        let gpus = view.map_or(&[][..], |view| &view.gpus);
        if gpus.is_empty() {
            // Its page is silent: who holds what cannot be told.
            notes.of(id).blind.push(round.span);
        }
        let is_unready = known.is_some_and(|known| known.readiness != Readiness::Ready);
        let is_lost = |uuid: &GpuUuid| !gpus.is_empty() && gpus.iter().all(|gpu| gpu.device.uuid != *uuid);
        for seen in memo.gpus.iter().map(|seen| &seen.gpu.uuid) {
            if is_unready || is_lost(seen) || round.look.unhealthy.contains(seen) {
                notes.of(id).withheld.push(seen.clone());
            }
        }
        if known.is_some_and(|known| known.is_cordoned || known.taints.iter().any(announces_the_end)) {
            notes.of(id).is_draining = true;
        }
    }
}

impl MachineMemo {
    /// Fills in what was not known. What was known stays: labels that change later do not rewrite the past.
    fn learn(&mut self, now: &Machine, known: Option<&ClusterNode>) {
        if self.machine.known() < now.known() {
            let old = &self.machine;
            let text = |old: &Option<String>, new: &Option<String>| old.clone().or_else(|| new.clone());
            self.machine = Arc::new(Machine {
                instance_type: text(&old.instance_type, &now.instance_type),
                region: text(&old.region, &now.region),
                zone: text(&old.zone, &now.zone),
                pool: text(&old.pool, &now.pool),
                gpu_model: text(&old.gpu_model, &now.gpu_model),
                gpus: old.gpus.or(now.gpus),
                vcpus: old.vcpus.or(now.vcpus),
                memory: old.memory.or(now.memory),
                ..(**old).clone()
            });
        }
        if let Some(known) = known
            && !self.is_in_api
        {
            self.alias = Some(known.machine.clone());
            self.is_in_api = true;
        }
    }
}

/// Whether a node has GPUs, or is of a type that will have them once it has booted.
fn has_gpus(known: &ClusterNode) -> bool {
    if !known.gpu_capacity.is_empty() {
        return true;
    }
    let machine = machine_of(known.machine.clone(), &known.node, Some(known), None);
    machine.gpus.is_some_and(|gpus| gpus > 0)
}

fn announces_the_end(taint: &Taint) -> bool {
    ENDING_TAINTS.iter().any(|key| taint.key.starts_with(key))
}
