//! The body of one GPU: power from activity, heat from power, and the counters that only ever grow.

use std::collections::BTreeMap;

use gpu_model::{GpuModel, ThrottleReason, Vendor};

use crate::noise::{Dice, Question};
use crate::truth::Health;

/// What all parts of a GPU together ask of it, in thousandths of the whole chip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) utilization: i64,
    pub(crate) sm: i64,
    pub(crate) tensor: i64,
    pub(crate) dram: i64,
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u32,
    pub(crate) intake_megabytes: i64,
}

/// The traits of a board that the catalogue does not hold because only a simulation needs them.
#[derive(Debug, Clone, Copy)]
struct Board {
    /// What an open context adds to the idle draw.
    context_milliwatts: i64,
    /// The compute clock with a context and nothing to do, in thousandths of the highest.
    held_clock: i64,
}

fn board(model: &GpuModel) -> Board {
    let (watts, held_clock) = match model.name {
        "NVIDIA H100 80GB HBM3" => (42, 1000),
        "NVIDIA A100-SXM4-40GB" | "NVIDIA A100-SXM4-80GB" => (28, 1000),
        "NVIDIA L40S" => (66, 1000),
        "NVIDIA L4" => (12, 1000),
        "Tesla T4" => (16, 370),
        _ => (8, 300),
    };
    Board {
        context_milliwatts: watts * 1000,
        held_clock,
    }
}

/// Heat reaches the sensor with this delay, in seconds.
const THERMAL_LAG: i64 = 45;
/// Degrees between idle air and a sound GPU at its power limit, in thousandths.
const HEAT_SPAN: i64 = 46_000;
const HOT_HEAT_SPAN: i64 = 78_000;
const THROTTLE_AT: i64 = 84_000;
const RELEASE_AT: i64 = 79_000;

const AIR: Question = 401;
const FAULT_AT: Question = 402;
const FAULT: Question = 403;
const FAULT_CODE: Question = 404;

/// A faulty GPU is given a chance to fault once in each such span.
const FAULT_SPAN: i64 = 3600;
/// The driver gives no answers for so long after a fault.
const FAULT_SILENCE: i64 = 20;
/// XIDs a running GPU survives: page fault, reset channel, row remap, contained memory error.
const FAULT_CODES: [u32; 4] = [31, 43, 63, 94];
/// Those of them that a program cannot cause.
const HARDWARE_CODES: [u32; 2] = [63, 94];

#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) model: &'static GpuModel,
    pub(crate) health: Health,
    pub(crate) dice: Dice,
    board: Board,
    /// The air it breathes, in thousandths of a degree.
    air: i64,
    heat_span: i64,
    pub(crate) load: Load,
    pub(crate) power_milliwatts: i64,
    temperature_millidegrees: i64,
    pub(crate) compute_megahertz: i64,
    pub(crate) memory_megahertz: i64,
    pub(crate) energy_millijoules: u64,
    pub(crate) busy_millis: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) throttled: Option<ThrottleReason>,
    pub(crate) throttle_millis: BTreeMap<ThrottleReason, u64>,
    pub(crate) faults: BTreeMap<u32, u64>,
    silent_until: i64,
    /// When the hardware itself was last to blame.
    pub(crate) struck_at: Option<i64>,
    /// Reads as fully used when nothing is on it.
    pub(crate) is_stuck: bool,
}

impl Body {
    pub(crate) fn new(model: &'static GpuModel, health: Health, dice: Dice) -> Self {
        let (air, heat_span) = match health {
            Health::Sound | Health::Faulty => (dice.between(AIR, 0, 22_000, 29_000), HEAT_SPAN),
            Health::Hot => (dice.between(AIR, 0, 34_000, 38_000), HOT_HEAT_SPAN),
        };
        let mut body = Self {
            model,
            health,
            dice,
            board: board(model),
            air,
            heat_span,
            load: Load::default(),
            power_milliwatts: 0,
            temperature_millidegrees: 0,
            compute_megahertz: 0,
            memory_megahertz: 0,
            energy_millijoules: 0,
            busy_millis: 0,
            received_bytes: 0,
            sent_bytes: 0,
            throttled: None,
            throttle_millis: BTreeMap::new(),
            faults: BTreeMap::new(),
            silent_until: i64::MIN,
            struck_at: None,
            is_stuck: false,
        };
        body.carry(Load::default());
        body.temperature_millidegrees = body.temperature_goal();
        body
    }

