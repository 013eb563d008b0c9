//! Whether something is computed on a GPU at one instant, from all signals that were read.
//!
//! This is the one place that turns readings into "active" or "idle". What cannot be told is neither.

use gpu_model::Milliwatts;

use crate::power::PowerRange;
use crate::windows::{GpuSlot, PartSlot};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Active,
    Idle,
    /// Nothing was read, or what was read does not fit together.
    Unknown,
}

/// Less than this share of time or multiprocessors is noise: a health check, a monitor's own kernel.
pub(crate) const NOISE: u16 = 15;

/// A draw so far above quiet, in thousandths of the range, that something must be running.
pub(crate) const CLEARLY_DRAWING: u16 = 250;

/// Memory below this belongs to the driver, in mebibytes. An open context takes more.
pub(crate) const DRIVER_MEMORY: u32 = 64;

/// Whether a whole GPU works.
pub(crate) fn of_gpu(slot: &GpuSlot, range: Option<PowerRange>) -> Act {
    let effort = effort(slot, range);
    if is_latched(slot, effort) {
        return Act::Unknown;
    }
    match slot.most_time().max(slot.activity()) {
        Some(share) if share >= NOISE => Act::Active,
        Some(_) if effort.is_some_and(|effort| effort >= CLEARLY_DRAWING) => Act::Unknown,
        Some(_) => Act::Idle,
        None => of_memory_or(slot.memory_mib(), slot.processes(), by_draw(effort)),
    }
}

/// Whether one part of a divided GPU works, of which `others` have processes too.
pub(crate) fn of_part(part: &PartSlot, gpu: &GpuSlot, range: Option<PowerRange>, others: Others) -> Act {
    match part.utilization().max(part.sm()) {
        Some(share) if share >= NOISE => Act::Active,
        Some(_) => Act::Idle,
        None => {
            let drawn = match (by_draw(effort(gpu, range)), others) {
                // The draw is of the whole GPU: it speaks for a part only where that is there alone.
                (Act::Active, Others::Some) => Act::Unknown,
                (act, _) => act,
            };
            of_memory_or(part.memory_mib(), part.processes(), drawn)
        }
    }
}

/// Whether other parts of the GPU may be working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    None,
    Some,
}

/// How hard the chip works by its draw, in thousandths between quiet and its limit.
pub(crate) fn effort(slot: &GpuSlot, range: Option<PowerRange>) -> Option<u16> {
    Some(range?.effort(Milliwatts(slot.most_milliwatts()?)))
}

/// Drivers have been seen to report full utilisation for ever after a program died: no memory, no process, no draw.
pub(crate) fn is_latched(slot: &GpuSlot, effort: Option<u16>) -> bool {
    slot.most_time().is_some_and(|time| time >= 900)
        && effort == Some(0)
        && slot.memory_mib().is_some_and(|memory| memory < DRIVER_MEMORY)
        && slot.processes() == Some(0)
}

fn by_draw(effort: Option<u16>) -> Act {
    match effort {
        Some(effort) if effort >= NOISE * 2 => Act::Active,
        // A trickle of work draws as little as none: a low draw alone proves nothing.
        Some(_) | None => Act::Unknown,
    }
}

/// Without a process and without memory nothing can run, whatever the rest of the chip does.
fn of_memory_or(memory_mib: Option<u32>, processes: Option<u8>, otherwise: Act) -> Act {
    match (memory_mib, processes) {
        (Some(memory), Some(0)) if memory < DRIVER_MEMORY => Act::Idle,
        _ => otherwise,
    }
}
