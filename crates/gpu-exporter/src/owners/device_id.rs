//! What a device id in the kubelet's answer means. Every plugin has its own form; a form that we do not know is said to be
//! unknown and never matched by resemblance.

use std::fmt;

use crate::readings::SliceId;

/// Real ids have at most some 60 characters; a longer one is not worth keeping.
const LONGEST: usize = 128;

/// Which device, or which slice of one, an id names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceRef {
    /// `GPU-<uuid>`.
    Gpu(String),
    /// `MIG-<uuid>`.
    Mig(String),
    /// `MIG-GPU-<uuid>/<gi>/<ci>`, the form of drivers before 470: the GPU's own uuid and the slice.
    MigOfGpu { gpu: String, slice: SliceId },
    /// GKE's `nvidia0` and `nvidia0/gi1`: the number of the device file and of the GPU instance.
    Minor { minor: u32, gi: Option<u32> },
    /// The name by which NVIDIA's dynamic resource driver publishes a device.
    Published { minor: u32, mig: Option<PublishedMig> },
    /// AMD's whole device by its place on the bus, `0000:19:00.0`, in lower case.
    PciAddress(String),
    /// AMD's partition by its platform device, `amdgpu_xcp_30`.
    AmdPartition(u32),
    /// AMD's dynamic resource name: the numbers of the card and of the render node.
    AmdCard { card: u32, render: u32 },
    /// A form that names no device of this node with certainty, and why.
    Unknown { id: String, why: UnknownForm },
}

/// What the name of a published MIG device tells of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PublishedMig {
    /// The profile without dots and signs, as in `gpu-0-mig-1g10gb-19-2`: `1g10gb`.
    Profile(String),
    /// Only the driver's number of the profile, as in `gpu-0-mig-19-2-1`.
    ProfileNumber(u32),
}

/// Why an id names no device for us. A closed set: it counts in a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownForm {
    /// `GPU-<uuid>-<n>`. HAMi's own scheduler decides which GPU is meant, not the id that the kubelet was given.
    Hami,
    /// A device that was handed to a virtual machine, which no driver of this node can read.
    Passthrough,
    /// Nothing that we know.
    Unrecognised,
}

impl UnknownForm {
    /// The word for it in metrics and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hami => "hami",
            Self::Passthrough => "passthrough",
            Self::Unrecognised => "unrecognised",
        }
    }
}

impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An id of a device plugin, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PluginId {
    pub device: DeviceRef,
    /// Which of the several names of one device this is, where the plugin shares it.
    pub replica: Option<String>,
}

/// Takes the id of a device plugin apart.
pub fn parse(id: &str) -> PluginId {
    if id.len() > LONGEST {
        return unknown(id, UnknownForm::Unrecognised);
    }
    // NVIDIA's plugin appends `::<n>` to whatever id the device has.
    let (base, replica) = match id.split_once("::") {
        Some((base, number)) if is_number(number) => (base, Some(number)),
        Some(_) => return unknown(id, UnknownForm::Unrecognised),
        None => (id, None),
    };
    if let Some(device) = nvidia(base).or_else(|| amd(base)) {
        let replica = replica.map(str::to_owned);
        return PluginId { device, replica };
    }
    match gke(base) {
        Some(gke) if replica.is_none() => gke,
        _ if is_hami(base) => unknown(id, UnknownForm::Hami),
        _ => unknown(id, UnknownForm::Unrecognised),
    }
}

/// What a dynamic resource names. `cdi_names` come first: a uuid in them is certain, whereas `device` counts device files.
pub fn parse_claimed<'a>(driver: &str, device: &str, cdi_names: impl Iterator<Item = &'a str>) -> DeviceRef {
    if let Some(named) = cdi_names.filter_map(uuid_within).next() {
        return named;
    }
    let parsed = match driver {
        "gpu.nvidia.com" => published(device),
        "gpu.amd.com" => amd_card(device),
        _ => None,
    };
    parsed.unwrap_or_else(|| {
        let why = match device.strip_prefix("gpu-vfio-") {
            Some(_) => UnknownForm::Passthrough,
            None => UnknownForm::Unrecognised,
        };
        unknown(device, why).device
    })
}

fn unknown(id: &str, why: UnknownForm) -> PluginId {
    let id = id.chars().take(LONGEST).collect();
    PluginId {
        device: DeviceRef::Unknown { id, why },
        replica: None,
    }
}

