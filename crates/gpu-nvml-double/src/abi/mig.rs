//! Slices of a GPU.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t, nvmlReturn_t};

use super::{get_two, store, whole};
use crate::scenario::MigInstance;
use crate::world::{ABSURD, Code, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, SUCCESS, answer, pass, world};

get_two! {
    nvmlDeviceGetMigMode -> (c_uint, c_uint) = |seen| {
        seen.gpu.mig.as_ref().map(|mig| (u32::from(mig.enabled), u32::from(mig.pending)))
    };
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: nvmlDevice_t, count: *mut c_uint) -> nvmlReturn_t {
    answer("nvmlDeviceGetMaxMigDeviceCount", device, |seen| {
        let most = whole(seen)?.mig.as_ref().map_or(0, |mig| mig.max_devices);
        store(count, if seen.effects.absurd { ABSURD } else { most })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    index: c_uint,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let served = pass("nvmlDeviceGetMigDeviceHandleByIndex", Some(device)).and_then(|effects| {
        let mut world = world();
        let (gpu, mig) = {
            let seen = world.see(device, effects)?;
            let gpu = whole(&seen)?;
            let mig = gpu.mig.as_ref().filter(|mig| mig.enabled).ok_or(NOT_SUPPORTED)?;
            let slice = mig
                .instances
                .get(index as usize)
                .and_then(Option::as_ref)
                .ok_or(NOT_FOUND)?;
            (gpu.uuid.clone(), slice.uuid.clone())
        };
        store(out, world.handle(gpu, Some(mig)))
    });
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    device: nvmlDevice_t,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let served = pass("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", Some(device)).and_then(|effects| {
        let mut world = world();
        world.see(device, effects)?.mig.ok_or(INVALID_ARGUMENT)?;
        let gpu = world.uuid_of(device).ok_or(INVALID_ARGUMENT)?;
        store(out, world.handle(gpu, None))
    });
    served.err().unwrap_or(SUCCESS)
}

fn of_slice<T>(
    function: &'static str,
    device: nvmlDevice_t,
    out: *mut T,
    pick: impl FnOnce(&MigInstance) -> T,
) -> Code {
    answer(function, device, |seen| {
        store(out, pick(seen.mig.ok_or(NOT_SUPPORTED)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGpuInstanceId(device: nvmlDevice_t, id: *mut c_uint) -> nvmlReturn_t {
    of_slice("nvmlDeviceGetGpuInstanceId", device, id, |slice| {
        slice.gpu_instance
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeInstanceId(device: nvmlDevice_t, id: *mut c_uint) -> nvmlReturn_t {
    of_slice("nvmlDeviceGetComputeInstanceId", device, id, |slice| {
        slice.compute_instance
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetAttributes_v2(
    device: nvmlDevice_t,
    out: *mut nvmlDeviceAttributes_t,
) -> nvmlReturn_t {
    of_slice("nvmlDeviceGetAttributes_v2", device, out, |slice| {
        nvmlDeviceAttributes_t {
            multiprocessorCount: slice.multiprocessors,
            sharedCopyEngineCount: slice.gpu_slices,
            sharedDecoderCount: slice.gpu_slices / 2,
            sharedEncoderCount: 0,
            sharedJpegCount: 0,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: slice.gpu_slices,
            computeInstanceSliceCount: slice.compute_slices,
            memorySizeMB: slice.memory_mib,
        }
    })
}
