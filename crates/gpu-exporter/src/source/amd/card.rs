//! One GPU as it was found: who it is, where its files are, and into what it is divided.

use std::path::{Path, PathBuf};

use gpu_model::Vendor;

use super::attribute::{names, numbered, read_text};
use super::discovery::Found;
use super::models;
use super::text::{hexadecimal, uevent};
use super::topology::{Node, Topology};
use crate::snapshot::{Board, Identity};

/// A board's text of its own; longer ones are not names.
const LONGEST_NAME: usize = 128;

/// What the readers of a GPU need to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) found: Found,
    /// AMD's number of the chip.
    pub(super) chip: Option<u16>,
    pub(super) unique_id: u64,
    pub(super) hwmon: Option<PathBuf>,
    /// As the driver writes them: `CPX` and `NPS4`.
    pub(super) compute_mode: Option<String>,
    pub(super) memory_mode: Option<String>,
    /// The compute driver's view of the GPU, or of its first partition.
    pub(super) node: Option<Node>,
    /// Empty on a GPU that is not divided.
    pub(super) partitions: Vec<Partition>,
}

/// A partition of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    /// Counts from 0 within the GPU, as the firmware counts.
    pub(super) index: u32,
    /// The name by which it is handed out.
    pub(super) name: String,
    /// The directory of its own device, where it has one.
    pub(super) directory: Option<PathBuf>,
    pub(super) node: Node,
}

impl Card {
    pub(super) fn new(sysfs: &Path, found: Found, topology: &Topology) -> Self {
        let directory = found.directory.clone();
        let text = |name: &str| read_text(&directory.join(name)).filter(|text| text.len() <= LONGEST_NAME);
        let unique_id = text("unique_id").and_then(|id| hexadecimal(&id));
        let nodes = topology.of_gpu(found.place(), found.render, unique_id.unwrap_or(0));
        let node = nodes.first().map(|node| (*node).clone());
        let unique_id = unique_id
            .filter(|id| *id != 0)
            .or_else(|| node.as_ref().map(|node| node.unique_id));
        let found = Found {
            render: found.render.or_else(|| node.as_ref().map(|node| node.render)),
            ..found
        };
        Self {
            chip: chip(&directory),
            unique_id: unique_id.unwrap_or(0),
            hwmon: hwmon(&directory).or_else(|| hwmon_of_class(sysfs, &found)),
            compute_mode: text("current_compute_partition"),
            memory_mode: text("current_memory_partition"),
            partitions: partitions(&found, &nodes, topology),
            node,
            found,
        }
    }

    /// `cpx_nps4`, as AMD's device plugin calls what it hands out.
    pub(super) fn profile(&self) -> String {
        let compute = self.compute_mode.as_deref().unwrap_or("partition");
        match &self.memory_mode {
            Some(memory) => format!("{compute}_{memory}").to_ascii_lowercase(),
            None => compute.to_ascii_lowercase(),
        }
    }

    /// What has to be opened anew when it changes.
    pub(super) fn layout(&self) -> Vec<String> {
        let mut layout = vec![
            self.profile(),
            self.found.directory.display().to_string(),
            self.hwmon
                .as_ref()
                .map_or_else(String::new, |path| path.display().to_string()),
        ];
        let parts = self.partitions.iter();
        layout.extend(parts.map(|part| format!("{} {} {}", part.index, part.name, part.node.gpu_id)));
        layout
    }

    pub(super) fn identity(&self, index: u32, uuid: String, driver_version: &str) -> Identity {
        let directory = &self.found.directory;
        let text = |name: &str| {
            read_text(&directory.join(name)).filter(|text| text.len() <= LONGEST_NAME && !is_blank(text))
        };
        let product = text("product_name");
        Identity {
            vendor: Vendor::Amd,
            index,
            minor: self.found.render,
            uuid,
            model: product.clone().unwrap_or_else(|| models::name(self.chip)),
            pci_bus_id: self.found.address.clone(),
            serial: text("serial_number"),
            vbios: text("vbios_version"),
            driver_version: driver_version.to_owned(),
            architecture: self
                .node
                .as_ref()
                .and_then(|node| models::architecture(node.gfx?)),
            board: Board {
                card: self.found.card,
                render: self.found.render,
                series: product,
                number: text("product_number"),
                maker: maker(directory),
                compute_partition: self.compute_mode.clone(),
                memory_partition: self.memory_mode.clone(),
                deployment: None,
            },
        }
    }

