//! The settings file: the same names as the flags, in YAML, every one optional. A name that is not known is refused, because a
//! typo that is silently ignored is found at night.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::sidecar::Mode;

/// More than any real file has; a larger one is not ours.
const MOST_BYTES: u64 = 1024 * 1024;

/// What the file says.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FileSettings {
    pub address: Option<String>,
    pub metrics_path: Option<String>,
    pub sample_interval: Option<Text>,
    pub collection_interval: Option<Text>,
    pub node_name: Option<String>,
    pub log_level: Option<String>,
    pub log_format: Option<String>,
    pub vocabulary: Option<Vec<String>>,
    pub families: Option<Vec<String>>,
    pub labels: Option<Vec<String>>,
    pub collectors: Option<PathBuf>,
    pub amd_metrics_config: Option<PathBuf>,
    pub static_labels: Option<std::collections::BTreeMap<String, String>>,
    pub max_series: Option<usize>,
    pub lower_case_hostname: Option<bool>,
    pub no_hostname: Option<bool>,
    pub kubernetes: Option<bool>,
    pub pod_resources_kubelet_socket: Option<PathBuf>,
    pub nvidia_resource_names: Option<Vec<String>>,
    pub pod_label_allow: Option<Vec<String>>,
    pub node_label_allow: Option<Vec<String>>,
    pub textfile_dir: Option<PathBuf>,
    pub textfile_max_age: Option<Text>,
    pub scrape_pods: Option<bool>,
    pub scrape_rule: Option<Vec<String>>,
    pub application_interval: Option<Text>,
    pub application_families: Option<Vec<String>>,
    pub application_max_series: Option<usize>,
    pub nvml_library: Option<PathBuf>,
    pub fallback: Option<Vec<String>>,
    pub fallback_interval: Option<Text>,
    pub fallback_timeout: Option<Text>,
    pub nvidia_smi_path: Option<PathBuf>,
    pub rocm_smi_path: Option<PathBuf>,
    pub amd_smi_path: Option<PathBuf>,
    pub kernel_log: Option<PathBuf>,
    pub web_config_file: Option<PathBuf>,
    pub hpc_job_mapping_dir: Option<PathBuf>,
    pub slurm_job_dir: Option<PathBuf>,
    pub mode: Option<Mode>,
    pub main_container: Option<String>,
    pub pod_info_dir: Option<PathBuf>,
    pub own_gpus: Option<String>,
    pub shared_gpus: Option<bool>,
    pub until_file: Option<PathBuf>,
    pub until_process: Option<String>,
    pub final_report: Option<PathBuf>,
}

/// A number or a text: `30` and `30s` are both written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Number(f64),
    Text(String),
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Why a file could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("failed to read `{path}`")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("`{path}` is larger than 1 MiB; that is not a settings file")]
    TooLarge { path: PathBuf },
    #[error("`{path}` is not valid: {problem}")]
    Invalid { path: PathBuf, problem: String },
}

/// Reads a YAML file into a type; also used for other small files of this format.
pub fn read_yaml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let text = read_text(path)?;
    parse_yaml(&text).map_err(|problem| FileError::Invalid {
        path: path.to_owned(),
        problem,
    })
}

/// Parses YAML; the error names the field and the place.
pub fn parse_yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// Reads a small text file.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let failed = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    if std::fs::metadata(path).map_err(failed)?.len() > MOST_BYTES {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
        });
    }
    std::fs::read_to_string(path).map_err(failed)
}