    /// Counts the second that the present load filled.
    pub(crate) fn live_one_second(&mut self) {
        self.energy_millijoules += unsigned(self.power_milliwatts);
        self.busy_millis += unsigned(self.read_utilization());
        self.received_bytes += unsigned(self.load.intake_megabytes) * 1_000_000;
        // Results and gradients go the other way, and they are smaller.
        self.sent_bytes += unsigned(self.load.intake_megabytes) * 150_000;
        if let Some(reason) = self.throttled {
            *self.throttle_millis.entry(reason).or_default() += 1000;
        }
        self.temperature_millidegrees +=
            (self.temperature_goal() - self.temperature_millidegrees) / THERMAL_LAG;
    }

    /// Takes up a new load: power and clocks follow at once, heat will follow later.
    pub(crate) fn carry(&mut self, load: Load) {
        self.load = load;
        let board = self.board;
        let idle = i64::from(self.model.idle.0);
        let max = i64::from(self.model.max.0);
        let floor = if load.processes > 0 {
            idle + board.context_milliwatts
        } else {
            idle
        };
        // Wide chips draw power by what is switching; time alone (one small kernel) costs little.
        let effort = (load.sm * 62 + load.dram * 22 + load.tensor * 26 + load.utilization * 6) / 100;
        let wanted = floor + (max - floor) * effort / 1000;
        self.throttled = self.throttle(wanted, max);
        let clock = self.model.compute_clock;
        let (highest, lowest) = (i64::from(clock.max.0), i64::from(clock.idle.0));
        let (clock_share, power) = match self.throttled {
            Some(ThrottleReason::Thermal | ThrottleReason::HardwareSlowdown) => {
                (620, floor + (wanted - floor) * 62 / 100)
            }
            Some(ThrottleReason::PowerCap) => (max * 930 / wanted.max(1), max),
            None => (1000, wanted),
        };
        self.power_milliwatts = power;
        self.compute_megahertz = if load.utilization > 0 {
            highest * clock_share / 1000
        } else if load.processes > 0 {
            (highest * board.held_clock / 1000).max(lowest)
        } else {
            lowest
        };
        let memory = self.model.memory_clock;
        self.memory_megahertz = i64::from(if load.processes > 0 {
            memory.max.0
        } else {
            memory.idle.0
        });
    }

    fn throttle(&self, wanted: i64, max: i64) -> Option<ThrottleReason> {
        // Without the gap between the two marks the clocks would flap every second.
        let mark = if self.throttled == Some(ThrottleReason::Thermal) {
            RELEASE_AT
        } else {
            THROTTLE_AT
        };
        if self.temperature_millidegrees >= mark {
            Some(ThrottleReason::Thermal)
        } else if wanted >= max {
            Some(ThrottleReason::PowerCap)
        } else {
            None
        }
    }

    /// Throws the fault of this second, if there is one.
    pub(crate) fn meet_faults(&mut self, tick: i64) {
        if self.health != Health::Faulty || self.model.vendor != Vendor::Nvidia {
            return;
        }
        let span = tick.div_euclid(FAULT_SPAN);
        let at = self.dice.between(FAULT_AT, span, 0, FAULT_SPAN - 1);
        if tick.rem_euclid(FAULT_SPAN) == at && self.dice.chance(FAULT, span, 400) {
            let chosen = self.dice.between(FAULT_CODE, span, 0, 3);
            let code = FAULT_CODES[usize::try_from(chosen).expect("drawn from zero up")];
            *self.faults.entry(code).or_default() += 1;
            self.silent_until = tick + FAULT_SILENCE;
            if HARDWARE_CODES.contains(&code) {
                self.struck_at = Some(tick);
            }
        }
    }

    /// What a driver makes of the load.
    pub(crate) fn read_utilization(&self) -> i64 {
        if self.is_stuck && self.load.processes == 0 {
            1000
        } else {
            self.load.utilization
        }
    }

    pub(crate) fn is_silent(&self, tick: i64) -> bool {
        tick < self.silent_until
    }

    pub(crate) fn temperature_celsius(&self) -> i64 {
        self.temperature_millidegrees / 1000
    }

    fn temperature_goal(&self) -> i64 {
        self.air + self.heat_span * self.power_milliwatts / i64::from(self.model.max.0)
    }
}

/// Physical amounts are never negative; the arithmetic is signed only because differences are.
fn unsigned(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}
