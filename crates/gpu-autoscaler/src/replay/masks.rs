//! Fleets as they would look without one of the signals.

use gpu_model::{FleetView, PartUsage, Reading};

/// A signal that is taken away, to see what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mask {
    Utilization,
    Profiling,
    Memory,
    Power,
    Processes,
    Traffic,
    /// Owners, annotations and requests, as the cluster's API tells them.
    Picture,
}

impl Mask {
    pub(crate) const ALL: [Self; 7] = [
        Self::Utilization,
        Self::Profiling,
        Self::Memory,
        Self::Power,
        Self::Processes,
        Self::Traffic,
        Self::Picture,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Utilization => "utilisation",
            Self::Profiling => "SM, tensor and DRAM activity",
            Self::Memory => "memory",
            Self::Power => "power",
            Self::Processes => "processes",
            Self::Traffic => "bus traffic",
            Self::Picture => "the cluster's picture",
        }
    }

    /// The same view with the signal not read.
    pub(crate) fn apply(self, view: &FleetView) -> FleetView {
        let mut view = view.clone();
        for gpu in view.nodes.iter_mut().flat_map(|node| &mut node.gpus) {
            let sample = &mut gpu.sample;
            let parts = gpu.parts.iter_mut().map(|part| &mut part.usage);
            match self {
                Self::Utilization => {
                    sample.utilization = Reading::Unsupported;
                    sample.memory_bandwidth = Reading::Unsupported;
                    sample.busy = Reading::Unsupported;
                    parts.for_each(|usage: &mut PartUsage| usage.utilization = Reading::Unsupported);
                }
                Self::Profiling => {
                    sample.sm_active = Reading::Unsupported;
                    sample.sm_occupancy = Reading::Unsupported;
                    sample.tensor_active = Reading::Unsupported;
                    sample.dram_active = Reading::Unsupported;
                    parts.for_each(|usage| usage.sm_active = Reading::Unsupported);
                }
                Self::Memory => {
                    sample.memory_used = Reading::Unsupported;
                    parts.for_each(|usage| usage.memory_used = Reading::Unsupported);
                }
                Self::Power => {
                    sample.power = Reading::Unsupported;
                    sample.energy = Reading::Unsupported;
                }
                Self::Processes => {
                    sample.processes = Reading::Unsupported;
                    parts.for_each(|usage| usage.processes = Reading::Unsupported);
                }
                Self::Traffic => {
                    sample.pcie_received = Reading::Unsupported;
                    sample.pcie_sent = Reading::Unsupported;
                }
                Self::Picture => {}
            }
        }
        view
    }
}
