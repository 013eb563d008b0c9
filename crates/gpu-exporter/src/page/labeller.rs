//! Renders the labels of one device in one vocabulary: which there are, what they are called, and in which order.

mod amd;

pub(super) use amd::amd_node;

use std::collections::BTreeSet;

use gpu_exposition::{LabelBlock, WriteError};

use super::amd_config::AmdLabel;
use super::api_labels::shown;
use super::catalog::Vocabulary;
use super::counters::{IdentityLabel, IdentityText};
use super::labels::{DeviceLabels, Place, Rows, Sharing, held_slice, who};
use super::settings::{HostnameLabel, LabelNames, ModelName, PageSettings, PodUidLabel};
use crate::readings::{SliceId, SliceReadings};
use crate::snapshot::{DeviceSnapshot, Holder, Identity, NodeSnapshot, Origin};

/// The value of `partition` on what is left of a device outside of its slices.
const REST: &str = "rest";

/// The value of `partition` on a slice.
pub(super) fn partition(slice: &SliceReadings) -> String {
    format!("{}/{}/{}", slice.profile, slice.id.gi, slice.id.ci)
}

pub(super) struct Labeller<'a> {
    pub(super) vocabulary: Vocabulary,
    pub(super) snapshot: &'a NodeSnapshot,
    pub(super) settings: &'a PageSettings,
    pub(super) dcgm_labels: &'a [IdentityLabel],
    /// Which of the jobs of each place is named; what has fewer is left to the first.
    pub(super) job: usize,
}

type Built = Result<LabelBlock, WriteError>;

