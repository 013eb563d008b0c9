//! What the driver reports by itself: XIDs.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_ulonglong};
use std::thread;
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t, nvmlReturn_t};

use super::{get, store};
use crate::world::{Code, INVALID_ARGUMENT, SUCCESS, TIMEOUT, World, pass, world};

const XID: u64 = 8;
/// A driver that waits takes no processor time, and where that is measured its double should take next to none.
const LOOK_WHILE_WAITING: Duration = Duration::from_millis(100);

get! {
    nvmlDeviceGetSupportedEventTypes() -> c_ulonglong = |seen| seen.gpu.ecc.map(|_| XID);
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetCreate(out: *mut nvmlEventSet_t) -> nvmlReturn_t {
    let served = pass("nvmlEventSetCreate", None).and_then(|_| {
        let mut world = world();
        let id = world.new_id();
        world.event_sets.insert(id, BTreeSet::new());
        store(out, std::ptr::without_provenance_mut(id))
    });
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> nvmlReturn_t {
    let served = pass("nvmlEventSetFree", None).and_then(|_| {
        world()
            .event_sets
            .remove(&set.addr())
            .map(drop)
            .ok_or(INVALID_ARGUMENT)
    });
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceRegisterEvents(
    device: nvmlDevice_t,
    kinds: c_ulonglong,
    set: nvmlEventSet_t,
) -> nvmlReturn_t {
    let served = pass("nvmlDeviceRegisterEvents", Some(device)).and_then(|effects| {
        let mut world = world();
        let uuid = world.see(device, effects)?.gpu.uuid.clone();
        let members = world.event_sets.get_mut(&set.addr()).ok_or(INVALID_ARGUMENT)?;
        if kinds & XID != 0 {
            members.insert(uuid);
        }
        Ok(())
    });
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetWait_v2(
    set: nvmlEventSet_t,
    out: *mut nvmlEventData_t,
    timeout_milliseconds: c_uint,
) -> nvmlReturn_t {
    let until = Instant::now() + Duration::from_millis(u64::from(timeout_milliseconds));
    let served = pass("nvmlEventSetWait_v2", None).and_then(|_| {
        loop {
            if let Some(event) = next(&mut world(), set)? {
                return store(out, event);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TIMEOUT);
            }
            thread::sleep(left.min(LOOK_WHILE_WAITING));
        }
    });
    served.err().unwrap_or(SUCCESS)
}

fn next(world: &mut World, set: nvmlEventSet_t) -> Result<Option<nvmlEventData_t>, Code> {
    world.refresh();
    let members = world.event_sets.get(&set.addr()).ok_or(INVALID_ARGUMENT)?;
    let event = world
        .scenario
        .events
        .iter()
        .find(|event| members.contains(&event.gpu) && !world.delivered.contains(&event.id))
        .cloned();
    let Some(event) = event else { return Ok(None) };
    world.delivered.insert(event.id);
    Ok(Some(nvmlEventData_t {
        device: world.handle(event.gpu, None),
        eventType: XID,
        eventData: event.code,
        gpuInstanceId: event.gpu_instance.unwrap_or(u32::MAX),
        computeInstanceId: event.compute_instance.unwrap_or(u32::MAX),
    }))
}
