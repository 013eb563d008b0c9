//! What workloads are called. Names follow from what a workload is for, never from what becomes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{Namespace, OwnerRef, Pod, PodName, PodPhase, PodRef, PodUid, ResourceName};
use jiff::Timestamp;

use crate::noise::{Dice, Question};
use crate::truth::WorkloadKind;

/// Everything about a workload's pods that is the same for all of them.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    namespace: Namespace,
    labels: BTreeMap<String, String>,
    owners: Vec<OwnerRef>,
    /// The pod's name up to its ordinal.
    stem: String,
    ordinal: Ordinal,
    dice: Dice,
}

#[derive(Debug, Clone, Copy)]
enum Ordinal {
    Counted(&'static str),
    Random,
}

const TEAM: Question = 301;
const APP: Question = 302;
const HASH: Question = 303;
const UID_HIGH: Question = 304;
const UID_LOW: Question = 305;
const SUFFIX: Question = 306;

struct Team {
    name: &'static str,
    cost_center: &'static str,
}

const TEAMS: &[Team] = &[
    Team {
        name: "research",
        cost_center: "cc-1100",
    },
    Team {
        name: "ranking",
        cost_center: "cc-1200",
    },
    Team {
        name: "speech",
        cost_center: "cc-1300",
    },
    Team {
        name: "vision",
        cost_center: "cc-1400",
    },
    Team {
        name: "platform",
        cost_center: "cc-2100",
    },
    Team {
        name: "growth",
        cost_center: "cc-2200",
    },
];

const TRAININGS: &[&str] = &[
    "llm-7b-pretrain",
    "llm-13b-sft",
    "asr-conformer",
    "vit-large",
    "ctr-dlrm",
    "tts-vits",
];
const SERVICES: &[&str] = &[
    "chat-api",
    "embeddings",
    "rerank",
    "asr-live",
    "image-tagger",
    "summarizer",
    "ad-scoring",
    "translate",
];
const PEOPLE: &[&str] = &[
    "amara", "bjorn", "chen", "dana", "emeka", "farah", "goran", "hana", "ivo", "jun", "kofi", "lena",
];
const JOBS: &[&str] = &[
    "reindex",
    "nightly-eval",
    "caption-images",
    "score-leads",
    "transcode",
    "distill",
];
const STEPS: &[&str] = &["featurize", "train-fold", "evaluate", "export", "embed"];

impl Identity {
    /// `family` is the same for workloads that succeed each other or serve side by side; `dice` is the workload's own.
    pub(crate) fn draw(kind: WorkloadKind, family: Dice, dice: Dice) -> Self {
        let team = pick(TEAMS, family, TEAM);
        let hash = |length| base27(dice.bits(HASH, 0), length);
        let (app, owners, stem, ordinal) = match kind {
            WorkloadKind::Training => {
                let name = format!("{}-{}", pick(TRAININGS, family, APP), hash(4));
                let stem = format!("{name}-worker");
                (
                    name.clone(),
                    vec![owner("PyTorchJob", &name)],
                    stem,
                    Ordinal::Counted("-"),
                )
            }
            WorkloadKind::Inference => {
                let app = format!(
                    "{}-{}",
                    pick(SERVICES, family, APP),
                    base27(family.bits(HASH, 0), 5)
                );
                // The template hash belongs to the rollout, which the replicas of a family share.
                let set = format!("{app}-{}", base27(family.bits(HASH, 1), 9));
                let owners = vec![owner("ReplicaSet", &set), owner("Deployment", &app)];
                (app, owners, set, Ordinal::Random)
            }
            WorkloadKind::Notebook => {
                let name = format!(
                    "jupyter-{}-{}",
                    pick(PEOPLE, family, APP),
                    base27(family.bits(HASH, 0), 5)
                );
                let owners = vec![owner("StatefulSet", &name), owner("Notebook", &name)];
                ("jupyter".to_owned(), owners, name, Ordinal::Counted("-"))
            }
            WorkloadKind::Batch => {
                let name = format!("{}-{}", pick(JOBS, dice, APP), hash(6));
                (name.clone(), vec![owner("Job", &name)], name, Ordinal::Random)
            }
            WorkloadKind::WorkflowStep => {
                let flow = format!("pipeline-{}-{}", team.name, hash(5));
                let stem = format!("{flow}-{}", pick(STEPS, dice, APP));
                (
                    flow.clone(),
                    vec![owner("Workflow", &flow)],
                    stem,
                    Ordinal::Random,
                )
            }
        };
        let labels = [
            ("app.kubernetes.io/name", app.as_str()),
            ("gpu-cost-center", team.cost_center),
            ("gpu-project", team.name),
        ];
        Self {
            namespace: Namespace::new(team.name).expect("team names are valid"),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            owners,
            stem,
            ordinal,
            dice,
        }
    }

    pub(crate) fn pod(
        &self,
        number: u16,
        resource: &ResourceName,
        count: u16,
        created_at: Timestamp,
        started_at: Option<Timestamp>,
    ) -> Arc<Pod> {
        let nth = i64::from(number);
        let name = match self.ordinal {
            Ordinal::Counted(dash) => format!("{}{dash}{number}", self.stem),
            Ordinal::Random => format!("{}-{}", self.stem, base27(self.dice.bits(SUFFIX, nth), 5)),
        };
        let uid = uuid(self.dice.bits(UID_HIGH, nth), self.dice.bits(UID_LOW, nth));
        Arc::new(Pod {
            reference: PodRef {
                namespace: self.namespace.clone(),
                name: PodName::new(name).expect("generated pod names are valid"),
                uid: Some(PodUid::new(uid).expect("generated uids are valid")),
            },
            owners: self.owners.clone(),
            labels: self.labels.clone(),
            resource: resource.clone(),
            count: u32::from(count),
            phase: if started_at.is_some() {
                PodPhase::Running
            } else {
                PodPhase::Pending
            },
            created_at: Some(created_at),
            started_at,
        })
    }
}

fn owner(kind: &str, name: &str) -> OwnerRef {
    OwnerRef {
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

fn pick<T>(from: &[T], dice: Dice, question: Question) -> &T {
    let last = i64::try_from(from.len()).expect("lists of names are short") - 1;
    let chosen = usize::try_from(dice.between(question, 0, 0, last)).expect("drawn from zero up");
    &from[chosen]
}

/// The letters Kubernetes uses for generated names: no vowels, so no words.
fn base27(bits: u64, length: u32) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let letter = |bits: u64| char::from(LETTERS[usize::try_from(bits % 27).expect("below 27")]);
    (0..length)
        .map(|position| letter(bits >> (position * 6)))
        .collect()
}

/// A random (version 4) uuid of these bits.
pub(crate) fn uuid(high: u64, low: u64) -> String {
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}
