//! Which GPU, part and holder a sample is about, from its labels.

use gpu_model::{AmdComputeMode, MigProfileName, Partition, Vendor};

use super::Dialect;
use super::cells::{DeviceSlot, HolderOrigin, KeyKind, PartKind, Slot, Tables};
use super::labels::Picked;

/// Longer than any name that Kubernetes or a vendor gives.
const LONGEST: usize = 253;

/// The GPU, or nothing where the labels name none.
pub(super) fn device(tables: &mut Tables, dialect: Dialect, labels: &Picked<'_>) -> Option<u16> {
    let (key, kind) = key(tables, dialect, labels)?;
    if key.len() > LONGEST {
        return None;
    }
    let at = tables.device(key, kind)?;
    describe(tables.devices.get_mut(usize::from(at))?, dialect, labels);
    Some(at)
}

fn key<'a>(tables: &Tables, dialect: Dialect, labels: &'a Picked<'_>) -> Option<(&'a str, KeyKind)> {
    if let Some(uuid) = labels.uuid.as_deref() {
        return Some((bare(uuid), KeyKind::Uuid));
    }
    if dialect != Dialect::Amd {
        return None;
    }
    let serial = labels.serial.as_deref().filter(|serial| is_serial(serial));
    match serial {
        Some(serial) => {
            let known = tables
                .devices
                .iter()
                .any(|slot| slot.kind == KeyKind::Uuid && slot.serial == serial);
            // Ours and AMD's words on one page: the former know the uuid, so that the latter add nothing.
            (!known).then_some((serial, KeyKind::Serial))
        }
        None => labels.index.as_deref().map(|index| (index, KeyKind::Index)),
    }
}

/// `GPU-1b2c…` and `1b2c…` are the same GPU: nvidia_gpu_exporter leaves the prefix out.
pub(super) fn bare(uuid: &str) -> &str {
    uuid.strip_prefix("GPU-").unwrap_or(uuid)
}

fn is_serial(serial: &str) -> bool {
    serial.chars().any(|digit| digit != '0')
        && !serial.starts_with('[')
        && !serial.eq_ignore_ascii_case("N/A")
}

/// Takes over what is not known yet; lines of one GPU agree on the rest.
fn describe(slot: &mut DeviceSlot, dialect: Dialect, labels: &Picked<'_>) {
    slot.is_virtual |= labels.is_virtual;
    keep(&mut slot.uuid, labels.uuid.as_deref());
    if labels.partition.is_none() {
        keep(
            &mut slot.serial,
            labels.serial.as_deref().filter(|serial| is_serial(serial)),
        );
    }
    keep(
        &mut slot.model,
        labels.series.as_deref().or(labels.model.as_deref()),
    );
    keep(&mut slot.driver, labels.driver.as_deref());
    keep(&mut slot.pci, labels.pci.as_deref());
    keep(&mut slot.node, labels.node());
    if slot.index.is_none() {
        slot.index = labels.index.as_deref().and_then(|index| index.parse().ok());
    }
    if slot.vendor.is_none() {
        slot.vendor = match (dialect, labels.vendor.as_deref()) {
            (Dialect::Ours, Some("nvidia")) | (Dialect::Dcgm | Dialect::Smi, _) => Some(Vendor::Nvidia),
            (Dialect::Ours, Some("amd")) | (Dialect::Amd, _) => Some(Vendor::Amd),
            (Dialect::Ours, Some("intel")) => Some(Vendor::Intel),
            (Dialect::Ours, _) => None,
        };
    }
}

fn keep(place: &mut String, found: Option<&str>) {
    if place.is_empty()
        && let Some(found) = found
        && found.len() <= LONGEST
    {
        place.push_str(found);
    }
}

