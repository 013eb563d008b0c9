//! The label sets of a node, rendered once and kept while devices, slices and holders stay the same, so that a page is
//! written without building a single one.

use std::collections::BTreeSet;

use gpu_exposition::{LabelBlock, WriteError};
use gpu_model::Vendor;

use super::api_labels::{left_out, shown};
use super::catalog::Vocabulary;
use super::counters::IdentityLabel;
use super::labeller::{Labeller, amd_node};
use super::settings::PageSettings;
use super::workloads;
use crate::readings::{SliceId, SliceReadings};
use crate::snapshot::{DeviceSnapshot, HeldPart, Holder, NodeSnapshot};

/// The labels of all devices in each vocabulary, by the device's place in the snapshot. A device that is listed twice, or
/// that a vocabulary does not know, has none.
#[derive(Debug, Default)]
pub(super) struct NodeLabels {
    gpu: Vec<Option<DeviceLabels>>,
    dcgm: Vec<Option<DeviceLabels>>,
    /// Further rows of devices that several jobs hold, as dcgm-exporter has them: one a job.
    dcgm_jobs: Vec<(usize, DeviceLabels)>,
    nvidia_smi: Vec<Option<DeviceLabels>>,
    amd: Vec<Option<DeviceLabels>>,
    /// The operator's own, for series that concern no device.
    pub(super) node: LabelBlock,
    /// What AMD's exporter writes on series that concern no device.
    pub(super) amd_node: LabelBlock,
    /// What the API server told of the node, and how many labels it told in vain; absent where it is not asked.
    pub(super) api: Option<(LabelBlock, usize)>,
    /// The pod beside which the exporter runs.
    pub(super) workload: Option<LabelBlock>,
}

/// The labels of one device.
#[derive(Debug)]
pub(super) struct DeviceLabels {
    pub(super) whole: Place,
    pub(super) rows: Rows,
    /// By the slice's place in the readings; a repeated slice has none.
    pub(super) slices: Vec<Option<Place>>,
    pub(super) rest: LabelBlock,
    /// By the holder's place in the snapshot; a container that holds the same part twice is there once.
    pub(super) containers: Vec<Option<LabelBlock>>,
    /// The device and its slices, with all that is known of them.
    pub(super) infos: Vec<LabelBlock>,
}

/// Which rows of a device these labels are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    All,
    /// Those of its slices: the device itself has been written with other labels.
    OfSlices,
}

/// A whole device or a slice.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) bare: LabelBlock,
    /// With the owner, when there is exactly one.
    pub(super) owned: Option<LabelBlock>,
    pub(super) sharing: Sharing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Nobody or one container.
    Exclusive,
    Shared,
}

impl Place {
    pub(super) fn of_holder(&self) -> &LabelBlock {
        self.owned.as_ref().unwrap_or(&self.bare)
    }
}

impl NodeLabels {
    pub(super) fn new(
        snapshot: &NodeSnapshot,
        settings: &PageSettings,
        dcgm_labels: &[IdentityLabel],
    ) -> Result<Self, WriteError> {
        let of = |vocabulary| -> Result<Vec<_>, WriteError> {
            let labeller = Labeller {
                vocabulary,
                snapshot,
                settings,
                dcgm_labels,
                job: 0,
            };
            let mut seen = BTreeSet::new();
            let devices = snapshot.devices.iter();
            devices
                .map(|device| {
                    let identity = &device.identity;
                    let is_known = match vocabulary {
                        Vocabulary::Gpu => true,
                        Vocabulary::Dcgm | Vocabulary::NvidiaSmi => identity.vendor == Vendor::Nvidia,
                        Vocabulary::Amd => identity.vendor == Vendor::Amd,
                    };
                    let is_new = seen.insert((identity.index, identity.uuid.as_str()));
                    (is_known && is_new).then(|| labeller.device(device)).transpose()
                })
                .collect()
        };
        let dcgm = of(Vocabulary::Dcgm)?;
        Ok(Self {
            gpu: of(Vocabulary::Gpu)?,
            dcgm_jobs: further_jobs(&dcgm, snapshot, settings, dcgm_labels)?,
            dcgm,
            nvidia_smi: of(Vocabulary::NvidiaSmi)?,
            amd: of(Vocabulary::Amd)?,
            amd_node: amd_node(snapshot, settings)?,
            node: LabelBlock::new(settings.static_labels.iter())?,
            api: api(snapshot, settings)?,
            workload: workloads::labels(snapshot, settings)?,
        })
    }

