//! What the compute driver (KFD) says of GPUs and their partitions: `class/kfd/kfd/topology`. Each partition is a node of its
//! own there; a render node that no node names belongs to no partition that exists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::attribute::{names, numbered, read_text};
use super::text::{self, GfxTarget, PciAddress};

/// Eight GPUs of eight partitions and two processors are 66.
const MOST_NODES: usize = 1024;

/// A GPU or a partition of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Node {
    pub(super) directory: PathBuf,
    /// The number by which processes' files name it; 0 where a copied tree does not tell.
    pub(super) gpu_id: u32,
    pub(super) render: u32,
    pub(super) domain: u32,
    pub(super) location: u32,
    pub(super) unique_id: u64,
    pub(super) gfx: Option<GfxTarget>,
    /// The compute dies of it.
    pub(super) dies: u32,
}

/// The nodes that are GPUs, and which platform device has which render node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Topology {
    generation: Option<String>,
    pub(super) nodes: Vec<Node>,
    /// By render node, the partitions' platform devices.
    pub(super) platform: BTreeMap<u32, Platform>,
}

/// A partition's platform device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Platform {
    /// That of `amdgpu_xcp_<number>`.
    pub(super) number: u32,
    pub(super) directory: PathBuf,
}

impl Topology {
    /// The topology now; `before` where nothing has changed since.
    pub(super) fn read(sysfs: &Path, before: &Arc<Self>) -> Arc<Self> {
        let root = sysfs.join("class/kfd/kfd/topology");
        let generation = read_text(&root.join("generation_id"));
        if generation.is_some() && generation == before.generation {
            return Arc::clone(before);
        }
        let numbers = names(&root.join("nodes")).unwrap_or_default();
        let mut nodes: Vec<Node> = numbers
            .iter()
            .filter(|name| numbered(name, "").is_some())
            .take(MOST_NODES)
            .filter_map(|name| node(&root.join("nodes").join(name)))
            .collect();
        nodes.sort_by_key(|node| (node.domain, node.location & 0xffff, node.render));
        Arc::new(Self {
            generation,
            nodes,
            platform: platform(sysfs),
        })
    }

    /// The nodes of one GPU: the one behind its own render node or at its place, and all that share the silicon with it.
    pub(super) fn of_gpu(
        &self,
        place: Option<PciAddress>,
        render: Option<u32>,
        unique_id: u64,
    ) -> Vec<&Node> {
        let place = place.map(|place| {
            let function = u32::from(place.device) << 3 | u32::from(place.function);
            (place.domain, u32::from(place.bus) << 8 | function)
        });
        let is_at = |node: &&Node| place == Some((node.domain, node.location & 0xffff));
        let is_behind = |node: &&Node| Some(node.render) == render;
        let has_id = |node: &&Node| unique_id != 0 && node.unique_id == unique_id;
        let own = self.nodes.iter().find(is_at);
        let own = own.or_else(|| self.nodes.iter().find(is_behind));
        let Some(own) = own.or_else(|| self.nodes.iter().find(has_id)) else {
            return Vec::new();
        };
        // The function bits of the place count partitions.
        let slot = |node: &Node| (node.domain, node.location & 0xfff8);
        let same = |node: &&Node| match own.unique_id {
            0 => slot(node) == slot(own),
            id => node.unique_id == id && slot(node) == slot(own),
        };
        let mut nodes: Vec<&Node> = self.nodes.iter().filter(same).collect();
        nodes.sort_by_key(|node| node.render);
        nodes
    }
}

fn node(directory: &Path) -> Option<Node> {
    let properties = read_text(&directory.join("properties"))?;
    let told = text::kfd_node(&properties);
    // Processors are nodes, too.
    if !told.is_gpu() {
        return None;
    }
    let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
    Some(Node {
        directory: directory.to_path_buf(),
        gpu_id: read_text(&directory.join("gpu_id"))
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
        render: small(told.drm_render_minor),
        domain: small(told.domain),
        location: small(told.location_id),
        unique_id: told.unique_id.unwrap_or(0),
        gfx: told.gfx_target,
        dies: small(told.num_xcc),
    })
}

/// The partitions' platform devices. They exist in every mode of the GPU, so that alone they prove nothing.
fn platform(sysfs: &Path) -> BTreeMap<u32, Platform> {
    let mut found = BTreeMap::new();
    for root in [sysfs.join("devices/platform"), sysfs.join("bus/platform/devices")] {
        for name in names(&root).unwrap_or_default() {
            // The first one has no number in some kernels.
            let Some(number) = numbered(&name, "amdgpu_xcp_").or((name == "amdgpu_xcp").then_some(0)) else {
                continue;
            };
            let directory = root.join(&name);
            let nodes = names(&directory.join("drm")).unwrap_or_default();
            for render in nodes.iter().filter_map(|node| numbered(node, "renderD")) {
                found.entry(render).or_insert_with(|| Platform {
                    number,
                    directory: directory.clone(),
                });
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}
