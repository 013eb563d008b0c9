//! What a cycle costs: processor time on the largest node, and no allocation in steady state.

use std::time::Duration;

use allocation_counter::measure;
use gpu_exporter::readings::DeviceReadings;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::Node;
use crate::amd_tree::{Gpu, mi300x, mi300x_cpx};

/// For one node of 64 partitions.
const MOST_FOR_A_CYCLE: Duration = Duration::from_millis(50);
const ROUNDS: u32 = 10;

/// Processor time of this thread, which other builds on the machine do not lengthen; nothing here waits.
fn busy() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(microseconds.unsigned_abs())
}

/// Eight GPUs of eight partitions, with a process on each partition, read one after the other: the program reads them side by
/// side.
#[test]
fn sixty_four_partitions_are_read_within_a_cycle_of_50_milliseconds() {
    let full = |number: u32| {
        (0..8).fold(mi300x_cpx().at(number), |gpu: Gpu, partition| {
            gpu.process(9_000 + number * 8 + partition, partition, 1 << 30, 10)
        })
    };
    let gpus: Vec<Gpu> = (0..8).map(full).collect();
    let node = Node::of(&gpus);
    let started = busy();
    assert_eq!(node.list().len(), 8);
    let first_listing = busy() - started;
    let started = busy();
    node.list();
    let listing = busy() - started;
    // New readers look for processes, which they do every other second.
    let (mut with_processes, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut readers: Vec<_> = (0..8).map(|index| node.open(index)).collect();
        let mut buffers = vec![DeviceReadings::default(); 8];
        let mut cycle = || {
            let started = busy();
            for (readers, buffer) in readers.iter_mut().zip(&mut buffers) {
                readers.fast.read(buffer).unwrap();
            }
            busy() - started
        };
        with_processes.push(cycle());
        without.push(cycle());
        let partitions: usize = buffers.iter().map(|buffer| buffer.slices.len()).sum();
        let processes = buffers
            .iter()
            .filter_map(|buffer| buffer.processes.as_ref().known());
        assert_eq!((partitions, processes.map(Vec::len).sum::<usize>()), (64, 64));
    }
    // The kernel's account is a few milliseconds coarse, so that only the mean of some rounds means something.
    let mean = |rounds: &[Duration]| rounds.iter().sum::<Duration>() / ROUNDS;
    let (with_processes, without) = (mean(&with_processes), mean(&without));
    println!(
        "listing {first_listing:?} then {listing:?}; a cycle {without:?}, with processes {with_processes:?}"
    );
    assert!(with_processes < MOST_FOR_A_CYCLE, "{with_processes:?}");
    assert!(without < MOST_FOR_A_CYCLE / 5, "{without:?}");
}

#[test]
fn a_sample_allocates_nothing() {
    for gpu in [mi300x(), mi300x_cpx().process(7, 2, 1 << 30, 10)] {
        let node = Node::of(std::slice::from_ref(&gpu));
        let mut fast = node.open(0).fast;
        let mut readings = DeviceReadings::default();
        for _ in 0..2 {
            readings.start();
            fast.read(&mut readings).unwrap();
        }
        let measured = measure(|| {
            readings.start();
            fast.read(&mut readings).unwrap();
        });
        assert_eq!(measured.count_total, 0);
    }
}
