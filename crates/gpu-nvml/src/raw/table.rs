//! Functions of a regular shape, one line each: a device and some numbers in, one or more values out.

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong};
use std::sync::Arc;

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlDevice_t, nvmlDeviceAttributes_t, nvmlGpmSupport_t, nvmlGpuFabricInfo_v2_t,
    nvmlGpuFabricInfoV_t, nvmlGridLicensableFeatures_t, nvmlMarginTemperature_t, nvmlMemory_t,
    nvmlMemory_v2_t, nvmlPciInfo_t, nvmlUtilization_t, nvmlViolationTime_t,
};

use super::{Handle, Library, call, same, version_of};
use crate::fault::{Answer, Fault, INVALID_ARGUMENT};
use crate::text::{ROOM, decode};

/// One value, which starts as zeros: every type here is plain numbers, for which zeros are valid.
macro_rules! get {
    ($($name:ident = $symbol:ident($($argument:ident: $kind:ty),*) -> $out:ty;)*) => {
        impl Handle {$(
            pub(crate) fn $name(&self $(, $argument: $kind)*) -> Answer<$out> {
                // SAFETY: see above; the compiler refuses a type that zeros cannot be.
                let mut out: $out = unsafe { std::mem::zeroed() };
                call!(&self.library, $symbol(self.raw, $($argument,)* &raw mut out))?;
                Ok(out)
            }
        )*}
    };
}

/// One struct whose first member says which layout the caller means.
macro_rules! get_versioned {
    ($($name:ident = $symbol:ident() -> $out:ty, $version:expr;)*) => {
        impl Handle {$(
            pub(crate) fn $name(&self) -> Answer<$out> {
                // SAFETY: plain numbers, for which zeros are valid.
                let mut out: $out = unsafe { std::mem::zeroed() };
                out.version = $version;
                call!(&self.library, $symbol(self.raw, &raw mut out))?;
                Ok(out)
            }
        )*}
    };
}

macro_rules! get_two {
    ($($name:ident = $symbol:ident() -> ($first:ty, $second:ty);)*) => {
        impl Handle {$(
            pub(crate) fn $name(&self) -> Answer<($first, $second)> {
                let (mut first, mut second): ($first, $second) = (0, 0);
                call!(&self.library, $symbol(self.raw, &raw mut first, &raw mut second))?;
                Ok((first, second))
            }
        )*}
    };
}

macro_rules! text {
    ($($name:ident = $symbol:ident();)*) => {
        impl Handle {$(
            pub(crate) fn $name(&self) -> Answer<String> {
                let mut room = [0_u8; ROOM];
                call!(&self.library, $symbol(self.raw, room.as_mut_ptr().cast::<c_char>(), LENGTH))?;
                decode(&room).ok_or(Fault::NoData)
            }
        )*}
    };
}

#[expect(clippy::cast_possible_truncation, reason = "128 fits")]
const LENGTH: c_uint = ROOM as c_uint;

text! {
    uuid = nvmlDeviceGetUUID();
    name = nvmlDeviceGetName();
    serial = nvmlDeviceGetSerial();
    vbios = nvmlDeviceGetVbiosVersion();
    board_part = nvmlDeviceGetBoardPartNumber();
}

