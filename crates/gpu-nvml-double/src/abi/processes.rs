//! Who uses a device, and how much of it.

use std::ffi::{c_uint, c_ulonglong};
use std::time::{SystemTime, UNIX_EPOCH};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t, nvmlReturn_t,
};

use super::{store_list, whole};
use crate::scenario::{Process, ProcessKind};
use crate::world::{NOT_FOUND, NOT_SUPPORTED, Seen, answer};

/// What NVML writes where a process is in no slice.
const NO_INSTANCE: u32 = u32::MAX;
/// The driver takes six samples a second and keeps the last of them.
const SAMPLE_MICROSECONDS: u64 = 166_667;
const KEPT_SAMPLES: u64 = 6;

/// The real library has the same entry under the name of every version since slices exist.
macro_rules! listings {
    ($($function:ident = $kind:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $function(
            device: nvmlDevice_t,
            count: *mut c_uint,
            infos: *mut nvmlProcessInfo_t,
        ) -> nvmlReturn_t {
            answer(stringify!($function), device, |seen| {
                store_list(&listed(seen, $kind), count, infos, seen.effects)
            })
        }
    )*};
}

listings! {
    nvmlDeviceGetComputeRunningProcesses_v3 = &[ProcessKind::Compute, ProcessKind::Mps];
    nvmlDeviceGetComputeRunningProcesses_v2 = &[ProcessKind::Compute, ProcessKind::Mps];
    nvmlDeviceGetGraphicsRunningProcesses_v3 = &[ProcessKind::Graphics];
    nvmlDeviceGetGraphicsRunningProcesses_v2 = &[ProcessKind::Graphics];
    nvmlDeviceGetMPSComputeRunningProcesses_v3 = &[ProcessKind::Mps];
    nvmlDeviceGetMPSComputeRunningProcesses_v2 = &[ProcessKind::Mps];
}

fn listed(seen: &Seen<'_>, kinds: &[ProcessKind]) -> Vec<nvmlProcessInfo_t> {
    let here = |process: &&Process| match seen.mig {
        None => true,
        Some(slice) => {
            process.gpu_instance == Some(slice.gpu_instance)
                && process.compute_instance == Some(slice.compute_instance)
        }
    };
    seen.gpu
        .processes
        .iter()
        .filter(|process| kinds.contains(&process.kind))
        .filter(here)
        .map(|process| nvmlProcessInfo_t {
            pid: process.pid,
            usedGpuMemory: process.memory.unwrap_or(u64::MAX),
            gpuInstanceId: process.gpu_instance.unwrap_or(NO_INSTANCE),
            computeInstanceId: process.compute_instance.unwrap_or(NO_INSTANCE),
        })
        .collect()
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    samples: *mut nvmlProcessUtilizationSample_t,
    count: *mut c_uint,
    last_seen: c_ulonglong,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetProcessUtilization", device, |seen| {
        let gpu = whole(seen)?;
        if gpu.mig.as_ref().is_some_and(|mig| mig.enabled) {
            return Err(NOT_SUPPORTED);
        }
        let list = samples_since(&gpu.processes, last_seen, now_microseconds());
        if list.is_empty() {
            return Err(NOT_FOUND);
        }
        store_list(&list, count, samples, seen.effects)
    })
}

fn now_microseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn samples_since(processes: &[Process], last_seen: u64, now: u64) -> Vec<nvmlProcessUtilizationSample_t> {
    let newest = now / SAMPLE_MICROSECONDS;
    let first = (last_seen / SAMPLE_MICROSECONDS + 1).max((newest + 1).saturating_sub(KEPT_SAMPLES));
    let mut list = Vec::new();
    for tick in first..=newest {
        for process in processes {
            let Some(sm) = process.sm else { continue };
            list.push(nvmlProcessUtilizationSample_t {
                pid: process.pid,
                timeStamp: tick * SAMPLE_MICROSECONDS,
                smUtil: sm,
                memUtil: process.mem,
                encUtil: 0,
                decUtil: 0,
            });
        }
    }
    list
}
