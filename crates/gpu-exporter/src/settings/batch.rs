//! Where a batch system's prolog says which job has which GPU.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::file::FileSettings;
use crate::owners::jobs::Convention;

/// The directories; each file in them is named after a GPU.
#[derive(Debug, Default, Clone, Args)]
pub struct BatchFlags {
    /// A directory of job files in the form of dcgm-exporter: named by GPU, one job id a line
    #[arg(long, env = "DCGM_HPC_JOB_MAPPING_DIR", value_name = "DIR", value_parser = any_path())]
    pub hpc_job_mapping_dir: Option<PathBuf>,
    /// A directory of job files in the form of AMD's exporter (there /var/run/exporter): named by GPU, Slurm's variables as JSON
    #[arg(long, env = "GPU_EXPORTER_SLURM_JOB_DIR", value_name = "DIR", value_parser = any_path())]
    pub slurm_job_dir: Option<PathBuf>,
}

/// Manifests of dcgm-exporter set the variable to nothing where there is no directory.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// The directories to read; an empty name is none, as dcgm-exporter has it.
pub(super) fn directories(flags: &BatchFlags, file: &FileSettings) -> Vec<(Convention, PathBuf)> {
    let named = [
        (
            Convention::Mapping,
            flags
                .hpc_job_mapping_dir
                .as_ref()
                .or(file.hpc_job_mapping_dir.as_ref()),
        ),
        (
            Convention::Slurm,
            flags.slurm_job_dir.as_ref().or(file.slurm_job_dir.as_ref()),
        ),
    ];
    let given = named
        .into_iter()
        .filter_map(|(form, path)| Some((form, path?.clone())));
    given.filter(|(_, path)| !path.as_os_str().is_empty()).collect()
}
