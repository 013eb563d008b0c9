//! What a pod asks for, counted as the scheduler counts: containers and sidecars together, or the largest moment of the
//! initialisation where that is more, plus the overhead of the runtime.

use std::collections::BTreeMap;

use gpu_model::{
    Bytes, ContainerName, GpuRequest, HostRequest, MigProfileName, RequestKind, ResourceName, Vendor,
};

use super::Unreadable;
use super::wire::{Container, PodSpec, PodStatus, Quantities, Resources};
use crate::names::resource;
use crate::quantity;

/// What a resource name means, where it means a GPU or a part of one.
///
/// The other resources of Intel's plugin (`gpu.intel.com/millicores`, `memory.max`, `tiles`) say which part of a card of `i915`
/// or `xe` is wanted, and its `*_monitoring` resources give no card at all; they are no requests of their own.
pub fn request_kind(name: &str) -> Option<RequestKind> {
    match name {
        resource::NVIDIA_GPU => Some(RequestKind::Whole(Vendor::Nvidia)),
        resource::AMD_GPU => Some(RequestKind::Whole(Vendor::Amd)),
        resource::INTEL_I915 | resource::INTEL_XE => Some(RequestKind::Whole(Vendor::Intel)),
        resource::NVIDIA_SHARED => Some(RequestKind::Shared),
        resource::HAMI_MEMORY => Some(RequestKind::HamiMemory),
        resource::HAMI_MEMORY_PERCENT => Some(RequestKind::HamiMemoryPercent),
        resource::HAMI_CORES => Some(RequestKind::HamiCores),
        _ => mig_slice(name).or_else(|| amd_partition(name)),
    }
}

fn mig_slice(name: &str) -> Option<RequestKind> {
    let profile = name.strip_prefix(resource::NVIDIA_MIG)?;
    let profile = profile.strip_suffix(resource::SHARED_SUFFIX).unwrap_or(profile);
    // A resource name has no plus sign: the plugin writes the profile 1g.10gb+me as 1g.10gb.me.
    let profile = match profile.split_once("gb.") {
        Some((size, extra)) => format!("{size}gb+{extra}"),
        None => profile.to_owned(),
    };
    MigProfileName::new(profile).ok().map(RequestKind::MigSlice)
}

fn amd_partition(name: &str) -> Option<RequestKind> {
    let partition = name.strip_prefix(resource::AMD_PREFIX)?;
    let (compute, memory) = partition.split_once('_')?;
    let is_partition = matches!(compute, "spx" | "dpx" | "tpx" | "qpx" | "cpx") && memory.starts_with("nps");
    is_partition.then(|| RequestKind::AmdPartition(partition.to_owned()))
}

/// What the pod asks of its node besides GPUs.
pub(super) fn host_request(spec: &PodSpec, status: &PodStatus) -> Result<HostRequest, Unreadable> {
    let container = |container: &Container| -> Result<Host, Unreadable> {
        let allocated = status
            .container_statuses
            .iter()
            .chain(&status.init_container_statuses)
            .find(|found| found.name == container.name)
            .map(|found| &found.allocated_resources);
        Ok(Host {
            cpu: asked(container, "cpu", allocated, quantity::thousandths)?,
            memory: asked(container, "memory", allocated, quantity::units)?,
        })
    };
    let mut at_work = Host::default();
    for found in &spec.containers {
        at_work = at_work.plus(container(found)?);
    }
    let mut sidecars = Host::default();
    let mut largest_start = Host::default();
    for found in &spec.init_containers {
        let wants = container(found)?;
        let moment = sidecars.plus(wants);
        if is_sidecar(found) {
            sidecars = moment;
        }
        largest_start = largest_start.max(moment);
    }
    let total = at_work.plus(sidecars).max(largest_start);
    // Since 1.32 a pod may say for all of its containers together what it asks for.
    let total = Host {
        cpu: pod_level(&spec.resources, "cpu", quantity::thousandths)?.unwrap_or(total.cpu),
        memory: pod_level(&spec.resources, "memory", quantity::units)?.unwrap_or(total.memory),
    };
    let overhead = Host {
        cpu: amount(&spec.overhead, "cpu", "overhead", quantity::thousandths)?.unwrap_or(0),
        memory: amount(&spec.overhead, "memory", "overhead", quantity::units)?.unwrap_or(0),
    };
    let total = total.plus(overhead);
    Ok(HostRequest {
        cpu_millicores: total.cpu,
        memory: Bytes(total.memory),
        pods: 1,
    })
}

