//! Activity of the units inside a GPU: Hopper and newer, two samples a tick apart. Elsewhere there is none, and it is absent.

use gpu_nvml::{Device, Fault, GpmMetric, GpmQuery, GpmSample, GpmSupport, Nvml};

use super::Asker;
use crate::readings::{DeviceReadings, Field};
use crate::source::DriverFault;

/// Shares are given in percent.
const PERCENT: f64 = 0.01;
/// Rates are given in MiB a second, as NVML documents them.
const MEBIBYTES: f64 = 1_048_576.0;

const METRICS: [(GpmMetric, Field, f64); 13] = [
    (GpmMetric::GRAPHICS_ACTIVE, Field::GraphicsActive, PERCENT),
    (GpmMetric::SM_ACTIVE, Field::SmActive, PERCENT),
    (GpmMetric::SM_OCCUPANCY, Field::SmOccupancy, PERCENT),
    (GpmMetric::TENSOR_ACTIVE, Field::TensorActive, PERCENT),
    (GpmMetric::DRAM_ACTIVE, Field::DramActive, PERCENT),
    (GpmMetric::FP64_ACTIVE, Field::Fp64Active, PERCENT),
    (GpmMetric::FP32_ACTIVE, Field::Fp32Active, PERCENT),
    (GpmMetric::FP16_ACTIVE, Field::Fp16Active, PERCENT),
    (GpmMetric::INTEGER_ACTIVE, Field::IntegerActive, PERCENT),
    (GpmMetric::PCIE_SENT, Field::PcieSentRate, MEBIBYTES),
    (GpmMetric::PCIE_RECEIVED, Field::PcieReceivedRate, MEBIBYTES),
    (GpmMetric::LINK_SENT, Field::LinkSentRate, MEBIBYTES),
    (GpmMetric::LINK_RECEIVED, Field::LinkReceivedRate, MEBIBYTES),
];

pub(super) struct Profiler {
    /// `None` for the whole device.
    gpu_instance: Option<u32>,
    query: GpmQuery,
    earlier: GpmSample,
    later: GpmSample,
    has_earlier: bool,
}

impl Profiler {
    pub(super) fn of_device(nvml: &Nvml, device: &Device) -> Result<Option<Self>, Fault> {
        Self::new(nvml, device, None)
    }

    pub(super) fn of_slice(nvml: &Nvml, device: &Device, gpu_instance: u32) -> Result<Option<Self>, Fault> {
        Self::new(nvml, device, Some(gpu_instance))
    }

    fn new(nvml: &Nvml, device: &Device, gpu_instance: Option<u32>) -> Result<Option<Self>, Fault> {
        match device.gpm_support() {
            Ok(GpmSupport::Available) => {}
            Ok(GpmSupport::Unavailable) | Err(Fault::Unsupported) => return Ok(None),
            Err(fault) => return Err(fault),
        }
        Ok(Some(Self {
            gpu_instance,
            query: GpmQuery::new(&METRICS.map(|(metric, _, _)| metric)),
            earlier: nvml.gpm_sample()?,
            later: nvml.gpm_sample()?,
            has_earlier: false,
        }))
    }

    /// Takes a sample and compares it with the one before; the first has nothing to be compared with.
    pub(super) fn read(
        &mut self,
        asker: &mut Asker,
        device: &Device,
        into: &mut DeviceReadings,
    ) -> Result<(), DriverFault> {
        let compared = asker.ask(into, || {
            match self.gpu_instance {
                Some(instance) => device.gpm_take_slice(instance, &mut self.later)?,
                None => device.gpm_take(&mut self.later)?,
            }
            let comparable = std::mem::replace(&mut self.has_earlier, true);
            let outcome = if comparable {
                self.query.read(&self.earlier, &self.later)
            } else {
                Err(Fault::NoData)
            };
            std::mem::swap(&mut self.earlier, &mut self.later);
            outcome
        });
        if !matches!(compared, Ok(gpu_model::Reading::Known(()))) {
            // A gap between two samples would be averaged over; begin a new pair instead.
            self.has_earlier &= matches!(compared, Ok(gpu_model::Reading::Failed)) && into.failed.is_empty();
        }
        let compared = compared?;
        for (place, (_, field, scale)) in METRICS.iter().enumerate() {
            let reading = compared.and_then(|()| match self.query.value(place) {
                Ok(value) => gpu_model::Reading::Known(value * scale),
                Err(Fault::Unsupported) => gpu_model::Reading::Unsupported,
                Err(_) => gpu_model::Reading::Failed,
            });
            into.set(*field, reading);
        }
        Ok(())
    }
}
