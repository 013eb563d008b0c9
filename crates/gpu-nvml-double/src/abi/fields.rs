//! Many values in one call, by number.

use std::ffi::c_int;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t, nvmlReturn_t, nvmlValue_t};

use super::clocks::violation;
use super::whole;
use crate::scenario::NvLink;
use crate::world::{ABSURD, INVALID_ARGUMENT, SUCCESS, Seen, answer};

const UNSIGNED: u32 = 1;
const UNSIGNED_LONG_LONG: u32 = 3;
/// A scope that means all links together.
const ALL_LINKS: u32 = u32::MAX;

enum Value {
    Narrow(u32),
    Wide(u64),
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetFieldValues", device, |seen| {
        whole(seen)?;
        if values.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let count = usize::try_from(count).map_err(|_| INVALID_ARGUMENT)?;
        // SAFETY: the caller said that there are `count` initialised values.
        let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
        for value in values {
            let (kind, content) = match field(seen, value.fieldId, value.scopeId) {
                Some(Value::Narrow(number)) => (
                    UNSIGNED,
                    nvmlValue_t {
                        ullVal: u64::from(number),
                    },
                ),
                Some(Value::Wide(number)) => (UNSIGNED_LONG_LONG, nvmlValue_t { ullVal: number }),
                None => {
                    value.nvmlReturn = crate::world::NOT_SUPPORTED;
                    continue;
                }
            };
            value.nvmlReturn = SUCCESS;
            value.valueType = kind;
            value.value = content;
        }
        Ok(())
    })
}

fn field(seen: &Seen<'_>, id: u32, scope: u32) -> Option<Value> {
    let gpu = seen.gpu;
    match id {
        1 => gpu.ecc.map(|ecc| Value::Narrow(u32::from(ecc.enabled))),
        2 => gpu.ecc.map(|ecc| Value::Narrow(u32::from(ecc.pending))),
        3 => gpu.ecc.map(|ecc| Value::Wide(ecc.volatile.corrected)),
        4 => gpu.ecc.map(|ecc| Value::Wide(ecc.volatile.uncorrected)),
        5 => gpu.ecc.map(|ecc| Value::Wide(ecc.aggregate.corrected)),
        6 => gpu.ecc.map(|ecc| Value::Wide(ecc.aggregate.uncorrected)),
        29 => gpu.retired.map(|pages| Value::Narrow(pages.single_bit)),
        30 => gpu.retired.map(|pages| Value::Narrow(pages.double_bit)),
        31 => gpu.retired.map(|pages| Value::Narrow(u32::from(pages.pending))),
        74..=79 => violation(seen, id - 74).map(Value::Wide),
        80 => violation(seen, 10).map(Value::Wide),
        81 => violation(seen, 11).map(Value::Wide),
        82 => gpu.temperatures.memory.map(Value::Narrow),
        83 => gpu
            .energy_millijoules
            .map(|energy| Value::Wide(energy + seen.totals.energy_millijoules)),
        94 => Some(Value::Narrow(gpu.pcie.replays)),
        142 => gpu.remapped.map(|rows| Value::Narrow(rows.correctable)),
        143 => gpu.remapped.map(|rows| Value::Narrow(rows.uncorrectable)),
        144 => gpu.remapped.map(|rows| Value::Narrow(u32::from(rows.pending))),
        145 => gpu.remapped.map(|rows| Value::Narrow(u32::from(rows.failure))),
        91 | 138..=141 | 161..=163 | 165 => link_field(seen, gpu.nvlink.as_ref()?, id, scope),
        185 => gpu.power.map(|power| Value::Narrow(power.usage)),
        186 => gpu.power.and_then(|power| power.instant).map(Value::Narrow),
        197 => gpu
            .pcie
            .tx_bytes
            .map(|bytes| Value::Wide(bytes + seen.totals.pcie_tx_bytes)),
        198 => gpu
            .pcie
            .rx_bytes
            .map(|bytes| Value::Wide(bytes + seen.totals.pcie_rx_bytes)),
        251..=273 => renumbered(seen, id),
        _ => None,
    }
}

fn link_field(seen: &Seen<'_>, links: &NvLink, id: u32, scope: u32) -> Option<Value> {
    if id == 91 {
        return Some(Value::Narrow(if seen.effects.absurd {
            ABSURD
        } else {
            links.links
        }));
    }
    let times = match scope {
        ALL_LINKS => u64::from(links.links),
        link if link < links.links => 1,
        _ => return None,
    };
    let hopper = seen.gpu.architecture >= 9;
    match id {
        138 | 140 => Some(Value::Wide((links.tx_kib + seen.totals.link_tx_kib) * times)),
        139 | 141 => Some(Value::Wide((links.rx_kib + seen.totals.link_rx_kib) * times)),
        161 => hopper.then_some(Value::Wide(links.errors.replay * times)),
        162 => hopper.then_some(Value::Wide(links.errors.recovery * times)),
        163 => hopper.then_some(Value::Wide(links.errors.crc_flit * times)),
        165 => Some(Value::Narrow(u32::from(!links.down.contains(&scope)))),
        _ => None,
    }
}

/// The ids that driver 580.82 gave to other values.
fn renumbered(seen: &Seen<'_>, id: u32) -> Option<Value> {
    let first = if seen.driver_version() >= (580, 82) {
        269
    } else {
        251
    };
    let throttled = seen.gpu.throttled?;
    match id.checked_sub(first) {
        Some(0) => Some(Value::Wide(throttled.sw_thermal + seen.totals.sw_thermal_ns)),
        Some(1) => Some(Value::Wide(throttled.hw_thermal + seen.totals.hw_thermal_ns)),
        Some(2) => Some(Value::Wide(
            throttled.hw_power_brake + seen.totals.hw_power_brake_ns,
        )),
        // Power smoothing: recognisable numbers, so that a reader of the wrong id shows.
        _ => Some(Value::Narrow(900_000 + id)),
    }
}
