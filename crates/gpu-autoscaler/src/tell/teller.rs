//! One cycle of telling, for the replica that leads: remembers, decides, writes, and writes down what it did.

mod memory;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::Moment;
use gpu_model::{ClusterId, GpuUuid, Harvest, NodeName};
use gpu_runtime::{Chain, Clock};
use gpu_store::entries::Saving;
use gpu_store::{Batch, Store, StoreError};
use gpu_waste::{Finding, FindingId};
use jiff::Timestamp;
use tracing::{info, warn};

use super::annotate::annotate;
use super::diary::{Act, ActKind, Diary, Entry, Realised, TellSettings};
use super::events::{Bucket, TellError, short_digest, tellings};
use super::gpu_health::{GpuRecord, HealthMemory, HealthSettings, NodeFacts};
use super::node_condition::{Noted, note_health};
use super::notices::Notices;
use super::sights::Sights;
use crate::lead::{Mode, Term, WriteError, WritePermit, Writer};
use memory::Rooms;

/// Whether pods get tracking annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracking {
    Off,
    Annotations,
}

/// Why a cycle ended early.
#[derive(Debug, thiserror::Error)]
pub enum CycleError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("failed to read or write what was told before")]
    Store(#[from] StoreError),
    #[error("failed to write down what is to be remembered")]
    Serialize(#[from] serde_json::Error),
}

/// What a cycle did.
#[derive(Debug, Default)]
pub struct Told {
    pub told: usize,
    pub repeated: usize,
    pub resolved: usize,
    /// Left for the next cycle by the bounds.
    pub deferred: usize,
    pub failed: usize,
    pub savings: Vec<Realised>,
}

/// The memory of the term in which it was read, and what of it the store holds.
struct InTerm<T, S> {
    term: Term,
    known: T,
    stored: S,
}

type Marks = BTreeMap<FindingId, (Option<Timestamp>, u32, bool)>;
type HealthByNode = BTreeMap<NodeName, BTreeMap<GpuUuid, GpuRecord>>;

/// Tells findings and the health of GPUs. One task owns it.
pub struct Teller {
    writer: Writer,
    rooms: Rooms,
    clock: Arc<dyn Clock>,
    cluster: ClusterId,
    settings: TellSettings,
    health_settings: HealthSettings,
    tracking: Tracking,
    bucket: Bucket,
    notices: Notices,
    diary: Option<InTerm<Diary, Marks>>,
    health: Option<InTerm<HealthMemory, HealthByNode>>,
    boots: BTreeMap<NodeName, String>,
}

const TOLD: &str = "told";
const HEALTH: &str = "gpu-health";

impl Teller {
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a part of its own, and this is called once"
    )]
    pub fn new(
        writer: Writer,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        cluster: ClusterId,
        settings: TellSettings,
        health_settings: HealthSettings,
        tracking: Tracking,
        notices: Notices,
    ) -> Self {
        Self {
            writer,
            rooms: Rooms::new(store, cluster.clone()),
            clock,
            cluster,
            settings,
            health_settings,
            tracking,
            bucket: Bucket::default(),
            notices,
            diary: None,
            health: None,
            boots: BTreeMap::new(),
        }
    }

    /// Replaces the rate of events.
    #[must_use]
    pub fn with_bucket(mut self, bucket: Bucket) -> Self {
        self.bucket = bucket;
        self
    }

    /// The boot ids of nodes that were in trouble, for [`super::gpu_health::node_facts`].
    pub fn boots(&self) -> &BTreeMap<NodeName, String> {
        &self.boots
    }

    /// GPUs on which nothing should be planned, as far as this replica knows.
    pub fn excluded_gpus(&self) -> std::collections::BTreeSet<GpuUuid> {
        self.health
            .as_ref()
            .map(|health| health.known.excluded(&self.health_settings))
            .unwrap_or_default()
    }

    /// Tells what is due among the findings of a report.
    pub async fn tell(
        &mut self,
        findings: &[Finding],
        sights: &Sights,
        now: Timestamp,
    ) -> Result<Told, CycleError> {
        let permit = self.writer.permit()?;
        let (diary, mut stored) = self.diary_of(&permit).await?;
        let turn = diary.turn(findings, |about| sights.look(about), now, &self.settings);
        let mut diary = turn.diary;
        let mut told = Told {
            deferred: turn.deferred,
            ..Told::default()
        };
        let (mut carried, mut held) = (Vec::new(), None);
        for act in &turn.acts {
            if !self.bucket.take(self.clock.monotonic()) {
                told.deferred += 1;
                continue;
            }
            match self.carry_out(&permit, act, now).await {
                Ok(()) => {
                    told.count(act.kind);
                    told.savings.extend(diary.carried_out(act, now));
                    carried.push(act);
                }
                // The rest would fail alike.
                Err(TellError::Write(
                    error @ (WriteError::NotLeader | WriteError::Paused(_) | WriteError::PauseUnknown),
                )) => {
                    held = Some(error);
                    break;
                }
                Err(error) => {
                    told.failed += 1;
                    warn!(finding = %act.entry.id, error = %Chain(&error), "failed to tell of a finding");
                }
            }
        }
        // A dry run tells nobody, and when it is over everything is still to be told.
        let remembered = if self.writer.mode() == Mode::Live {
            self.notices.post_acts(&self.cluster, &carried, now);
            self.remember(&permit, &mut stored, &diary, &told.savings, now)
                .await
        } else {
            Ok(())
        };
        self.diary = Some(InTerm {
            term: permit.term(),
            known: diary,
            stored,
        });
        remembered?;
        held.map_or(Ok(told), |error| Err(error.into()))
    }

    async fn carry_out(&self, permit: &WritePermit, act: &Act, now: Timestamp) -> Result<(), TellError> {
        for telling in tellings(act, now) {
            telling.tell(&self.writer, permit, now).await?;
        }
        if self.tracking == Tracking::Annotations {
            annotate(&self.writer, permit, act).await?;
        }
        Ok(())
    }

    async fn diary_of(&mut self, permit: &WritePermit) -> Result<(Diary, Marks), StoreError> {
        match self.diary.take() {
            Some(known) if known.term == permit.term() => Ok((known.known, known.stored)),
            // Another may have led since: what it remembers counts.
            _ => {
                let read = self.rooms.read::<Entry>(TOLD).await?;
                let entries: BTreeMap<_, _> = read
                    .into_values()
                    .map(|entry| (entry.id.clone(), entry))
                    .collect();
                let stored = entries
                    .iter()
                    .map(|(id, entry)| (id.clone(), entry.mark()))
                    .collect();
                Ok((Diary { entries }, stored))
            }
        }
    }

    /// Writes down what the store does not hold yet: entries that were told, those that are over, and savings.
    async fn remember(
        &self,
        permit: &WritePermit,
        stored: &mut Marks,
        diary: &Diary,
        savings: &[Realised],
        now: Timestamp,
    ) -> Result<(), CycleError> {
        let mut batch = Batch::default();
        let mut marks = Marks::new();
        for (id, entry) in diary.entries.iter().filter(|(_, entry)| entry.told_at.is_some()) {
            marks.insert(id.clone(), entry.mark());
            if stored.get(id) != Some(&entry.mark()) {
                batch.replacements.push(
                    self.rooms
                        .remember(TOLD, &digest(id), permit.term(), entry, now)?,
                );
            }
        }
        for id in stored.keys().filter(|id| !marks.contains_key(*id)) {
            batch
                .replacements
                .push(self.rooms.forget(TOLD, &digest(id), permit.term(), now)?);
        }
        for realised in savings
            .iter()
            .filter(|realised| realised.outcome.is_improvement())
        {
            let told_at = realised.told_at.map_or(0, Timestamp::as_millisecond);
            let saving = Saving {
                cluster: self.cluster.clone(),
                id: format!("{}/{told_at}", digest(&realised.finding)),
                at: Moment(realised.ended_at.as_millisecond()),
                subject: realised.owner.clone(),
                body: serde_json::to_value(realised)?,
            };
            batch.records.push(saving.record()?);
            info!(
                owner = realised.owner,
                cause = realised.cause.as_str(),
                outcome = realised.outcome.as_str(),
                "a finding is over"
            );
        }
        self.rooms.write(permit, batch).await?;
        *stored = marks;
        Ok(())
    }

    /// Judges the GPUs of a round, and writes conditions and events where a verdict changed.
    pub async fn tell_health(
        &mut self,
        harvest: &Harvest,
        nodes: &BTreeMap<NodeName, NodeFacts>,
        now: Timestamp,
    ) -> Result<Noted, CycleError> {
        let permit = self.writer.permit()?;
        let (memory, stored) = match self.health.take() {
            Some(known) if known.term == permit.term() => (known.known, known.stored),
            _ => {
                let read = self.rooms.read::<BTreeMap<GpuUuid, GpuRecord>>(HEALTH).await?;
                let memory = HealthMemory {
                    gpus: read.into_values().flatten().collect(),
                };
                let stored = by_node(&memory);
                (memory, stored)
            }
        };
        let turn = memory.judge(harvest, nodes, now, &self.health_settings);
        let noted = note_health(
            &self.writer,
            &permit,
            &turn.memory,
            &turn.news,
            &self.health_settings,
            now,
        )
        .await;
        self.boots.extend(noted.boots.clone());
        self.boots.retain(|node, _| nodes.contains_key(node));
        for (node, error) in &noted.failures {
            warn!(node = %node, error = %Chain(error), "failed to write the health of GPUs to their node");
        }
        let after = by_node(&turn.memory);
        let mut batch = Batch::default();
        for (node, gpus) in &after {
            if stored.get(node) != Some(gpus) {
                let record = self
                    .rooms
                    .remember(HEALTH, node.as_str(), permit.term(), gpus, now)?;
                batch.replacements.push(record);
            }
        }
        for node in stored.keys().filter(|node| !after.contains_key(*node)) {
            batch
                .replacements
                .push(self.rooms.forget(HEALTH, node.as_str(), permit.term(), now)?);
        }
        let written = match self.writer.mode() {
            Mode::Live => self.rooms.write(&permit, batch).await,
            Mode::DryRun => Ok(()),
        };
        self.health = Some(InTerm {
            term: permit.term(),
            known: turn.memory,
            stored: if written.is_ok() { after } else { stored },
        });
        written?;
        Ok(noted)
    }
}

impl Told {
    fn count(&mut self, kind: ActKind) {
        match kind {
            ActKind::Tell => self.told += 1,
            ActKind::Repeat => self.repeated += 1,
            ActKind::Resolve(_) => self.resolved += 1,
        }
    }
}

/// Ids of findings are longer than keys may be.
fn digest(id: &FindingId) -> String {
    short_digest(&id.0)
}

fn by_node(memory: &HealthMemory) -> HealthByNode {
    let mut nodes = HealthByNode::new();
    for (uuid, record) in &memory.gpus {
        nodes
            .entry(record.node.clone())
            .or_default()
            .insert(uuid.clone(), record.clone());
    }
    nodes
}
