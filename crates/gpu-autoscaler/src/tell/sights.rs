//! How the subjects of earlier findings fare, read from the cluster's picture and from what was measured.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{ClusterPicture, FleetView, GpuPod, PodKey};

use super::diary::{About, Sight, SightState};

/// One instant's answer for every subject.
#[derive(Debug, Default)]
pub struct Sights {
    /// Pods with their uid, whether they are measured, and how much they ask for.
    pods: BTreeMap<(String, String), PodSight>,
    /// GPU resources asked for, by the uid of the workload.
    by_workload: BTreeMap<String, u64>,
    nodes: BTreeSet<String>,
    measured_gpus: BTreeSet<String>,
}

#[derive(Debug)]
struct PodSight {
    uid: Option<String>,
    is_measured: bool,
    is_exempt: bool,
    asks: u64,
}

impl Sights {
    /// `picture` must be synced: a pod that is not in it counts as gone.
    pub fn of(picture: &ClusterPicture, view: &FleetView, exempted: &BTreeSet<PodKey>) -> Self {
        let mut sights = Self {
            nodes: picture.nodes.keys().map(ToString::to_string).collect(),
            ..Self::default()
        };
        let mut measured = BTreeSet::new();
        for gpu in view.gpus() {
            let is_known = gpu.sample.utilization.is_known() || gpu.sample.sm_active.is_known();
            if is_known {
                sights.measured_gpus.insert(gpu.device.uuid.to_string());
            }
            for part in &gpu.parts {
                let usage = &part.usage;
                if let Some(owner) = &part.owner
                    && (is_known || usage.utilization.is_known() || usage.sm_active.is_known())
                {
                    let reference = &owner.pod.reference;
                    measured.insert((reference.namespace.to_string(), reference.name.to_string()));
                }
            }
        }
        for (key, pod) in &picture.gpu_pods {
            let name = (key.namespace.to_string(), key.name.to_string());
            let asks = asks(pod);
            if let Some(workload) = &pod.workload {
                *sights.by_workload.entry(workload.uid.clone()).or_default() += asks;
            }
            let sight = PodSight {
                uid: pod.pod.reference.uid.as_ref().map(ToString::to_string),
                is_measured: measured.contains(&name),
                is_exempt: exempted.contains(key),
                asks,
            };
            sights.pods.insert(name, sight);
        }
        sights
    }

    pub fn look(&self, about: &About) -> Sight {
        match about {
            About::Pod {
                namespace,
                name,
                uid,
                workload,
            } => {
                let pod = self
                    .pods
                    .get(&(namespace.clone(), name.clone()))
                    // A name comes back with another pod behind it.
                    .filter(|pod| pod.uid.is_none() || uid.is_none() || pod.uid == *uid);
                let state = match pod {
                    None => SightState::Gone,
                    Some(pod) if pod.is_exempt => SightState::Exempt,
                    Some(pod) if pod.is_measured => SightState::Measured,
                    Some(_) => SightState::Silent,
                };
                let own = pod.map_or(0, |pod| pod.asks);
                let held = match workload {
                    Some(workload) => self.by_workload.get(&workload.uid).copied().unwrap_or(0),
                    None => own,
                };
                Sight { state, held }
            }
            About::Gpu { node, uuid } => Sight {
                state: self.state_of_hardware(node, self.measured_gpus.contains(uuid)),
                held: 1,
            },
            About::Node { name } => Sight {
                state: self.state_of_hardware(name, true),
                held: 1,
            },
        }
    }

    fn state_of_hardware(&self, node: &str, is_measured: bool) -> SightState {
        match (self.nodes.contains(node), is_measured) {
            (false, _) => SightState::Gone,
            (true, true) => SightState::Measured,
            (true, false) => SightState::Silent,
        }
    }
}

fn asks(pod: &GpuPod) -> u64 {
    pod.requests.iter().map(|request| u64::from(request.count)).sum()
}
