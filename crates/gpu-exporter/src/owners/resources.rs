//! Which resources of a pod are GPUs. Everything else in the kubelet's answer (network cards, huge pages, counted CPUs) is
//! passed over without a look at its ids.

/// The resource names whose devices are GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GpuResources {
    renamed: Vec<String>,
}

impl GpuResources {
    /// The names that vendors ship, and those that this cluster's plugins were configured to use instead.
    pub fn with_renamed(renamed: impl IntoIterator<Item = String>) -> Self {
        Self {
            renamed: renamed.into_iter().collect(),
        }
    }

    /// Whether devices of the resource are GPUs.
    pub fn contains(&self, resource: &str) -> bool {
        let known = match resource.split_once('/') {
            Some(("nvidia.com", name)) => {
                let name = name.strip_suffix(".shared").unwrap_or(name);
                name == "gpu" || name.starts_with("mig-")
            }
            // AMD names a resource after the partition mode, such as `amd.com/cpx_nps4`.
            Some(("amd.com", _)) => true,
            _ => false,
        };
        known || self.renamed.iter().any(|name| name == resource)
    }

    /// Whether claims on devices of the driver are claims on GPUs.
    pub fn contains_driver(&self, driver: &str) -> bool {
        matches!(driver, "gpu.nvidia.com" | "gpu.amd.com") || self.renamed.iter().any(|name| name == driver)
    }
}

#[cfg(test)]
mod tests;
