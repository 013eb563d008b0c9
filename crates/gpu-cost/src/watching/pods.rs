//! Pods that hold parts of GPUs: their begin by the API's times, their use, their end.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{
    ClusterNode, ClusterPicture, GpuPod, MachineId, NodeView, Owner, Permille, Pod, PodKey, PodPhase, PodUid,
};

use super::{ClaimMemo, Noted, Notes, PodMemo, Round, Watcher};
use crate::{End, Event, Holder, HolderClass, Moment, PodFacts, Span, dimensions};

/// A pod with the last look that saw it.
#[derive(Debug, Clone)]
pub(super) struct WatchedPod {
    pub(super) memo: PodMemo,
    pub(super) last_seen: Moment,
}

impl WatchedPod {
    pub(super) fn end(&mut self, end: End, uid: &PodUid, noted: &mut Noted) {
        self.memo.ended = Some(end);
        noted.pods.insert(uid.clone());
        noted.events.push(Event::Ended {
            machine: self.memo.machine.clone(),
            pod: uid.clone(),
            end,
        });
    }

    fn see(&mut self, at: Moment, uid: &PodUid, noted: &mut Noted) {
        self.last_seen = at;
        if self.memo.missing_since.take().is_some() {
            noted.pods.insert(uid.clone());
        }
    }

    fn run(&mut self, at: Moment, uid: &PodUid, noted: &mut Noted) {
        if self.memo.running.is_none() {
            self.memo.running = Some(at);
            noted.pods.insert(uid.clone());
            noted.events.push(Event::Running {
                machine: self.memo.machine.clone(),
                pod: uid.clone(),
                at,
            });
        }
    }
}

impl Watcher {
    pub(super) fn look_at_pods(&mut self, round: &Round<'_>, noted: &mut Noted, notes: &mut Notes) {
        for node in &round.look.view.nodes {
            let Some(machine) = self.nodes.get(&node.node.name).cloned() else {
                continue;
            };
            self.look_at_holders(node, &machine, round, noted, notes);
        }
        if let Some(picture) = round.look.picture {
            for pod in picture.gpu_pods.values() {
                self.look_at_asker(pod, round, noted, notes);
            }
        }
    }

    /// The pods that a node's page names.
    fn look_at_holders(
        &mut self,
        node: &NodeView,
        machine: &MachineId,
        round: &Round<'_>,
        noted: &mut Noted,
        notes: &mut Notes,
    ) {
        for gpu in &node.gpus {
            for part in &gpu.parts {
                let Some(owner) = &part.owner else { continue };
                let Some(uid) = self.uid(owner, machine, round, noted) else {
                    continue;
                };
                let is_new = !self.pods.contains_key(&uid);
                if is_new {
                    self.meet(&uid, owner, machine, round);
                }
                let Some(pod) = self.pods.get_mut(&uid) else {
                    continue;
                };
                if pod.memo.ended.is_some() || pod.memo.machine != *machine {
                    continue;
                }
                // A page that names a pod which the API no longer has is older than the pod's end.
                if !pod.memo.is_in_api || round.look.picture.is_none() {
                    pod.see(round.at, &uid, noted);
                }
                let is_claim =
                    |claim: &ClaimMemo| claim.gpu == gpu.device.uuid && claim.partition == part.partition;
                let place = pod.memo.claims.iter().position(is_claim);
                let place = place.unwrap_or_else(|| {
                    let claim = ClaimMemo {
                        gpu: gpu.device.uuid.clone(),
                        partition: part.partition.clone(),
                        container: Some(owner.container.clone()),
                    };
                    noted.events.push(pod.memo.bound_event(&claim));
                    noted.pods.insert(uid.clone());
                    pod.memo.claims.push(claim);
                    pod.memo.claims.len() - 1
                });
                if owner.pod.phase == PodPhase::Running {
                    // One that was seen before, and not running, got to run since.
                    let began = if is_new { pod.memo.bound } else { round.at };
                    pod.run(began, &uid, noted);
                }
                if let Some(utilization) = part.usage.utilization.known() {
                    let used = notes.of(machine).used.entry(uid).or_default();
                    note_use(used, place, utilization);
                }
            }
        }
    }

