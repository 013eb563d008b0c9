//! Functions that fill lists, batches, samples and event sets. A count that the driver gives back is never believed
//! beyond the room it was given.

use std::ffi::{c_int, c_uint, c_ulong, c_ulonglong};
use std::ptr;
use std::sync::Arc;

use nvml_wrapper_sys::bindings::{
    nvmlEventData_t, nvmlFieldValue_t, nvmlGpmMetricsGet_t, nvmlProcessInfo_t,
    nvmlProcessUtilizationSample_t, nvmlValue_t,
};

use super::{Handle, Library, RawEventSet, RawGpmSample, call, same};
use crate::fault::{Answer, Fault};
use crate::fields::FieldValue;

/// A list and how long it is: either it was filled up to there, or it has to have room for that many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    Filled(usize),
    Needs(usize),
}

/// Which list of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Compute,
    Graphics,
    Mps,
}

/// What the code and the count of a filling call mean together.
fn filled(outcome: Answer<()>, count: c_uint, room: usize) -> Answer<Fill> {
    let count = count as usize;
    match outcome {
        Ok(()) => Ok(Fill::Filled(count.min(room))),
        Err(crate::fault::INSUFFICIENT_SIZE) => Ok(Fill::Needs(count)),
        Err(fault) => Err(fault),
    }
}

fn room_of<T>(list: &[T]) -> c_uint {
    c_uint::try_from(list.len()).unwrap_or(c_uint::MAX)
}

/// A list without room is no list: NVML then only says how much room it wants.
fn start_of<T>(list: &mut [T]) -> *mut T {
    if list.is_empty() {
        ptr::null_mut()
    } else {
        list.as_mut_ptr()
    }
}

pub(crate) const NO_PROCESS: nvmlProcessInfo_t = nvmlProcessInfo_t {
    pid: 0,
    usedGpuMemory: 0,
    gpuInstanceId: 0,
    computeInstanceId: 0,
};

pub(crate) const NO_SAMPLE: nvmlProcessUtilizationSample_t = nvmlProcessUtilizationSample_t {
    pid: 0,
    timeStamp: 0,
    smUtil: 0,
    memUtil: 0,
    encUtil: 0,
    decUtil: 0,
};

impl Handle {
    /// Both versions have the same entries, but for the drivers that `writes_large_process_entries` knows.
    pub(crate) fn processes(&self, listing: Listing, list: &mut [nvmlProcessInfo_t]) -> Answer<Fill> {
        let room = list.len();
        let mut count = room_of(list);
        let first = start_of(list);
        let newest = if self.library.writes_large_process_entries() {
            Err(Fault::Unsupported)
        } else {
            self.newest_listing(listing, &mut count, first)
        };
        let outcome = match newest {
            Err(Fault::Unsupported) => {
                count = c_uint::try_from(room).unwrap_or(c_uint::MAX);
                self.older_listing(listing, &mut count, first)
            }
            other => other,
        };
        filled(outcome, count, room)
    }

    fn newest_listing(
        &self,
        listing: Listing,
        count: &mut c_uint,
        first: *mut nvmlProcessInfo_t,
    ) -> Answer<()> {
        let count = ptr::from_mut(count);
        match listing {
            Listing::Compute => {
                call!(
                    &self.library,
                    nvmlDeviceGetComputeRunningProcesses_v3(self.raw, count, first)
                )
            }
            Listing::Graphics => {
                call!(
                    &self.library,
                    nvmlDeviceGetGraphicsRunningProcesses_v3(self.raw, count, first)
                )
            }
            Listing::Mps => {
                call!(
                    &self.library,
                    nvmlDeviceGetMPSComputeRunningProcesses_v3(self.raw, count, first)
                )
            }
        }
    }

