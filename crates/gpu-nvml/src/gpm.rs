//! Activity of the units inside a GPU, Hopper and newer: take two samples some time apart and compare them.

use crate::device::Device;
use crate::fault::Answer;
use crate::raw::{RawGpmRequest, RawGpmSample};

/// A metric by NVML's number. Activities are percent, rates MiB per second as NVML documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpmMetric(pub u32);

impl GpmMetric {
    pub const GRAPHICS_ACTIVE: GpmMetric = GpmMetric(1);
    pub const SM_ACTIVE: GpmMetric = GpmMetric(2);
    pub const SM_OCCUPANCY: GpmMetric = GpmMetric(3);
    pub const INTEGER_ACTIVE: GpmMetric = GpmMetric(4);
    pub const TENSOR_ACTIVE: GpmMetric = GpmMetric(5);
    pub const TENSOR_DFMA_ACTIVE: GpmMetric = GpmMetric(6);
    pub const TENSOR_HMMA_ACTIVE: GpmMetric = GpmMetric(7);
    pub const TENSOR_IMMA_ACTIVE: GpmMetric = GpmMetric(9);
    pub const DRAM_ACTIVE: GpmMetric = GpmMetric(10);
    pub const FP64_ACTIVE: GpmMetric = GpmMetric(11);
    pub const FP32_ACTIVE: GpmMetric = GpmMetric(12);
    pub const FP16_ACTIVE: GpmMetric = GpmMetric(13);
    pub const PCIE_SENT: GpmMetric = GpmMetric(20);
    pub const PCIE_RECEIVED: GpmMetric = GpmMetric(21);
    pub const LINK_RECEIVED: GpmMetric = GpmMetric(60);
    pub const LINK_SENT: GpmMetric = GpmMetric(61);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpmSupport {
    Available,
    Unavailable,
}

/// A snapshot of the GPU's counters, filled again and again.
pub struct GpmSample {
    raw: RawGpmSample,
}

/// Metrics in a fixed order, and their last values.
pub struct GpmQuery {
    request: RawGpmRequest,
}

impl GpmSample {
    pub(crate) fn new(raw: RawGpmSample) -> GpmSample {
        GpmSample { raw }
    }
}

impl GpmQuery {
    /// NVML has room for 210 metrics in one question; what is beyond is not asked.
    pub fn new(metrics: &[GpmMetric]) -> GpmQuery {
        GpmQuery {
            request: RawGpmRequest::new(metrics.iter().map(|metric| metric.0)),
        }
    }

    /// Compares two samples of the same device, of which the second was taken later.
    pub fn read(&mut self, earlier: &GpmSample, later: &GpmSample) -> Answer<()> {
        self.request.read(&earlier.raw, &later.raw)
    }

    /// The last value of the metric at `place`. A metric without data has none, which is not 0.
    pub fn value(&self, place: usize) -> Answer<f64> {
        self.request.value(place)
    }
}

impl Device {
    pub fn gpm_support(&self) -> Answer<GpmSupport> {
        let support = self.handle.gpm_support()?;
        Ok(if support.isSupportedDevice == 0 {
            GpmSupport::Unavailable
        } else {
            GpmSupport::Available
        })
    }

    pub fn gpm_take(&self, sample: &mut GpmSample) -> Answer<()> {
        self.handle.gpm_take(&mut sample.raw)
    }

    /// Of one GPU instance of this sliced GPU.
    pub fn gpm_take_slice(&self, gpu_instance: u32, sample: &mut GpmSample) -> Answer<()> {
        self.handle.gpm_take_slice(gpu_instance, &mut sample.raw)
    }
}
