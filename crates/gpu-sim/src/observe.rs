//! The outsider's view: what the drivers and the kubelet of such a fleet would say, with their gaps.

use std::time::Duration;

use gpu_model::{
    Bytes, Celsius, ClusterId, FaultCount, FleetView, GpuSample, GpuView, Megahertz, Millijoules, Milliwatts,
    NodeView, Owner, PartUsage, PartView, Permille, Reading, Source, ThrottleTime, Vendor,
};

use crate::hardware::{Gpu, Mode};
use crate::noise::Question;
use crate::physics::Body;
use crate::slots::Slot;
use crate::streams::State;
use crate::truth::Misreport;
use crate::world::World;

const MISREAD: Question = 801;
const MISREAD_FIELD: Question = 802;

pub(crate) fn fleet(world: &World) -> FleetView {
    let nodes = (0u64..)
        .zip(&world.hardware.machines)
        .map(|(number, machine)| NodeView {
            node: machine.node.clone(),
            gpus: world.hardware.gpus[machine.gpus.clone()]
                .iter()
                .map(|gpu| view(world, gpu))
                .filter(|_| !world.mood.is_out(number, world.tick))
                .collect(),
        });
    let pending =
        world
            .waiting
            .iter()
            .filter_map(|(_, number)| match &world.streams[*number as usize].state {
                State::Waiting(waiting) => Some(&waiting.pods),
                State::Away | State::Running(_) => None,
            });
    FleetView {
        cluster: ClusterId::new("simulated").expect("a valid id"),
        at: world.now(),
        source: Source::Simulated,
        nodes: nodes.collect(),
        pending: pending.flatten().cloned().collect(),
    }
}

fn view(world: &World, gpu: &Gpu) -> GpuView {
    let sample = sample(gpu, world.tick);
    let slots = &world.hardware.slots[gpu.slots.clone()];
    let parts = slots.iter().map(|slot| PartView {
        partition: slot.partition.clone(),
        device_id: slot.device_id.clone(),
        resource: slot.resource.clone(),
        memory_total: Reading::Known(Bytes(slot.memory_bytes)),
        usage: usage(gpu, slot, &sample, world.tick),
        owner: owner(world, slot),
    });
    let parts = parts.collect();
    GpuView {
        device: gpu.device.clone(),
        sample,
        parts,
    }
}

fn owner(world: &World, slot: &Slot) -> Option<Owner> {
    let occupant = slot.occupant?;
    let (_, placed) = world.occupant(occupant)?;
    let container = world.streams[occupant.stream as usize].container.clone();
    Some(Owner {
        pod: placed.pod.clone(),
        container,
    })
}

fn sample(gpu: &Gpu, tick: i64) -> GpuSample {
    let body = &gpu.body;
    if body.is_silent(tick) {
        return silent(body);
    }
    let mut load = body.load;
    if gpu.misreport == Some(Misreport::DeadProfiling) {
        (load.sm, load.tensor) = (0, 0);
    }
    let profiled_dram = match gpu.misreport {
        Some(Misreport::DeadProfiling) => 0,
        _ => load.dram,
    };
    let in_mig = gpu.mode == Mode::Sliced && body.model.vendor == Vendor::Nvidia;
    let has_time = if in_mig { Has::No } else { Has::Yes };
    let has_gpm = if body.model.architecture.has_gpm() {
        Has::Yes
    } else {
        Has::No
    };
    let mut sample = GpuSample {
        utilization: has_time.reading(|| share(body.read_utilization())),
        memory_bandwidth: has_time.reading(|| share(load.dram)),
        sm_active: has_gpm.reading(|| share(load.sm)),
        sm_occupancy: has_gpm.reading(|| share(load.sm * 55 / 100)),
        tensor_active: has_gpm.reading(|| share(load.tensor)),
        dram_active: has_gpm.reading(|| share(profiled_dram)),
        memory_used: Reading::Known(Bytes(load.memory_bytes)),
        memory_total: Reading::Known(body.model.memory),
        power: Reading::Known(Milliwatts(small(body.power_milliwatts))),
        power_limit: Reading::Known(body.model.max),
        energy: Reading::Known(Millijoules(body.energy_millijoules)),
        temperature: Reading::Known(degrees(body.temperature_celsius())),
        // Boards with stacked memory have a sensor in it, and it runs a little warmer than the chip.
        memory_temperature: stacked(body).reading(|| degrees(body.temperature_celsius() + 6)),
        compute_clock: Reading::Known(Megahertz(small(body.compute_megahertz))),
        memory_clock: Reading::Known(Megahertz(small(body.memory_megahertz))),
        busy: has_time.reading(|| Duration::from_millis(body.busy_millis)),
        pcie_received: Reading::Known(Bytes(body.received_bytes)),
        pcie_sent: Reading::Known(Bytes(body.sent_bytes)),
        processes: Reading::Known(load.processes),
        // The simulated boards break by faults alone; their memory has no story of its own.
        ecc_uncorrected: Reading::Unsupported,
        row_remap_failed: Reading::Unsupported,
        row_remap_pending: Reading::Unsupported,
        throttled_by: Reading::Known(body.throttled.into_iter().collect()),
        throttle_times: throttle_times(body),
        faults: faults(body),
    };
    misread(&mut sample, body, tick);
    sample
}

