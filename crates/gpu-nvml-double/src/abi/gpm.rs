//! Activity of the units inside a GPU, Hopper and newer.

use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::time::Instant;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t, nvmlReturn_t,
};

use super::{load, store, whole};
use crate::scenario::Gpu;
use crate::world::{
    ARGUMENT_VERSION_MISMATCH, Code, GpmSample, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, SUCCESS, World,
    answer, instances, pass, world,
};

/// Both structs of this family carry a bare version, without their size.
const VERSION: u32 = 1;

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmQueryDeviceSupport(device: nvmlDevice_t, out: *mut nvmlGpmSupport_t) -> nvmlReturn_t {
    answer("nvmlGpmQueryDeviceSupport", device, |seen| {
        if load(out)?.version != VERSION {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let info = nvmlGpmSupport_t {
            version: VERSION,
            isSupportedDevice: u32::from(whole(seen)?.gpm.is_some()),
        };
        store(out, info)
    })
}

fn call(function: &'static str, reply: impl FnOnce(&mut World) -> Result<(), Code>) -> Code {
    let served = pass(function, None).and_then(|_| reply(&mut world()));
    served.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleAlloc(out: *mut nvmlGpmSample_t) -> nvmlReturn_t {
    call("nvmlGpmSampleAlloc", |world| {
        let id = world.new_id();
        world.samples.insert(id, GpmSample::default());
        store(out, std::ptr::without_provenance_mut(id))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> nvmlReturn_t {
    call("nvmlGpmSampleFree", |world| {
        world
            .samples
            .remove(&sample.addr())
            .map(drop)
            .ok_or(INVALID_ARGUMENT)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> nvmlReturn_t {
    take("nvmlGpmSampleGet", device, None, sample)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmMigSampleGet(
    device: nvmlDevice_t,
    gpu_instance: c_uint,
    sample: nvmlGpmSample_t,
) -> nvmlReturn_t {
    take("nvmlGpmMigSampleGet", device, Some(gpu_instance), sample)
}

fn take(
    function: &'static str,
    device: nvmlDevice_t,
    gpu_instance: Option<u32>,
    sample: nvmlGpmSample_t,
) -> Code {
    let served = pass(function, Some(device)).and_then(|effects| {
        let mut world = world();
        let gpu = {
            let seen = world.see(device, effects)?;
            values(whole(&seen)?, gpu_instance)?;
            seen.gpu.uuid.clone()
        };
        let slot = world.samples.get_mut(&sample.addr()).ok_or(INVALID_ARGUMENT)?;
        *slot = GpmSample {
            taken: Some(Instant::now()),
            gpu,
            gpu_instance,
        };
        Ok(())
    });
    served.err().unwrap_or(SUCCESS)
}

fn values(gpu: &Gpu, gpu_instance: Option<u32>) -> Result<&BTreeMap<u32, Option<f64>>, Code> {
    let whole = gpu.gpm.as_ref().ok_or(NOT_SUPPORTED)?;
    match gpu_instance {
        None => Ok(whole),
        Some(id) => {
            let slice = instances(gpu)
                .find(|slice| slice.gpu_instance == id)
                .ok_or(NOT_FOUND)?;
            slice.gpm.as_ref().ok_or(NOT_SUPPORTED)
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> nvmlReturn_t {
    call("nvmlGpmMetricsGet", |world| {
        let mut asked = load(request)?;
        if asked.version != VERSION {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let one = world.samples.get(&asked.sample1.addr()).ok_or(INVALID_ARGUMENT)?;
        let two = world.samples.get(&asked.sample2.addr()).ok_or(INVALID_ARGUMENT)?;
        if (&one.gpu, one.gpu_instance) != (&two.gpu, two.gpu_instance) || one.taken >= two.taken {
            return Err(INVALID_ARGUMENT);
        }
        let gpu = world
            .scenario
            .gpus
            .iter()
            .find(|gpu| gpu.uuid == one.gpu)
            .ok_or(NOT_FOUND)?;
        let values = values(gpu, one.gpu_instance)?;
        let count = (asked.numMetrics as usize).min(asked.metrics.len());
        for metric in &mut asked.metrics[..count] {
            match values.get(&metric.metricId) {
                Some(value) => {
                    metric.nvmlReturn = SUCCESS;
                    metric.value = value.unwrap_or(f64::NAN);
                }
                None => metric.nvmlReturn = NOT_SUPPORTED,
            }
        }
        store(request, asked)
    })
}
