//! Utilisation, memory, power and temperature.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlDevice_t, nvmlMarginTemperature_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlReturn_t,
    nvmlUtilization_t,
};

use super::{get, get_two, load, store, whole};
use crate::scenario::Memory;
use crate::world::{ARGUMENT_VERSION_MISMATCH, NOT_SUPPORTED, Seen, answer};

const MIB: u64 = 1024 * 1024;
/// The driver's own averaging period.
const PERIOD_MICROSECONDS: u32 = 167_000;

get! {
    nvmlDeviceGetUtilizationRates() -> nvmlUtilization_t = |seen| seen.gpu.utilization.map(|u| nvmlUtilization_t {
        gpu: u.gpu,
        memory: u.memory,
    });
    nvmlDeviceGetBAR1MemoryInfo() -> nvmlBAR1Memory_t = |seen| seen.gpu.bar1.map(|bar| nvmlBAR1Memory_t {
        bar1Total: bar.total,
        bar1Free: bar.total - bar.used,
        bar1Used: bar.used,
    });
    nvmlDeviceGetPowerUsage() -> c_uint = |seen| seen.gpu.power.map(|power| power.usage);
    nvmlDeviceGetPowerManagementLimit() -> c_uint = |seen| seen.gpu.power.map(|power| power.limit);
    nvmlDeviceGetPowerManagementDefaultLimit() -> c_uint = |seen| seen.gpu.power.map(|power| power.default_limit);
    nvmlDeviceGetEnforcedPowerLimit() -> c_uint = |seen| seen.gpu.power.map(|power| power.enforced);
    nvmlDeviceGetTotalEnergyConsumption() -> c_ulonglong = |seen| {
        seen.gpu.energy_millijoules.map(|energy| energy + seen.totals.energy_millijoules)
    };
    nvmlDeviceGetTemperature(sensor: c_uint) -> c_uint = |seen| (sensor == 0).then_some(seen.gpu.temperatures.gpu);
    nvmlDeviceGetTemperatureThreshold(threshold: c_uint) -> c_uint = |seen| match threshold {
        0 => seen.gpu.temperatures.shutdown,
        1 => seen.gpu.temperatures.slowdown,
        2 => seen.gpu.temperatures.memory_max,
        3 => seen.gpu.temperatures.gpu_max,
        _ => None,
    };
}

get_two! {
    nvmlDeviceGetPowerManagementLimitConstraints -> (c_uint, c_uint) = |seen| {
        seen.gpu.power.map(|power| (power.min_limit, power.max_limit))
    };
    nvmlDeviceGetEncoderUtilization -> (c_uint, c_uint) = |seen| seen.gpu.encoder.map(|u| (u, PERIOD_MICROSECONDS));
    nvmlDeviceGetDecoderUtilization -> (c_uint, c_uint) = |seen| seen.gpu.decoder.map(|u| (u, PERIOD_MICROSECONDS));
    nvmlDeviceGetJpgUtilization -> (c_uint, c_uint) = |seen| seen.gpu.jpeg.map(|u| (u, PERIOD_MICROSECONDS));
    nvmlDeviceGetOfaUtilization -> (c_uint, c_uint) = |seen| seen.gpu.ofa.map(|u| (u, PERIOD_MICROSECONDS));
}

/// A slice has memory of its own.
fn memory(seen: &Seen<'_>) -> Memory {
    seen.mig.map_or(seen.gpu.memory, |slice| Memory {
        total: slice.memory_mib * MIB,
        reserved: 0,
        used: slice.memory_used,
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, out: *mut nvmlMemory_t) -> nvmlReturn_t {
    answer("nvmlDeviceGetMemoryInfo", device, |seen| {
        let memory = memory(seen);
        // The first version of the call counts what is reserved as used.
        let used = memory.used + memory.reserved;
        let info = nvmlMemory_t {
            total: memory.total,
            free: memory.total.saturating_sub(used),
            used,
        };
        store(out, info)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, out: *mut nvmlMemory_v2_t) -> nvmlReturn_t {
    answer("nvmlDeviceGetMemoryInfo_v2", device, |seen| {
        let asked = load(out)?;
        if asked.version != super::version_of::<nvmlMemory_v2_t>(2) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let memory = memory(seen);
        let info = nvmlMemory_v2_t {
            version: asked.version,
            total: memory.total,
            reserved: memory.reserved,
            free: memory.total.saturating_sub(memory.used + memory.reserved),
            used: memory.used,
        };
        store(out, info)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMarginTemperature(
    device: nvmlDevice_t,
    out: *mut nvmlMarginTemperature_t,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetMarginTemperature", device, |seen| {
        let asked = load(out)?;
        if asked.version != super::version_of::<nvmlMarginTemperature_t>(1) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let margin = whole(seen)?.temperatures.margin.ok_or(NOT_SUPPORTED)?;
        let info = nvmlMarginTemperature_t {
            version: asked.version,
            marginTemperature: margin,
        };
        store(out, info)
    })
}
