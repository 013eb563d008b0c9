//! Clocks, performance state, and why the clocks are held down.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::nvmlViolationTime_t;

use super::get;
use crate::scenario::Clocks;
use crate::world::Seen;

fn pick(clocks: Clocks, kind: c_uint) -> Option<c_uint> {
    match kind {
        0 => Some(clocks.graphics),
        1 => Some(clocks.sm),
        2 => Some(clocks.memory),
        3 => Some(clocks.video),
        _ => None,
    }
}

get! {
    nvmlDeviceGetClockInfo(kind: c_uint) -> c_uint = |seen| pick(seen.gpu.clocks, kind);
    nvmlDeviceGetMaxClockInfo(kind: c_uint) -> c_uint = |seen| pick(seen.gpu.max_clocks, kind);
    nvmlDeviceGetApplicationsClock(kind: c_uint) -> c_uint = |seen| {
        seen.gpu.application_clocks.filter(|_| kind != 3).and_then(|clocks| pick(clocks, kind))
    };
    nvmlDeviceGetPerformanceState() -> c_uint = |seen| Some(seen.gpu.performance_state);
    nvmlDeviceGetCurrentClocksEventReasons() -> c_ulonglong = |seen| Some(seen.gpu.clock_reasons);
    nvmlDeviceGetCurrentClocksThrottleReasons() -> c_ulonglong = |seen| Some(seen.gpu.clock_reasons);
    nvmlDeviceGetViolationStatus(policy: c_uint) -> nvmlViolationTime_t = |seen| {
        violation(seen, policy).map(|nanoseconds| nvmlViolationTime_t {
            referenceTime: 0,
            violationTime: nanoseconds,
        })
    };
}

/// Nanoseconds under one of NVML's performance policies.
pub(super) fn violation(seen: &Seen<'_>, policy: c_uint) -> Option<u64> {
    let throttled = seen.gpu.throttled?;
    match policy {
        0 => Some(throttled.power_cap + seen.totals.power_cap_ns),
        1 => Some(throttled.thermal + seen.totals.sw_thermal_ns + seen.totals.hw_thermal_ns),
        2 => Some(throttled.sync_boost + seen.totals.sync_boost_ns),
        3 => Some(throttled.board_limit),
        4 => Some(throttled.low_utilization),
        5 => Some(throttled.reliability),
        10 => Some(throttled.app_clocks),
        11 => Some(throttled.base_clocks),
        _ => None,
    }
}
