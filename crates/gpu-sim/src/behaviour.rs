//! What a workload does at a given age: a pure function of its fate and its dice, so that any instant can be reached
//! from any other.

use crate::fates::Fate;
use crate::noise::{Dice, Question};
use crate::truth::{Condition, WorkloadKind};

/// What a workload does to each of its GPUs, in thousandths of what its part of a GPU can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Share of the time with a kernel running.
    pub(crate) utilization: i64,
    pub(crate) sm: i64,
    pub(crate) tensor: i64,
    pub(crate) dram: i64,
    /// Share of the part's memory.
    pub(crate) memory: i64,
    pub(crate) processes: u32,
    /// Megabytes a second from the host to the GPU.
    pub(crate) intake: i64,
}

/// The fixed traits of a workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    pub(crate) kind: WorkloadKind,
    pub(crate) fate: Fate,
    pub(crate) dice: Dice,
    /// Hours that its users' clocks differ from UTC: the replicas of one service have the same users.
    users_offset: i64,
    /// Seconds from start to the first useful kernel.
    warm_up: i64,
    /// Memory held once warm.
    plateau: i64,
    /// How hard it works when it works.
    vigour: i64,
    /// Its working multiprocessors for a utilisation of one.
    width: i64,
    /// The age at which a fate that breaks things strikes.
    turn: i64,
}

const WARM_UP: Question = 201;
const PLATEAU: Question = 202;
const VIGOUR: Question = 203;
const WIDTH: Question = 204;
const TURN: Question = 205;
const JITTER: Question = 206;
const DIP_EVERY: Question = 207;
const DIP_LENGTH: Question = 208;
const SAVE_EVERY: Question = 209;
const SAVE_LENGTH: Question = 210;
const TRAFFIC: Question = 211;
const LOCAL_HOUR: Question = 212;
const BURST: Question = 213;
const BURST_START: Question = 214;
const BURST_LENGTH: Question = 215;
const PULSE: Question = 216;
const LEFT_OVER: Question = 217;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Notebooks are used in bursts that are drawn once for every such block of time.
const BURST_BLOCK: i64 = 300;
/// Also the shortest rest between two bursts.
const SHORTEST_BURST: i64 = 60;

impl Script {
    pub(crate) fn draw(kind: WorkloadKind, fate: Fate, dice: Dice, family: Dice, life: i64) -> Self {
        let (warm_up, plateau, vigour, width) = match kind {
            WorkloadKind::Training => ((60, 300), (700, 940), (880, 990), (620, 880)),
            WorkloadKind::Inference => ((60, 240), (550, 920), (320, 900), (300, 620)),
            WorkloadKind::Notebook => ((20, 900), (60, 480), (250, 900), (150, 600)),
            WorkloadKind::Batch => ((20, 90), (250, 850), (500, 970), (350, 800)),
            WorkloadKind::WorkflowStep => ((5, 40), (150, 700), (450, 950), (350, 800)),
        };
        // The replicas of a service run the same model and share its load evenly.
        let traits = if kind == WorkloadKind::Inference {
            family
        } else {
            dice
        };
        let pick = |question, (low, high)| traits.between(question, 0, low, high);
        Self {
            kind,
            fate,
            dice,
            users_offset: family.between(LOCAL_HOUR, 0, -8, 1),
            warm_up: pick(WARM_UP, warm_up).min(life / 4),
            plateau: pick(PLATEAU, plateau),
            vigour: pick(VIGOUR, vigour),
            width: pick(WIDTH, width),
            turn: life / 2 * dice.between(TURN, 0, 300, 1000) / 1000,
        }
    }

    /// The condition and the activity at an age, at a second since 1970.
    pub(crate) fn at(&self, age: i64, wall: i64) -> (Condition, Activity) {
        if self.fate == Fate::NeverStarts {
            return (Condition::NeverUsed, Activity::default());
        }
        if age < self.warm_up {
            return (Condition::WarmingUp, self.warming(age));
        }
        match self.fate {
            Fate::DiesHolding if age >= self.turn.max(self.warm_up) => (Condition::Zombie, self.left_over()),
            Fate::Stalls if age >= self.turn.max(self.warm_up) => (Condition::Stalled, self.spinning(age)),
            Fate::StandsBy => (Condition::StandBy, self.held()),
            Fate::TooSmall => (Condition::Undersized, self.trickle(age, wall)),
            Fate::StarvesForInput => (Condition::InputBound, self.starving(age)),
            Fate::Works | Fate::DiesHolding | Fate::Stalls | Fate::NeverStarts => match self.kind {
                WorkloadKind::Training => self.training(age),
                WorkloadKind::Inference => (Condition::Busy, self.serving(age, wall)),
                WorkloadKind::Notebook => self.notebook(age, wall),
                WorkloadKind::Batch | WorkloadKind::WorkflowStep => (Condition::Busy, self.pulsing(age)),
            },
        }
    }