    /// A pod that the API says asks for GPUs and runs.
    fn look_at_asker(&mut self, asker: &GpuPod, round: &Round<'_>, noted: &mut Noted, notes: &mut Notes) {
        let Some(uid) = &asker.pod.reference.uid else {
            return;
        };
        if let Some(pod) = self.pods.get_mut(uid) {
            pod.see(round.at, uid, noted);
            if !pod.memo.is_in_api {
                pod.memo.is_in_api = true;
                noted.pods.insert(uid.clone());
            }
            if asker.pod.phase == PodPhase::Running {
                pod.run(round.at, uid, noted);
            }
            return;
        }
        // It holds GPUs, and no page names them: the free ones of its node may be its own. Pages are given time to catch up.
        let Some(node) = &asker.node else { return };
        let (Some(machine), Some(started)) = (self.nodes.get(node), asker.pod.started_at) else {
            return;
        };
        let since = Moment::from(started);
        let grace = self.settings.interval_ms.saturating_mul(2);
        if round.at.0.saturating_sub(since.0) <= grace {
            return;
        }
        let was_told = round.span.start.0.saturating_sub(since.0) > grace;
        let start = if was_told { round.span.start } else { since };
        let blind = Span::new(start, round.at);
        let spans = &mut notes.of(machine).blind;
        if !spans.contains(&blind) {
            spans.push(blind);
        }
    }

    /// What tells the pod apart. Where nobody tells its uid, the name and the instant of its first sight do.
    fn uid(
        &self,
        owner: &Owner,
        machine: &MachineId,
        round: &Round<'_>,
        noted: &mut Noted,
    ) -> Option<PodUid> {
        let reference = &owner.pod.reference;
        if let Some(uid) = &reference.uid {
            return Some(uid.clone());
        }
        let name = (reference.namespace.clone(), reference.name.clone());
        if let Some(uid) = self.names.get(&name)
            && let Some(pod) = self.pods.get(uid)
            && pod.memo.machine == *machine
        {
            let Some(end) = pod.memo.ended else {
                return Some(uid.clone());
            };
            if round.at.0.saturating_sub(end.at.0) <= self.settings.longest_gap_ms {
                return None;
            }
        }
        let text = format!("{}/{}@{}", name.0, name.1, round.at.0);
        let uid = PodUid::new(&text).ok();
        if uid.is_none() {
            noted.set_aside += 1;
        }
        uid
    }

    /// Takes a pod in that was not seen before.
    fn meet(&mut self, uid: &PodUid, owner: &Owner, machine: &MachineId, round: &Round<'_>) {
        let reference = &owner.pod.reference;
        let key = PodKey {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        };
        let picture = round.look.picture;
        let asker = picture
            .and_then(|picture| picture.gpu_pods.get(&key))
            .filter(|asker| asker.pod.reference.uid.as_ref() == Some(uid));
        let host = asker.and_then(|asker| host_share(asker, picture?.nodes.get(asker.node.as_ref()?)?));
        let pod = &owner.pod;
        let began = pod
            .started_at
            .map(Moment::from)
            .filter(|began| *began <= round.at);
        let memo = PodMemo {
            machine: machine.clone(),
            holder: Arc::new(self.holder(uid, pod, Some(owner), asker.map(AsRef::as_ref), picture)),
            class: self.class(pod),
            host,
            bound: began.unwrap_or(round.at),
            running: None,
            ended: None,
            missing_since: None,
            is_in_api: asker.is_some(),
            claims: Vec::new(),
        };
        self.names.insert((key.namespace, key.name), uid.clone());
        let last_seen = round.at;
        self.pods.insert(uid.clone(), WatchedPod { memo, last_seen });
    }

