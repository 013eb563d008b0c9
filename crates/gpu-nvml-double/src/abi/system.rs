//! Sessions, versions and finding devices.

use std::ffi::{CStr, c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use super::{store, store_text};
use crate::world::{ABSURD, Code, INVALID_ARGUMENT, NOT_FOUND, SUCCESS, World, instances, pass, world};

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    start("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    start("nvmlInit_v2")
}

fn start(function: &'static str) -> Code {
    let mut world = world();
    world.counter.count(function);
    world.init()
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    let mut world = world();
    world.counter.count("nvmlShutdown");
    world.shut_down()
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: nvmlReturn_t) -> *const c_char {
    let words = match code {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        13 => c"Function Not Found",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        18 => c"Driver/library version mismatch",
        25 => c"Argument version mismatch",
        _ => c"Unknown Error",
    };
    words.as_ptr()
}

fn system(function: &'static str, reply: impl FnOnce(&mut World) -> Result<(), Code>) -> Code {
    let served = pass(function, None).and_then(|_| reply(&mut world()));
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let served = pass("nvmlSystemGetDriverVersion", None)
        .and_then(|effects| store_text(&world().scenario.driver, version, length, effects));
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    let served = pass("nvmlSystemGetNVMLVersion", None)
        .and_then(|effects| store_text(&world().scenario.nvml, version, length, effects));
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> nvmlReturn_t {
    cuda_version("nvmlSystemGetCudaDriverVersion_v2", version)
}

pub(super) fn cuda_version(function: &'static str, version: *mut c_int) -> Code {
    system(function, |world| store(version, world.scenario.cuda))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> nvmlReturn_t {
    let served = pass("nvmlDeviceGetCount_v2", None).and_then(|effects| {
        let listed = u32::try_from(world().listed().count()).unwrap_or(u32::MAX);
        store(count, if effects.absurd { ABSURD } else { listed })
    });
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    system("nvmlDeviceGetHandleByIndex_v2", |world| {
        let gpu = world.listed().nth(index as usize).ok_or(INVALID_ARGUMENT)?;
        let uuid = gpu.uuid.clone();
        store(device, world.handle(uuid, None))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    system("nvmlDeviceGetHandleByUUID", |world| {
        let wanted = read_text(uuid)?;
        let found = world.listed().find_map(|gpu| {
            let slice = instances(gpu).find(|slice| slice.uuid == wanted);
            (gpu.uuid == wanted || slice.is_some())
                .then(|| (gpu.uuid.clone(), slice.map(|slice| slice.uuid.clone())))
        });
        let (gpu, mig) = found.ok_or(NOT_FOUND)?;
        store(device, world.handle(gpu, mig))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    bus: *const c_char,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    system("nvmlDeviceGetHandleByPciBusId_v2", |world| {
        let wanted = read_text(bus)?.to_ascii_lowercase();
        let gpu = world.listed().find(|gpu| {
            let long = super::devices::bus_id(gpu).to_ascii_lowercase();
            long == wanted || long[4..] == wanted
        });
        let uuid = gpu.ok_or(NOT_FOUND)?.uuid.clone();
        store(device, world.handle(uuid, None))
    })
}

/// A text of the caller.
fn read_text(text: *const c_char) -> Result<String, Code> {
    if text.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: NVML's contract is that a text of the caller ends with a NUL.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
