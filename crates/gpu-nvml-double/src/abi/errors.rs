//! Memory errors, the fabric, and the licence of virtual GPUs.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t, nvmlGridLicensableFeature_t,
    nvmlGridLicensableFeatures_t, nvmlGridLicenseExpiry_t, nvmlReturn_t,
};

use super::{chars, get, get_two, load, store, store_list, whole};
use crate::scenario::{Ecc, Fabric, Retired};
use crate::world::{ABSURD, ARGUMENT_VERSION_MISMATCH, NOT_SUPPORTED, answer};

/// Branches before this one know only the layout without the summary.
const FABRIC_SUMMARY_FROM: u32 = 570;

get_two! {
    nvmlDeviceGetEccMode -> (c_uint, c_uint) = |seen| {
        seen.gpu.ecc.map(|ecc| (u32::from(ecc.enabled), u32::from(ecc.pending)))
    };
}

get! {
    nvmlDeviceGetTotalEccErrors(kind: c_uint, counter: c_uint) -> c_ulonglong = |seen| {
        seen.gpu.ecc.and_then(|ecc| errors(&ecc, kind, counter))
    };
    nvmlDeviceGetMemoryErrorCounter(kind: c_uint, counter: c_uint, location: c_uint) -> c_ulonglong = |seen| {
        // All errors of the double happen in device memory.
        seen.gpu.ecc.and_then(|ecc| match location {
            2 => errors(&ecc, kind, counter),
            0..=7 => Some(0),
            _ => None,
        })
    };
    nvmlDeviceGetRetiredPagesPendingStatus() -> c_uint = |seen| seen.gpu.retired.map(|pages| u32::from(pages.pending));
}

fn errors(ecc: &Ecc, kind: u32, counter: u32) -> Option<u64> {
    let counts = match counter {
        0 => ecc.volatile,
        1 => ecc.aggregate,
        _ => return None,
    };
    match kind {
        0 => Some(counts.corrected),
        1 => Some(counts.uncorrected),
        _ => None,
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetRemappedRows(
    device: nvmlDevice_t,
    correctable: *mut c_uint,
    uncorrectable: *mut c_uint,
    pending: *mut c_uint,
    failure: *mut c_uint,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetRemappedRows", device, |seen| {
        let rows = whole(seen)?.remapped.ok_or(NOT_SUPPORTED)?;
        store(correctable, rows.correctable)?;
        store(uncorrectable, rows.uncorrectable)?;
        store(pending, u32::from(rows.pending))?;
        store(failure, u32::from(rows.failure))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetRetiredPages(
    device: nvmlDevice_t,
    cause: c_uint,
    count: *mut c_uint,
    addresses: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetRetiredPages", device, |seen| {
        let pages = retired(whole(seen)?.retired.ok_or(NOT_SUPPORTED)?, cause)?;
        let list: Vec<c_ulonglong> = (0..u64::from(pages)).map(|page| page << 16).collect();
        store_list(&list, count, addresses, seen.effects)
    })
}

fn retired(pages: Retired, cause: u32) -> Result<u32, u32> {
    match cause {
        0 => Ok(pages.single_bit),
        1 => Ok(pages.double_bit),
        _ => Err(crate::world::INVALID_ARGUMENT),
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGpuFabricInfoV(
    device: nvmlDevice_t,
    out: *mut nvmlGpuFabricInfoV_t,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetGpuFabricInfoV", device, |seen| {
        // The version comes first in every layout, and says how much may be read or written.
        let version = load(out.cast::<u32>())?;
        let fabric = whole(seen)?.fabric.as_ref().ok_or(NOT_SUPPORTED)?;
        if version == super::version_of::<nvmlGpuFabricInfo_v2_t>(2) {
            return store(out.cast(), second_layout(fabric, version));
        }
        if seen.driver_branch() < FABRIC_SUMMARY_FROM
            || version != super::version_of::<nvmlGpuFabricInfoV_t>(3)
        {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let info = nvmlGpuFabricInfoV_t {
            version,
            clusterUuid: fabric.cluster,
            status: fabric.status,
            cliqueId: fabric.clique,
            state: fabric.state,
            healthMask: fabric.health_mask,
            healthSummary: fabric.health_summary,
        };
        store(out, info)
    })
}

fn second_layout(fabric: &Fabric, version: u32) -> nvmlGpuFabricInfo_v2_t {
    nvmlGpuFabricInfo_v2_t {
        version,
        clusterUuid: fabric.cluster,
        status: fabric.status,
        cliqueId: fabric.clique,
        state: fabric.state,
        healthMask: fabric.health_mask,
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGridLicensableFeatures_v4(
    device: nvmlDevice_t,
    out: *mut nvmlGridLicensableFeatures_t,
) -> nvmlReturn_t {
    answer("nvmlDeviceGetGridLicensableFeatures_v4", device, |seen| {
        let licence = whole(seen)?.licence.as_ref();
        let none = nvmlGridLicensableFeature_t {
            featureCode: 0,
            featureState: 0,
            licenseInfo: [0; 128],
            productName: [0; 128],
            featureEnabled: 0,
            licenseExpiry: nvmlGridLicenseExpiry_t {
                year: 0,
                month: 0,
                day: 0,
                hour: 0,
                min: 0,
                sec: 0,
                status: 0,
            },
        };
        let mut features = [none; 3];
        if let Some(licence) = licence {
            features[0].featureCode = licence.feature;
            features[0].featureState = u32::from(licence.licensed);
            features[0].featureEnabled = 1;
            features[0].productName = chars(&licence.product, seen.effects);
        }
        let count = u32::from(licence.is_some());
        let info = nvmlGridLicensableFeatures_t {
            isGridLicenseSupported: i32::from(licence.is_some()),
            licensableFeaturesCount: if seen.effects.absurd { ABSURD } else { count },
            gridLicensableFeatures: features,
        };
        store(out, info)
    })
}