get! {
    index = nvmlDeviceGetIndex() -> c_uint;
    minor = nvmlDeviceGetMinorNumber() -> c_uint;
    pci = nvmlDeviceGetPciInfo_v3() -> nvmlPciInfo_t;
    architecture = nvmlDeviceGetArchitecture() -> c_uint;
    brand = nvmlDeviceGetBrand() -> c_uint;
    numa_node = nvmlDeviceGetNumaNodeId() -> c_uint;
    utilization = nvmlDeviceGetUtilizationRates() -> nvmlUtilization_t;
    memory_v1 = nvmlDeviceGetMemoryInfo() -> nvmlMemory_t;
    bar1 = nvmlDeviceGetBAR1MemoryInfo() -> nvmlBAR1Memory_t;
    power = nvmlDeviceGetPowerUsage() -> c_uint;
    power_limit = nvmlDeviceGetPowerManagementLimit() -> c_uint;
    power_default_limit = nvmlDeviceGetPowerManagementDefaultLimit() -> c_uint;
    power_enforced_limit = nvmlDeviceGetEnforcedPowerLimit() -> c_uint;
    energy = nvmlDeviceGetTotalEnergyConsumption() -> c_ulonglong;
    temperature = nvmlDeviceGetTemperature(sensor: c_uint) -> c_uint;
    threshold = nvmlDeviceGetTemperatureThreshold(threshold: c_uint) -> c_uint;
    clock = nvmlDeviceGetClockInfo(clock: c_uint) -> c_uint;
    max_clock = nvmlDeviceGetMaxClockInfo(clock: c_uint) -> c_uint;
    application_clock = nvmlDeviceGetApplicationsClock(clock: c_uint) -> c_uint;
    performance_state = nvmlDeviceGetPerformanceState() -> c_uint;
    event_reasons = nvmlDeviceGetCurrentClocksEventReasons() -> c_ulonglong;
    throttle_reasons = nvmlDeviceGetCurrentClocksThrottleReasons() -> c_ulonglong;
    violation = nvmlDeviceGetViolationStatus(policy: c_uint) -> nvmlViolationTime_t;
    pcie_replays = nvmlDeviceGetPcieReplayCounter() -> c_uint;
    pcie_generation = nvmlDeviceGetCurrPcieLinkGeneration() -> c_uint;
    pcie_width = nvmlDeviceGetCurrPcieLinkWidth() -> c_uint;
    pcie_max_generation = nvmlDeviceGetMaxPcieLinkGeneration() -> c_uint;
    pcie_max_width = nvmlDeviceGetMaxPcieLinkWidth() -> c_uint;
    pcie_throughput = nvmlDeviceGetPcieThroughput(counter: c_uint) -> c_uint;
    link_state = nvmlDeviceGetNvLinkState(link: c_uint) -> c_uint;
    link_version = nvmlDeviceGetNvLinkVersion(link: c_uint) -> c_uint;
    link_errors = nvmlDeviceGetNvLinkErrorCounter(link: c_uint, counter: c_uint) -> c_ulonglong;
    link_remote_pci = nvmlDeviceGetNvLinkRemotePciInfo_v2(link: c_uint) -> nvmlPciInfo_t;
    link_remote_kind = nvmlDeviceGetNvLinkRemoteDeviceType(link: c_uint) -> c_uint;
    ecc_total = nvmlDeviceGetTotalEccErrors(kind: c_uint, counter: c_uint) -> c_ulonglong;
    ecc_at = nvmlDeviceGetMemoryErrorCounter(kind: c_uint, counter: c_uint, location: c_uint) -> c_ulonglong;
    retired_pending = nvmlDeviceGetRetiredPagesPendingStatus() -> c_uint;
    max_slices = nvmlDeviceGetMaxMigDeviceCount() -> c_uint;
    gpu_instance = nvmlDeviceGetGpuInstanceId() -> c_uint;
    compute_instance = nvmlDeviceGetComputeInstanceId() -> c_uint;
    attributes = nvmlDeviceGetAttributes_v2() -> nvmlDeviceAttributes_t;
    licences = nvmlDeviceGetGridLicensableFeatures_v4() -> nvmlGridLicensableFeatures_t;
    event_kinds = nvmlDeviceGetSupportedEventTypes() -> c_ulonglong;
}

get_versioned! {
    memory_v2 = nvmlDeviceGetMemoryInfo_v2() -> nvmlMemory_v2_t, version_of::<nvmlMemory_v2_t>(2);
    margin = nvmlDeviceGetMarginTemperature() -> nvmlMarginTemperature_t, version_of::<nvmlMarginTemperature_t>(1);
    fabric = nvmlDeviceGetGpuFabricInfoV() -> nvmlGpuFabricInfoV_t, version_of::<nvmlGpuFabricInfoV_t>(3);
    gpm_support = nvmlGpmQueryDeviceSupport() -> nvmlGpmSupport_t, 1;
}

get_two! {
    compute_capability = nvmlDeviceGetCudaComputeCapability() -> (c_int, c_int);
    encoder = nvmlDeviceGetEncoderUtilization() -> (c_uint, c_uint);
    decoder = nvmlDeviceGetDecoderUtilization() -> (c_uint, c_uint);
    jpeg = nvmlDeviceGetJpgUtilization() -> (c_uint, c_uint);
    ofa = nvmlDeviceGetOfaUtilization() -> (c_uint, c_uint);
    power_range = nvmlDeviceGetPowerManagementLimitConstraints() -> (c_uint, c_uint);
    ecc_mode = nvmlDeviceGetEccMode() -> (c_uint, c_uint);
    mig_mode = nvmlDeviceGetMigMode() -> (c_uint, c_uint);
}

impl Handle {
    /// The layout before the health summary, for drivers that do not know the newest one.
    pub(crate) fn fabric_v2(&self) -> Answer<nvmlGpuFabricInfo_v2_t> {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut out: nvmlGpuFabricInfo_v2_t = unsafe { std::mem::zeroed() };
        out.version = version_of::<nvmlGpuFabricInfo_v2_t>(2);
        // The driver writes no more than the version says.
        call!(
            &self.library,
            nvmlDeviceGetGpuFabricInfoV(self.raw, (&raw mut out).cast())
        )?;
        Ok(out)
    }