    /// The most it ever asks of its part, in thousandths of memory and of multiprocessors.
    pub(crate) fn need(&self) -> (i64, i64) {
        let vigour = match (self.kind, self.fate) {
            (_, Fate::TooSmall) => return (self.plateau / 4, 100 * self.width / 1000),
            (WorkloadKind::Notebook, _) => self.vigour + 120,
            (WorkloadKind::Inference, _) => self.vigour * 1150 / 1000 + 45,
            _ => self.vigour + 30,
        };
        (self.plateau, vigour.min(1000) * self.width / 1000)
    }

    /// Nothing but an open context.
    pub(crate) fn bare_context() -> Activity {
        Activity {
            memory: 8,
            processes: 1,
            ..Activity::default()
        }
    }

    /// The age at which the condition of this age began, for workloads that are older than the fleet's clock.
    pub(crate) fn began(&self, age: i64, wall: i64) -> i64 {
        let condition = self.at(age, wall).0;
        let step = match (condition, self.kind) {
            (Condition::NeverUsed | Condition::WarmingUp, _) => return 0,
            (Condition::Zombie | Condition::Stalled, _) => return self.turn.max(self.warm_up),
            (Condition::StandBy | Condition::Undersized | Condition::InputBound, _) => return self.warm_up,
            (_, WorkloadKind::Inference | WorkloadKind::Batch | WorkloadKind::WorkflowStep) => {
                return self.warm_up;
            }
            // What comes and goes is searched for: bursts and the rests between them are never stepped over, and a
            // dip and a save may lie a second apart.
            (_, WorkloadKind::Notebook) => SHORTEST_BURST,
            (_, WorkloadKind::Training) => 1,
        };
        let same = |earlier: i64| self.at(earlier, wall - (age - earlier)).0 == condition;
        let mut known = age;
        while same((known - step).max(0)) {
            known -= step;
            if known <= 0 {
                return 0;
            }
        }
        // The change lies within the last step: find its second.
        ((known - step).max(0)..=known)
            .find(|earlier| same(*earlier))
            .unwrap_or(known)
    }

    /// Warm and still: memory is taken, nothing runs.
    fn held(&self) -> Activity {
        Activity {
            memory: self.plateau,
            processes: 1,
            ..Activity::default()
        }
    }

    fn warming(&self, age: i64) -> Activity {
        if self.kind == WorkloadKind::Notebook {
            // A notebook takes its memory with the first cell, not while it starts.
            return Activity::default();
        }
        let memory = self.plateau * age / self.warm_up.max(1);
        Activity {
            memory,
            processes: 1,
            intake: 1500,
            ..Activity::default()
        }
    }

    fn left_over(&self) -> Activity {
        // Half of the dead left a process behind that does nothing; the other half left only memory.
        let processes = u32::from(self.dice.chance(LEFT_OVER, 0, 500));
        Activity {
            processes,
            ..self.held()
        }
    }

    /// Spinning kernels fill the time and almost none of the chip.
    fn spinning(&self, age: i64) -> Activity {
        let sm = self.dice.between(JITTER, age, 100, 160);
        Activity {
            utilization: 1000,
            sm,
            dram: 15,
            ..self.held()
        }
    }

    fn working(&self, utilization: i64, tensor_per_sm: i64, dram_per_sm: i64, intake: i64) -> Activity {
        let utilization = utilization.clamp(0, 1000);
        let sm = utilization * self.width / 1000;
        Activity {
            utilization,
            sm,
            tensor: sm * tensor_per_sm / 1000,
            dram: (sm * dram_per_sm / 1000).min(1000),
            intake,
            ..self.held()
        }
    }

    fn jittered(&self, age: i64, level: i64, by: i64) -> i64 {
        (level + self.dice.between(JITTER, age, -by, by)).clamp(0, 1000)
    }

