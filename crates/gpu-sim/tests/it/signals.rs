//! The signals look like those of real GPUs: each follows from the others, and what a model cannot tell is absent.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{FleetView, GpuView, PodRef, Reading, ThrottleReason};
use gpu_sim::{Condition, FleetSpec, Health, Truth, WorkloadKind, World};
use jiff::Timestamp;

use crate::{seconds, world};

/// Looks at several fleets for ten minutes each. A fleet begins as if it had always been running, so that many short
/// lives show as much as one long one.
fn look_around(mut look: impl FnMut(&FleetView, &Truth)) {
    for seed in 0..30 {
        let mut world = world(12, seed);
        for step in [0, 1, 119, 480] {
            world.advance(seconds(step));
            look(&world.observe(), &world.truth());
        }
    }
}

/// The GPUs that one pod has for itself, with its condition.
fn sole_holders<'a>(view: &'a FleetView, truth: &'a Truth) -> impl Iterator<Item = (&'a GpuView, Condition)> {
    view.gpus().filter(|gpu| gpu.parts.len() == 1).filter_map(|gpu| {
        let owner = gpu.owners().next()?;
        Some((gpu, truth.pod(&owner.pod.reference)?.condition))
    })
}

#[test]
fn activity_is_absent_before_hopper_and_utilisation_is_absent_under_mig() {
    for gpu in world(12, 1).observe().gpus() {
        let model = gpu.device.model.as_str();
        let is_hopper = model == "NVIDIA H100 80GB HBM3";
        assert_eq!(
            gpu.sample.sm_active == Reading::Unsupported,
            !is_hopper,
            "{model}"
        );
        let is_mig = gpu
            .parts
            .iter()
            .any(|part| part.resource.as_str().starts_with("nvidia.com/mig-"));
        assert_eq!(gpu.sample.utilization == Reading::Unsupported, is_mig, "{model}");
    }
}

#[test]
fn each_condition_shows_in_the_signals_as_on_real_gpus() {
    let mut met = BTreeSet::new();
    look_around(|view, truth| {
        for (gpu, condition) in sole_holders(view, truth) {
            met.insert(condition);
            check_condition(gpu, condition);
        }
    });
    let missing: Vec<_> = ALL.iter().filter(|condition| !met.contains(condition)).collect();
    assert!(missing.is_empty(), "never met {missing:?}");
}

const ALL: &[Condition] = &[
    Condition::Busy,
    Condition::WarmingUp,
    Condition::DataLoading,
    Condition::Checkpointing,
    Condition::InputBound,
    Condition::HeldIdle,
    Condition::NeverUsed,
    Condition::Zombie,
    Condition::Stalled,
    Condition::StandBy,
    Condition::Undersized,
];

#[track_caller]
fn check_condition(gpu: &GpuView, condition: Condition) {
    let sample = &gpu.sample;
    let (Some(used), Some(utilization), Some(processes)) = (
        sample.memory_used.known(),
        sample.utilization.known(),
        sample.processes.known(),
    ) else {
        return;
    };
    let holds_memory = used.0 > 0;
    match condition {
        Condition::NeverUsed => assert!(!holds_memory && utilization.get() == 0 && processes == 0),
        Condition::HeldIdle | Condition::StandBy => {
            assert!(holds_memory && utilization.get() == 0 && processes > 0);
        }
        Condition::Zombie => assert!(holds_memory && utilization.get() == 0),
        Condition::Stalled => {
            assert!(utilization.get() >= 990, "spinning looks busy");
            let sm = sample.sm_active.known();
            assert!(sm.is_none_or(|sm| sm.get() < 200), "and does nothing");
        }
        Condition::Undersized => assert!(holds_memory && utilization.get() <= 150),
        Condition::WarmingUp => assert!(utilization.get() == 0),
        Condition::Busy | Condition::InputBound => assert!(holds_memory && processes > 0),
        Condition::DataLoading | Condition::Checkpointing => assert!(utilization.get() < 250 && holds_memory),
    }
}

#[test]
fn power_temperature_and_clocks_follow_the_work() {
    look_around(|view, truth| {
        for gpu in view.gpus() {
            let model = gpu_model::GpuModel::find(&gpu.device.model).expect("a known model");
            let sample = &gpu.sample;
            if let (Some(0), Some(power), Some(clock)) = (
                sample.processes.known(),
                sample.power.known(),
                sample.compute_clock.known(),
            ) {
                assert_eq!((power, clock), (model.idle, model.compute_clock.idle), "at rest");
            }
            let sound = truth
                .gpu(&gpu.device.uuid)
                .is_some_and(|gpu| gpu.health != Health::Hot);
            if let (true, Some(temperature)) = (sound, sample.temperature.known()) {
                assert!((20..=80).contains(&temperature.0), "{temperature:?}");
            }
        }
    });
}

