//! What is read where a driver itself cannot be: the tools of its vendor, which of them, where they are and how often they run.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{FileSettings, SettingsError, duration, from_file};
use crate::source::tool::{Pace, Wish};

/// A run takes a tenth of a second or more of a processor and wakes every GPU that sleeps; every five seconds is two percent.
const INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
/// Sums over time (busy seconds, energy) do not bridge gaps of more than ten seconds.
const LONGEST_INTERVAL: Duration = Duration::from_secs(9);
/// Without the persistence daemon the driver is started anew by every run, which takes a second a GPU.
const PATIENCE: Duration = Duration::from_secs(10);
const SHORTEST_PATIENCE: Duration = Duration::from_millis(500);
const LONGEST_PATIENCE: Duration = Duration::from_secs(60);

/// Flags of the tools that may stand in for drivers.
#[derive(Debug, Default, Clone, Args)]
pub struct FallbackFlags {
    /// What to run where a driver cannot be read: any of nvidia-smi, rocm-smi, amd-smi, or none; nvidia-smi by default
    #[arg(
        long,
        env = "GPU_EXPORTER_FALLBACK",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub fallback: Option<Vec<String>>,
    /// Between two runs of such a tool, 1 to 9 seconds
    #[arg(long, env = "GPU_EXPORTER_FALLBACK_INTERVAL", value_name = "TIME", value_parser = duration::parse)]
    pub fallback_interval: Option<Duration>,
    /// After this a run is killed
    #[arg(long, env = "GPU_EXPORTER_FALLBACK_TIMEOUT", value_name = "TIME", value_parser = duration::parse)]
    pub fallback_timeout: Option<Duration>,
    /// nvidia-smi, where it is not in one of the usual places
    #[arg(long, env = "GPU_EXPORTER_NVIDIA_SMI_PATH", value_name = "FILE")]
    pub nvidia_smi_path: Option<PathBuf>,
    /// rocm-smi, where it is not in one of the usual places
    #[arg(long, env = "GPU_EXPORTER_ROCM_SMI_PATH", value_name = "FILE")]
    pub rocm_smi_path: Option<PathBuf>,
    /// amd-smi, where it is not in one of the usual places
    #[arg(long, env = "GPU_EXPORTER_AMD_SMI_PATH", value_name = "FILE")]
    pub amd_smi_path: Option<PathBuf>,
}

/// A tool that may be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolName {
    NvidiaSmi,
    RocmSmi,
    AmdSmi,
}

impl ToolName {
    const ALL: [Self; 3] = [Self::NvidiaSmi, Self::RocmSmi, Self::AmdSmi];

    /// The word of the setting.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NvidiaSmi => "nvidia-smi",
            Self::RocmSmi => "rocm-smi",
            Self::AmdSmi => "amd-smi",
        }
    }
}

/// Which tools may stand in, and how they are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackSettings {
    /// In the order in which they are tried.
    pub tools: Vec<ToolName>,
    pub wish: Wish,
    pub pace: Pace,
    pub nvidia_smi: Option<PathBuf>,
    pub rocm_smi: Option<PathBuf>,
    pub amd_smi: Option<PathBuf>,
}

pub(super) fn resolve(flags: &FallbackFlags, file: &FileSettings) -> Result<FallbackSettings, SettingsError> {
    let path = |flag: &Option<PathBuf>, written: &Option<PathBuf>| flag.clone().or_else(|| written.clone());
    let (tools, wish) = match flags.fallback.as_ref().or(file.fallback.as_ref()) {
        Some(names) => (tools(names)?, Wish::ByName),
        None => (vec![ToolName::NvidiaSmi], Wish::ByDefault),
    };
    let interval = (
        "fallback-interval",
        flags.fallback_interval,
        file.fallback_interval.as_ref(),
    );
    let patience = (
        "fallback-timeout",
        flags.fallback_timeout,
        file.fallback_timeout.as_ref(),
    );
    Ok(FallbackSettings {
        tools,
        wish,
        pace: Pace {
            interval: time(interval, INTERVAL, SHORTEST_INTERVAL, LONGEST_INTERVAL)?,
            patience: time(patience, PATIENCE, SHORTEST_PATIENCE, LONGEST_PATIENCE)?,
        },
        nvidia_smi: path(&flags.nvidia_smi_path, &file.nvidia_smi_path),
        rocm_smi: path(&flags.rocm_smi_path, &file.rocm_smi_path),
        amd_smi: path(&flags.amd_smi_path, &file.amd_smi_path),
    })
}

fn tools(names: &[String]) -> Result<Vec<ToolName>, SettingsError> {
    let refused = |problem| SettingsError::Value {
        name: "fallback",
        problem,
    };
    let names: Vec<&str> = names
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
        .collect();
    if names.contains(&"none") && names.len() > 1 {
        return Err(refused(
            "`none` stands alone; leave it or the others out".to_owned(),
        ));
    }
    let mut tools = Vec::new();
    for name in names.into_iter().filter(|name| *name != "none") {
        let tool = ToolName::ALL.into_iter().find(|tool| tool.as_str() == name);
        let tool = tool.ok_or_else(|| {
            refused(format!(
                "no tool is called `{name}`; use any of nvidia-smi, rocm-smi, amd-smi, or none"
            ))
        })?;
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Ok(tools)
}

fn time(
    (name, flag, written): (&'static str, Option<Duration>, Option<&super::file::Text>),
    usual: Duration,
    shortest: Duration,
    longest: Duration,
) -> Result<Duration, SettingsError> {
    let time = match flag {
        Some(time) => time,
        None => from_file(name, written)?.unwrap_or(usual),
    };
    if (shortest..=longest).contains(&time) {
        return Ok(time);
    }
    let problem = format!("{time:?} is out of bounds; use {shortest:?} to {longest:?}");
    Err(SettingsError::Value { name, problem })
}
