//! Judges GPUs by what their drivers and their memory say, without a clock or a socket.
//!
//! A verdict against a GPU rests on something that was said, or on a GPU that was there and is not while its node and its exporter
//! answer. Missing data condemns nobody and pardons nobody.

mod faults;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use gpu_model::{
    ClusterPicture, GpuReport, GpuSample, GpuUuid, Harvest, NodeName, Readiness, Reading, Vendor,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use faults::{FaultClass, fault_class, fault_words};

use super::diary::passed;

/// When a verdict is passed and when it is lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthSettings {
    /// How long a GPU must be missing, or be back, to count as such. A driver that restarts takes a minute.
    pub settle: Duration,
    /// After so long without another fault a GPU is trusted again, also without a reboot.
    pub clean_after: Duration,
    /// So many faults that the GPU mends by itself, within that time, are too many.
    pub repeats: u32,
}

impl Default for HealthSettings {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(5 * 60),
            clean_after: Duration::from_secs(24 * 3600),
            repeats: 3,
        }
    }
}

/// What is wrong with a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Trouble {
    /// A fault of the driver, by its code (XID).
    Fault(u32),
    /// Memory errors that could not be corrected.
    EccUncorrected,
    /// A broken memory row that could not be replaced.
    RowRemapFailed,
    /// It was there, and it is not, or it answers nothing.
    Lost,
}

impl Trouble {
    /// For the reason of a condition.
    pub fn reason(self) -> String {
        match self {
            Self::Fault(code) => format!("XID{code}"),
            Self::EccUncorrected => "UncorrectedMemoryErrors".to_owned(),
            Self::RowRemapFailed => "RowRemapFailed".to_owned(),
            Self::Lost => "GPULost".to_owned(),
        }
    }
}

/// In the store, a trouble is one word, because it is a key there.
impl From<Trouble> for String {
    fn from(trouble: Trouble) -> Self {
        trouble.reason()
    }
}

impl TryFrom<String> for Trouble {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let known = [Self::EccUncorrected, Self::RowRemapFailed, Self::Lost];
        let code = word.strip_prefix("XID").and_then(|code| code.parse().ok());
        known
            .into_iter()
            .find(|trouble| trouble.reason() == word)
            .or(code.map(Self::Fault))
            .ok_or(format!("`{word}` is no trouble of a GPU"))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(code) => write!(f, "XID {code} ({})", fault_words(*code)),
            Self::EccUncorrected => f.write_str("memory errors that could not be corrected"),
            Self::RowRemapFailed => f.write_str("a broken memory row that could not be replaced"),
            Self::Lost => f.write_str("it no longer answers"),
        }
    }
}

/// What the cluster says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    pub is_ready: bool,
    /// Its exporter's last page could be read.
    pub exporter_answers: bool,
    /// The machine behind the name.
    pub machine: String,
    /// Changes with every boot, where it is known.
    pub boot: Option<String>,
}

/// The facts of all nodes, from the cluster's picture and a round over the exporters.
pub fn node_facts(
    picture: &ClusterPicture,
    harvest: &Harvest,
    boots: &BTreeMap<NodeName, String>,
) -> BTreeMap<NodeName, NodeFacts> {
    let answering: BTreeSet<&NodeName> = harvest
        .targets
        .iter()
        .filter(|target| target.failure.is_none())
        .filter_map(|target| target.node.as_ref())
        .chain(harvest.gpus.iter().map(|gpu| &gpu.node))
        .collect();
    let facts = |(name, node): (&NodeName, &std::sync::Arc<gpu_model::ClusterNode>)| {
        let facts = NodeFacts {
            is_ready: node.readiness == Readiness::Ready,
            exporter_answers: answering.contains(name),
            machine: node.machine.to_string(),
            boot: boots.get(name).cloned(),
        };
        (name.clone(), facts)
    };
    picture.nodes.iter().map(facts).collect()
}

/// What is remembered of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuRecord {
    pub node: NodeName,
    pub index: u16,
    machine: String,
    boot: Option<String>,
    faults: BTreeMap<u32, u64>,
    ecc_uncorrected: Option<u64>,
    missing_since: Option<Timestamp>,
    back_since: Option<Timestamp>,
    pub troubles: BTreeMap<Trouble, Spell>,
}

