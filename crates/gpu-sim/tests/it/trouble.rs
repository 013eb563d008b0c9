//! Troubled fleets, on which detectors are judged, and the picture of the cluster.

use std::collections::BTreeSet;

use gpu_model::PodKey;
use gpu_sim::{Condition, FleetSpec, Misreport, World};

use crate::{seconds, world};

fn troubled(nodes: u32, seed: u64) -> World {
    World::troubled(&FleetSpec {
        nodes,
        seed,
        ..FleetSpec::default()
    })
    .expect("a valid spec")
}

#[test]
fn a_usual_fleet_has_none_of_the_troubles() {
    let mut world = world(24, 5);
    for _ in 0..40 {
        world.advance(seconds(120));
        assert!(world.observe().nodes.iter().all(|node| !node.gpus.is_empty()));
    }
    let truth = world.truth();
    assert!(truth.gpus.values().all(|gpu| gpu.misreport.is_none()));
    assert!(truth.pods.values().all(|pod| pod.left_aside.is_empty()));
}

#[test]
fn gpus_left_aside_stay_quiet_while_the_others_of_their_pod_work() {
    let mut looked = 0;
    for seed in 0..12 {
        let world = troubled(12, seed);
        let (view, truth) = (world.observe(), world.truth());
        for gpu in view.gpus() {
            let Some(owner) = gpu.owners().next() else {
                continue;
            };
            let Some(pod) = truth.pod(&owner.pod.reference) else {
                continue;
            };
            if !pod.left_aside.contains(&gpu.device.uuid) {
                continue;
            }
            looked += 1;
            assert!(pod.left_aside.len() < pod.gpus.len());
            if let Some(share) = gpu.sample.utilization.known() {
                assert!(
                    share.get() == 0 || gpu.sample.processes.known() == Some(0),
                    "{share}"
                );
            }
        }
    }
    assert!(looked > 5, "{looked}");
}

#[test]
fn drivers_lie_in_two_ways_and_exporters_go_missing() {
    let mut lies = BTreeSet::new();
    let mut gone = 0;
    for seed in 0..6 {
        let mut world = troubled(24, seed);
        lies.extend(world.truth().gpus.values().filter_map(|gpu| gpu.misreport));
        for _ in 0..30 {
            world.advance(seconds(120));
            gone += world
                .observe()
                .nodes
                .iter()
                .filter(|node| node.gpus.is_empty())
                .count();
        }
    }
    assert_eq!(
        lies,
        BTreeSet::from([Misreport::StuckBusy, Misreport::DeadProfiling])
    );
    assert!(gone > 20, "{gone}");
}

#[test]
fn the_picture_names_every_pod_and_no_condition() {
    let world = troubled(24, 3);
    let (view, picture, truth) = (world.observe(), world.picture(), world.truth());
    for owner in view.gpus().flat_map(|gpu| gpu.owners()) {
        let reference = &owner.pod.reference;
        let key = PodKey {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        };
        let listed = &picture.gpu_pods[&key];
        assert_eq!(listed.pod.reference, *reference);
        assert!(
            listed
                .node
                .as_ref()
                .is_some_and(|node| picture.nodes.contains_key(node))
        );
        // Standing by is what an owner declares; nothing else about a pod's condition may show.
        if truth.pods[reference].condition == Condition::StandBy {
            assert_eq!(listed.settings.workload_type.as_deref(), Some("standby"));
        }
    }
    let waiting = picture.gpu_pods.values().filter(|pod| pod.node.is_none()).count();
    assert_eq!(waiting, view.pending.len());
}
