//! The replay set: troubled simulated fleets, looked at every half minute and judged every twenty.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpu_model::{ClusterPicture, FleetView, GpuView, PartView};
use gpu_sim::{FleetSpec, Misreport, Truth, World};
use gpu_waste::{Cause, Report, Settings, Surroundings, WindowSettings, Windows, detect};
use jiff::{SignedDuration, Timestamp};

use crate::replay::labels::{Label, Scene};
use crate::replay::masks::Mask;
use crate::replay::naive::{Naive, Place};
use crate::replay::tally::{Marks, Tally};

/// Which seeds a set is made of. Rules are tuned on the one and never on the other.
pub(crate) const TUNE_SEEDS: std::ops::RangeInclusive<u64> = 1001..=1008;
pub(crate) const CHECK_SEEDS: std::ops::RangeInclusive<u64> = 2001..=2008;

/// How one set is played.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seeds: Vec<u64>,
    pub(crate) nodes: u32,
    pub(crate) left_out: Vec<Mask>,
}

/// What a replay gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) ours: Marks,
    pub(crate) naive: Marks,
    pub(crate) without: BTreeMap<Mask, Marks>,
    /// Drivers that lie, and whether they were called out.
    pub(crate) contradictions: Tally,
    /// Waste that no signal reaches: no samples, or a slice of which the driver tells nothing. Not in the figures above.
    pub(crate) out_of_reach: u64,
    /// Parts at instants that were judged, and those of them that are held and labelled one way or the other.
    pub(crate) judged: u64,
    pub(crate) labelled: u64,
    pub(crate) mistakes: Vec<String>,
}

const STEP: Duration = Duration::from_secs(30);
/// The first looks only fill the memory of the detector: what began before it came cannot be known to it.
const FIRST_CHECK: u32 = 90;
const CHECK_EVERY: u32 = 40;
const CHECKS: u32 = 8;

/// More than this would tell no more.
const MOST_MISTAKES: usize = 400;

/// A detector with what it has seen.
struct Watcher {
    mask: Option<Mask>,
    windows: Windows,
}

impl Watcher {
    fn new(mask: Option<Mask>) -> Self {
        Self {
            mask,
            windows: Windows::new(WindowSettings::default()),
        }
    }

    fn observe(&mut self, view: &FleetView) {
        match self.mask {
            Some(mask) => self.windows.observe(&mask.apply(view)),
            None => self.windows.observe(view),
        }
    }

    fn report(&self, picture: &ClusterPicture, settings: &Settings, now: Timestamp) -> Report {
        let surroundings = Surroundings {
            picture: (self.mask != Some(Mask::Picture)).then_some(picture),
            rates: &BTreeMap::new(),
            patterns: None,
        };
        detect(&self.windows, &surroundings, settings, now)
    }
}

pub(crate) fn play(plan: &Plan) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    for seed in &plan.seeds {
        play_one(plan, *seed, &mut outcome)?;
    }
    Ok(outcome)
}

fn play_one(plan: &Plan, seed: u64, outcome: &mut Outcome) -> anyhow::Result<()> {
    let default = FleetSpec::default();
    // Seeds begin at different hours, so that nights and weekends are in every set.
    let hours = i64::try_from(seed % 168)? * 7;
    let start = default.start.checked_add(SignedDuration::from_hours(hours))?;
    let mut world = World::troubled(&FleetSpec::new(plan.nodes, seed, start)?)?;
    let mut watchers = vec![Watcher::new(None)];
    watchers.extend(plan.left_out.iter().map(|mask| Watcher::new(Some(*mask))));
    let mut naive = Naive::default();
    let mut history = History::default();
    for cycle in 1..=FIRST_CHECK + CHECK_EVERY * (CHECKS - 1) {
        world.advance(STEP);
        let view = world.observe();
        for watcher in &mut watchers {
            watcher.observe(&view);
        }
        naive.observe(&view);
        history.observe(&view);
        if cycle >= FIRST_CHECK && (cycle - FIRST_CHECK).is_multiple_of(CHECK_EVERY) {
            check(&world, &watchers, &naive, &history, seed, outcome);
        }
    }
    Ok(())
}

/// What the replay itself has to remember: since when a part is free, and how often it was read lately.
#[derive(Debug, Default)]
struct History {
    free_since: BTreeMap<Place, Timestamp>,
    reads: BTreeMap<Place, Vec<Timestamp>>,
    last: BTreeMap<Place, (GpuView, PartView)>,
}

impl History {
    fn observe(&mut self, view: &FleetView) {
        for gpu in view.gpus() {
            for part in &gpu.parts {
                let place = (gpu.device.uuid.clone(), part.device_id.clone());
                if part.owner.is_none() {
                    self.free_since.entry(place.clone()).or_insert(view.at);
                } else {
                    self.free_since.remove(&place);
                }
                let reads = self.reads.entry(place.clone()).or_default();
                reads.retain(|at| view.at.duration_since(*at).as_secs() < 300);
                reads.push(view.at);
                self.last.insert(place, (gpu.clone(), part.clone()));
            }
        }
    }