/// Since when, until when and how often something was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spell {
    pub first: Timestamp,
    pub last: Timestamp,
    pub times: u64,
}

/// What is remembered of all GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthMemory {
    pub gpus: BTreeMap<GpuUuid, GpuRecord>,
}

/// A change of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    pub node: NodeName,
    pub uuid: GpuUuid,
    pub index: u16,
    pub trouble: Trouble,
    pub is_over: bool,
}

/// The verdict over a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthTurn {
    pub memory: HealthMemory,
    pub news: Vec<News>,
}

impl HealthMemory {
    /// Takes note of one round over the fleet.
    pub fn judge(
        mut self,
        harvest: &Harvest,
        nodes: &BTreeMap<NodeName, NodeFacts>,
        now: Timestamp,
        settings: &HealthSettings,
    ) -> HealthTurn {
        let before = self.bad(settings);
        // What is long over must not be added to.
        for record in self.gpus.values_mut() {
            record.forget(now, settings);
        }
        for gpu in &harvest.gpus {
            if let Some(facts) = nodes.get(&gpu.node) {
                let record = self
                    .gpus
                    .entry(gpu.device.uuid.clone())
                    .or_insert_with(|| GpuRecord::new(gpu, facts));
                record.see(gpu, facts, now);
            }
        }
        let seen: BTreeSet<&GpuUuid> = harvest
            .gpus
            .iter()
            .filter(|gpu| answers(&gpu.sample))
            .map(|gpu| &gpu.device.uuid)
            .collect();
        self.gpus.retain(|uuid, record| {
            // A machine that is gone takes its GPUs along.
            let Some(facts) = nodes
                .get(&record.node)
                .filter(|facts| facts.machine == record.machine)
            else {
                return false;
            };
            record.settle(seen.contains(uuid), facts, now, settings);
            true
        });
        let after = self.bad(settings);
        let news = |(node, uuid, index, trouble): &Verdict, is_over: bool| News {
            node: node.clone(),
            uuid: uuid.clone(),
            index: *index,
            trouble: *trouble,
            is_over,
        };
        let mut told: Vec<News> = after
            .difference(&before)
            .map(|verdict| news(verdict, false))
            .collect();
        told.extend(before.difference(&after).map(|verdict| news(verdict, true)));
        HealthTurn {
            memory: self,
            news: told,
        }
    }

    /// GPUs that nothing should be planned on.
    pub fn excluded(&self, settings: &HealthSettings) -> BTreeSet<GpuUuid> {
        self.bad(settings)
            .into_iter()
            .map(|(_, uuid, _, _)| uuid)
            .collect()
    }

    /// What is wrong on each node, by GPU.
    pub fn by_node(
        &self,
        settings: &HealthSettings,
    ) -> BTreeMap<NodeName, Vec<(u16, GpuUuid, Trouble, Spell)>> {
        let mut nodes: BTreeMap<NodeName, Vec<_>> = BTreeMap::new();
        for (uuid, record) in &self.gpus {
            for (trouble, spell) in &record.troubles {
                if is_bad(*trouble, *spell, settings) {
                    nodes.entry(record.node.clone()).or_default().push((
                        record.index,
                        uuid.clone(),
                        *trouble,
                        *spell,
                    ));
                }
            }
        }
        nodes
    }

    fn bad(&self, settings: &HealthSettings) -> BTreeSet<Verdict> {
        let by_node = self.by_node(settings);
        let verdicts = by_node.into_iter().flat_map(|(node, troubles)| {
            troubles
                .into_iter()
                .map(move |(index, uuid, trouble, _)| (node.clone(), uuid, index, trouble))
        });
        verdicts.collect()
    }
}

type Verdict = (NodeName, GpuUuid, u16, Trouble);

fn is_bad(trouble: Trouble, spell: Spell, settings: &HealthSettings) -> bool {
    match trouble {
        Trouble::Fault(code) => match fault_class(code) {
            FaultClass::Hardware => true,
            FaultClass::Mended => spell.times >= u64::from(settings.repeats),
            FaultClass::Application | FaultClass::Unknown => false,
        },
        Trouble::EccUncorrected | Trouble::RowRemapFailed | Trouble::Lost => true,
    }
}