    /// The unique id in the form of the kernel; a device without one is known by its place.
    pub(super) fn uuid(&self) -> String {
        match self.unique_id {
            0 => format!("amd-{}", self.found.address),
            id => format!("{id:016x}"),
        }
    }
}

/// Firmwares that were never told say so in several ways.
fn is_blank(text: &str) -> bool {
    let plain = text.trim_matches(['0', ' ', '.', '-']);
    plain.is_empty() || plain.eq_ignore_ascii_case("n/a") || plain.eq_ignore_ascii_case("unknown")
}

fn chip(directory: &Path) -> Option<u16> {
    let from_file = read_text(&directory.join("device")).and_then(|text| hexadecimal(&text));
    let number = from_file.or_else(|| {
        let events = read_text(&directory.join("uevent"))?;
        hexadecimal(uevent(&events, "PCI_ID")?.strip_prefix("1002:")?)
    });
    u16::try_from(number?).ok()
}

/// Only AMD's own boards are named; the others' numbers would need a list of all makers.
fn maker(directory: &Path) -> Option<String> {
    let vendor = read_text(&directory.join("subsystem_vendor"))?;
    (vendor == "0x1002").then(|| "Advanced Micro Devices, Inc. [AMD/ATI]".to_owned())
}

/// The sensors' directory. Its number differs from boot to boot; batteries and links of the same device have their own.
fn hwmon(directory: &Path) -> Option<PathBuf> {
    let root = directory.join("hwmon");
    let mut found = names(&root)?
        .into_iter()
        .filter(|name| numbered(name, "hwmon").is_some())
        .map(|name| root.join(name));
    let first = found.next()?;
    let is_own = |path: &PathBuf| read_text(&path.join("name")).is_some_and(|name| name == "amdgpu");
    if is_own(&first) {
        return Some(first);
    }
    Some(found.find(is_own).unwrap_or(first))
}

/// The same from the class of all sensors, for trees in which the device does not lead there.
fn hwmon_of_class(sysfs: &Path, found: &Found) -> Option<PathBuf> {
    let root = sysfs.join("class/hwmon");
    let of_device = |path: &PathBuf| {
        let device = path.join("device");
        let events = read_text(&device.join("uevent")).unwrap_or_default();
        let is_there = uevent(&events, "PCI_SLOT_NAME").is_some_and(|place| place == found.address);
        is_there || std::fs::canonicalize(device).ok() == std::fs::canonicalize(&found.directory).ok()
    };
    let mut all = names(&root)?.into_iter().map(|name| root.join(name));
    all.find(|path| read_text(&path.join("name")).is_some_and(|name| name == "amdgpu") && of_device(path))
}

fn partitions(found: &Found, nodes: &[&Node], topology: &Topology) -> Vec<Partition> {
    if nodes.len() < 2 {
        return Vec::new();
    }
    let indices = indices(nodes);
    let partition = |(index, node): (u32, &&Node)| {
        let own = topology.platform.get(&node.render);
        // The first one is behind the GPU's own render node; its name is that of the GPU.
        let is_first = Some(node.render) == found.render || (own.is_none() && index == 0);
        let (name, directory) = match own {
            _ if is_first => (found.address.clone(), Some(found.directory.clone())),
            Some(own) => (format!("amdgpu_xcp_{}", own.number), Some(own.directory.clone())),
            None => (format!("{}-{index}", found.address), None),
        };
        Partition {
            index,
            name,
            directory,
            node: (*node).clone(),
        }
    };
    let mut partitions: Vec<Partition> = indices.into_iter().zip(nodes).map(partition).collect();
    partitions.sort_by_key(|partition| partition.index);
    partitions
}

/// Which partition each node is. Kernels count them in the function bits of the place, later ones in its highest bits; where
/// neither tells them apart they are counted in the order of their render nodes.
fn indices(nodes: &[&Node]) -> Vec<u32> {
    let ways: [fn(&Node) -> u32; 2] = [|node| node.location >> 28, |node| node.location & 7];
    for way in ways {
        let told: Vec<u32> = nodes.iter().map(|node| way(node)).collect();
        let mut distinct = told.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() == nodes.len() {
            return told;
        }
    }
    (0..).zip(nodes).map(|(index, _)| index).collect()
}