    /// Whether something about the part was read in most of the last five minutes, and it could tell work from rest.
    fn is_in_reach(&self, place: &Place, part: &PartView, now: Timestamp) -> bool {
        let reads = self.reads.get(place).map_or(0, |reads| {
            let recent = reads.iter().filter(|at| now.duration_since(**at).as_secs() < 300);
            recent.count()
        });
        let tells = part.usage.utilization.is_known()
            || part.usage.sm_active.is_known()
            || part.usage.processes.known() == Some(0);
        reads >= 7 && tells
    }
}

fn check(
    world: &World,
    watchers: &[Watcher],
    naive: &Naive,
    history: &History,
    seed: u64,
    outcome: &mut Outcome,
) {
    let settings = Settings::default();
    let (truth, picture, now) = (world.truth(), world.picture(), world.now());
    let scene = Scene {
        truth: &truth,
        picture: &picture,
        settings: &settings,
        now,
    };
    let found: Vec<BTreeMap<Place, BTreeSet<Cause>>> = watchers
        .iter()
        .map(|watcher| by_place(&watcher.report(&picture, &settings, now)))
        .collect();
    for (place, (gpu, part)) in &history.last {
        outcome.judged += 1;
        let label = scene.label(gpu, part, history.free_since.get(place).copied());
        count_contradiction(&truth, gpu, part, found[0].get(place), outcome);
        if !history.is_in_reach(place, part, now) {
            outcome.out_of_reach += u64::from(matches!(label, Label::Waste(_)) && part.owner.is_some());
            // What is said without data is wrong all the same.
            if matches!(label, Label::Waste(_)) {
                continue;
            }
        }
        let is_held = part.owner.is_some();
        outcome.labelled += u64::from(is_held && label != Label::Open);
        for (watcher, found) in watchers.iter().zip(&found) {
            let causes: Vec<Cause> = found
                .get(place)
                .into_iter()
                .flatten()
                .copied()
                .filter(|cause| cause.is_waste())
                .collect();
            match watcher.mask {
                None => {
                    note_mistake(&label, &causes, seed, &truth, gpu, part, outcome);
                    outcome.ours.add(&label, &causes, is_held);
                }
                Some(mask) => outcome
                    .without
                    .entry(mask)
                    .or_default()
                    .add(&label, &causes, is_held),
            }
        }
        let naive_says = naive.says(place, now);
        if is_held {
            outcome.naive.held.add(&label, naive_says);
        }
    }
}

fn by_place(report: &Report) -> BTreeMap<Place, BTreeSet<Cause>> {
    let mut found: BTreeMap<Place, BTreeSet<Cause>> = BTreeMap::new();
    for finding in &report.findings {
        for part in &finding.gpus {
            let place = (part.uuid.clone(), part.device_id.clone());
            found.entry(place).or_default().insert(finding.cause);
        }
    }
    found
}

fn count_contradiction(
    truth: &Truth,
    gpu: &GpuView,
    part: &PartView,
    found: Option<&BTreeSet<Cause>>,
    outcome: &mut Outcome,
) {
    let says = found.is_some_and(|causes| causes.contains(&Cause::Contradiction));
    let lies = truth.gpu(&gpu.device.uuid).and_then(|gpu| gpu.misreport);
    let shows = match lies {
        Some(Misreport::StuckBusy) => part.usage.processes.known() == Some(0),
        Some(Misreport::DeadProfiling) => part
            .usage
            .utilization
            .known()
            .is_some_and(|share| share.get() >= 500),
        None => false,
    };
    let tally = &mut outcome.contradictions;
    match (lies.is_some(), shows, says) {
        (true, _, true) => tally.right += 1,
        (false, _, true) => tally.wrong += 1,
        (true, true, false) => tally.missed += 1,
        _ => {}
    }
}

fn note_mistake(
    label: &Label,
    found: &[Cause],
    seed: u64,
    truth: &Truth,
    gpu: &GpuView,
    part: &PartView,
    outcome: &mut Outcome,
) {
    let what = match (label, found.is_empty()) {
        (Label::Waste(_), true) => "missed",
        (Label::Fine, false) => "wrong",
        _ => return,
    };
    if outcome.mistakes.len() >= MOST_MISTAKES {
        return;
    }
    let pod = part
        .owner
        .as_ref()
        .and_then(|owner| truth.pod(&owner.pod.reference));
    let condition = pod.map_or_else(
        || "free".to_owned(),
        |pod| format!("{:?} {:?}", pod.kind, pod.condition),
    );
    let owner = part
        .owner
        .as_ref()
        .map_or_else(String::new, |owner| owner.pod.reference.to_string());
    outcome.mistakes.push(format!(
        "seed {seed} at {}: {what} {condition} {owner} on {} {} {found:?}",
        truth.at, gpu.device.model, part.partition
    ));
}
