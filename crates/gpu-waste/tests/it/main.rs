//! What must hold for every fleet, and what each cause looks like.

mod causes;
mod deviations;
mod fixes;
mod properties;
mod simulated;
mod toy;
mod windows;

use std::collections::BTreeMap;
use std::time::Duration;

use gpu_model::{NanoUsd, NodeName};
use gpu_sim::{FleetSpec, World};
use gpu_waste::{GpuRate, Surroundings, WindowSettings, Windows};

fn world(nodes: u32, seed: u64) -> World {
    World::new(&FleetSpec {
        nodes,
        seed,
        ..FleetSpec::default()
    })
    .expect("a valid spec")
}

/// Two dollars an hour for every GPU.
fn rates(world: &World) -> BTreeMap<NodeName, GpuRate> {
    let view = world.observe();
    let rate = GpuRate {
        per_gpu_hour: Some(NanoUsd(2_000_000_000)),
        note: "list price of a test".to_owned(),
    };
    let nodes = view
        .nodes
        .iter()
        .map(|node| (node.node.name.clone(), rate.clone()));
    nodes.collect()
}

/// Watches a world for so many cycles.
fn watch(world: &mut World, windows: &mut Windows, cycles: u32) {
    for _ in 0..cycles {
        world.advance(Duration::from_secs(30));
        windows.observe(&world.observe());
    }
}

fn empty() -> Windows {
    Windows::new(WindowSettings::default())
}

fn alone(rates: &BTreeMap<NodeName, GpuRate>) -> Surroundings<'_> {
    Surroundings {
        picture: None,
        rates,
        patterns: None,
    }
}
