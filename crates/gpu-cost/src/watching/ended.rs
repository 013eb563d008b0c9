//! Pods whose end the API told, those among them that no look ever saw.

use std::sync::Arc;

use gpu_model::{ClusterPicture, GpuPod, GpuUuid, Partition, PodUid, RequestKind};

use super::pods::WatchedPod;
use super::{ClaimMemo, Noted, Notes, PodMemo, Watcher};
use crate::{Books, End, Moment, Span};

/// A pod that ended, as the API tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedPod {
    /// As it was last seen, with its node and its start.
    pub pod: Arc<GpuPod>,
    /// When its containers had all finished, or it was deleted.
    pub ended_at: Moment,
}

impl Watcher {
    /// Takes note of a pod's end.
    ///
    /// A pod that came and went between two looks is not known here. Where it asked for whole GPUs it is given as many of those that
    /// nobody held in its time: which of them it had is not known, and they cost the same. Where it asked for less than a GPU, or
    /// none was free, the time of its node's free GPUs is told as unknown.
    pub fn pod_ended(&mut self, ended: &EndedPod, picture: Option<&ClusterPicture>, books: &Books) -> Noted {
        let mut noted = Noted::default();
        let pod = &ended.pod.pod;
        let Some(uid) = pod.reference.uid.clone() else {
            noted.set_aside += 1;
            return noted;
        };
        let end = End::reported(ended.ended_at);
        if let Some(known) = self.pods.get_mut(&uid) {
            let is_news = |old: End| old.certainty < end.certainty || old.at > end.at;
            if known.memo.ended.is_none_or(is_news) {
                known.end(end, &uid, &mut noted);
            }
            return noted;
        }
        let machine = ended.pod.node.as_ref().and_then(|node| self.nodes.get(node));
        let (Some(machine), Some(started)) = (machine.cloned(), pod.started_at) else {
            // It never had a node, or its node has no GPUs that are paid for.
            return noted;
        };
        let life = Span::new(Moment::from(started), ended.ended_at);
        if life.is_empty() {
            return noted;
        }
        let free = books.free_gpus(&machine, life);
        let claims = match whole_gpus(&ended.pod) {
            Some(count) if count > 0 && count <= free.len() => free.into_iter().take(count),
            _ => {
                let mut notes = Notes::new(life);
                notes.of(&machine).blind.push(life);
                self.tell_notes(&notes, &mut noted.events);
                noted.notes = Some(notes);
                return noted;
            }
        };
        let memo = PodMemo {
            machine,
            holder: Arc::new(self.holder(&uid, pod, None, Some(&ended.pod), picture)),
            class: self.class(pod),
            host: None,
            bound: life.start,
            running: Some(life.start),
            ended: Some(end),
            missing_since: None,
            is_in_api: true,
            claims: Vec::new(),
        };
        self.take_in(memo, claims.collect(), uid, &mut noted);
        noted
    }

    fn take_in(&mut self, mut memo: PodMemo, gpus: Vec<GpuUuid>, uid: PodUid, noted: &mut Noted) {
        let container = memo.holder.container.clone();
        memo.claims = gpus
            .into_iter()
            .map(|gpu| ClaimMemo {
                gpu,
                partition: Partition::Whole,
                container: container.clone(),
            })
            .collect();
        memo.tell(&mut noted.events);
        noted.pods.insert(uid.clone());
        let last_seen = memo.bound;
        self.pods.insert(uid, WatchedPod { memo, last_seen });
    }
}

/// How many whole GPUs a pod asked for; none when it asked for anything else.
fn whole_gpus(pod: &GpuPod) -> Option<usize> {
    pod.requests
        .iter()
        .try_fold(0usize, |sum, request| match request.kind {
            RequestKind::Whole(_) => sum.checked_add(usize::try_from(request.count).ok()?),
            RequestKind::MigSlice(_)
            | RequestKind::Shared
            | RequestKind::AmdPartition(_)
            | RequestKind::HamiMemory
            | RequestKind::HamiMemoryPercent
            | RequestKind::HamiCores
            | RequestKind::Claim(_) => None,
        })
}
