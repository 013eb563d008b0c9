//! The world stays as small as it began, however long it runs.

use std::collections::BTreeSet;

use crate::streams::State;
use crate::{FleetSpec, World};

const WEEK: i64 = 7 * 24 * 3600;

/// Eight weeks of arrivals, waits and ends, without the physics between them.
#[test]
fn weeks_of_coming_and_going_leave_nothing_behind() {
    let mut world = World::new(&FleetSpec::default()).unwrap();
    let (streams, slots) = (world.streams.len(), world.hardware.slots.len());
    let mut started = BTreeSet::new();
    for _ in 0..8 * WEEK {
        world.tick += 1;
        world.pass_events();
        if world.tick % 3600 == 0 {
            check_books(&world);
            started.extend(running(&world).map(|(workload, stream)| (stream, workload.started)));
        }
    }
    assert_eq!(
        (world.streams.len(), world.hardware.slots.len()),
        (streams, slots)
    );
    assert!(
        started.len() > 50 * streams,
        "{} workloads in {streams} streams",
        started.len()
    );
}

fn running(world: &World) -> impl Iterator<Item = (&crate::streams::Workload, usize)> {
    world
        .streams
        .iter()
        .enumerate()
        .filter_map(|(number, stream)| match &stream.state {
            State::Running(workload) => Some((workload, number)),
            State::Away | State::Waiting(_) => None,
        })
}

/// Each stream has one entry in the calendar, each wait one in the queue, and each held slot one holder.
#[track_caller]
fn check_books(world: &World) {
    let due: BTreeSet<u32> = world.calendar.iter().map(|(_, stream)| *stream).collect();
    assert_eq!(world.calendar.len(), world.streams.len());
    assert_eq!(due.len(), world.streams.len());
    let waiting = world
        .streams
        .iter()
        .filter(|stream| matches!(stream.state, State::Waiting(_)))
        .count();
    assert_eq!(world.waiting.len(), waiting);
    let held = running(world)
        .flat_map(|(workload, _)| &workload.pods)
        .map(|pod| pod.slots.len())
        .sum::<usize>();
    let occupied = world
        .hardware
        .slots
        .iter()
        .filter(|slot| slot.occupant.is_some())
        .count();
    assert_eq!(held, occupied);
    assert_eq!(world.free.len() + occupied, world.hardware.slots.len());
}
