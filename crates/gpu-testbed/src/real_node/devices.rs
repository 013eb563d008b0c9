//! The devices that the node's device plugin offers, as a file between the test that decides and the plugin that
//! obeys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Whether the kubelet may hand a device out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It may.
    Healthy,
    /// It may not; pods that hold it keep it.
    Unhealthy,
}

/// Devices by resource and id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers(BTreeMap<String, BTreeMap<String, Health>>);

impl Offers {
    /// Adds healthy devices of one resource.
    #[must_use]
    pub fn with(mut self, resource: &str, ids: &[&str]) -> Self {
        let devices = self.0.entry(resource.to_owned()).or_default();
        devices.extend(ids.iter().map(|id| ((*id).to_owned(), Health::Healthy)));
        self
    }

    /// Two devices of each kind that a node can have: whole, a slice, a share of time, and another vendor's. The ids
    /// have the shapes in which the vendors' own plugins write them.
    pub fn of_every_kind() -> Self {
        Self::default()
            .with(
                "nvidia.com/gpu",
                &[
                    "GPU-0f4a1c52-5e3b-4d0c-9a51-0c3e7f6a1b00",
                    "GPU-1f4a1c52-5e3b-4d0c-9a51-0c3e7f6a1b01",
                ],
            )
            .with(
                "nvidia.com/mig-1g.10gb",
                &[
                    "MIG-2c1de1d4-44f5-5b0e-8c53-6f30c41f9d02",
                    "MIG-3c1de1d4-44f5-5b0e-8c53-6f30c41f9d03",
                ],
            )
            .with(
                "nvidia.com/gpu.shared",
                &[
                    "GPU-4f4a1c52-5e3b-4d0c-9a51-0c3e7f6a1b04::0",
                    "GPU-4f4a1c52-5e3b-4d0c-9a51-0c3e7f6a1b04::1",
                ],
            )
            .with("amd.com/gpu", &["0000:0c:00.0", "0000:22:00.0"])
    }

    /// Changes the health of a device; false when no resource has it.
    pub fn set_health(&mut self, id: &str, health: Health) -> bool {
        let device = self.0.values_mut().find_map(|devices| devices.get_mut(id));
        match device {
            Some(device) => {
                *device = health;
                true
            }
            None => false,
        }
    }

    /// The resources.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The devices of a resource.
    pub fn devices(&self, resource: &str) -> impl Iterator<Item = (&str, Health)> {
        self.0
            .get(resource)
            .into_iter()
            .flatten()
            .map(|(id, health)| (id.as_str(), *health))
    }

    /// How many devices of a resource may be handed out.
    pub fn healthy(&self, resource: &str) -> usize {
        self.devices(resource)
            .filter(|(_, health)| *health == Health::Healthy)
            .count()
    }
}
