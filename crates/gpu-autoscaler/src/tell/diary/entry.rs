//! One remembered finding, in the form in which it is kept, and what its end amounts to.

use std::collections::BTreeMap;

use gpu_model::NanoUsd;
use gpu_waste::{Cause, Finding, FindingId, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Sight, SightState};

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum About {
    #[serde(rename_all = "camelCase")]
    Pod {
        namespace: String,
        name: String,
        uid: Option<String>,
        workload: Option<WorkloadRef>,
    },
    Gpu {
        node: String,
        uuid: String,
    },
    Node {
        name: String,
    },
}

/// The object that made a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
}

impl From<&Subject> for About {
    fn from(subject: &Subject) -> Self {
        match subject {
            Subject::Pod { pod, uid, workload } => Self::Pod {
                namespace: pod.namespace.to_string(),
                name: pod.name.to_string(),
                uid: uid.as_ref().map(ToString::to_string),
                workload: workload.as_ref().map(|workload| WorkloadRef {
                    api_version: workload.api_version.clone(),
                    kind: workload.kind.clone(),
                    name: workload.name.clone(),
                    uid: workload.uid.clone(),
                }),
            },
            Subject::Gpu { node, uuid } => Self::Gpu {
                node: node.to_string(),
                uuid: uuid.to_string(),
            },
            Subject::Node { name } => Self::Node {
                name: name.to_string(),
            },
        }
    }
}

impl About {
    /// Whom it concerns, as `namespace/kind/name`.
    pub fn owner(&self) -> String {
        match self {
            Self::Pod {
                namespace,
                name,
                workload,
                ..
            } => match workload {
                Some(workload) => format!("{namespace}/{}/{}", workload.kind, workload.name),
                None => format!("{namespace}/Pod/{name}"),
            },
            Self::Gpu { node, uuid } => format!("{node}/GPU/{uuid}"),
            Self::Node { name } => format!("{name}/Node/{name}"),
        }
    }

    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Pod { namespace, .. } => Some(namespace),
            Self::Gpu { .. } | Self::Node { .. } => None,
        }
    }

    pub fn workload(&self) -> Option<&WorkloadRef> {
        match self {
            Self::Pod { workload, .. } => workload.as_ref(),
            Self::Gpu { .. } | Self::Node { .. } => None,
        }
    }
}

/// Kinds whose pods end when their work is done: that one of them is gone is nobody's doing.
const ENDING_KINDS: [&str; 9] = [
    "CronJob",
    "Job",
    "JobSet",
    "MPIJob",
    "PyTorchJob",
    "RayJob",
    "TFJob",
    "TrainJob",
    "Workflow",
];

/// How a finding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// GPUs were given back: the pod was deleted, the workload scaled down, the request made smaller.
    Released,
    /// The GPUs are still held, and now they work.
    Used,
    /// The pod is gone and another took its place.
    Replaced,
    /// The pod's work was over.
    Ended,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Used => "used",
            Self::Replaced => "replaced",
            Self::Ended => "ended",
        }
    }

    /// Whether somebody's act made it better.
    pub fn is_improvement(self) -> bool {
        matches!(self, Self::Released | Self::Used)
    }
}

/// One remembered finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: FindingId,
    pub cause: Cause,
    pub about: About,
    pub since: Timestamp,
    /// The last time it was found.
    pub last_seen_at: Timestamp,
    pub told_at: Option<Timestamp>,
    pub last_told_at: Option<Timestamp>,
    pub times: u32,
    /// What it wasted a month when it was last found.
    pub monthly: Option<NanoUsd>,
    /// GPU resources that its workload asked for when it was first found.
    pub held: u64,
    /// What else its workload wastes, and asks for, now that it is over.
    pub after: Option<NanoUsd>,
    pub held_after: u64,
    /// Since when its condition is gone, with data.
    pub well_since: Option<Timestamp>,
}

impl Entry {
    pub(super) fn new(finding: &Finding, about: About, held: u64) -> Self {
        Self {
            id: finding.id.clone(),
            cause: finding.cause,
            about,
            since: finding.since,
            last_seen_at: finding.seen_at,
            told_at: None,
            last_told_at: None,
            times: 0,
            monthly: finding.monthly,
            held,
            after: None,
            held_after: held,
            well_since: None,
        }
    }

    pub(super) fn see(&mut self, finding: &Finding, now: Timestamp) {
        self.last_seen_at = now;
        self.since = finding.since;
        self.monthly = finding.monthly;
        self.well_since = None;
    }

    /// What is the same in two memories that need not be written twice.
    pub fn mark(&self) -> (Option<Timestamp>, u32, bool) {
        (self.last_told_at, self.times, self.well_since.is_some())
    }

    /// How it ended; nothing where it had not been told, so that nobody waits to hear of its end.
    pub(super) fn over(
        &mut self,
        seen: Sight,
        wasted: &BTreeMap<String, Option<NanoUsd>>,
    ) -> Option<Outcome> {
        self.told_at?;
        self.held_after = seen.held;
        self.after = wasted
            .get(&self.about.owner())
            .copied()
            .unwrap_or(Some(NanoUsd::ZERO));
        let ends_by_itself = self
            .about
            .workload()
            .is_some_and(|workload| ENDING_KINDS.contains(&workload.kind.as_str()));
        Some(match seen.state {
            SightState::Gone if ends_by_itself => Outcome::Ended,
            SightState::Gone if seen.held >= self.held && self.held > 0 => Outcome::Replaced,
            SightState::Gone => Outcome::Released,
            _ if seen.held < self.held => Outcome::Released,
            _ => Outcome::Used,
        })
    }

    pub(super) fn realised(self, outcome: Outcome, now: Timestamp) -> Realised {
        let saved = match (outcome.is_improvement(), self.monthly, self.after) {
            (true, Some(before), Some(after)) => Some(NanoUsd(before.0.saturating_sub(after.0).max(0))),
            _ => None,
        };
        Realised {
            owner: self.about.owner(),
            finding: self.id,
            cause: self.cause,
            outcome,
            since: self.since,
            told_at: self.told_at,
            ended_at: self.well_since.unwrap_or(now),
            before_monthly: self.monthly,
            after_monthly: self.after,
            saved_monthly: saved,
            held_before: self.held,
            held_after: self.held_after,
        }
    }
}

/// What came of a finding that was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Realised {
    pub finding: FindingId,
    pub cause: Cause,
    pub owner: String,
    pub outcome: Outcome,
    pub since: Timestamp,
    pub told_at: Option<Timestamp>,
    pub ended_at: Timestamp,
    /// In billionths of a dollar, as all money.
    pub before_monthly: Option<NanoUsd>,
    /// What the same workload still wastes.
    pub after_monthly: Option<NanoUsd>,
    /// Absent where nobody's act is behind it, or where a price was missing. For `used` it is not off the bill, but to some use.
    pub saved_monthly: Option<NanoUsd>,
    pub held_before: u64,
    pub held_after: u64,
}
