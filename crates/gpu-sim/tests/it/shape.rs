//! What fleets can be had, and what is in them.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{GpuModel, Partition, Source, Vendor};
use gpu_sim::{FleetSpec, World};
use jiff::Timestamp;

use crate::world;

#[test]
fn the_default_fleet_has_twelve_nodes_and_96_gpus() {
    let view = World::new(&FleetSpec::default()).unwrap().observe();
    assert_eq!((view.nodes.len(), view.gpu_count()), (12, 96));
    assert_eq!(view.source, Source::Simulated);
    assert_eq!(view.at, FleetSpec::default().start);
}

#[test]
fn a_thousand_nodes_have_about_eight_gpus_each() {
    let gpus = world(1000, 1).observe().gpu_count();
    assert!((7900..=8100).contains(&gpus), "{gpus}");
}

#[track_caller]
fn check_refused(nodes: u32, expected: &str) {
    let error =
        FleetSpec::new(nodes, 1, FleetSpec::default().start).expect_err("a fleet of this size is refused");
    assert_eq!(error.to_string(), expected);
    assert_eq!(
        World::new(&FleetSpec {
            nodes,
            ..FleetSpec::default()
        })
        .err(),
        Some(error)
    );
}

#[test]
fn fleets_of_no_size_and_of_too_large_a_size_are_refused() {
    check_refused(0, "cannot simulate a fleet of 0 nodes: ask for 1 to 5000");
    check_refused(5001, "cannot simulate a fleet of 5001 nodes: ask for 1 to 5000");
    assert!(FleetSpec::new(1, 1, Timestamp::MIN).is_err());
    assert!(FleetSpec::new(1, 1, Timestamp::MAX).is_err());
}

#[test]
fn a_fleet_of_one_node_works() {
    let view = world(1, 3).observe();
    assert_eq!((view.nodes.len(), view.gpu_count()), (1, 8));
    assert!(view.gpus().any(|gpu| gpu.owners().next().is_some()));
}

#[test]
fn the_default_fleet_shows_every_way_to_divide_a_gpu_and_both_vendors() {
    let view = world(12, 1).observe();
    let vendors: BTreeSet<Vendor> = view.gpus().map(|gpu| gpu.device.vendor).collect();
    assert_eq!(vendors, BTreeSet::from([Vendor::Nvidia, Vendor::Amd]));
    let kinds: BTreeSet<&str> = view
        .gpus()
        .flat_map(|gpu| &gpu.parts)
        .map(|part| match part.partition {
            Partition::Whole => "whole",
            Partition::MigSlice { .. } => "mig",
            Partition::TimeShared { .. } => "time",
            Partition::Mps { .. } => "mps",
            Partition::AmdPartition { .. } => "amd",
        })
        .collect();
    assert_eq!(kinds, BTreeSet::from(["amd", "mig", "mps", "time", "whole"]));
    assert!(view.gpus().all(|gpu| GpuModel::find(&gpu.device.model).is_some()));
}

#[test]
fn no_two_things_share_an_id() {
    let view = world(240, 11).observe();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for node in &view.nodes {
        *seen.entry(node.node.name.to_string()).or_default() += 1;
        for gpu in &node.gpus {
            *seen.entry(gpu.device.uuid.to_string()).or_default() += 1;
            for part in &gpu.parts {
                // A device plugin's ids are unique on their node, and a whole GPU's may be its uuid.
                *seen
                    .entry(format!("{}/part/{}", node.node.name, part.device_id))
                    .or_default() += 1;
            }
        }
    }
    let twice: Vec<_> = seen.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn pod_names_are_unique_in_their_namespace() {
    let view = world(240, 11).observe();
    let pods: BTreeMap<_, _> = view
        .gpus()
        .flat_map(|gpu| gpu.owners())
        .map(|owner| (owner.pod.reference.uid.clone(), owner.pod.reference.to_string()))
        .collect();
    let names: BTreeSet<_> = pods.values().collect();
    assert_eq!(names.len(), pods.len());
}
