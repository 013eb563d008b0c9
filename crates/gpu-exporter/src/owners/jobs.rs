//! Jobs of batch systems, from files that their prolog writes and their epilog removes: one file a GPU, named by it. Pure; the
//! files are read by [`watch`].
//!
//! Two contents are in use, and each file may have either:
//! - dcgm-exporter's: the ids of jobs, one a line;
//! - that of AMD's exporter: one JSON object with the variables of Slurm's prolog.
//!
//! The name is the GPU's index (`0`), index and GPU instance (`0.3`), or the uuid of a GPU or MIG slice. The name alone says
//! which GPU is meant: it is what the epilog removes, whatever the content claims.

pub mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::Vendor;

use crate::snapshot::{DeviceSnapshot, Job};

/// Sharing a GPU between more jobs than a GPU has replicas in any cluster we know is a file that nobody cleans up.
pub const MOST_JOBS: usize = 32;
/// As for every label: a name, not a document.
const LONGEST: usize = 256;

/// The number of the first render device file of a machine, `renderD128`.
const FIRST_RENDER: u32 = 128;

/// The GPU that a file is named after.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    Index(u32),
    Instance { gpu: u32, instance: u32 },
    Uuid(String),
}

/// In whose form the directory is, which decides whose GPU a bare index means where two vendors share a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Convention {
    /// dcgm-exporter's: NVIDIA's GPUs.
    Mapping,
    /// That of AMD's exporter.
    Slurm,
}

/// Which job holds which GPU, by directory and name of the file.
pub type JobBook = BTreeMap<(Convention, Named), Vec<Job>>;

/// Why the content of a file names no job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("it is not text in UTF-8")]
    Encoding,
    #[error("it is not a JSON object whose values are texts")]
    Json,
    #[error("it has no `SLURM_JOB_ID`")]
    NoId,
    #[error("a value has more than 256 bytes or a control character")]
    Value,
    #[error("it names more than 32 jobs")]
    Many,
}

impl Named {
    /// The GPU by the name of its file; `None` for files of others, such as `README` or half-written ones.
    pub fn parse(name: &str) -> Option<Self> {
        let number = |text: &str| {
            let is_plain =
                !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse::<u32>().ok()).flatten()
        };
        if let Some(index) = number(name) {
            return Some(Self::Index(index));
        }
        if let Some((gpu, instance)) = name.split_once('.') {
            let (gpu, instance) = (number(gpu)?, number(instance)?);
            return Some(Self::Instance { gpu, instance });
        }
        let is_uuid = name.starts_with("GPU-") || name.starts_with("MIG-");
        (is_uuid && name.len() <= LONGEST).then(|| Self::Uuid(name.to_owned()))
    }
}

/// The jobs that a file names; an empty file names none.
pub fn parse(content: &[u8]) -> Result<Vec<Job>, Malformed> {
    let text = std::str::from_utf8(content).map_err(|_| Malformed::Encoding)?;
    let jobs = if text.trim_start().starts_with('{') {
        vec![slurm(text)?]
    } else {
        lines(text)?
    };
    let values = jobs.iter().flat_map(|job| {
        [
            Some(&job.id),
            job.user.as_ref(),
            job.partition.as_ref(),
            job.cluster.as_ref(),
        ]
    });
    if values.flatten().any(|value| !is_plain(value)) {
        return Err(Malformed::Value);
    }
    Ok(jobs)
}

fn lines(text: &str) -> Result<Vec<Job>, Malformed> {
    let mut jobs: Vec<Job> = Vec::new();
    for id in text.lines().map(str::trim).filter(|id| !id.is_empty()) {
        if jobs.iter().any(|job| job.id == id) {
            continue;
        }
        if jobs.len() == MOST_JOBS {
            return Err(Malformed::Many);
        }
        jobs.push(Job {
            id: id.to_owned(),
            ..Job::default()
        });
    }
    Ok(jobs)
}

fn slurm(text: &str) -> Result<Job, Malformed> {
    // Numbers are written by scripts that do not quote them; the rest of what Slurm knows is of no use here.
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Value {
        Text(String),
        Number(u64),
        Other(serde::de::IgnoredAny),
    }
    let variables: BTreeMap<String, Value> = serde_json::from_str(text).map_err(|_| Malformed::Json)?;
    let get = |name: &str| {
        let value = match variables.get(name)? {
            Value::Text(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Other(_) => return None,
        };
        (!value.is_empty()).then_some(value)
    };
    Ok(Job {
        instance: None,
        id: get("SLURM_JOB_ID").ok_or(Malformed::NoId)?,
        user: get("SLURM_JOB_USER"),
        partition: get("SLURM_JOB_PARTITION"),
        cluster: get("SLURM_CLUSTER_NAME"),
    })
}

fn is_plain(value: &str) -> bool {
    value.len() <= LONGEST && !value.chars().any(char::is_control)
}

/// Gives every device its jobs.
pub fn assign(book: &JobBook, devices: &mut [DeviceSnapshot]) {
    if book.is_empty() {
        return;
    }
    let has = |vendor| devices.iter().any(|device| device.identity.vendor == vendor);
    let (nvidia, amd) = (has(Vendor::Nvidia), has(Vendor::Amd));
    for device in devices {
        let vendor = device.identity.vendor;
        let means = |convention: Convention| match convention {
            Convention::Mapping => !nvidia || vendor == Vendor::Nvidia,
            Convention::Slurm => !amd || vendor == Vendor::Amd,
        };
        let mut jobs: Vec<Job> = Vec::new();
        for ((convention, named), named_jobs) in book {
            let Some(instance) = part_of(device, named, means(*convention)) else {
                continue;
            };
            jobs.extend(named_jobs.iter().map(|job| Job {
                instance,
                ..job.clone()
            }));
        }
        jobs.sort_unstable();
        // The same job in both directories is one job; the entry that knows more of it comes last.
        jobs.reverse();
        jobs.dedup_by(|a, b| (a.instance, &a.id) == (b.instance, &b.id));
        jobs.reverse();
        jobs.truncate(MOST_JOBS);
        device.jobs = Arc::from(jobs);
    }
}

/// The part of the device that is meant: `Some(None)` is all of it, `None` that another device is.
fn part_of(device: &DeviceSnapshot, named: &Named, means_vendor: bool) -> Option<Option<u32>> {
    let identity = &device.identity;
    match named {
        Named::Index(index) if device.readings.slices.iter().any(|slice| slice.render.is_some()) => {
            // Every partition of an AMD GPU is a GPU of its own to the batch system, numbered by its render device.
            let number = FIRST_RENDER.checked_add(*index).filter(|_| means_vendor)?;
            let mut slices = device.readings.slices.iter();
            let slice = slices.find(|slice| slice.render == Some(number))?;
            Some(Some(slice.id.gi))
        }
        Named::Index(index) => (means_vendor && identity.index == *index).then_some(None),
        Named::Instance { gpu, instance } => {
            (means_vendor && identity.index == *gpu).then_some(Some(*instance))
        }
        Named::Uuid(uuid) if identity.uuid.eq_ignore_ascii_case(uuid) => Some(None),
        Named::Uuid(uuid) => {
            let mut slices = device.readings.slices.iter();
            let slice = slices.find(|slice| slice.uuid.eq_ignore_ascii_case(uuid))?;
            Some(Some(slice.id.gi))
        }
    }
}

#[cfg(test)]
mod tests;
