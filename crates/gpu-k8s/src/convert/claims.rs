//! Dynamic Resource Allocation: claims for devices, by name or by template, and which of them are for GPUs.
//!
//! A claim belongs to its pod, not to a container: each request of it is counted once, for the first container that uses it.

use gpu_model::{ContainerName, GpuRequest, RequestKind, ResourceName};

use super::Unreadable;
use super::requests::request_kind;
use super::wire::{
    AllocatedDevice, ClaimRequest, ClaimSpec, ClaimStatus, ClassSpec, ExactRequest, Nothing, Object, PodSpec,
    PodStatus, TemplateSpec,
};
use crate::names::dra;

/// A claim in a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimUse {
    /// The name that the pod gives it.
    pub name: String,
    pub source: ClaimSource,
    /// The first container that uses all of it, and those that use one request of it.
    pub containers: Vec<(ContainerName, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimSource {
    /// A claim that was made apart from the pod.
    Claim(String),
    /// A claim is made for this pod alone; its name is known once it is made.
    Template { template: String, made: Option<String> },
    /// Neither is said.
    Nothing,
}

/// What a claim, or the template of one, asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimFacts {
    pub requests: Vec<DeviceRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRequest {
    pub name: String,
    /// The device class.
    pub class: String,
    /// Where all devices are asked for, it is 1 until they are allocated, and then their number.
    pub count: u32,
    /// Who gave the devices, once they are allocated.
    pub driver: Option<String>,
}

/// Reads a ResourceClaim of any version.
pub fn claim(text: &str) -> Result<ClaimFacts, Unreadable> {
    let object: Object<ClaimSpec, ClaimStatus> = serde_json::from_str(text)?;
    let allocated = object.status.allocation.unwrap_or_default().devices.results;
    Ok(facts(object.spec, &allocated))
}

/// Reads a ResourceClaimTemplate of any version.
pub fn template(text: &str) -> Result<ClaimFacts, Unreadable> {
    let object: Object<TemplateSpec, Nothing> = serde_json::from_str(text)?;
    Ok(facts(object.spec.spec, &[]))
}

/// Reads a DeviceClass: whether its devices are GPUs.
pub fn device_class(text: &str) -> Result<bool, Unreadable> {
    let object: Object<ClassSpec, Nothing> = serde_json::from_str(text)?;
    let spec = object.spec;
    let by_resource = spec
        .extended_resource_name
        .as_deref()
        .is_some_and(|name| request_kind(name).is_some());
    // Classes choose devices by an expression such as `device.driver == "gpu.nvidia.com"`.
    let by_driver = spec
        .selectors
        .iter()
        .filter_map(|selector| selector.cel.as_ref())
        .any(|cel| {
            dra::DRIVERS.iter().any(|driver| {
                cel.expression.contains(&format!("\"{driver}\""))
                    || cel.expression.contains(&format!("'{driver}'"))
            })
        });
    Ok(by_resource || by_driver)
}

/// Whether a class is one that the vendors' drivers install, by its name alone.
pub fn class_means_gpu(class: &str) -> bool {
    dra::DRIVERS
        .iter()
        .any(|driver| class == *driver || class.strip_suffix(driver).is_some_and(|rest| rest.ends_with('.')))
}

impl DeviceRequest {
    /// Whether it is for GPUs: its driver says so, or its class.
    pub fn is_gpu(&self, class_is_gpu: impl FnOnce(&str) -> bool) -> bool {
        let by_driver = self
            .driver
            .as_deref()
            .is_some_and(|driver| dra::DRIVERS.contains(&driver));
        by_driver || class_means_gpu(&self.class) || class_is_gpu(&self.class)
    }
}

impl ClaimUse {
    /// The GPUs that come by this claim, each for the first container that uses it.
    pub fn gpu_requests(&self, facts: &ClaimFacts, class_is_gpu: impl Fn(&str) -> bool) -> Vec<GpuRequest> {
        let found = facts
            .requests
            .iter()
            .filter(|request| request.is_gpu(&class_is_gpu));
        found
            .filter_map(|request| {
                let user = self
                    .containers
                    .iter()
                    .find(|(_, only)| only.as_ref().is_none_or(|only| *only == request.name));
                let (container, _) = user.or_else(|| self.containers.first())?;
                Some(GpuRequest {
                    container: container.clone(),
                    resource: ResourceName::new(&request.class).ok()?,
                    count: request.count,
                    kind: RequestKind::Claim(self.claim_name().to_owned()),
                })
            })
            .collect()
    }

    /// The name of the claim, or of its template while there is no claim.
    pub fn claim_name(&self) -> &str {
        match &self.source {
            ClaimSource::Claim(name) => name,
            ClaimSource::Template { made: Some(name), .. } => name,
            ClaimSource::Template { template, made: None } => template,
            ClaimSource::Nothing => &self.name,
        }
    }
}

fn facts(spec: ClaimSpec, allocated: &[AllocatedDevice]) -> ClaimFacts {
    let requests = spec.devices.requests.into_iter();
    ClaimFacts {
        requests: requests
            .filter_map(|request| device_request(request, allocated))
            .collect(),
    }
}

/// Absent for a request that names no class, which asks for nothing that could be counted.
fn device_request(request: ClaimRequest, allocated: &[AllocatedDevice]) -> Option<DeviceRequest> {
    let ClaimRequest {
        name,
        exactly,
        first_available,
        flat,
    } = request;
    let wanted: ExactRequest = exactly
        .or_else(|| first_available.into_iter().next())
        .unwrap_or(flat);
    let is_of_request = |device: &&AllocatedDevice| {
        let whole = device.request.split('/').next().unwrap_or_default();
        whole == name
    };
    let given: Vec<&AllocatedDevice> = allocated.iter().filter(is_of_request).collect();
    let count = match (given.len(), wanted.allocation_mode.as_deref()) {
        (0, Some("All")) => 1,
        (0, _) => wanted.count.unwrap_or(1),
        (devices, _) => u32::try_from(devices).unwrap_or(u32::MAX),
    };
    let driver = given.first().map(|device| device.driver.clone());
    Some(DeviceRequest {
        class: wanted.device_class_name?,
        count,
        driver,
        name,
    })
}

/// The claims of a pod, with who uses them.
pub(super) fn claim_uses(spec: &PodSpec, status: &PodStatus) -> Result<Vec<ClaimUse>, Unreadable> {
    let mut uses = Vec::new();
    for claim in &spec.resource_claims {
        let made = status
            .resource_claim_statuses
            .iter()
            .find(|found| found.name == claim.name)
            .and_then(|found| found.resource_claim_name.clone());
        let source = match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
            (Some(name), _) => ClaimSource::Claim(name.clone()),
            (None, Some(template)) => ClaimSource::Template {
                template: template.clone(),
                made,
            },
            (None, None) => ClaimSource::Nothing,
        };
        let mut containers = Vec::new();
        for container in spec.containers.iter().chain(&spec.init_containers) {
            for used in container
                .resources
                .claims
                .iter()
                .filter(|used| used.name == claim.name)
            {
                containers.push((ContainerName::new(&container.name)?, used.request.clone()));
            }
        }
        if containers.is_empty() {
            // It is the pod's all the same, and somebody has to stand for it.
            if let Some(first) = spec.containers.first() {
                containers.push((ContainerName::new(&first.name)?, None));
            }
        }
        uses.push(ClaimUse {
            name: claim.name.clone(),
            source,
            containers,
        });
    }
    Ok(uses)
}
