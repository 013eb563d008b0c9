//! What holds for every seed, at every instant and from one instant to the next.

use std::collections::BTreeMap;

use gpu_model::{FleetView, GpuView, NodeName, Partition, PodRef};
use proptest::prelude::*;

use crate::{seconds, world};

proptest! {
    // Each case lives through up to an hour of a fleet; a dozen of them keep the suite quick.
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_view_is_sound_and_follows_from_the_one_before(
        seed: u64,
        nodes in 1u32..16,
        steps in prop::collection::vec(1u64..900, 1..5),
    ) {
        let mut world = world(nodes, seed);
        let mut before = world.observe();
        check_view(&before);
        for step in steps {
            world.advance(seconds(step));
            let after = world.observe();
            check_view(&after);
            check_succession(&before, &after);
            check_truth(&world.truth(), &after);
            before = after;
        }
    }
}

fn check_view(view: &FleetView) {
    let mut node_of: BTreeMap<&PodRef, &NodeName> = BTreeMap::new();
    for node in &view.nodes {
        for gpu in &node.gpus {
            check_gpu(gpu);
            for owner in gpu.owners() {
                let home = node_of.entry(&owner.pod.reference).or_insert(&node.node.name);
                assert_eq!(*home, &node.node.name, "{} is on two nodes", owner.pod.reference);
            }
        }
    }
    assert!(view.nodes.is_sorted_by_key(|node| &node.node.name));
    for pod in &view.pending {
        assert!(
            !node_of.contains_key(&pod.reference),
            "{} waits and runs",
            pod.reference
        );
        assert_eq!(pod.started_at, None);
    }
    for (pod, count) in held_parts(view) {
        assert_eq!(pod.1, count, "{} holds what it asked for", pod.0);
    }
}

fn held_parts(view: &FleetView) -> BTreeMap<(&PodRef, u32), u32> {
    let mut held = BTreeMap::new();
    for owner in view.gpus().flat_map(GpuView::owners) {
        *held.entry((&owner.pod.reference, owner.pod.count)).or_default() += 1;
    }
    held
}

fn check_gpu(gpu: &GpuView) {
    let sample = &gpu.sample;
    let uuid = &gpu.device.uuid;
    if let (Some(used), Some(total)) = (sample.memory_used.known(), sample.memory_total.known()) {
        assert!(used <= total, "{uuid}: {used:?} of {total:?}");
        let parts = gpu.parts.iter().filter_map(|part| part.usage.memory_used.known());
        assert!(
            parts.sum::<gpu_model::Bytes>() <= used,
            "{uuid}: the parts hold more than the GPU"
        );
        let room = gpu.parts.iter().filter_map(|part| part.memory_total.known());
        assert!(
            room.sum::<gpu_model::Bytes>() <= total,
            "{uuid}: the parts have more room than the GPU"
        );
    }
    for part in &gpu.parts {
        assert!(
            part.usage.memory_used.known() <= part.memory_total.known(),
            "{}",
            part.device_id
        );
    }
    let shares_time = |partition: &Partition| {
        matches!(
            partition,
            Partition::TimeShared { .. } | Partition::Mps { .. } | Partition::Whole
        )
    };
    if let Some(whole) = sample.utilization.known() {
        let parts = gpu.parts.iter().filter(|part| shares_time(&part.partition));
        let sum: u16 = parts
            .filter_map(|part| part.usage.utilization.known())
            .map(|share| share.get())
            .sum();
        assert!(
            sum <= whole.get(),
            "{uuid}: the parts were busy for longer than the GPU"
        );
    }
    if let (Some(power), Some(limit)) = (sample.power.known(), sample.power_limit.known()) {
        assert!(power <= limit, "{uuid}: {power:?} above {limit:?}");
    }
}

fn check_succession(before: &FleetView, after: &FleetView) {
    assert_eq!(before.gpu_count(), after.gpu_count());
    for (earlier, later) in before.gpus().zip(after.gpus()) {
        let uuid = &earlier.device.uuid;
        assert_eq!(uuid, &later.device.uuid);
        let (earlier, later) = (&earlier.sample, &later.sample);
        if let (Some(earlier), Some(later)) = (earlier.energy.known(), later.energy.known()) {
            assert!(earlier < later, "{uuid}: even an idle GPU draws power");
        }
        if let (Some(earlier), Some(later)) = (earlier.busy.known(), later.busy.known()) {
            assert!(earlier <= later, "{uuid}: busy time ran backwards");
        }
        if let (Some(earlier), Some(later)) = (earlier.pcie_received.known(), later.pcie_received.known()) {
            assert!(earlier <= later, "{uuid}: traffic ran backwards");
        }
        for fault in &earlier.faults {
            let still = later.faults.iter().find(|later| later.code == fault.code);
            assert!(
                still.is_some_and(|later| later.count >= fault.count),
                "{uuid}: a fault was forgotten"
            );
        }
    }
}

fn check_truth(truth: &gpu_sim::Truth, view: &FleetView) {
    assert_eq!(truth.gpus.len(), view.gpu_count());
    for gpu in view.gpus() {
        let known = truth.gpu(&gpu.device.uuid).expect("every GPU has a truth");
        let seen: Vec<_> = gpu.owners().map(|owner| owner.pod.reference.clone()).collect();
        assert_eq!(known.pods, seen);
        for pod in &seen {
            let pod = truth.pod(pod).expect("every running pod has a truth");
            assert!(pod.since <= truth.at);
            assert!(pod.gpus.contains(&gpu.device.uuid));
        }
    }
}
