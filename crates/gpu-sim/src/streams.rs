//! Demand as streams: each is a succession of workloads of one kind, one at a time, with gaps between them.
//!
//! Because a stream never holds more than one workload, the world stays as small after a year as on its first day.

use std::sync::Arc;

use gpu_model::{ContainerName, Pod};

use crate::behaviour::{Activity, Script};
use crate::fates::{self, Fate};
use crate::naming::Identity;
use crate::noise::{Dice, Question};
use crate::shapes::{Demand, SHAPES};
use crate::slots::Occupant;
use crate::trouble::{LeftAside, Mood};
use crate::truth::{Condition, WorkloadKind};

pub(crate) struct Stream {
    pub(crate) demand: Demand,
    pub(crate) container: ContainerName,
    family: Dice,
    dice: Dice,
    generation: u64,
    pub(crate) state: State,
}

pub(crate) enum State {
    /// Nothing is wanted until the calendar says so.
    Away,
    /// Pods wait for room.
    Waiting(Waiting),
    Running(Workload),
}

pub(crate) struct Waiting {
    pub(crate) draft: Draft,
    pub(crate) created: i64,
    /// When its owner loses patience.
    pub(crate) gives_up: i64,
    pub(crate) pods: Vec<Arc<Pod>>,
}

pub(crate) struct Workload {
    pub(crate) script: Script,
    /// Seconds from the fleet's start; negative for what ran before it.
    pub(crate) started: i64,
    pub(crate) pods: Vec<PlacedPod>,
    pub(crate) condition: Condition,
    pub(crate) since: i64,
    pub(crate) activity: Activity,
    pub(crate) left_aside: LeftAside,
}

impl Workload {
    /// Whether a slot of one of its pods is one that it leaves aside.
    pub(crate) fn leaves_aside(&self, occupant: Occupant) -> bool {
        let slots = self.pods[usize::from(occupant.pod)].slots.len();
        usize::from(occupant.rank) + usize::from(self.left_aside.gpus) >= slots && self.left_aside.gpus > 0
    }
}

pub(crate) struct PlacedPod {
    pub(crate) pod: Arc<Pod>,
    pub(crate) slots: Vec<u32>,
}

/// A workload that has been thought of and not yet placed.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) identity: Identity,
    pub(crate) script: Script,
    pub(crate) life: i64,
    pub(crate) gap: i64,
    pub(crate) left_aside: LeftAside,
}

const STREAM: Question = 601;
const FAMILY: Question = 602;
const GENERATION: Question = 603;
const PHASE: Question = 604;
const NODE: Question = 605;
const DEMAND: Question = 606;

/// So many replicas serve side by side in one deployment.
const REPLICAS: u16 = 3;

impl Stream {
    /// The streams of a fleet of so many nodes, in a fixed order.
    pub(crate) fn all(nodes: u32, world: Dice) -> Vec<Stream> {
        let mut streams = Vec::new();
        for (node, shape) in (0..nodes).zip(SHAPES.iter().cycle()) {
            for (rank, demand) in (0u64..).zip(shape.demands) {
                let demand_dice = world.of(NODE, u64::from(node)).of(DEMAND, rank);
                streams.extend((0..demand.streams).map(|member| Stream::new(*demand, demand_dice, member)));
            }
        }
        streams
    }

    fn new(demand: Demand, demand_dice: Dice, member: u16) -> Self {
        let dice = demand_dice.of(STREAM, u64::from(member));
        let (family, container) = match demand.kind {
            WorkloadKind::Inference => (demand_dice.of(FAMILY, u64::from(member / REPLICAS)), "server"),
            WorkloadKind::Training => (dice, "pytorch"),
            WorkloadKind::Notebook => (dice, "notebook"),
            WorkloadKind::Batch | WorkloadKind::WorkflowStep => (dice, "main"),
        };
        let container = ContainerName::new(container).expect("container names are valid");
        Self {
            demand,
            container,
            family,
            dice,
            generation: 0,
            state: State::Away,
        }
    }

    /// Thinks of the next workload.
    pub(crate) fn next_draft(&mut self, mood: Mood) -> Draft {
        let dice = self.dice.of(GENERATION, self.generation);
        self.generation += 1;
        let kind = self.demand.kind;
        let fate = Fate::draw(kind, self.demand.class, self.family, dice);
        let life = fate.life(kind, dice);
        Draft {
            identity: Identity::draw(kind, self.family, dice),
            script: Script::draw(kind, fate, dice, self.family, life),
            life,
            gap: fates::gap(kind, dice),
            left_aside: match fate {
                Fate::Works => LeftAside::draw(mood, self.demand.gpus_per_pod, dice),
                _ => LeftAside::default(),
            },
        }
    }

    /// How far into its first workload, or into the gap after it, the stream is when the fleet's clock starts.
    pub(crate) fn first_phase(&self, draft: &Draft) -> i64 {
        self.dice.between(PHASE, 0, 0, draft.life + draft.gap - 1)
    }

    pub(crate) fn size(&self) -> u16 {
        self.demand.pods * self.demand.gpus_per_pod
    }
}
