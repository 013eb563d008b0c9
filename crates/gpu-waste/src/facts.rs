//! The window of one part in a few figures, for its present holder alone.

use std::time::Duration;

use gpu_model::Milliwatts;
use jiff::Timestamp;

use crate::activity::{self, Act};
use crate::power::PowerRange;
use crate::windows::{GpuSlot, GpuTrack, PartTrack, Windows, since};
use crate::{Settings, WindowSettings};

/// What the window says of a part. Shares are in thousandths; what was not read is absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    /// Looks within `waste-after` that found it idle, active, or could not tell.
    pub(crate) idle: u32,
    pub(crate) active: u32,
    /// How many looks `waste-after` should hold.
    pub(crate) expected: u32,
    /// The oldest and the newest look that read anything.
    pub(crate) oldest: Option<Timestamp>,
    pub(crate) newest: Option<Timestamp>,
    /// Over the window.
    pub(crate) time: Spread,
    pub(crate) sm: Spread,
    pub(crate) tensor: Spread,
    pub(crate) dram: Spread,
    /// The draw between quiet and the limit.
    pub(crate) effort: Spread,
    pub(crate) traffic: Spread,
    /// Of the instants, not of the averages between them: how often it stood still.
    pub(crate) instants: u32,
    pub(crate) instant: Spread,
    pub(crate) still: u32,
    /// How often it went from working to still or back.
    pub(crate) turns: u32,
    /// Over `waste-after`.
    pub(crate) recent_time: Spread,
    pub(crate) recent_activity: Spread,
    pub(crate) recent_effort: Spread,
    pub(crate) recent_traffic: Spread,
    pub(crate) memory_mib: Option<u32>,
    pub(crate) least_memory_mib: Option<u32>,
    /// The most processes within `waste-after`.
    pub(crate) processes: Option<u8>,
    pub(crate) faults: u32,
    /// Percent of the time, over the window.
    pub(crate) heat: Spread,
    pub(crate) cap: Spread,
    /// While it was held down.
    pub(crate) held_clock: Spread,
    pub(crate) contradictions: [u32; 4],
    pub(crate) looks: u32,
}

/// Count, sum, least and most of one signal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    count: u32,
    sum: u64,
    least: u32,
    most: u32,
}

impl Spread {
    fn add(&mut self, value: Option<impl Into<u32>>) {
        if let Some(value) = value {
            let value = value.into();
            self.least = if self.count == 0 {
                value
            } else {
                self.least.min(value)
            };
            self.most = self.most.max(value);
            self.count += 1;
            self.sum += u64::from(value);
        }
    }

    pub(crate) fn mean(&self) -> Option<u32> {
        let mean = self.sum.checked_div(u64::from(self.count))?;
        u32::try_from(mean).ok()
    }

    pub(crate) fn most(&self) -> Option<u32> {
        (self.count > 0).then_some(self.most)
    }

    pub(crate) fn least(&self) -> Option<u32> {
        (self.count > 0).then_some(self.least)
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

/// An instant below this is a stand-still of a program that otherwise works.
const STILL: u16 = 120;

/// Signals that cannot be true at once; see `rules/contradiction.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clash {
    /// Full utilisation with no memory, no process and no draw.
    Latched = 0,
    /// Utilisation and draw say busy, the profiling counters all say nothing.
    DeadProfiling = 1,
    /// The draw says busy, the utilisation says nothing.
    HiddenWork = 2,
    /// Utilisation says busy, and there is no memory and no process.
    WorkWithoutMemory = 3,
}

impl Facts {
    pub(crate) fn of(
        windows: &Windows,
        gpu: &GpuTrack,
        part: &PartTrack,
        settings: &Settings,
        now: Timestamp,
    ) -> Self {
        let mut facts = Self {
            expected: expected(windows.settings(), settings.after),
            ..Self::default()
        };
        let range = gpu.range;
        let mut was_still = None;
        for (cycle, at) in windows.cycles() {
            if cycle < part.tenancy.first_cycle {
                continue;
            }
            let Some(slot) = gpu.slot(cycle) else { continue };
            let is_recent = since(now, at) < settings.after;
            facts.add_gpu(slot, range, gpu, is_recent);
            let instant = facts.add_part(slot, part, gpu.is_sole(), cycle, is_recent);
            if let Some(instant) = instant {
                facts.instants += 1;
                facts.instant.add(Some(instant));
                let is_still = instant < STILL;
                facts.still += u32::from(is_still);
                facts.turns += u32::from(was_still.is_some_and(|was| was != is_still));
                was_still = Some(is_still);
            }
            let act = gpu.act(part, cycle);
            if act != Act::Unknown {
                facts.oldest = facts.oldest.or(Some(at));
                facts.newest = Some(at);
            }
            if is_recent {
                facts.idle += u32::from(act == Act::Idle);
                facts.active += u32::from(act == Act::Active);
            }
        }
        facts
    }

