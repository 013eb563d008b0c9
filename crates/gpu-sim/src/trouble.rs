//! Trouble beyond the usual: GPUs that a pod leaves aside, drivers that lie, exporters that are gone for a while.
//!
//! Only a troubled fleet has it. It is drawn by questions of its own, so that the usual fleet of a seed stays what it is.

use gpu_model::{Architecture, GpuModel, Vendor};

use crate::hardware::{Gpu, Mode};
use crate::noise::{Dice, Question};
use crate::truth::Misreport;

/// How much goes wrong in a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Usual,
    Troubled(Dice),
}

/// GPUs that a pod has and leaves aside: the last so many of each of its pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeftAside {
    pub(crate) gpus: u16,
    /// Whether the framework opened a context on them all the same.
    pub(crate) has_context: bool,
}

const LEFT: Question = 1001;
const HOW_MANY: Question = 1002;
const CONTEXT: Question = 1003;
const LIE: Question = 1004;
const OUTAGE: Question = 1005;
const OUTAGE_AT: Question = 1006;
const OUTAGE_LENGTH: Question = 1007;
const MACHINE: Question = 1008;

/// An exporter is given a chance to be gone once in each such span of seconds.
const OUTAGE_SPAN: i64 = 3600;

impl LeftAside {
    pub(crate) fn draw(mood: Mood, gpus_per_pod: u16, dice: Dice) -> Self {
        let Mood::Troubled(_) = mood else {
            return Self::default();
        };
        if gpus_per_pod < 2 || !dice.chance(LEFT, 0, 350) {
            return Self::default();
        }
        let most = i64::from(gpus_per_pod / 2);
        let gpus = dice.between(HOW_MANY, 0, 1, most);
        Self {
            gpus: u16::try_from(gpus).unwrap_or(1),
            has_context: dice.chance(CONTEXT, 0, 500),
        }
    }
}

impl Mood {
    /// How a GPU lies about itself.
    pub(crate) fn misreport(self, gpu: &Gpu, model: &GpuModel) -> Option<Misreport> {
        let Mood::Troubled(_) = self else { return None };
        if gpu.mode != Mode::Whole || model.vendor != Vendor::Nvidia {
            return None;
        }
        let draw = gpu.body.dice.between(LIE, 0, 0, 999);
        match model.architecture {
            Architecture::Hopper | Architecture::Blackwell if draw < 60 => Some(Misreport::DeadProfiling),
            _ if draw >= 960 => Some(Misreport::StuckBusy),
            _ => None,
        }
    }

    /// Whether the exporter of a machine does not answer at a tick.
    pub(crate) fn is_out(self, machine: u64, tick: i64) -> bool {
        let Mood::Troubled(world) = self else { return false };
        let dice = world.of(MACHINE, machine);
        let span = tick.div_euclid(OUTAGE_SPAN);
        if !dice.chance(OUTAGE, span, 150) {
            return false;
        }
        let from = dice.between(OUTAGE_AT, span, 0, OUTAGE_SPAN - 900);
        let length = dice.between(OUTAGE_LENGTH, span, 60, 900);
        (from..from + length).contains(&tick.rem_euclid(OUTAGE_SPAN))
    }
}