fn nvidia(id: &str) -> Option<DeviceRef> {
    if let Some(rest) = id.strip_prefix("MIG-GPU-") {
        let mut parts = rest.split('/');
        let (uuid, gi, ci) = (parts.next()?, number(parts.next()?)?, number(parts.next()?)?);
        return (parts.next().is_none() && is_uuid(uuid)).then(|| DeviceRef::MigOfGpu {
            gpu: format!("GPU-{uuid}"),
            slice: SliceId { gi, ci },
        });
    }
    if id.strip_prefix("MIG-").is_some_and(is_uuid) {
        return Some(DeviceRef::Mig(id.to_owned()));
    }
    id.strip_prefix("GPU-")
        .is_some_and(is_uuid)
        .then(|| DeviceRef::Gpu(id.to_owned()))
}

fn amd(id: &str) -> Option<DeviceRef> {
    if let Some(partition) = id.strip_prefix("amdgpu_xcp_") {
        return number(partition).map(DeviceRef::AmdPartition);
    }
    is_pci_address(id).then(|| DeviceRef::PciAddress(id.to_ascii_lowercase()))
}

fn gke(id: &str) -> Option<PluginId> {
    let mut parts = id.strip_prefix("nvidia")?.split('/');
    let minor = number(parts.next()?)?;
    let mut plugin_id = PluginId {
        device: DeviceRef::Minor { minor, gi: None },
        replica: None,
    };
    for part in parts {
        match (&plugin_id.device, &plugin_id.replica) {
            (DeviceRef::Minor { gi: None, .. }, None) if part.starts_with("gi") => {
                let gi = Some(number(&part[2..])?);
                plugin_id.device = DeviceRef::Minor { minor, gi };
            }
            (_, None) => {
                let replica = part.strip_prefix("vgpu").filter(|text| is_number(text))?;
                plugin_id.replica = Some(replica.to_owned());
            }
            _ => return None,
        }
    }
    Some(plugin_id)
}

/// `gpu-0`, `gpu-0-mig-<number>-<start>-<size>` of older drivers, `gpu-0-mig-<profile>-<number>-<start>` of newer ones.
fn published(name: &str) -> Option<DeviceRef> {
    let rest = name.strip_prefix("gpu-")?;
    let Some((minor, slice)) = rest.split_once("-mig-") else {
        return number(rest).map(|minor| DeviceRef::Published { minor, mig: None });
    };
    let minor = number(minor)?;
    let mut parts = slice.rsplitn(3, '-');
    let (last, middle) = (number(parts.next()?), number(parts.next()?));
    let mig = match (parts.next()?, middle, last) {
        (first, Some(_), Some(_)) if is_number(first) => PublishedMig::ProfileNumber(number(first)?),
        (profile, Some(_), Some(_)) if profile.contains('g') => PublishedMig::Profile(profile.to_owned()),
        _ => return None,
    };
    Some(DeviceRef::Published {
        minor,
        mig: Some(mig),
    })
}

fn amd_card(name: &str) -> Option<DeviceRef> {
    let (card, render) = name.strip_prefix("gpu-")?.split_once('-')?;
    Some(DeviceRef::AmdCard {
        card: number(card)?,
        render: number(render)?,
    })
}

/// A claim's CDI name such as `k8s.gpu.nvidia.com/claim=<claim uid>-GPU-<uuid>`, where the driver puts the uuid in.
fn uuid_within(name: &str) -> Option<DeviceRef> {
    ["MIG-", "GPU-"].iter().find_map(|prefix| {
        let start = name.find(prefix)?;
        nvidia(name.get(start..start + prefix.len() + UUID_LENGTH)?)
    })
}

fn is_hami(id: &str) -> bool {
    id.rsplit_once('-')
        .is_some_and(|(base, replica)| is_number(replica) && nvidia(base).is_some())
}

const UUID_LENGTH: usize = 36;

fn is_uuid(text: &str) -> bool {
    text.len() == UUID_LENGTH
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// `0000:19:00.0`: domain, bus, device, function.
fn is_pci_address(text: &str) -> bool {
    text.len() == 12
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b':',
            10 => byte == b'.',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_number(text: &str) -> bool {
    number(text).is_some()
}

/// Digits alone: `parse` would also take a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests;