    /// Whether enough was read within `waste-after` to say anything.
    pub(crate) fn is_told(&self, interval: Duration, now: Timestamp) -> bool {
        let is_fresh = self
            .newest
            .is_some_and(|newest| since(now, newest) <= interval.saturating_mul(3));
        is_fresh && (self.idle + self.active) * 5 >= self.expected * 3
    }

    fn add_gpu(&mut self, slot: &GpuSlot, range: Option<PowerRange>, gpu: &GpuTrack, is_recent: bool) {
        self.looks += 1;
        let effort = range.and_then(|range| Some(range.effort(Milliwatts(slot.draw_milliwatts()?))));
        self.tensor.add(slot.tensor());
        self.dram.add(slot.dram());
        self.effort.add(effort);
        self.traffic.add(slot.traffic_mib());
        self.heat.add(slot.heat_percent());
        self.cap.add(slot.cap_percent());
        if slot.heat_percent().is_some_and(|percent| percent >= 50) {
            self.held_clock.add(slot.clock_megahertz());
        }
        self.faults += u32::from(slot.faults().unwrap_or(0));
        if gpu.is_sole()
            && let Some(clash) = clash(slot, activity::effort(slot, range))
        {
            self.contradictions[clash as usize] += 1;
        }
        if is_recent {
            self.recent_effort.add(effort);
            self.recent_traffic.add(slot.traffic_mib());
        }
    }

    /// Adds what is of the part alone, and gives its utilisation of the instant.
    fn add_part(
        &mut self,
        slot: &GpuSlot,
        part: &PartTrack,
        is_sole: bool,
        cycle: u32,
        is_recent: bool,
    ) -> Option<u16> {
        let own = part.slot(cycle);
        let (time, sm, activity, memory, processes, instant) = if is_sole {
            (
                slot.time(),
                slot.sm(),
                slot.activity(),
                slot.memory_mib(),
                slot.processes(),
                slot.utilization(),
            )
        } else {
            let own = own?;
            let time = own.utilization();
            (
                time,
                own.sm(),
                own.sm(),
                own.memory_mib(),
                own.processes(),
                time.or(own.sm()),
            )
        };
        self.time.add(time);
        self.sm.add(sm);
        if is_recent {
            self.recent_time
                .add(if is_sole { slot.most_time() } else { time });
            self.recent_activity.add(activity);
            self.processes = self.processes.max(processes);
        }
        if let Some(memory) = memory {
            self.memory_mib = Some(memory);
            self.least_memory_mib = Some(self.least_memory_mib.map_or(memory, |least| least.min(memory)));
        }
        instant
    }
}

fn expected(windows: WindowSettings, after: Duration) -> u32 {
    let after = after.min(windows.window).as_millis();
    let looks = after / windows.interval.as_millis().max(1);
    u32::try_from(looks)
        .unwrap_or(u32::MAX / 8)
        .clamp(1, u32::MAX / 8)
}

fn clash(slot: &GpuSlot, effort: Option<u16>) -> Option<Clash> {
    let time = slot.utilization()?;
    let has_no_memory = slot
        .memory_mib()
        .is_some_and(|memory| memory < activity::DRIVER_MEMORY);
    let has_no_process = slot.processes() == Some(0);
    if activity::is_latched(slot, effort) {
        Some(Clash::Latched)
    } else if time >= 500 && has_no_memory && has_no_process {
        Some(Clash::WorkWithoutMemory)
    } else if time >= 500
        && slot.sm() == Some(0)
        && slot.activity() == Some(0)
        && effort.is_none_or(|effort| effort >= activity::CLEARLY_DRAWING)
    {
        Some(Clash::DeadProfiling)
    } else if slot.most_time().is_some_and(|time| time < activity::NOISE)
        && slot.activity().is_none_or(|activity| activity < activity::NOISE)
        && effort.is_some_and(|effort| effort >= activity::CLEARLY_DRAWING)
    {
        Some(Clash::HiddenWork)
    } else {
        None
    }
}
