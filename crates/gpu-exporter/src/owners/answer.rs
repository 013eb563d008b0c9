//! From the kubelet's answer to the devices that containers hold, within bounds whatever the kubelet sends.

use gpu_kubelet::podresources::{
    ClaimResource, ContainerResources, DynamicResource, ListPodResourcesResponse,
};
use gpu_model::{ContainerName, Namespace, PodName};

use super::device_id::{self, DeviceRef};
use super::names::{HolderKey, Liveness, PodNames};
use super::resources::GpuResources;
use super::{Given, Held};

/// A node runs some hundred pods, and the largest answer that fits on the wire holds fewer than this many.
pub const MOST_PODS: usize = 32_768;
/// Sixteen GPUs of seven slices with a hundred replicas each are fewer; what goes beyond is counted, not kept.
pub const MOST_DEVICES: usize = 16_384;

/// What an answer holds for us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Sorted, so that the same pods give the same list in whatever order the kubelet names them.
    pub held: Vec<Held>,
    pub pods: usize,
    /// Devices of pods that have ended, which older kubelets list on.
    pub ended: usize,
    /// Devices of which nothing tells whether their pod still runs.
    pub unverified: usize,
    /// Devices whose id has a form that we do not know.
    pub unknown_ids: usize,
    /// Pods and devices beyond the bounds, or with names that Kubernetes does not allow.
    pub dropped: usize,
}

impl Answer {
    /// Reads the kubelet's answer; `names` completes and checks it.
    pub fn read(list: &ListPodResourcesResponse, resources: &GpuResources, names: &PodNames) -> Self {
        let mut answer = Self {
            pods: list.pod_resources.len(),
            dropped: list.pod_resources.len().saturating_sub(MOST_PODS),
            ..Self::default()
        };
        for pod in list.pod_resources.iter().take(MOST_PODS) {
            let mut gpus = pod
                .containers
                .iter()
                .filter(|container| holds_gpus(container, resources))
                .peekable();
            // Most pods hold no GPU: they cost no allocation.
            if gpus.peek().is_none() {
                continue;
            }
            let (Ok(namespace), Ok(name)) = (Namespace::new(&pod.namespace), PodName::new(&pod.name)) else {
                answer.dropped += 1;
                continue;
            };
            for container in gpus {
                let Ok(container_name) = ContainerName::new(&container.name) else {
                    answer.dropped += 1;
                    continue;
                };
                let mut reader = Reader {
                    owner: (&namespace, &name, &container_name),
                    names,
                    answer: &mut answer,
                };
                reader.read(container, resources);
            }
        }
        answer.held.sort_unstable();
        answer.held.dedup();
        answer
    }
}

fn holds_gpus(container: &ContainerResources, resources: &GpuResources) -> bool {
    let devices = container
        .devices
        .iter()
        .any(|devices| resources.contains(&devices.resource_name));
    let claims = || {
        container
            .dynamic_resources
            .iter()
            .flat_map(|claim| &claim.claim_resources)
    };
    devices || claims().any(|device| resources.contains_driver(&device.driver_name))
}

struct Reader<'a> {
    owner: (&'a Namespace, &'a PodName, &'a ContainerName),
    names: &'a PodNames,
    answer: &'a mut Answer,
}

impl Reader<'_> {
    fn read(&mut self, container: &ContainerResources, resources: &GpuResources) {
        for devices in &container.devices {
            if !resources.contains(&devices.resource_name) {
                continue;
            }
            for id in &devices.device_ids {
                let parsed = device_id::parse(id);
                let given = parsed.replica.map_or(Given::Alone, Given::Replica);
                self.add(parsed.device, given, Some((&devices.resource_name, id)));
            }
        }
        for claim in &container.dynamic_resources {
            for device in &claim.claim_resources {
                if resources.contains_driver(&device.driver_name) {
                    self.add(claimed_device(device), given_by(claim, device), None);
                }
            }
        }
    }

    fn add(&mut self, device: DeviceRef, given: Given, plugin: Option<(&str, &str)>) {
        if self.answer.held.len() >= MOST_DEVICES {
            self.answer.dropped += 1;
            return;
        }
        let (namespace, pod, container) = self.owner;
        let (uid, liveness) = self.names.identify(&HolderKey {
            namespace,
            pod,
            container,
            device: plugin,
        });
        match liveness {
            Liveness::Alive => {}
            Liveness::Unverified => self.answer.unverified += 1,
            Liveness::Ended => {
                self.answer.ended += 1;
                return;
            }
        }
        if matches!(device, DeviceRef::Unknown { .. }) {
            self.answer.unknown_ids += 1;
        }
        self.answer.held.push(Held {
            namespace: namespace.clone(),
            pod: pod.clone(),
            container: container.clone(),
            uid,
            device,
            given,
        });
    }
}

fn claimed_device(device: &ClaimResource) -> DeviceRef {
    let cdi = device.cdi_devices.iter().map(|cdi| cdi.name.as_str());
    device_id::parse_claimed(&device.driver_name, &device.device_name, cdi)
}

fn given_by(claim: &DynamicResource, device: &ClaimResource) -> Given {
    Given::Claim {
        claim: format!("{}/{}", claim.claim_namespace, claim.claim_name),
        share: device.share_id.clone(),
    }
}

#[cfg(test)]
mod tests;