    fn training(&self, age: i64) -> (Condition, Activity) {
        let worked = age - self.warm_up;
        let save_every = self.dice.between(SAVE_EVERY, 0, 1200, 3600);
        let save_length = self.dice.between(SAVE_LENGTH, 0, 20, 90);
        if worked.rem_euclid(save_every) >= save_every - save_length {
            let level = self.jittered(age, 40, 30);
            return (Condition::Checkpointing, self.working(level, 0, 200, 50));
        }
        let dip_every = self.dice.between(DIP_EVERY, 0, 150, 900);
        let dip_length = self.dice.between(DIP_LENGTH, 0, 6, 40);
        if worked.rem_euclid(dip_every) >= dip_every - dip_length {
            let level = self.jittered(age, 90, 70);
            return (Condition::DataLoading, self.working(level, 100, 300, 6000));
        }
        (
            Condition::Busy,
            self.working(self.jittered(age, self.vigour, 15), 550, 700, 900),
        )
    }

    /// Chronic: it waits for input longer than it computes, in a rhythm of a few seconds.
    fn starving(&self, age: i64) -> Activity {
        let rhythm = self.dice.between(DIP_EVERY, 1, 8, 20);
        let computing = age.rem_euclid(rhythm) * 1000 < rhythm * 350;
        let level = if computing { self.vigour } else { 25 };
        self.working(self.jittered(age, level, 25), 450, 600, 2500)
    }

    fn serving(&self, age: i64, wall: i64) -> Activity {
        let demand = self.vigour * self.traffic(wall) / 1000;
        let wave = self.dice.wander(TRAFFIC, age, 300, 850, 1150);
        let level = self.jittered(age, demand * wave / 1000, 45);
        self.working(level, 350, 1150, 300)
    }

    /// Real requests, a few at a time, on a GPU made for hundreds.
    fn trickle(&self, age: i64, wall: i64) -> Activity {
        let demand = 70 * self.traffic(wall) / 1000;
        let level = self.jittered(age, demand, 30);
        Activity {
            memory: self.plateau / 4,
            ..self.working(level, 200, 800, 20)
        }
    }

    /// Day and night, and the weekend, for users who live in the workload's own time zone.
    fn traffic(&self, wall: i64) -> i64 {
        let local = wall + self.users_offset * HOUR;
        let from_peak = (local.rem_euclid(DAY) - 14 * HOUR).abs();
        let from_peak = from_peak.min(DAY - from_peak) * 1000 / (DAY / 2);
        // A smooth step: flat at the peak and in the dead of night, steep in between.
        let fall = from_peak * from_peak * (3000 - 2 * from_peak) / 1_000_000;
        let weekday = (local.div_euclid(DAY) + 3).rem_euclid(7);
        let week = if weekday >= 5 { 600 } else { 1000 };
        (1000 - fall * 850 / 1000) * week / 1000
    }

    fn notebook(&self, age: i64, wall: i64) -> (Condition, Activity) {
        let burst_start = |block| {
            self.dice
                .between(BURST_START, block, SHORTEST_BURST, BURST_BLOCK - SHORTEST_BURST)
        };
        // A notebook is opened to be used: its first burst comes with the first whole block after its start.
        let first = self.warm_up.div_euclid(BURST_BLOCK) + 1;
        if age < first * BURST_BLOCK + burst_start(first) {
            return (Condition::WarmingUp, Activity::default());
        }
        let block = age.div_euclid(BURST_BLOCK);
        let into = age.rem_euclid(BURST_BLOCK) - burst_start(block);
        let length = self
            .dice
            .between(BURST_LENGTH, block, SHORTEST_BURST, BURST_BLOCK);
        let odds = if self.traffic(wall - age.rem_euclid(BURST_BLOCK)) > 500 {
            130
        } else {
            12
        };
        if (block == first || self.dice.chance(BURST, block, odds)) && (0..length).contains(&into) {
            return (
                Condition::Busy,
                self.working(self.jittered(age, self.vigour, 120), 250, 800, 400),
            );
        }
        (Condition::HeldIdle, self.held())
    }

    fn pulsing(&self, age: i64) -> Activity {
        let level = self
            .dice
            .between(PULSE, age.div_euclid(30), self.vigour * 7 / 10, self.vigour);
        self.working(self.jittered(age, level, 30), 400, 800, 700)
    }
}

#[cfg(test)]
mod tests;
