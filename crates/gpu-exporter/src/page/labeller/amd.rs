//! AMD's labels: always the same ones, empty where there is nothing to say. To its exporter each partition is a GPU with a
//! number of its own, and the first of a device stands for what the device measures as a whole.

use gpu_exposition::{LabelBlock, WriteError};
use gpu_model::Vendor;

use super::{Built, Labeller};
use crate::page::amd_config::{AmdLabel, OWNER};
use crate::page::catalog::Vocabulary;
use crate::page::settings::PageSettings;
use crate::readings::{SliceId, SliceReadings};
use crate::snapshot::{DeviceSnapshot, NodeSnapshot};

/// What its exporter writes where a GPU knows no partitions.
const NO_PARTITIONS: &str = "none";

impl Labeller<'_> {
    pub(super) fn amd_base(&self, device: &DeviceSnapshot, slice: Option<&SliceReadings>) -> Built {
        let (identity, board) = (&device.identity, &device.identity.board);
        let slices = &device.readings.slices;
        let at = slice.and_then(|slice| slices.iter().position(|one| one.id == slice.id));
        let partition = slice.or(slices.first()).map_or(0, |slice| slice.id.gi);
        let number = first_number(self.snapshot, device) + at.unwrap_or(0);
        let mut block = LabelBlock::new([("gpu_id", &*number.to_string())])?;
        block.push("gpu_partition_id", &partition.to_string())?;
        let mode = |mode: &Option<String>| mode.as_deref().unwrap_or(NO_PARTITIONS).to_ascii_lowercase();
        let texts = [
            ("serial_number", identity.serial.as_deref().unwrap_or_default()),
            ("card_model", board.number.as_deref().unwrap_or(&identity.model)),
            ("hostname", &self.snapshot.node),
            ("gpu_compute_partition_type", &mode(&board.compute_partition)),
            ("gpu_memory_partition_type", &mode(&board.memory_partition)),
            ("deployment_mode", board.deployment.unwrap_or_default()),
        ];
        for (name, value) in texts {
            self.push(&mut block, name, value)?;
        }
        let optional = [
            (AmdLabel::CardSeries, board.series.as_deref()),
            (AmdLabel::CardVendor, board.maker.as_deref()),
            (AmdLabel::DriverVersion, Some(identity.driver_version.as_str())),
            (AmdLabel::GpuUuid, Some(identity.uuid.as_str())),
            (AmdLabel::VbiosVersion, identity.vbios.as_deref()),
        ];
        for (label, value) in optional {
            self.push_optional(&mut block, label, value)?;
        }
        push_custom(&mut block, self.settings)?;
        self.with_origin(block)
    }

    /// The job that holds the place, where it is one; of several, none is more the owner than the others.
    pub(super) fn with_job_of_amd(
        &self,
        mut block: LabelBlock,
        device: &DeviceSnapshot,
        slice: Option<SliceId>,
    ) -> Built {
        let mut jobs = device.jobs.iter().filter(|job| job.holds(slice));
        let job = match (jobs.next(), jobs.next()) {
            (Some(job), None) => Some(job),
            _ => None,
        };
        let texts = [
            ("job_id", job.map(|job| job.id.as_str())),
            ("job_user", job.and_then(|job| job.user.as_deref())),
            ("job_partition", job.and_then(|job| job.partition.as_deref())),
        ];
        for (name, value) in texts {
            self.push(&mut block, name, value.unwrap_or_default())?;
        }
        if !is_given(self.settings, AmdLabel::ClusterName.as_str()) {
            let cluster = job.and_then(|job| job.cluster.as_deref());
            self.push_optional(&mut block, AmdLabel::ClusterName, cluster)?;
        }
        Ok(block)
    }

    /// Adds a label that is shown when a list names it.
    pub(super) fn push_optional(
        &self,
        block: &mut LabelBlock,
        label: AmdLabel,
        value: Option<&str>,
    ) -> Result<(), WriteError> {
        let name = label.as_str();
        let is_configured = self
            .settings
            .amd
            .as_ref()
            .is_some_and(|config| config.labels.contains(&label));
        if is_configured || self.settings.labels.names(name) {
            block.push(name, value.unwrap_or_default())?;
        }
        Ok(())
    }

    /// The labels of an owner on what has none, where they are there all the same.
    pub(super) fn without_owner(&self, mut block: LabelBlock) -> Built {
        if self.vocabulary == Vocabulary::Amd {
            for name in OWNER {
                self.push(&mut block, name, "")?;
            }
            self.push_optional(&mut block, AmdLabel::PodUuid, None)?;
        }
        Ok(block)
    }
}

/// The labels of series that concern the node.
pub(in crate::page) fn amd_node(snapshot: &NodeSnapshot, settings: &PageSettings) -> Built {
    let mut block = LabelBlock::new([("hostname", &snapshot.node)])?;
    push_custom(&mut block, settings)?;
    for (name, value) in settings.static_labels.iter() {
        block.push(name, value)?;
    }
    Ok(block)
}

/// The labels of the configuration; one that a flag or the file of ours gives as well is theirs.
fn push_custom(block: &mut LabelBlock, settings: &PageSettings) -> Result<(), WriteError> {
    let is_static = |name: &str| settings.static_labels.iter().any(|(own, _)| own == name);
    for (name, value) in custom(settings).filter(|(name, _)| !is_static(name)) {
        block.push(name, value)?;
    }
    Ok(())
}

fn custom(settings: &PageSettings) -> impl Iterator<Item = &(String, String)> {
    settings.amd.iter().flat_map(|config| &config.custom)
}

/// Whether the operator gives a label himself.
fn is_given(settings: &PageSettings, name: &str) -> bool {
    settings.static_labels.iter().any(|(own, _)| own == name) || custom(settings).any(|(own, _)| own == name)
}

/// The number of a device, or of its first partition, among all of the node.
fn first_number(snapshot: &NodeSnapshot, device: &DeviceSnapshot) -> usize {
    let devices = snapshot.devices.iter();
    devices
        .take_while(|other| !std::ptr::eq(*other, device))
        .filter(|other| other.identity.vendor == Vendor::Amd)
        .map(|other| other.readings.slices.len().max(1))
        .sum()
}