#[test]
fn members_of_a_gang_move_together() {
    let mut gangs = 0;
    look_around(|view, truth| {
        let mut members: BTreeMap<&PodRef, Vec<u16>> = BTreeMap::new();
        for gpu in view.gpus() {
            for owner in gpu.owners() {
                let is_training = truth
                    .pod(&owner.pod.reference)
                    .is_some_and(|pod| pod.kind == WorkloadKind::Training);
                if let (true, Some(utilization)) = (is_training, gpu.sample.utilization.known()) {
                    members
                        .entry(&owner.pod.reference)
                        .or_default()
                        .push(utilization.get());
                }
            }
        }
        for (pod, shares) in members.iter().filter(|(_, shares)| shares.len() > 1) {
            gangs += 1;
            let spread = shares.iter().max().expect("members") - shares.iter().min().expect("members");
            assert!(spread <= 16, "{pod}: {shares:?}");
        }
    });
    assert!(gangs > 100, "{gangs}");
}

#[test]
fn energy_is_the_sum_of_power() {
    let mut world = world(3, 5);
    let start = world.observe();
    let mut sums = vec![0u64; start.gpu_count()];
    for _ in 0..120 {
        for (sum, gpu) in sums.iter_mut().zip(world.observe().gpus()) {
            // A failed reading of power does not stop the meter; such a GPU is left out below.
            *sum = gpu
                .sample
                .power
                .known()
                .map_or(u64::MAX, |power| sum.saturating_add(u64::from(power.0)));
        }
        world.advance(seconds(1));
    }
    let metered = world.observe();
    let mut compared = 0;
    for (sum, gpu) in sums
        .iter()
        .zip(metered.gpus())
        .filter(|(sum, _)| **sum != u64::MAX)
    {
        assert_eq!(
            gpu.sample.energy.known().map(|energy| energy.0),
            Some(*sum),
            "{}",
            gpu.device.uuid
        );
        compared += 1;
    }
    assert!(compared > 12, "{compared}");
}

#[test]
fn services_sleep_at_night() {
    // The users of the simulated services live west of Greenwich: their afternoon is the evening in UTC.
    let (day, night) = (served_at(19), served_at(7));
    assert!(day > 2 * night, "{day} by day, {night} by night");
}

/// What the services of one fleet do at an hour of the day.
fn served_at(hour: i64) -> u64 {
    let midnight = FleetSpec::default().start.as_second() - 8 * 3600;
    let start = Timestamp::from_second(midnight + hour * 3600).expect("an instant of the first day");
    let world = World::new(&FleetSpec {
        nodes: 48,
        seed: 4,
        start,
    })
    .expect("a valid spec");
    let (view, truth) = (world.observe(), world.truth());
    let is_service = |pod: &PodRef| {
        truth
            .pod(pod)
            .is_some_and(|pod| pod.kind == WorkloadKind::Inference)
    };
    let serving = view
        .gpus()
        .filter(|gpu| gpu.owners().all(|owner| is_service(&owner.pod.reference)));
    serving
        .filter_map(|gpu| gpu.sample.utilization.known())
        .map(|share| u64::from(share.get()))
        .sum()
}

#[test]
fn things_go_wrong_now_and_then() {
    let (mut failed, mut known) = (0, 0);
    let mut world = world(24, 1);
    for _ in 0..360 {
        world.advance(seconds(20));
        for gpu in world.observe().gpus() {
            failed += u32::from(gpu.sample.power == Reading::Failed);
            known += u32::from(gpu.sample.power.is_known());
        }
    }
    let (view, truth) = (world.observe(), world.truth());
    let health = |gpu: &GpuView| truth.gpu(&gpu.device.uuid).expect("every GPU has a truth").health;
    assert!(failed > 0 && failed * 200 < known, "{failed} of {known}");
    for gpu in view.gpus() {
        assert!(gpu.sample.faults.is_empty() || health(gpu) == Health::Faulty);
        let hot = gpu
            .sample
            .throttle_times
            .iter()
            .any(|time| time.reason == ThrottleReason::Thermal);
        assert!(!hot || health(gpu) == Health::Hot);
    }
    assert!(
        view.gpus().any(|gpu| !gpu.sample.faults.is_empty()),
        "nothing faulted"
    );
    assert!(
        view.gpus().any(|gpu| !gpu.sample.throttle_times.is_empty()),
        "nothing throttled"
    );
}

#[test]
fn pods_come_and_go_and_some_wait() {
    let (mut seen, mut waited, mut free) = (BTreeSet::new(), 0, 0);
    let mut world = world(12, 1);
    for _ in 0..36 {
        let view = world.observe();
        seen.extend(
            view.gpus()
                .flat_map(|gpu| gpu.owners())
                .map(|owner| owner.pod.reference.clone()),
        );
        waited += view.pending.len();
        free += view.gpus().filter(|gpu| gpu.owners().next().is_none()).count();
        world.advance(seconds(300));
    }
    assert!(seen.len() > 200, "{}", seen.len());
    assert!(waited > 0 && free > 0, "{waited} {free}");
}