    fn older_listing(
        &self,
        listing: Listing,
        count: &mut c_uint,
        first: *mut nvmlProcessInfo_t,
    ) -> Answer<()> {
        let count = ptr::from_mut(count);
        match listing {
            Listing::Compute => {
                call!(
                    &self.library,
                    nvmlDeviceGetComputeRunningProcesses_v2(self.raw, count, first)
                )
            }
            Listing::Graphics => {
                call!(
                    &self.library,
                    nvmlDeviceGetGraphicsRunningProcesses_v2(self.raw, count, first)
                )
            }
            Listing::Mps => {
                call!(
                    &self.library,
                    nvmlDeviceGetMPSComputeRunningProcesses_v2(self.raw, count, first)
                )
            }
        }
    }

    pub(crate) fn process_utilization(
        &self,
        list: &mut [nvmlProcessUtilizationSample_t],
        since: c_ulonglong,
    ) -> Answer<Fill> {
        let room = list.len();
        let mut count = room_of(list);
        let first = start_of(list);
        let outcome = call!(
            &self.library,
            nvmlDeviceGetProcessUtilization(self.raw, first, &raw mut count, since)
        );
        filled(outcome, count, room)
    }

    /// How many pages were retired for a cause. The addresses are of no use and not asked for.
    pub(crate) fn retired_pages(&self, cause: c_uint) -> Answer<c_uint> {
        let mut count = 0;
        match call!(
            &self.library,
            nvmlDeviceGetRetiredPages(self.raw, cause, &raw mut count, ptr::null_mut())
        ) {
            Ok(()) | Err(crate::fault::INSUFFICIENT_SIZE) => Ok(count),
            Err(fault) => Err(fault),
        }
    }

    /// A bit for each NUMA node whose memory is near.
    pub(crate) fn near_nodes(&self, words: &mut [c_ulong]) -> Answer<()> {
        call!(
            &self.library,
            nvmlDeviceGetMemoryAffinity(self.raw, room_of(words), words.as_mut_ptr(), 0)
        )
    }

    /// A bit for each processor of the near NUMA node.
    pub(crate) fn near_processors(&self, words: &mut [c_ulong]) -> Answer<()> {
        call!(
            &self.library,
            nvmlDeviceGetCpuAffinityWithinScope(self.raw, room_of(words), words.as_mut_ptr(), 0)
        )
    }

    pub(crate) fn fields(&self, values: &mut [nvmlFieldValue_t]) -> Answer<()> {
        let count = c_int::try_from(values.len()).map_err(|_| crate::fault::INVALID_ARGUMENT)?;
        call!(
            &self.library,
            nvmlDeviceGetFieldValues(self.raw, count, values.as_mut_ptr())
        )
    }

    pub(crate) fn gpm_take(&self, sample: &mut RawGpmSample) -> Answer<()> {
        same(&self.library, &sample.library)?;
        call!(&self.library, nvmlGpmSampleGet(self.raw, sample.raw))
    }

    pub(crate) fn gpm_take_slice(&self, gpu_instance: c_uint, sample: &mut RawGpmSample) -> Answer<()> {
        same(&self.library, &sample.library)?;
        call!(
            &self.library,
            nvmlGpmMigSampleGet(self.raw, gpu_instance, sample.raw)
        )
    }
}

/// An unanswered question for a field. A driver that skips it leaves the code "no data".
pub(crate) fn field_value(id: u32, scope: u32) -> nvmlFieldValue_t {
    nvmlFieldValue_t {
        fieldId: id,
        scopeId: scope,
        timestamp: 0,
        latencyUsec: 0,
        valueType: 0,
        nvmlReturn: 21,
        value: nvmlValue_t { ullVal: 0 },
    }
}

/// What a field's type says its value is.
pub(crate) fn field_answer(field: &nvmlFieldValue_t) -> Answer<FieldValue> {
    Fault::check(field.nvmlReturn)?;
    // SAFETY: the union was zeroed whole before the call, and every bit pattern is valid for each of its members.
    let value = unsafe {
        match field.valueType {
            0 => FieldValue::Float(field.value.dVal),
            1 => FieldValue::Unsigned(u64::from(field.value.uiVal)),
            2 => FieldValue::Unsigned(field.value.ulVal),
            3 => FieldValue::Unsigned(field.value.ullVal),
            4 => FieldValue::Signed(field.value.sllVal),
            5 => FieldValue::Signed(i64::from(field.value.siVal)),
            6 => FieldValue::Unsigned(u64::from(field.value.usVal)),
            _ => return Err(Fault::Implausible),
        }
    };
    Ok(value)
}

