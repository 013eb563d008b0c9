//! What is taken over from AMD's device-metrics-exporter: its configuration file, and the port that file or the environment
//! names.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;

use super::SettingsError;
use super::file::{FileSettings, read_text};
use crate::page::AmdConfig;

/// Switches of AMD's exporter.
#[derive(Debug, Default, Clone, Args)]
pub struct AmdFlags {
    /// The configuration file of AMD's device-metrics-exporter: which of its families and labels to publish
    #[arg(
        long,
        env = "GPU_EXPORTER_AMD_METRICS_CONFIG",
        value_name = "FILE",
        global = true
    )]
    pub amd_metrics_config: Option<PathBuf>,
    /// AMD's form of --port
    #[arg(long, env = "METRICS_EXPORTER_PORT", value_name = "PORT", global = true)]
    pub metrics_exporter_port: Option<u16>,
}

/// The file of AMD's exporter that flags, environment or file name.
pub(super) fn path(flags: &AmdFlags, file: &FileSettings) -> Option<PathBuf> {
    let named = flags.amd_metrics_config.as_ref();
    named.or(file.amd_metrics_config.as_ref()).cloned()
}

/// What that file says.
pub(super) fn config(flags: &AmdFlags, file: &FileSettings) -> Result<Option<AmdConfig>, SettingsError> {
    let Some(path) = path(flags, file) else {
        return Ok(None);
    };
    let text = read_text(&path)?;
    match AmdConfig::parse(&text) {
        Ok(config) => Ok(Some(config)),
        Err(source) => Err(SettingsError::AmdConfig { path, source }),
    }
}

/// The program's arguments with AMD's one dash before its file, as its manifests write it, made two.
pub fn with_two_dashes(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const FLAG: &str = "-amd-metrics-config";
    let is_flag = |argument: &OsStr| {
        let rest = argument.to_str().and_then(|text| text.strip_prefix(FLAG));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    arguments
        .map(|argument| {
            if !is_flag(&argument) {
                return argument;
            }
            let mut whole = OsString::from("-");
            whole.push(&argument);
            whole
        })
        .collect()
}
