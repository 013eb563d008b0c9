//! The signals of a window as votes, and as series for a chart.

use gpu_model::Permille;
use jiff::Timestamp;

use crate::activity::{CLEARLY_DRAWING, DRIVER_MEMORY, NOISE};
use crate::case::Case;
use crate::windows::{GpuTrack, PartTrack, Windows};
use crate::{Evidence, Signal, Speaks};

/// What each signal says for or against a finding, with its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Votes(Vec<Vote>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Vote {
    signal: Signal,
    weight: u32,
    speaks: Speaks,
    words: String,
}

impl Votes {
    pub(crate) fn add(&mut self, signal: Signal, weight: u32, speaks: Speaks, words: String) {
        self.0.push(Vote {
            signal,
            weight,
            speaks,
            words,
        });
    }

    #[must_use]
    pub(crate) fn with(mut self, signal: Signal, weight: u32, speaks: Speaks, words: String) -> Self {
        self.add(signal, weight, speaks, words);
        self
    }

    /// `for / (for + against + silent / 3)`, each as a sum of weights: what was not read makes less sure, what speaks
    /// against makes unsure.
    pub(crate) fn confidence(&self) -> Permille {
        let (agreed, against, silent) = (
            self.weight(Speaks::For),
            self.weight(Speaks::Against),
            self.weight(Speaks::Silent),
        );
        let whole = 3 * (agreed + against) + silent;
        let confidence = (3000 * agreed).checked_div(whole).unwrap_or(0);
        Permille::clamped(u16::try_from(confidence).unwrap_or(1000))
    }

    /// Whether at least two signals of different nature agree and they outweigh the others by far.
    pub(crate) fn agree(&self) -> bool {
        let mut natures: Vec<Nature> = self
            .0
            .iter()
            .filter(|vote| vote.speaks == Speaks::For)
            .map(|vote| nature(vote.signal))
            .collect();
        natures.sort_unstable();
        natures.dedup();
        natures.len() >= 2 && self.weight(Speaks::For) >= 3 * self.weight(Speaks::Against)
    }

    fn weight(&self, speaks: Speaks) -> u32 {
        let votes = self.0.iter().filter(|vote| vote.speaks == speaks);
        votes.map(|vote| vote.weight).sum()
    }

    pub(crate) fn evidence(&self, windows: &Windows, gpu: &GpuTrack, part: &PartTrack) -> Vec<Evidence> {
        let evidence = self.0.iter().map(|vote| Evidence {
            signal: vote.signal,
            words: vote.words.clone(),
            speaks: vote.speaks,
            series: series(vote.signal, windows, gpu, part),
        });
        evidence.collect()
    }
}

/// Signals of one nature go wrong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nature {
    Time,
    Profiling,
    Power,
    Memory,
    Processes,
    Traffic,
    Health,
}

fn nature(signal: Signal) -> Nature {
    match signal {
        Signal::Utilization => Nature::Time,
        Signal::SmActive | Signal::TensorActive | Signal::DramActive => Nature::Profiling,
        Signal::Power => Nature::Power,
        Signal::MemoryUsed => Nature::Memory,
        Signal::Processes => Nature::Processes,
        Signal::PcieTraffic => Nature::Traffic,
        Signal::Faults | Signal::Throttling => Nature::Health,
    }
}

/// The weights of the signals when the question is whether anything is computed.
const TIME: u32 = 30;
const PROFILING: u32 = 20;
const POWER: u32 = 20;
const HOLDING: u32 = 15;
const TRAFFIC: u32 = 8;

/// What the signals say to "nothing is computed here". Memory and processes are left to the rule.
pub(crate) fn idle_votes(case: &Case<'_>) -> Votes {
    let facts = case.facts;
    let minutes = case.settings.after.as_secs() / 60;
    let mut votes = Votes::default();
    match facts.recent_time.most() {
        Some(most) => votes.add(
            Signal::Utilization,
            TIME,
            speaks(most < u32::from(NOISE)),
            format!("never above {} in {minutes} minutes", percent(most)),
        ),
        None => votes.add(Signal::Utilization, TIME, Speaks::Silent, "not read".to_owned()),
    }
    match facts.recent_activity.most() {
        Some(most) => votes.add(
            Signal::SmActive,
            PROFILING,
            speaks(most < u32::from(NOISE)),
            format!("never above {} in {minutes} minutes", percent(most)),
        ),
        None => votes.add(Signal::SmActive, PROFILING, Speaks::Silent, "not read".to_owned()),
    }
    votes.add_power(case);
    if case.gpu.is_sole() {
        match facts.recent_traffic.mean() {
            Some(traffic) => votes.add(
                Signal::PcieTraffic,
                TRAFFIC,
                speaks(traffic < 20),
                format!("{traffic} MiB/s over the bus"),
            ),
            None => votes.add(
                Signal::PcieTraffic,
                TRAFFIC,
                Speaks::Silent,
                "not read".to_owned(),
            ),
        }
    }
    votes
}

