//! The fabric of switches a GPU belongs to, and the licence of a virtual GPU.

use crate::device::Device;
use crate::fault::{Answer, Fault};
use crate::text::decode_chars;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    pub cluster: [u8; 16],
    pub clique: u32,
    pub state: FabricState,
    /// Why the registration failed, when it did.
    pub outcome: Answer<()>,
    /// NVML's bits, two for each condition.
    pub health_mask: u32,
    /// 1 healthy, 2 unhealthy, 3 limited; absent where the driver does not sum up.
    pub health_summary: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FabricState {
    NotSupported,
    NotStarted,
    InProgress,
    Completed,
}

/// One thing a virtual GPU needs a licence for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    pub product: Option<String>,
    /// NVML's code of the feature: 1 vGPU, 2 workstation, 3 gaming, 4 compute.
    pub feature: u32,
    pub licensed: bool,
}

impl FabricState {
    fn from_number(number: u8) -> Answer<FabricState> {
        match number {
            0 => Ok(FabricState::NotSupported),
            1 => Ok(FabricState::NotStarted),
            2 => Ok(FabricState::InProgress),
            3 => Ok(FabricState::Completed),
            _ => Err(Fault::Implausible),
        }
    }
}

impl Device {
    pub fn fabric(&self) -> Answer<Fabric> {
        match self.handle.fabric() {
            Ok(info) => Ok(Fabric {
                cluster: info.clusterUuid,
                clique: info.cliqueId,
                state: FabricState::from_number(info.state)?,
                outcome: Fault::check(info.status),
                health_mask: info.healthMask,
                health_summary: (info.healthSummary != 0).then_some(info.healthSummary),
            }),
            Err(Fault::Unsupported) => {
                let info = self.handle.fabric_v2()?;
                Ok(Fabric {
                    cluster: info.clusterUuid,
                    clique: info.cliqueId,
                    state: FabricState::from_number(info.state)?,
                    outcome: Fault::check(info.status),
                    health_mask: info.healthMask,
                    health_summary: None,
                })
            }
            Err(fault) => Err(fault),
        }
    }

    /// Unsupported on a GPU that needs no licence. Asked seldom, so it may allocate.
    pub fn licences(&self) -> Answer<Vec<Licence>> {
        let info = self.handle.licences()?;
        if info.isGridLicenseSupported == 0 {
            return Err(Fault::Unsupported);
        }
        let count = info.licensableFeaturesCount as usize;
        let features = info.gridLicensableFeatures.iter().take(count);
        Ok(features
            .filter(|feature| feature.featureEnabled != 0)
            .map(|feature| Licence {
                product: decode_chars(feature.productName),
                feature: feature.featureCode,
                licensed: feature.featureState != 0,
            })
            .collect())
    }
}
