//! What a process does with a GPU through one of its open files: `/proc/<pid>/fdinfo/<fd>`, in the form that all graphics
//! drivers share.

use super::lines;

/// More kinds of engines than any driver has.
pub const MAX_ENGINES: usize = 16;
/// More kinds of memory than any driver has.
pub const MAX_REGIONS: usize = 8;

/// One open file. Two with the same client on the same device are the same thing seen twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FdInfo<'text> {
    pub driver: Option<&'text str>,
    /// The device's address, as in the file.
    pub pdev: Option<&'text str>,
    pub client_id: Option<u64>,
    /// The number by which the compute driver of AMD knows the same client.
    pub pasid: Option<u64>,
    engines: [Option<Engine<'text>>; MAX_ENGINES],
    regions: [Option<Region<'text>>; MAX_REGIONS],
}

/// A kind of engines and the client's use of it since it opened the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Engine<'text> {
    pub name: &'text str,
    /// Time on the engines (AMD, i915).
    pub busy_nanoseconds: Option<u64>,
    /// Cycles of the client, and cycles that went by meanwhile (xe).
    pub cycles: Option<u64>,
    pub total_cycles: Option<u64>,
    /// How many engines of the kind there are; one where the driver does not say.
    pub capacity: Option<u64>,
}

/// A kind of memory and what the client has of it, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Region<'text> {
    pub name: &'text str,
    /// The older word (`drm-memory-`); on AMD the same as resident.
    pub memory_bytes: Option<u64>,
    pub total_bytes: Option<u64>,
    pub resident_bytes: Option<u64>,
    pub shared_bytes: Option<u64>,
}

impl<'text> FdInfo<'text> {
    pub fn engines(&self) -> impl Iterator<Item = &Engine<'text>> {
        self.engines.iter().flatten()
    }

    pub fn regions(&self) -> impl Iterator<Item = &Region<'text>> {
        self.regions.iter().flatten()
    }

    pub fn engine(&self, name: &str) -> Option<&Engine<'text>> {
        self.engines().find(|engine| engine.name == name)
    }

    pub fn region(&self, name: &str) -> Option<&Region<'text>> {
        self.regions().find(|region| region.name == name)
    }

    /// What the client really occupies of a kind of memory: resident, or the older word for it.
    pub fn occupied_bytes(&self, region: &str) -> Option<u64> {
        let region = self.region(region)?;
        region.resident_bytes.or(region.memory_bytes)
    }
}

/// Reads the lines `drm-*` of a file, or none where it has no `drm-driver`: most open files are no GPUs. What cannot be read,
/// and kinds of engines and memory beyond the room there is, is passed over.
pub fn fdinfo(text: &str) -> Option<FdInfo<'_>> {
    let mut info = FdInfo::default();
    for line in lines(text) {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match key {
            "drm-driver" => info.driver = Some(value),
            "drm-pdev" => info.pdev = Some(value),
            "drm-client-id" => info.client_id = value.parse().ok(),
            "pasid" => info.pasid = value.parse().ok(),
            _ => {
                take_use(&mut info, key, value);
            }
        }
    }
    info.driver.is_some().then_some(info)
}

/// The order matters: `drm-total-cycles-rcs` is not a memory of the name `cycles-rcs`.
fn take_use<'text>(info: &mut FdInfo<'text>, key: &'text str, value: &str) -> Option<()> {
    let rest = key.strip_prefix("drm-")?;
    if let Some(name) = rest.strip_prefix("engine-capacity-") {
        engine(info, name)?.capacity = value.parse().ok();
    } else if let Some(name) = rest.strip_prefix("engine-") {
        engine(info, name)?.busy_nanoseconds = value.strip_suffix("ns")?.trim().parse().ok();
    } else if let Some(name) = rest.strip_prefix("total-cycles-") {
        engine(info, name)?.total_cycles = value.parse().ok();
    } else if let Some(name) = rest.strip_prefix("cycles-") {
        engine(info, name)?.cycles = value.parse().ok();
    } else if let Some(name) = rest.strip_prefix("memory-") {
        region(info, name)?.memory_bytes = bytes(value);
    } else if let Some(name) = rest.strip_prefix("total-") {
        region(info, name)?.total_bytes = bytes(value);
    } else if let Some(name) = rest.strip_prefix("resident-") {
        region(info, name)?.resident_bytes = bytes(value);
    } else if let Some(name) = rest.strip_prefix("shared-") {
        region(info, name)?.shared_bytes = bytes(value);
    }
    Some(())
}

fn engine<'info, 'text>(
    info: &'info mut FdInfo<'text>,
    name: &'text str,
) -> Option<&'info mut Engine<'text>> {
    let slot = info
        .engines
        .iter_mut()
        .find(|slot| slot.is_none_or(|engine| engine.name == name))?;
    Some(slot.get_or_insert(Engine {
        name,
        ..Engine::default()
    }))
}

fn region<'info, 'text>(
    info: &'info mut FdInfo<'text>,
    name: &'text str,
) -> Option<&'info mut Region<'text>> {
    let slot = info
        .regions
        .iter_mut()
        .find(|slot| slot.is_none_or(|region| region.name == name))?;
    Some(slot.get_or_insert(Region {
        name,
        ..Region::default()
    }))
}

/// `12 KiB`, `3 MiB`, or bytes without a unit.
fn bytes(value: &str) -> Option<u64> {
    let (number, unit) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    let scale: u64 = match unit.trim() {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}