impl Votes {
    fn add_power(&mut self, case: &Case<'_>) {
        let (speaks, words) = match case.facts.recent_effort.most() {
            Some(0) => (Speaks::For, "no more than the model draws at rest".to_owned()),
            Some(effort) if effort < u32::from(CLEARLY_DRAWING) => {
                (Speaks::Silent, format!("up to {} of its range", percent(effort)))
            }
            // The draw is of the whole GPU: on a divided one it is somebody else's.
            Some(effort) if !case.gpu.is_sole() => (
                Speaks::Silent,
                format!("the whole GPU draws up to {} of its range", percent(effort)),
            ),
            Some(effort) => (Speaks::Against, format!("up to {} of its range", percent(effort))),
            None => (
                Speaks::Silent,
                "not read, or the model's draw at rest is not known".to_owned(),
            ),
        };
        self.add(Signal::Power, POWER, speaks, words);
    }

    /// Adds that there is no memory and no process, or what there is.
    pub(crate) fn add_empty(&mut self, case: &Case<'_>) {
        match case.facts.memory_mib {
            Some(memory) => self.add(
                Signal::MemoryUsed,
                HOLDING,
                speaks(memory < DRIVER_MEMORY),
                format!("{memory} MiB in use"),
            ),
            None => self.add(Signal::MemoryUsed, HOLDING, Speaks::Silent, "not read".to_owned()),
        }
        match case.facts.processes {
            Some(processes) => self.add(
                Signal::Processes,
                HOLDING,
                speaks(processes == 0),
                format!("{processes} processes"),
            ),
            None => self.add(Signal::Processes, HOLDING, Speaks::Silent, "not read".to_owned()),
        }
    }

    /// Adds that memory is held and does not move.
    pub(crate) fn add_held(&mut self, case: &Case<'_>) {
        let (speaks, words) = match (case.facts.memory_mib, case.facts.least_memory_mib) {
            (Some(memory), Some(_)) if case.is_loading() => {
                (Speaks::Against, format!("{memory} MiB and growing"))
            }
            (Some(memory), _) => (Speaks::For, format!("{memory} MiB held and not growing")),
            (None, _) => (Speaks::Silent, "not read".to_owned()),
        };
        self.add(Signal::MemoryUsed, HOLDING, speaks, words);
    }
}

pub(crate) fn speaks(agrees: bool) -> Speaks {
    if agrees { Speaks::For } else { Speaks::Against }
}

pub(crate) fn percent(thousandths: u32) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

/// The readings of one signal over the window, for the present holder.
fn series(signal: Signal, windows: &Windows, gpu: &GpuTrack, part: &PartTrack) -> Vec<(Timestamp, i64)> {
    let first = part.tenancy.first_cycle;
    let cycles = windows.cycles().filter(|(cycle, _)| *cycle >= first);
    let points = cycles.filter_map(|(cycle, at)| Some((at, point(signal, gpu, part, cycle)?)));
    points.collect()
}

fn point(signal: Signal, gpu: &GpuTrack, part: &PartTrack, cycle: u32) -> Option<i64> {
    let slot = gpu.slot(cycle)?;
    let own = part.slot(cycle);
    let is_sole = gpu.is_sole();
    match signal {
        Signal::Utilization if is_sole => slot.time().map(i64::from),
        Signal::Utilization => own?.utilization().map(i64::from),
        Signal::SmActive if is_sole => slot.sm().map(i64::from),
        Signal::SmActive => own?.sm().map(i64::from),
        Signal::TensorActive => slot.tensor().map(i64::from),
        Signal::DramActive => slot.dram().map(i64::from),
        Signal::MemoryUsed if is_sole => slot.memory_mib().map(i64::from),
        Signal::MemoryUsed => own?.memory_mib().map(i64::from),
        Signal::Power => slot.draw_milliwatts().map(i64::from),
        Signal::Processes if is_sole => slot.processes().map(i64::from),
        Signal::Processes => own?.processes().map(i64::from),
        Signal::PcieTraffic => slot.traffic_mib().map(|mebibytes| i64::from(mebibytes) << 20),
        Signal::Faults => slot.faults().map(i64::from),
        Signal::Throttling => slot.heat_percent().map(i64::from),
    }
}
