//! A fleet without Kubernetes: a list of exporters, and nothing else.

use std::sync::Arc;

use gpu_runtime::http::client::SettingsError;

use super::direct::{DirectSettings, DirectSource};
use super::discover::{TargetBook, TargetError, parse_targets};

/// Why a list of targets makes no source.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    #[error(transparent)]
    Targets(#[from] TargetError),
    #[error("failed to prepare the scraping of targets")]
    Settings(#[from] SettingsError),
}

/// The source of `--standalone --targets a:9400,b:9400`.
pub fn standalone(targets: &str, settings: DirectSettings) -> Result<DirectSource, StandaloneError> {
    let book = Arc::new(TargetBook::default());
    book.write("targets", parse_targets(targets)?);
    Ok(DirectSource::new(settings, book)?)
}
