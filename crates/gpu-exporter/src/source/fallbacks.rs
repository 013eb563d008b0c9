//! Which tools stand in for which driver, as the settings say.

use super::DriverLoader;
use super::amd_smi::AmdSmiLoader;
use super::nvidia_smi::NvidiaSmiLoader;
use super::rocm_smi::RocmSmiLoader;
use super::tool::{Fallback, When, WithFallback};
use crate::settings::{FallbackSettings, ToolName};

/// NVIDIA's driver, or `nvidia-smi` where its library cannot be loaded. Where it can, the tool knows nothing more.
pub fn of_nvidia(driver: Box<dyn DriverLoader>, settings: &FallbackSettings) -> Box<dyn DriverLoader> {
    let tools = tools(settings, |tool| match tool {
        ToolName::NvidiaSmi => {
            let given = settings.nvidia_smi.clone();
            Some(NvidiaSmiLoader::fallback(given, settings.pace, settings.wish))
        }
        ToolName::RocmSmi | ToolName::AmdSmi => None,
    });
    Box::new(WithFallback::new(driver, When::Unloadable, tools, settings.pace))
}

/// AMD's driver, or the tools that were asked for where its files show no GPU.
pub fn of_amd(driver: Box<dyn DriverLoader>, settings: &FallbackSettings) -> Box<dyn DriverLoader> {
    let tools = tools(settings, |tool| match tool {
        ToolName::NvidiaSmi => None,
        ToolName::RocmSmi => Some(RocmSmiLoader::fallback(settings.rocm_smi.clone(), settings.pace)),
        ToolName::AmdSmi => Some(AmdSmiLoader::fallback(settings.amd_smi.clone(), settings.pace)),
    });
    Box::new(WithFallback::new(driver, When::Empty, tools, settings.pace))
}

fn tools(settings: &FallbackSettings, make: impl Fn(ToolName) -> Option<Fallback>) -> Vec<Fallback> {
    settings.tools.iter().filter_map(|tool| make(*tool)).collect()
}