    /// Under which names the pod's cost is asked for. What the pod does not say, its namespace may.
    pub(super) fn holder(
        &self,
        uid: &PodUid,
        pod: &Pod,
        owner: Option<&Owner>,
        asker: Option<&GpuPod>,
        picture: Option<&ClusterPicture>,
    ) -> Holder {
        let namespace = picture.and_then(|picture| picture.namespaces.get(&pod.reference.namespace));
        let namespace: Vec<BTreeMap<String, String>> =
            namespace.map(|labels| (**labels).clone()).into_iter().collect();
        let mut dimensions = dimensions(
            &self.settings.rules,
            &PodFacts {
                labels: Some(&pod.labels),
                annotations: None,
                owners: &pod.owners,
                owner_labels: &namespace,
                owner_annotations: &[],
            },
        );
        // What the owner wrote as an annotation was read with the pod.
        let told = asker.and_then(|asker| asker.settings.cost_center.clone());
        dimensions.cost_center = dimensions.cost_center.or(told);
        let first = || asker.and_then(|asker| asker.requests.first());
        Holder {
            namespace: pod.reference.namespace.clone(),
            pod: pod.reference.name.clone(),
            uid: uid.clone(),
            container: match owner {
                Some(owner) => Some(owner.container.clone()),
                None => first().map(|request| request.container.clone()),
            },
            dimensions,
        }
    }

    pub(super) fn class(&self, pod: &Pod) -> HolderClass {
        let namespace = pod.reference.namespace.as_str();
        if self.settings.system_namespaces.contains(namespace) {
            HolderClass::System
        } else {
            HolderClass::Workload
        }
    }

    pub(super) fn miss_pods(&mut self, round: &Round<'_>, noted: &mut Noted) {
        for (uid, pod) in &mut self.pods {
            if pod.last_seen >= round.at || pod.memo.ended.is_some() {
                continue;
            }
            let page = self
                .machines
                .get(&pod.memo.machine)
                .is_some_and(|machine| machine.has_gpus_in_view);
            let is_told = page || (pod.memo.is_in_api && round.look.picture.is_some());
            if !is_told {
                continue;
            }
            if pod.memo.missing_since.is_none() {
                pod.memo.missing_since = Some(pod.last_seen);
                noted.pods.insert(uid.clone());
            }
            if round.is_missed_twice(pod.last_seen) {
                let end = End::assumed(pod.last_seen);
                pod.end(end, uid, noted);
            }
        }
    }

    pub(super) fn absorb_pod(&mut self, memo: PodMemo, last: Moment, noted: &mut Noted) {
        memo.tell(&mut noted.events);
        let uid = memo.holder.uid.clone();
        if let Some(own) = self.pods.get_mut(&uid) {
            own.memo.bound = own.memo.bound.min(memo.bound);
            own.memo.running = [own.memo.running, memo.running].into_iter().flatten().min();
            return;
        }
        let name = (memo.holder.namespace.clone(), memo.holder.pod.clone());
        self.names.entry(name).or_insert_with(|| uid.clone());
        let last_seen = memo.missing_since.unwrap_or(last);
        self.pods.insert(uid, WatchedPod { memo, last_seen });
    }
}

fn note_use(used: &mut Vec<Option<Permille>>, place: usize, utilization: Permille) {
    if used.len() <= place {
        used.resize(place + 1, None);
    }
    used[place] = Some(utilization);
}

/// The share of the node's processors and memory that a pod asked for; absent where it asked for none.
fn host_share(asker: &GpuPod, node: &ClusterNode) -> Option<Permille> {
    let share = |part: u64, whole: u64| (whole > 0 && part > 0).then(|| part.saturating_mul(1000) / whole);
    let processors = share(asker.host.cpu_millicores, node.host.cpu_millicores);
    let memory = share(asker.host.memory.0, node.host.memory.0);
    let mean = match (processors, memory) {
        (Some(processors), Some(memory)) => u64::midpoint(processors, memory),
        (one, other) => one.or(other)?,
    };
    Some(Permille::clamped(u16::try_from(mean).unwrap_or(1000)))
}
