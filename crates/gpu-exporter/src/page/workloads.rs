//! For whom GPUs work where nothing is measured by owner: jobs of a batch system on their devices, and the workflow of the one
//! pod that a sidecar stands beside. Each is a family of its own with the value 1, to be joined by `node` and `uuid` or by
//! `namespace` and `pod`: a GPU that two jobs hold is still one GPU in every sum.

use gpu_exposition::{LabelBlock, WriteError};

use super::api_labels::shown;
use super::catalog::Vocabulary;
use super::labels::DeviceLabels;
use super::settings::PageSettings;
use super::sink::Lines;
use crate::snapshot::{DeviceSnapshot, Job, NodeSnapshot};

/// Writes the jobs of one device; those of a slice stand on the slice, as long as the device has it.
pub(super) fn write_jobs(lines: &mut Lines<'_, '_>, device: &DeviceSnapshot, labels: &DeviceLabels) {
    for (at, job) in device.jobs.iter().enumerate() {
        let is_same = |earlier: &Job| (earlier.instance, &earlier.id) == (job.instance, &job.id);
        if device.jobs[..at].iter().any(is_same) {
            continue;
        }
        match job.instance {
            None => write_job(lines, &labels.whole.bare, job),
            Some(instance) => {
                let slices = device.readings.slices.iter().zip(&labels.slices);
                let held = slices.filter(|(slice, _)| slice.id.gi == instance);
                for place in held.filter_map(|(_, place)| place.as_ref()) {
                    write_job(lines, &place.bare, job);
                }
            }
        }
    }
}

fn write_job(lines: &mut Lines<'_, '_>, place: &LabelBlock, job: &Job) {
    let known = [
        ("job_id", Some(&job.id)),
        ("job_user", job.user.as_ref()),
        ("job_partition", job.partition.as_ref()),
        ("job_cluster", job.cluster.as_ref()),
    ];
    let mut pairs = [("", ""); 4];
    let mut count = 0;
    for (name, value) in known {
        if let Some(value) = value {
            pairs[count] = (name, value);
            count += 1;
        }
    }
    lines.sample(place.with(&pairs[..count]), 1);
}

/// The labels of the pod and its workflow; `None` on the page of a node.
pub(super) fn labels(
    snapshot: &NodeSnapshot,
    settings: &PageSettings,
) -> Result<Option<LabelBlock>, WriteError> {
    let Some(workload) = &snapshot.workload else {
        return Ok(None);
    };
    let mut block = LabelBlock::new([
        ("node", snapshot.node.as_str()),
        ("namespace", workload.namespace.as_str()),
        ("pod", workload.pod.as_str()),
    ])?;
    for (name, value) in &workload.workflow {
        block.push(name, value)?;
    }
    for (name, value) in shown(&workload.labels, Vocabulary::Gpu, settings).pairs {
        block.push(&name, value)?;
    }
    for (name, value) in settings.static_labels.iter() {
        block.push(name, value)?;
    }
    Ok(Some(block))
}
