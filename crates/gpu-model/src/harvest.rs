//! What one round over the exporters of a fleet brought in, before it is joined with the cluster.
//!
//! A GPU is here once, however many targets told of it. A target that failed is here with its failure, and its GPUs are not.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{Bytes, DeviceId};
use crate::{
    ContainerName, Device, GpuSample, Namespace, NodeName, PartUsage, Partition, PodName, PodUid, Reading,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harvest {
    /// When the round was finished.
    pub at: Timestamp,
    /// Ordered by node, then by index, then by uuid.
    pub gpus: Vec<GpuReport>,
    /// Ordered by name.
    pub targets: Vec<TargetReport>,
}

/// One GPU as its exporter tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuReport {
    pub node: NodeName,
    pub device: Arc<Device>,
    /// When the values were taken, as far as it is known: the time of the scrape, or of the sample in Prometheus.
    pub taken_at: Timestamp,
    pub sample: GpuSample,
    /// What the page told of parts and of containers. Empty when it told of the whole GPU alone.
    pub parts: Vec<PartReport>,
}

/// A part of a GPU, or a container's share of one, as a page tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartReport {
    pub partition: Partition,
    /// Where the page has it.
    pub device_id: Option<DeviceId>,
    pub memory_total: Reading<Bytes>,
    pub usage: PartUsage,
    pub holder: Option<HolderHint>,
    pub attribution: Attribution,
}

/// What the figures of a part say about its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attribution {
    /// They were measured for this part, or for this container, alone.
    Own,
    /// They are those of the GPU or of the slice, and the page names one holder beside them: they are the holder's own if it has
    /// the device for itself, which only the cluster's picture can tell.
    Sole,
    /// The page repeats the figures of the device for every holder, so nothing is known of this one's share and `usage` is empty.
    Repeated,
}

/// Who holds a part, in the names of the page. The cluster's picture knows more about it, or does not know it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HolderHint {
    pub namespace: Namespace,
    pub pod: PodName,
    pub uid: Option<PodUid>,
    pub container: Option<ContainerName>,
}

/// How one target fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetReport {
    /// Address or name, for labels and for people.
    pub name: String,
    pub node: Option<NodeName>,
    /// The last time it answered with a page that could be read.
    pub last_success: Option<Timestamp>,
    /// Why it did not answer this time: a word from a closed list, and the sentence behind it.
    pub failure: Option<TargetFailure>,
    /// Lines of the page that could not be read, and values that cannot be true.
    pub skipped_lines: u64,
    /// Samples whose own time could not be true, so that the time of the scrape stands in for it.
    pub skewed_samples: u64,
    /// What the target said about its own answer, such as that it is not complete. At most a handful, each short.
    pub warnings: Vec<String>,
    pub gpus: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFailure {
    /// `refused`, `timeout`, `tls`, `status`, `too_large`, `malformed`, `simulated`, `other`.
    pub class: &'static str,
    pub message: String,
}
