//! What a test says about a node it wants.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use serde_json::{Value, json};

use super::LateDevices;
use super::objects::now;

/// The resource under which NVIDIA's device plugin offers whole GPUs.
const NVIDIA_GPU: &str = "nvidia.com/gpu";

/// A node to be added.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
    pub(super) provider_id: Option<String>,
    pub(super) resources: BTreeMap<String, String>,
    devices: Option<(String, u32)>,
    devices_after: Duration,
}

impl NodeSpec {
    /// A node without GPUs: 64 processors, 512 GiB of memory, room for 110 pods.
    pub fn new(name: impl Into<String>) -> Self {
        let resources = [
            ("cpu", "64"),
            ("memory", "512Gi"),
            ("ephemeral-storage", "1Ti"),
            ("pods", "110"),
        ];
        Self {
            name: name.into(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            provider_id: None,
            resources: resources
                .map(|(name, amount)| (name.to_owned(), amount.to_owned()))
                .into(),
            devices: None,
            devices_after: Duration::ZERO,
        }
    }

    /// Offers whole NVIDIA GPUs.
    #[must_use]
    pub fn gpus(self, count: u32) -> Self {
        self.devices(NVIDIA_GPU, count)
    }

    /// Offers devices of any resource name.
    #[must_use]
    pub fn devices(mut self, resource: impl Into<String>, count: u32) -> Self {
        self.devices = Some((resource.into(), count));
        self
    }

    /// Lets the devices appear only so long after the node, on the group's clock.
    #[must_use]
    pub fn devices_after(mut self, delay: Duration) -> Self {
        self.devices_after = delay;
        self
    }

    /// Sets the capacity of any other resource.
    #[must_use]
    pub fn resource(mut self, name: impl Into<String>, amount: impl Into<String>) -> Self {
        self.resources.insert(name.into(), amount.into());
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Sets the well-known label of the machine's type.
    #[must_use]
    pub fn instance_type(self, name: impl Into<String>) -> Self {
        self.label("node.kubernetes.io/instance-type", name)
    }

    /// Sets the cloud's name of the machine.
    #[must_use]
    pub fn provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = Some(id.into());
        self
    }

    /// Adds a taint.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        self.taints.push(taint(key, value, effect));
        self
    }

    /// All that the node offers from its first moment.
    pub(super) fn first_resources(&self) -> BTreeMap<String, String> {
        let mut resources = self.resources.clone();
        if let Some((resource, count)) = &self.devices {
            // A device plugin that has not registered yet leaves a node without the resource, or with none of it.
            let offered = if self.devices_after.is_zero() { *count } else { 0 };
            resources.insert(resource.clone(), offered.to_string());
        }
        resources
    }

    /// What it offers later, when it is added at `now`.
    pub(super) fn late_devices(&self, now: Duration) -> Option<LateDevices> {
        let (resource, count) = self.devices.clone()?;
        (!self.devices_after.is_zero()).then(|| LateDevices {
            at: now + self.devices_after,
            resource,
            count,
        })
    }
}

/// By which mark a cloud's agent announces that a node is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpotNotice {
    /// The taint of AWS's node termination handler.
    Aws,
    /// The taint that GKE sets.
    Gcp,
    /// The condition that AKS sets.
    Azure,
}

impl SpotNotice {
    pub(super) fn taint(self) -> Option<Taint> {
        match self {
            Self::Aws => Some(taint(
                "aws-node-termination-handler/spot-itn",
                "notice",
                "NoSchedule",
            )),
            Self::Gcp => Some(taint(
                "cloud.google.com/impending-node-termination",
                "",
                "NoSchedule",
            )),
            Self::Azure => None,
        }
    }

    pub(super) fn condition(self) -> Value {
        json!({
            "type": "PreemptScheduled",
            "status": "True",
            "reason": "PreemptScheduled",
            "message": "the machine is about to be taken back",
            "lastHeartbeatTime": now(),
            "lastTransitionTime": now(),
        })
    }
}

fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint {
        key: key.to_owned(),
        value: (!value.is_empty()).then(|| value.to_owned()),
        effect: effect.to_owned(),
        time_added: None,
    }
}