impl Library {
    pub(crate) fn event_set(self: &Arc<Library>) -> Answer<RawEventSet> {
        let mut raw = ptr::null_mut();
        call!(self, nvmlEventSetCreate(&raw mut raw))?;
        if raw.is_null() {
            return Err(Fault::Implausible);
        }
        Ok(RawEventSet {
            library: Arc::clone(self),
            raw,
        })
    }

    pub(crate) fn gpm_sample(self: &Arc<Library>) -> Answer<RawGpmSample> {
        let mut raw = ptr::null_mut();
        call!(self, nvmlGpmSampleAlloc(&raw mut raw))?;
        if raw.is_null() {
            return Err(Fault::Implausible);
        }
        Ok(RawGpmSample {
            library: Arc::clone(self),
            raw,
        })
    }
}

impl RawEventSet {
    pub(crate) fn register(&self, device: &Handle, kinds: c_ulonglong) -> Answer<()> {
        same(&self.library, &device.library)?;
        call!(
            &self.library,
            nvmlDeviceRegisterEvents(device.raw, kinds, self.raw)
        )
    }

    /// Waits, and gives the event with the handle it is about.
    pub(crate) fn wait(&self, milliseconds: c_uint) -> Answer<(Handle, nvmlEventData_t)> {
        let mut data = nvmlEventData_t {
            device: ptr::null_mut(),
            eventType: 0,
            eventData: 0,
            gpuInstanceId: 0,
            computeInstanceId: 0,
        };
        call!(
            &self.library,
            nvmlEventSetWait_v2(self.raw, &raw mut data, milliseconds)
        )?;
        Ok((self.library.device(data.device)?, data))
    }
}

/// A library that was shut down has forgotten its sets and samples; the gate keeps us from freeing them twice.
impl Drop for RawEventSet {
    fn drop(&mut self) {
        let _ = call!(&self.library, nvmlEventSetFree(self.raw));
    }
}

impl Drop for RawGpmSample {
    fn drop(&mut self) {
        let _ = call!(&self.library, nvmlGpmSampleFree(self.raw));
    }
}

/// A request to compare two samples; large, so it lives on the heap once and is used again.
pub(crate) struct RawGpmRequest(Box<nvmlGpmMetricsGet_t>);

// SAFETY: the pointers inside are set from two samples for the length of a call, and mean nothing between calls.
unsafe impl Send for RawGpmRequest {}

impl RawGpmRequest {
    /// As many of the ids as a request has room for.
    pub(crate) fn new(ids: impl Iterator<Item = u32>) -> RawGpmRequest {
        // SAFETY: plain numbers and pointers, for which zeros are valid.
        let mut request: Box<nvmlGpmMetricsGet_t> = unsafe { Box::new(std::mem::zeroed()) };
        request.version = 1;
        for (metric, id) in request.metrics.iter_mut().zip(ids) {
            metric.metricId = id;
            request.numMetrics += 1;
        }
        RawGpmRequest(request)
    }

    pub(crate) fn read(&mut self, earlier: &RawGpmSample, later: &RawGpmSample) -> Answer<()> {
        same(&earlier.library, &later.library)?;
        for metric in &mut self.0.metrics {
            // A driver that skips a metric leaves the code "no data".
            metric.nvmlReturn = 21;
            metric.value = f64::NAN;
        }
        self.0.sample1 = earlier.raw;
        self.0.sample2 = later.raw;
        call!(&earlier.library, nvmlGpmMetricsGet(ptr::from_mut(&mut *self.0)))
    }

    pub(crate) fn value(&self, place: usize) -> Answer<f64> {
        let metric = self.0.metrics.get(place).ok_or(Fault::NotFound)?;
        Fault::check(metric.nvmlReturn)?;
        if metric.value.is_nan() {
            Err(Fault::NoData)
        } else {
            Ok(metric.value)
        }
    }
}
