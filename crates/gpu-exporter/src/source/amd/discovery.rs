//! Which AMD GPUs there are, from the driver's own list or from the display classes, by place on the bus.
//!
//! The driver's list (`module/amdgpu/drivers/pci:amdgpu`) is the truth where it is visible. `class/drm` finds the same devices
//! where only that was mounted or copied; connectors (`card1-DP-1`) and other vendors' cards in it are passed over.

use std::path::{Path, PathBuf};

use super::attribute::{names, numbered, read_text};
use super::text::{PciAddress, uevent};

/// AMD's number among the vendors of PCI devices.
const VENDOR: &str = "0x1002";
const DRIVER: &str = "amdgpu";

/// A GPU that the driver has taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// Its place on the bus in lower case, `0000:05:00.0`; the card's name where a copied tree does not tell.
    pub(super) address: String,
    /// The device's own directory.
    pub(super) directory: PathBuf,
    pub(super) card: Option<u32>,
    pub(super) render: Option<u32>,
}

impl Found {
    /// None for a device of a copied tree that does not tell.
    pub(super) fn place(&self) -> Option<PciAddress> {
        self.address.parse().ok()
    }
}

/// The devices in the order of their places, or nothing when there is no sign of the driver.
pub(super) fn find(sysfs: &Path) -> Option<Vec<Found>> {
    let listed = by_driver(sysfs);
    let is_loaded = listed.is_some() || sysfs.join("module").join(DRIVER).is_dir();
    let mut found = listed.unwrap_or_default();
    for other in by_class(sysfs) {
        match found.iter_mut().find(|known| known.address == other.address) {
            Some(known) => {
                known.card = known.card.or(other.card);
                known.render = known.render.or(other.render);
            }
            None => found.push(other),
        }
    }
    found.sort_unstable();
    (is_loaded || !found.is_empty()).then_some(found)
}

fn by_driver(sysfs: &Path) -> Option<Vec<Found>> {
    let listed = [
        sysfs.join("module/amdgpu/drivers/pci:amdgpu"),
        sysfs.join("bus/pci/drivers/amdgpu"),
    ];
    listed.iter().find_map(|directory| {
        let names = names(directory)?;
        let device = |name: String| {
            let address = address(&name)?;
            let directory = directory.join(&name);
            let (card, render) = nodes_of(&directory);
            Some(Found {
                address,
                directory,
                card,
                render,
            })
        };
        Some(names.into_iter().filter_map(device).collect())
    })
}

/// Cards first: a device with both nodes is found by its card, and its render node is added to it.
fn by_class(sysfs: &Path) -> Vec<Found> {
    let class = sysfs.join("class/drm");
    let names = names(&class).unwrap_or_default();
    let cards = names.iter().filter(|name| numbered(name, "card").is_some());
    let renders = names.iter().filter(|name| numbered(name, "renderD").is_some());
    cards
        .chain(renders)
        .filter_map(|name| of_node(&class, name))
        .collect()
}

fn of_node(class: &Path, name: &str) -> Option<Found> {
    let directory = class.join(name).join("device");
    let events = read_text(&directory.join("uevent")).unwrap_or_default();
    let event = |name: &str| uevent(&events, name);
    if !is_amd(&directory, &event) {
        return None;
    }
    let (card, render) = nodes_of(&directory);
    Some(Found {
        address: event("PCI_SLOT_NAME")
            .and_then(address)
            .or_else(|| address_of_link(&directory))
            .unwrap_or_else(|| name.to_owned()),
        directory,
        card: numbered(name, "card").or(card),
        render: numbered(name, "renderD").or(render),
    })
}

/// Whether the device behind a node is an AMD GPU of this driver. Partitions have nodes, too, behind platform devices of no
/// vendor; copies of trees sometimes have nothing but what the driver itself puts there.
fn is_amd<'a>(directory: &Path, event: &impl Fn(&str) -> Option<&'a str>) -> bool {
    if event("DRIVER").is_some_and(|driver| driver != DRIVER) {
        return false;
    }
    if let Some(vendor) = read_text(&directory.join("vendor")) {
        return vendor.eq_ignore_ascii_case(VENDOR);
    }
    match event("PCI_ID") {
        Some(id) => id.starts_with("1002:"),
        None => ["gpu_metrics", "mem_info_vram_total", "gpu_busy_percent"]
            .iter()
            .any(|own| directory.join(own).is_file()),
    }
}

/// The numbers of the card and of the render node.
fn nodes_of(directory: &Path) -> (Option<u32>, Option<u32>) {
    let names = names(&directory.join("drm")).unwrap_or_default();
    let first = |prefix: &str| names.iter().find_map(|name| numbered(name, prefix));
    (first("card"), first("renderD"))
}

fn address_of_link(directory: &Path) -> Option<String> {
    let real = std::fs::canonicalize(directory).ok()?;
    address(real.file_name()?.to_str()?)
}

/// A place on the bus in the kernel's own form.
fn address(text: &str) -> Option<String> {
    let place: PciAddress = text.parse().ok()?;
    Some(place.to_string())
}