    /// Rows remapped for correctable and uncorrectable errors, whether some wait for a reset, whether one failed.
    pub(crate) fn remapped_rows(&self) -> Answer<[c_uint; 4]> {
        let [mut correctable, mut uncorrectable, mut pending, mut failure] = [0; 4];
        call!(
            &self.library,
            nvmlDeviceGetRemappedRows(
                self.raw,
                &raw mut correctable,
                &raw mut uncorrectable,
                &raw mut pending,
                &raw mut failure,
            )
        )?;
        Ok([correctable, uncorrectable, pending, failure])
    }

    pub(crate) fn common_ancestor(&self, other: &Handle) -> Answer<c_uint> {
        same(&self.library, &other.library)?;
        let mut out = 0;
        call!(
            &self.library,
            nvmlDeviceGetTopologyCommonAncestor(self.raw, other.raw, &raw mut out)
        )?;
        Ok(out)
    }

    pub(crate) fn p2p(&self, other: &Handle, capability: c_uint) -> Answer<c_uint> {
        same(&self.library, &other.library)?;
        let mut out = 0;
        call!(
            &self.library,
            nvmlDeviceGetP2PStatus(self.raw, other.raw, capability, &raw mut out)
        )?;
        Ok(out)
    }

    pub(crate) fn slice(&self, index: c_uint) -> Answer<Handle> {
        let mut raw: nvmlDevice_t = std::ptr::null_mut();
        call!(
            &self.library,
            nvmlDeviceGetMigDeviceHandleByIndex(self.raw, index, &raw mut raw)
        )?;
        self.library.device(raw)
    }

    pub(crate) fn parent(&self) -> Answer<Handle> {
        let mut raw: nvmlDevice_t = std::ptr::null_mut();
        call!(
            &self.library,
            nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self.raw, &raw mut raw)
        )?;
        self.library.device(raw)
    }
}

impl Library {
    pub(super) fn device(self: &Arc<Library>, raw: nvmlDevice_t) -> Answer<Handle> {
        if raw.is_null() {
            return Err(Fault::Implausible);
        }
        Ok(Handle {
            library: Arc::clone(self),
            raw,
        })
    }

    pub(crate) fn driver_version(&self) -> Answer<String> {
        let mut room = [0_u8; ROOM];
        call!(
            self,
            nvmlSystemGetDriverVersion(room.as_mut_ptr().cast::<c_char>(), LENGTH)
        )?;
        decode(&room).ok_or(Fault::NoData)
    }

    pub(crate) fn nvml_version(&self) -> Answer<String> {
        let mut room = [0_u8; ROOM];
        call!(
            self,
            nvmlSystemGetNVMLVersion(room.as_mut_ptr().cast::<c_char>(), LENGTH)
        )?;
        decode(&room).ok_or(Fault::NoData)
    }

    pub(crate) fn cuda_version(&self) -> Answer<c_int> {
        let mut out = 0;
        call!(self, nvmlSystemGetCudaDriverVersion_v2(&raw mut out))?;
        Ok(out)
    }

    pub(crate) fn device_count(&self) -> Answer<c_uint> {
        let mut out = 0;
        call!(self, nvmlDeviceGetCount_v2(&raw mut out))?;
        Ok(out)
    }

    pub(crate) fn device_by_index(self: &Arc<Library>, index: c_uint) -> Answer<Handle> {
        let mut raw: nvmlDevice_t = std::ptr::null_mut();
        call!(self, nvmlDeviceGetHandleByIndex_v2(index, &raw mut raw))?;
        self.device(raw)
    }

    pub(crate) fn device_by_uuid(self: &Arc<Library>, uuid: &str) -> Answer<Handle> {
        let uuid = CString::new(uuid).map_err(|_| INVALID_ARGUMENT)?;
        let mut raw: nvmlDevice_t = std::ptr::null_mut();
        call!(self, nvmlDeviceGetHandleByUUID(uuid.as_ptr(), &raw mut raw))?;
        self.device(raw)
    }

    pub(crate) fn device_by_pci(self: &Arc<Library>, address: &str) -> Answer<Handle> {
        let address = CString::new(address).map_err(|_| INVALID_ARGUMENT)?;
        let mut raw: nvmlDevice_t = std::ptr::null_mut();
        call!(
            self,
            nvmlDeviceGetHandleByPciBusId_v2(address.as_ptr(), &raw mut raw)
        )?;
        self.device(raw)
    }
}
