//! What other programs ask and ours does not, so that they can be measured on the same machine.

use std::ffi::{c_int, c_uint};

use nvml_wrapper_sys::bindings::nvmlReturn_t;

use super::{get, get_two};

get! {
    // The boards of the presets are cooled by the server's fans, but for GeForce, whose fan stands still here.
    nvmlDeviceGetFanSpeed() -> c_uint = |seen| seen.gpu.ecc.is_none().then_some(0);
    nvmlDeviceGetPersistenceMode() -> c_uint = |_seen| Some(1);
    nvmlDeviceGetComputeMode() -> c_uint = |_seen| Some(0);
    nvmlDeviceGetDisplayActive() -> c_uint = |_seen| Some(0);
    nvmlDeviceGetDisplayMode() -> c_uint = |_seen| Some(0);
}

get_two! {
    // A matter of Windows.
    nvmlDeviceGetDriverModel -> (c_uint, c_uint) = |_seen| None;
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) -> nvmlReturn_t {
    super::system::cuda_version("nvmlSystemGetCudaDriverVersion", version)
}
