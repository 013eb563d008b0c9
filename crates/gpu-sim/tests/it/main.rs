//! What must hold for every simulated fleet, whatever its seed.

mod determinism;
mod golden;
mod properties;
mod secrecy;
mod shape;
mod signals;
mod trouble;

use std::time::Duration;

use gpu_sim::{FleetSpec, World};

fn world(nodes: u32, seed: u64) -> World {
    World::new(&FleetSpec {
        nodes,
        seed,
        ..FleetSpec::default()
    })
    .expect("a valid spec")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