    /// The labelled devices of a vocabulary.
    pub(super) fn devices<'a>(
        &'a self,
        vocabulary: Vocabulary,
        snapshot: &'a NodeSnapshot,
    ) -> impl Iterator<Item = (&'a DeviceSnapshot, &'a DeviceLabels)> {
        let (labels, further): (_, &[(usize, DeviceLabels)]) = match vocabulary {
            Vocabulary::Gpu => (&self.gpu, &[]),
            Vocabulary::Dcgm => (&self.dcgm, &self.dcgm_jobs),
            Vocabulary::NvidiaSmi => (&self.nvidia_smi, &[]),
            Vocabulary::Amd => (&self.amd, &[]),
        };
        let further = further
            .iter()
            .map(|(at, labels)| (&snapshot.devices[*at], labels));
        snapshot
            .devices
            .iter()
            .zip(labels)
            .filter_map(|(device, labels)| Some((device, labels.as_ref()?)))
            .chain(further)
    }
}

/// The labels of every job after the first on each device that has labels at all.
fn further_jobs(
    first: &[Option<DeviceLabels>],
    snapshot: &NodeSnapshot,
    settings: &PageSettings,
    dcgm_labels: &[IdentityLabel],
) -> Result<Vec<(usize, DeviceLabels)>, WriteError> {
    let mut further = Vec::new();
    for (at, device) in snapshot.devices.iter().enumerate() {
        // No place of a device has more jobs than the device as a whole.
        let most = if first[at].is_some() { device.jobs.len() } else { 0 };
        for job in 1..most {
            let labeller = Labeller {
                vocabulary: Vocabulary::Dcgm,
                snapshot,
                settings,
                dcgm_labels,
                job,
            };
            further.push((at, labeller.device(device)?));
        }
    }
    Ok(further)
}

fn api(snapshot: &NodeSnapshot, settings: &PageSettings) -> Result<Option<(LabelBlock, usize)>, WriteError> {
    let (Some(labels), Some(left_out)) = (&snapshot.node_labels, left_out(snapshot, settings)) else {
        return Ok(None);
    };
    let mut block = LabelBlock::new([("node", &snapshot.node)])?;
    for (name, value) in shown(labels, Vocabulary::Gpu, settings).pairs {
        block.push(&name, value)?;
    }
    for (name, value) in settings.static_labels.iter() {
        block.push(name, value)?;
    }
    Ok(Some((block, left_out)))
}

/// Whether the labels of one snapshot fit another.
pub(super) fn have_same_labels(one: &NodeSnapshot, other: &NodeSnapshot) -> bool {
    let same_part = |a: &Holder, b: &Holder| {
        (&a.namespace, &a.pod, &a.container, &a.uid, &a.part, &a.labels)
            == (&b.namespace, &b.pod, &b.container, &b.uid, &b.part, &b.labels)
    };
    let same_slice =
        |a: &SliceReadings, b: &SliceReadings| (a.id, &a.uuid, &a.profile) == (b.id, &b.uuid, &b.profile);
    let same_device = |a: &DeviceSnapshot, b: &DeviceSnapshot| {
        a.identity == b.identity
            && a.readings.slices.len() == b.readings.slices.len()
            && a.readings
                .slices
                .iter()
                .zip(&b.readings.slices)
                .all(|(a, b)| same_slice(a, b))
            && a.holders.len() == b.holders.len()
            && a.holders.iter().zip(&b.holders).all(|(a, b)| same_part(a, b))
            && a.jobs == b.jobs
    };
    (&one.node, one.origin, one.devices.len()) == (&other.node, other.origin, other.devices.len())
        && one.node_labels == other.node_labels
        && one.workload == other.workload
        && one
            .devices
            .iter()
            .zip(&other.devices)
            .all(|(a, b)| same_device(a, b))
}

pub(super) fn who(holder: &Holder) -> (&str, &str, &str) {
    (
        holder.namespace.as_str(),
        holder.pod.as_str(),
        holder.container.as_str(),
    )
}

/// The slice that a holder has, or has a share of.
pub(super) fn held_slice(holder: &Holder) -> Option<SliceId> {
    match &holder.part {
        HeldPart::Slice(id) => Some(*id),
        HeldPart::Whole | HeldPart::Replica(_) | HeldPart::Claim { .. } => holder.slice,
    }
}