/// The part a sample is about. An error where its labels name a part that cannot be.
pub(super) fn part(
    tables: &mut Tables,
    device: u16,
    dialect: Dialect,
    labels: &Picked<'_>,
) -> Result<Slot, Unusable> {
    let found = match dialect {
        Dialect::Ours => match labels.partition.as_deref() {
            None => return Ok(None),
            Some(text) => {
                let vendor = tables
                    .devices
                    .get(usize::from(device))
                    .and_then(|slot| slot.vendor);
                tables.part(device, [text, "", ""], || our_part(text, vendor))
            }
        },
        Dialect::Dcgm => match (labels.mig_profile.as_deref(), labels.mig_gi.as_deref()) {
            (None, None) => return Ok(None),
            (profile, gi) => {
                let (profile, gi) = (profile.ok_or(Unusable)?, gi.ok_or(Unusable)?);
                let ci = labels.mig_ci.as_deref().unwrap_or("0");
                tables.part(device, [profile, gi, ci], || mig(profile, gi, ci))
            }
        },
        Dialect::Amd => match (labels.amd_mode.as_deref(), labels.amd_partition.as_deref()) {
            (Some(mode), Some(index)) if !mode.eq_ignore_ascii_case("spx") => {
                let Some(mode) = compute_mode(mode) else {
                    return Ok(None);
                };
                tables.part(
                    device,
                    [labels.amd_mode.as_deref().unwrap_or_default(), index, ""],
                    || {
                        let index = index.parse().ok()?;
                        Some(PartKind::Slice(Partition::AmdPartition { mode, index }))
                    },
                )
            }
            _ => return Ok(None),
        },
        Dialect::Smi => return Ok(None),
    };
    let at = found.ok_or(Unusable)?;
    if let Some(id) = labels.partition_uuid.as_deref()
        && let Some(slot) = tables.parts.get_mut(usize::from(at))
        && slot.device_id.is_none()
        && id.len() <= LONGEST
    {
        slot.device_id = Some(id.into());
    }
    Ok(Some(at))
}

/// The labels of a sample contradict each other, or name more than there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unusable;

/// `3g.40gb/1/0` and `cpx_nps4/1/0`, as our exporter writes them; `rest` is what no slice holds.
fn our_part(text: &str, vendor: Option<Vendor>) -> Option<PartKind> {
    if text == "rest" {
        return Some(PartKind::Rest);
    }
    let mut words = text.split('/');
    let (profile, first, second) = (words.next()?, words.next()?, words.next()?);
    if vendor == Some(Vendor::Amd) {
        let mode = compute_mode(profile.split('_').next()?)?;
        let index = first.parse().ok()?;
        return Some(PartKind::Slice(Partition::AmdPartition { mode, index }));
    }
    mig(profile, first, second)
}

fn mig(profile: &str, gi: &str, ci: &str) -> Option<PartKind> {
    Some(PartKind::Slice(Partition::MigSlice {
        profile: MigProfileName::new(profile).ok()?,
        gi: gi.parse().ok()?,
        ci: ci.parse().ok()?,
    }))
}

fn compute_mode(text: &str) -> Option<AmdComputeMode> {
    let modes = [
        ("spx", AmdComputeMode::Spx),
        ("dpx", AmdComputeMode::Dpx),
        ("tpx", AmdComputeMode::Tpx),
        ("qpx", AmdComputeMode::Qpx),
        ("cpx", AmdComputeMode::Cpx),
    ];
    let found = modes
        .into_iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    found.map(|(_, mode)| mode)
}

/// Who holds it. A pod without a namespace is nobody that could be found.
pub(super) fn holder(tables: &mut Tables, labels: &Picked<'_>) -> Result<Slot, Unusable> {
    let holder = labels.holder();
    let (Some(pod), Some(namespace)) = (holder.pod.as_deref(), holder.namespace.as_deref()) else {
        return Ok(None);
    };
    let container = holder.container.as_deref().unwrap_or_default();
    let uid = labels.own.uid.as_deref().unwrap_or_default();
    let words = [namespace, pod, container, uid];
    if words.iter().any(|word| word.len() > LONGEST) {
        return Err(Unusable);
    }
    let origin = if labels.exported.pod.is_some() {
        HolderOrigin::Exported
    } else {
        HolderOrigin::Plain
    };
    tables.holder(words, origin).map(Some).ok_or(Unusable)
}