impl Labeller<'_> {
    pub(super) fn device(&self, device: &DeviceSnapshot) -> Result<DeviceLabels, WriteError> {
        let slices = &device.readings.slices;
        let mut seen = BTreeSet::new();
        let places = slices.iter().map(|slice| {
            (seen.insert(slice.id) && self.writes(device, Some(slice.id)))
                .then(|| self.place(device, self.base(device, Some(slice))?, Some(slice.id)))
                .transpose()
        });
        let mut rest = self.base(device, None)?;
        if self.vocabulary == Vocabulary::Gpu {
            rest = self.gpu_base(device, Some(REST))?;
        }
        Ok(DeviceLabels {
            whole: self.place(device, self.base(device, None)?, None)?,
            rows: if self.writes(device, None) {
                Rows::All
            } else {
                Rows::OfSlices
            },
            slices: places.collect::<Result<_, _>>()?,
            rest: self.closed(self.with_job(self.without_owner(rest)?, device, None)?)?,
            containers: self.containers(device)?,
            infos: if self.vocabulary == Vocabulary::Gpu {
                self.infos(device)?
            } else {
                Vec::new()
            },
        })
    }

    fn place(
        &self,
        device: &DeviceSnapshot,
        base: LabelBlock,
        slice: Option<SliceId>,
    ) -> Result<Place, WriteError> {
        let mut holders = device.holders.iter().filter(|holder| held_slice(holder) == slice);
        let first = holders.next();
        let is_other = |holder: &Holder| first.is_some_and(|first| who(first) != who(holder));
        let sharing = if holders.any(is_other) {
            Sharing::Shared
        } else {
            Sharing::Exclusive
        };
        let owned = match (first, sharing) {
            (Some(holder), Sharing::Exclusive) => {
                let owned = self.with_owner(base.clone(), holder, Keep::Chosen)?;
                Some(self.closed(self.with_job(owned, device, slice)?)?)
            }
            _ => None,
        };
        Ok(Place {
            bare: self.closed(self.with_job(self.without_owner(base)?, device, slice)?)?,
            owned,
            sharing,
        })
    }

    fn containers(&self, device: &DeviceSnapshot) -> Result<Vec<Option<LabelBlock>>, WriteError> {
        let slice_of = |id| device.readings.slices.iter().find(|slice| slice.id == id);
        let mut seen = BTreeSet::new();
        let holders = device.holders.iter();
        holders
            .map(|holder| {
                let slice = held_slice(holder).and_then(slice_of);
                // A slice that is gone from the device no longer tells the holder from one of the whole device.
                let id = slice.map(|slice| slice.id);
                let is_new = seen.insert((who(holder), id)) && self.writes(device, id);
                let block = || {
                    let owned = self.with_owner(self.base(device, slice)?, holder, Keep::Always)?;
                    self.closed(self.with_job(owned, device, id)?)
                };
                is_new.then(block).transpose()
            })
            .collect()
    }

    fn infos(&self, device: &DeviceSnapshot) -> Result<Vec<LabelBlock>, WriteError> {
        let identity = &device.identity;
        let mut whole = self.base(device, None)?;
        self.push(&mut whole, "model", &identity.model)?;
        self.push(&mut whole, "driver", &identity.driver_version)?;
        self.push(&mut whole, "pci_bus_id", &identity.pci_bus_id)?;
        let optional = [
            ("architecture", identity.architecture),
            ("serial", identity.serial.as_deref()),
            ("vbios", identity.vbios.as_deref()),
            ("compute_partition", identity.board.compute_partition.as_deref()),
            ("memory_partition", identity.board.memory_partition.as_deref()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                self.push(&mut whole, name, value)?;
            }
        }
        let mut infos = vec![self.closed(whole)?];
        let mut seen = BTreeSet::new();
        for slice in device
            .readings
            .slices
            .iter()
            .filter(|slice| seen.insert(slice.id))
        {
            let mut part = self.base(device, Some(slice))?;
            self.push(&mut part, "profile", &slice.profile)?;
            self.push(&mut part, "partition_uuid", &slice.uuid)?;
            infos.push(self.closed(part)?);
        }
        Ok(infos)
    }

    /// The identity, without owner and without the operator's own labels.
    fn base(&self, device: &DeviceSnapshot, slice: Option<&SliceReadings>) -> Built {
        match self.vocabulary {
            Vocabulary::Gpu => {
                let partition = slice.map(partition);
                self.gpu_base(device, partition.as_deref())
            }
            Vocabulary::Dcgm => self.dcgm_base(device, slice),
            Vocabulary::NvidiaSmi => self.smi_base(&device.identity),
            Vocabulary::Amd => self.amd_base(device, slice),
        }
    }

    fn gpu_base(&self, device: &DeviceSnapshot, partition: Option<&str>) -> Built {
        let identity = &device.identity;
        let mut block = LabelBlock::new([("gpu", &*identity.index.to_string()), ("uuid", &identity.uuid)])?;
        self.push(&mut block, "vendor", identity.vendor.as_str())?;
        self.push(&mut block, "node", &self.snapshot.node)?;
        if let Some(partition) = partition {
            block.push("partition", partition)?;
        }
        self.with_origin(block)
    }

    fn dcgm_base(&self, device: &DeviceSnapshot, slice: Option<&SliceReadings>) -> Built {
        let (identity, style) = (&device.identity, self.settings.dcgm);
        let uuid = if style.names == LabelNames::Old {
            "uuid"
        } else {
            "UUID"
        };
        let mut block = LabelBlock::new([("gpu", &*identity.index.to_string()), (uuid, &identity.uuid)])?;
        // DCGM prints the address in upper case.
        self.push(
            &mut block,
            "pci_bus_id",
            &identity.pci_bus_id.to_ascii_uppercase(),
        )?;
        self.push(
            &mut block,
            "device",
            &format!("nvidia{}", identity.minor.unwrap_or(identity.index)),
        )?;
        match style.model {
            ModelName::AsIs => self.push(&mut block, "modelName", &identity.model)?,
            ModelName::BlanksReplaced => {
                let words: Vec<&str> = identity.model.split_whitespace().collect();
                self.push(&mut block, "modelName", &words.join("-"))?;
            }
        }
        if let Some(slice) = slice {
            self.push(&mut block, "GPU_I_PROFILE", &slice.profile)?;
            block.push("GPU_I_ID", &slice.id.gi.to_string())?;
            let in_same_instance =
                |other: &&SliceReadings| other.id.gi == slice.id.gi && other.id != slice.id;
            if device.readings.slices.iter().find(in_same_instance).is_some() {
                block.push("GPU_CI_ID", &slice.id.ci.to_string())?;
            }
        }
        match style.hostname {
            HostnameLabel::Capital => self.push(&mut block, "Hostname", &self.snapshot.node)?,
            HostnameLabel::Lower => self.push(&mut block, "hostname", &self.snapshot.node)?,
            HostnameLabel::Absent => {}
        }
        for label in self.dcgm_labels {
            if let Some(text) = identity_text(identity, label.text) {
                self.push(&mut block, &label.name, &text)?;
            }
        }
        self.with_origin(block)
    }

    fn smi_base(&self, identity: &Identity) -> Built {
        let mut block = LabelBlock::new([("gpu", &*identity.index.to_string()), ("uuid", &identity.uuid)])?;
        self.push(&mut block, "name", &identity.model)?;
        self.push(&mut block, "node", &self.snapshot.node)?;
        self.with_origin(block)
    }

    /// A simulated value says so on every line.
    fn with_origin(&self, mut block: LabelBlock) -> Built {
        if self.snapshot.origin == Origin::Simulated {
            block.push("source", "sim")?;
        }
        Ok(block)
    }

    fn with_owner(&self, mut block: LabelBlock, holder: &Holder, keep: Keep) -> Built {
        let (namespace, pod, container) = (
            holder.namespace.as_str(),
            holder.pod.as_str(),
            holder.container.as_str(),
        );
        let is_old = self.settings.dcgm.names == LabelNames::Old;
        let pairs = match self.vocabulary {
            // The order in which dcgm-exporter writes them: by name.
            Vocabulary::Dcgm if is_old => [
                ("container_name", container),
                ("pod_name", pod),
                ("pod_namespace", namespace),
            ],
            Vocabulary::Dcgm => [("container", container), ("namespace", namespace), ("pod", pod)],
            Vocabulary::Gpu | Vocabulary::NvidiaSmi | Vocabulary::Amd => {
                [("namespace", namespace), ("pod", pod), ("container", container)]
            }
        };
        for (name, value) in pairs {
            if keep == Keep::Always || self.settings.labels.keeps(name) {
                block.push(name, value)?;
            }
        }
        let shows_uid =
            self.vocabulary == Vocabulary::Dcgm && self.settings.dcgm.pod_uid == PodUidLabel::Shown;
        if let (true, Some(uid)) = (shows_uid, &holder.uid) {
            self.push(&mut block, "pod_uid", uid.as_str())?;
        }
        if self.vocabulary == Vocabulary::Amd {
            let uid = holder.uid.as_ref().map(|uid| uid.as_str());
            self.push_optional(&mut block, AmdLabel::PodUuid, uid)?;
        }
        for (name, value) in shown(&holder.labels, self.vocabulary, self.settings).pairs {
            block.push(&name, value)?;
        }
        Ok(block)
    }

    /// Names the job, in the vocabularies that have a label for it on every series.
    fn with_job(&self, mut block: LabelBlock, device: &DeviceSnapshot, slice: Option<SliceId>) -> Built {
        if self.vocabulary == Vocabulary::Amd {
            return self.with_job_of_amd(block, device, slice);
        }
        if self.vocabulary == Vocabulary::Dcgm
            && let Some(job) = self.job_at(device, slice)
        {
            // Where several jobs hold a place, only their names tell their series apart.
            block.push("hpc_job", job)?;
        }
        Ok(block)
    }

    /// Whether these labels have rows of the place: what has no job of this number is written with the first labels.
    fn writes(&self, device: &DeviceSnapshot, slice: Option<SliceId>) -> bool {
        self.job == 0 || self.job_at(device, slice).is_some()
    }

    fn job_at<'d>(&self, device: &'d DeviceSnapshot, slice: Option<SliceId>) -> Option<&'d str> {
        let mut seen = BTreeSet::new();
        let jobs = device.jobs.iter().filter(|job| job.holds(slice));
        jobs.map(|job| job.id.as_str())
            .filter(|id| seen.insert(*id))
            .nth(self.job)
    }

    /// Adds the operator's labels, which come last.
    fn closed(&self, mut block: LabelBlock) -> Built {
        for (name, value) in self.settings.static_labels.iter() {
            block.push(name, value)?;
        }
        Ok(block)
    }

    /// Adds a label that the allow-list may leave out.
    fn push(&self, block: &mut LabelBlock, name: &str, value: &str) -> Result<(), WriteError> {
        if self.settings.labels.keeps(name) {
            block.push(name, value)
        } else {
            Ok(())
        }
    }
}

/// Whether the allow-list decides over the owner's labels: where only they tell two series apart, it does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Chosen,
    Always,
}

fn identity_text(identity: &Identity, text: IdentityText) -> Option<String> {
    match text {
        IdentityText::DriverVersion => Some(identity.driver_version.clone()),
        IdentityText::Model => Some(identity.model.clone()),
        IdentityText::Serial => identity.serial.clone(),
        IdentityText::Uuid => Some(identity.uuid.clone()),
        IdentityText::MinorNumber => identity.minor.map(|minor| minor.to_string()),
        IdentityText::PciBusId => Some(identity.pci_bus_id.to_ascii_uppercase()),
        IdentityText::Vbios => identity.vbios.clone(),
    }
}
