//! What a device is.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t, nvmlReturn_t};

use super::{chars, get, get_two, store, text_of};
use crate::scenario::Gpu;
use crate::world::{GPU_IS_LOST, INVALID_ARGUMENT, answer};

/// As NVML writes it: an eight-digit domain and capital letters.
pub(super) fn bus_id(gpu: &Gpu) -> String {
    format!(
        "{:08X}:{:02X}:{:02X}.0",
        gpu.pci_domain, gpu.pci_bus, gpu.pci_device
    )
}

get! {
    nvmlDeviceGetMinorNumber() -> c_uint = |seen| Some(seen.gpu.minor);
    nvmlDeviceGetArchitecture() -> c_uint = |seen| Some(seen.gpu.architecture);
    nvmlDeviceGetBrand() -> c_uint = |seen| Some(seen.gpu.brand);
    nvmlDeviceGetNumaNodeId() -> c_uint = |seen| seen.gpu.numa_node;
}

get_two! {
    nvmlDeviceGetCudaComputeCapability -> (c_int, c_int) = |seen| Some(seen.gpu.compute_capability);
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetIndex(device: nvmlDevice_t, index: *mut c_uint) -> nvmlReturn_t {
    answer("nvmlDeviceGetIndex", device, |seen| {
        let mut listed = seen.scenario.gpus.iter().filter(|gpu| !gpu.vanished);
        let place = listed
            .position(|gpu| gpu.uuid == seen.gpu.uuid)
            .ok_or(GPU_IS_LOST)?;
        store(index, u32::try_from(place).map_err(|_| INVALID_ARGUMENT)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t {
    answer("nvmlDeviceGetPciInfo_v3", device, |seen| {
        let id = bus_id(seen.gpu);
        let info = nvmlPciInfo_t {
            busIdLegacy: chars(&id[4..], seen.effects),
            domain: seen.gpu.pci_domain,
            bus: seen.gpu.pci_bus,
            device: seen.gpu.pci_device,
            pciDeviceId: seen.gpu.pci_device_id,
            pciSubSystemId: 0x16C1_10DE,
            busId: chars(&id, seen.effects),
        };
        store(pci, info)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: *mut c_char, length: c_uint) -> nvmlReturn_t {
    text_of("nvmlDeviceGetUUID", device, uuid, length, |seen| {
        Some(seen.mig.map_or(&seen.gpu.uuid, |slice| &slice.uuid).clone())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetName(device: nvmlDevice_t, name: *mut c_char, length: c_uint) -> nvmlReturn_t {
    text_of("nvmlDeviceGetName", device, name, length, |seen| {
        Some(match seen.mig {
            None => seen.gpu.name.clone(),
            Some(slice) => format!("{} MIG {}", seen.gpu.name, slice.profile),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetSerial(device: nvmlDevice_t, serial: *mut c_char, length: c_uint) -> nvmlReturn_t {
    text_of("nvmlDeviceGetSerial", device, serial, length, |seen| {
        seen.gpu.serial.clone()
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetVbiosVersion(
    device: nvmlDevice_t,
    version: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    text_of("nvmlDeviceGetVbiosVersion", device, version, length, |seen| {
        seen.gpu.vbios.clone()
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetBoardPartNumber(
    device: nvmlDevice_t,
    part: *mut c_char,
    length: c_uint,
) -> nvmlReturn_t {
    text_of("nvmlDeviceGetBoardPartNumber", device, part, length, |seen| {
        seen.gpu.board_part.clone()
    })
}