/// The GPUs that containers ask for, in the order of the pod. The counts of one resource sum to what the scheduler reserves: a
/// container of the initialisation is listed only with what it needs beyond all that come after it.
pub(super) fn gpu_requests(spec: &PodSpec) -> Result<Vec<GpuRequest>, Unreadable> {
    let mut at_work: BTreeMap<String, u64> = BTreeMap::new();
    let mut sidecars: BTreeMap<String, u64> = BTreeMap::new();
    let mut requests = Vec::new();
    let mut starts = Vec::new();
    for container in &spec.init_containers {
        for (name, kind, count) in gpus_of(container)? {
            let before = sidecars.get(&name).copied().unwrap_or(0);
            if is_sidecar(container) {
                *sidecars.entry(name.clone()).or_default() += count;
                *at_work.entry(name.clone()).or_default() += count;
                requests.push(request(container, &name, kind, count)?);
            } else {
                starts.push((container, name, kind, before.saturating_add(count)));
            }
        }
    }
    for container in &spec.containers {
        for (name, kind, count) in gpus_of(container)? {
            *at_work.entry(name.clone()).or_default() += count;
            requests.push(request(container, &name, kind, count)?);
        }
    }
    for (container, name, kind, needed) in starts {
        let reserved = at_work.entry(name.clone()).or_default();
        if needed > *reserved {
            requests.push(request(container, &name, kind, needed - *reserved)?);
            *reserved = needed;
        }
    }
    Ok(requests)
}

fn gpus_of(container: &Container) -> Result<Vec<(String, RequestKind, u64)>, Unreadable> {
    let resources = &container.resources;
    let mut found = Vec::new();
    for (name, text) in resources.requests.iter().chain(
        // What has a limit alone is asked for as well: the API server fills the request in.
        resources
            .limits
            .iter()
            .filter(|(name, _)| !resources.requests.contains_key(*name)),
    ) {
        let Some(kind) = request_kind(name) else { continue };
        let count = quantity::units(&text.0)
            .map_err(|error| Unreadable::field(format!("request of `{name}`"), error))?;
        if count > 0 {
            found.push((name.clone(), kind, count));
        }
    }
    Ok(found)
}

fn request(
    container: &Container,
    name: &str,
    kind: RequestKind,
    count: u64,
) -> Result<GpuRequest, Unreadable> {
    Ok(GpuRequest {
        container: ContainerName::new(&container.name)?,
        resource: ResourceName::new(name)?,
        count: u32::try_from(count).map_err(|_| {
            Unreadable::field(
                format!("request of `{name}`"),
                format!("{count} is more than can be counted"),
            )
        })?,
        kind,
    })
}

fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// What the GPU resources in a node's list amount to.
pub(super) fn gpus_in(list: &Quantities, what: &str) -> Result<BTreeMap<ResourceName, u32>, Unreadable> {
    let mut gpus = BTreeMap::new();
    for (name, text) in list.iter().filter(|(name, _)| request_kind(name).is_some()) {
        let refuse = |why: &dyn ToString| Unreadable::field(format!("{what} of `{name}`"), why.to_string());
        let count = quantity::units(&text.0).map_err(|error| refuse(&error))?;
        let count = u32::try_from(count).map_err(|error| refuse(&error))?;
        gpus.insert(ResourceName::new(name)?, count);
    }
    Ok(gpus)
}

/// One quantity of a list, where it is there.
pub(super) fn amount(
    list: &Quantities,
    name: &str,
    what: &str,
    read: fn(&str) -> Result<u64, quantity::QuantityError>,
) -> Result<Option<u64>, Unreadable> {
    list.get(name)
        .map(|text| read(&text.0).map_err(|error| Unreadable::field(format!("{what} of `{name}`"), error)))
        .transpose()
}

fn asked(
    container: &Container,
    name: &str,
    allocated: Option<&Quantities>,
    read: fn(&str) -> Result<u64, quantity::QuantityError>,
) -> Result<u64, Unreadable> {
    let wanted = pod_level(&container.resources, name, read)?.unwrap_or(0);
    // While a container is being resized, the node keeps the larger of what it has and what it asks for.
    let given = match allocated {
        Some(allocated) => amount(allocated, name, "allocation", read)?.unwrap_or(0),
        None => 0,
    };
    Ok(wanted.max(given))
}

fn pod_level(
    resources: &Resources,
    name: &str,
    read: fn(&str) -> Result<u64, quantity::QuantityError>,
) -> Result<Option<u64>, Unreadable> {
    match amount(&resources.requests, name, "request", read)? {
        Some(found) => Ok(Some(found)),
        None => amount(&resources.limits, name, "limit", read),
    }
}

#[derive(Clone, Copy, Default)]
struct Host {
    cpu: u64,
    memory: u64,
}

impl Host {
    fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_add(other.cpu),
            memory: self.memory.saturating_add(other.memory),
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.max(other.cpu),
            memory: self.memory.max(other.memory),
        }
    }
}