/// Now and then a driver call fails for no reason anyone finds out.
fn misread(sample: &mut GpuSample, body: &Body, tick: i64) {
    if !body.dice.chance(MISREAD, tick, 1) {
        return;
    }
    match body.dice.between(MISREAD_FIELD, tick, 0, 3) {
        0 => fail(&mut sample.utilization),
        1 => fail(&mut sample.power),
        2 => fail(&mut sample.temperature),
        _ => fail(&mut sample.memory_used),
    }
}

fn fail<T>(reading: &mut Reading<T>) {
    if reading.is_known() {
        *reading = Reading::Failed;
    }
}

/// A GPU that just faulted answers nothing; what the exporter counted itself is still there.
fn silent(body: &Body) -> GpuSample {
    GpuSample {
        utilization: Reading::Failed,
        memory_bandwidth: Reading::Failed,
        sm_active: Reading::Failed,
        sm_occupancy: Reading::Failed,
        tensor_active: Reading::Failed,
        dram_active: Reading::Failed,
        memory_used: Reading::Failed,
        memory_total: Reading::Failed,
        power: Reading::Failed,
        power_limit: Reading::Failed,
        energy: Reading::Failed,
        temperature: Reading::Failed,
        memory_temperature: Reading::Failed,
        compute_clock: Reading::Failed,
        memory_clock: Reading::Failed,
        busy: Reading::Failed,
        pcie_received: Reading::Failed,
        pcie_sent: Reading::Failed,
        processes: Reading::Failed,
        ecc_uncorrected: Reading::Unsupported,
        row_remap_failed: Reading::Unsupported,
        row_remap_pending: Reading::Unsupported,
        throttled_by: Reading::Failed,
        throttle_times: throttle_times(body),
        faults: faults(body),
    }
}

fn usage(gpu: &Gpu, slot: &Slot, sample: &GpuSample, tick: i64) -> PartUsage {
    if gpu.mode == Mode::Whole {
        return PartUsage {
            utilization: sample.utilization,
            sm_active: sample.sm_active,
            memory_used: sample.memory_used,
            processes: sample.processes,
        };
    }
    if gpu.body.is_silent(tick) {
        return PartUsage {
            utilization: Reading::Failed,
            sm_active: Reading::Failed,
            memory_used: Reading::Failed,
            processes: Reading::Failed,
        };
    }
    // NVML has no utilisation of a MIG slice, and activity of one only where there is GPM; processes that share a GPU
    // have a utilisation each and no activity of their own.
    let nvidia = gpu.body.model.vendor == Vendor::Nvidia;
    let sliced = gpu.mode == Mode::Sliced;
    let has_time = if nvidia && sliced { Has::No } else { Has::Yes };
    let has_activity = if sliced && gpu.body.model.architecture.has_gpm() {
        Has::Yes
    } else {
        Has::No
    };
    PartUsage {
        utilization: has_time.reading(|| share(slot.now.utilization)),
        sm_active: has_activity.reading(|| share(slot.now.sm)),
        memory_used: Reading::Known(Bytes(slot.now.memory_bytes)),
        processes: Reading::Known(slot.now.processes),
    }
}

#[derive(Clone, Copy)]
enum Has {
    Yes,
    No,
}

impl Has {
    fn reading<T>(self, value: impl FnOnce() -> T) -> Reading<T> {
        match self {
            Has::Yes => Reading::Known(value()),
            Has::No => Reading::Unsupported,
        }
    }
}

fn stacked(body: &Body) -> Has {
    match body.model.name {
        "Tesla T4" | "NVIDIA L4" | "NVIDIA L40S" => Has::No,
        _ => Has::Yes,
    }
}

fn throttle_times(body: &Body) -> Vec<ThrottleTime> {
    let times = body.throttle_millis.iter();
    times
        .map(|(reason, millis)| ThrottleTime {
            reason: *reason,
            total: Duration::from_millis(*millis),
        })
        .collect()
}

fn faults(body: &Body) -> Vec<FaultCount> {
    body.faults
        .iter()
        .map(|(code, count)| FaultCount {
            code: *code,
            count: *count,
        })
        .collect()
}

fn share(thousandths: i64) -> Permille {
    Permille::clamped(u16::try_from(thousandths.max(0)).unwrap_or(u16::MAX))
}

fn small(amount: i64) -> u32 {
    u32::try_from(amount.max(0)).unwrap_or(u32::MAX)
}

fn degrees(celsius: i64) -> Celsius {
    Celsius(i16::try_from(celsius).unwrap_or(i16::MAX))
}