/// A GPU of which nothing at all could be read does not answer.
fn answers(sample: &GpuSample) -> bool {
    let signs = [
        sample.utilization.is_known(),
        sample.memory_used.is_known(),
        sample.power.is_known(),
        sample.temperature.is_known(),
    ];
    let failed = sample.memory_used == Reading::Failed || sample.temperature == Reading::Failed;
    signs.contains(&true) || !failed
}

impl GpuRecord {
    fn new(gpu: &GpuReport, facts: &NodeFacts) -> Self {
        Self {
            node: gpu.node.clone(),
            index: gpu.device.index.0,
            machine: facts.machine.clone(),
            boot: facts.boot.clone(),
            faults: BTreeMap::new(),
            ecc_uncorrected: None,
            missing_since: None,
            back_since: None,
            troubles: BTreeMap::new(),
        }
    }

    fn see(&mut self, gpu: &GpuReport, facts: &NodeFacts, now: Timestamp) {
        if self.machine != facts.machine || self.node != gpu.node {
            // The board sits in another machine now, and starts with a clean record.
            *self = Self::new(gpu, facts);
        }
        if facts.boot.is_some() && self.boot.is_some() && facts.boot != self.boot {
            // A reboot resets every GPU: what is still wrong will be said again.
            self.troubles.clear();
            self.faults.clear();
            self.ecc_uncorrected = None;
            self.missing_since = None;
        }
        self.boot = facts.boot.clone().or(self.boot.take());
        self.index = gpu.device.index.0;
        if gpu.device.vendor == Vendor::Nvidia {
            for fault in &gpu.sample.faults {
                let before = self.faults.insert(fault.code, fault.count).unwrap_or(0);
                self.note(Trouble::Fault(fault.code), growth(before, fault.count), now);
            }
        }
        if let Reading::Known(count) = gpu.sample.ecc_uncorrected {
            let before = self.ecc_uncorrected.replace(count).unwrap_or(0);
            self.note(Trouble::EccUncorrected, growth(before, count), now);
        }
        match gpu.sample.row_remap_failed {
            Reading::Known(true) => self.note(Trouble::RowRemapFailed, 1, now),
            Reading::Known(false) => {
                self.troubles.remove(&Trouble::RowRemapFailed);
            }
            Reading::Unsupported | Reading::Failed => {}
        }
    }

    fn note(&mut self, trouble: Trouble, times: u64, now: Timestamp) {
        if times == 0 {
            return;
        }
        let spell = self.troubles.entry(trouble).or_insert(Spell {
            first: now,
            last: now,
            times: 0,
        });
        spell.last = now;
        spell.times = spell.times.saturating_add(times);
    }

    fn forget(&mut self, now: Timestamp, settings: &HealthSettings) {
        self.troubles.retain(|trouble, spell| match trouble {
            Trouble::Fault(_) | Trouble::EccUncorrected => passed(spell.last, now) < settings.clean_after,
            Trouble::RowRemapFailed | Trouble::Lost => true,
        });
    }

    /// What time alone does to a record.
    fn settle(&mut self, is_seen: bool, facts: &NodeFacts, now: Timestamp, settings: &HealthSettings) {
        if is_seen {
            self.missing_since = None;
            let back = *self.back_since.get_or_insert(now);
            if passed(back, now) >= settings.settle {
                self.troubles.remove(&Trouble::Lost);
            }
        } else if facts.is_ready && facts.exporter_answers {
            self.back_since = None;
            let missing = *self.missing_since.get_or_insert(now);
            if passed(missing, now) >= settings.settle && !self.troubles.contains_key(&Trouble::Lost) {
                self.note(Trouble::Lost, 1, now);
            }
        } else {
            // Nobody could have seen it.
            self.missing_since = None;
        }
    }
}

/// A counter that is smaller than before began anew.
fn growth(before: u64, now: u64) -> u64 {
    if now >= before { now - before } else { now }
}

#[cfg(test)]
mod tests;
