//! Who holds what, for the collection: the kubelet is asked by a task of its own, and every turn of the collection takes its
//! latest word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpu_runtime::{Shutdown, SystemClock, Tasks};
use tracing::info;

use crate::collect::Attribution;
use crate::owners::Sight;
use crate::owners::assign::Assigner;
use crate::owners::host::HostPaths;
use crate::owners::kubelet::{Kubelet, Settings as KubeletSettings};
use crate::owners::processes;
use crate::owners::resources::GpuResources;
use crate::settings::{Kubernetes, ProcessSight, Settings};
use crate::snapshot::{DeviceSnapshot, SourceStatus};

/// A socket that was not there may come: a kubelet that is installed later, or a mount that is slow.
const LOOK: Duration = Duration::from_secs(5);

/// Starts to ask the kubelet as the settings say. Without one every process is outside Kubernetes.
pub fn ownership(settings: &Settings, tasks: &mut Tasks, shutdown: &Shutdown) -> Box<dyn Attribution> {
    if let Some(sidecar) = &settings.sidecar {
        return super::batch::with_jobs(super::sidecar::own_pod(sidecar.clone()), settings);
    }
    let procfs = settings.procfs.clone();
    let asked = match settings.kubernetes {
        Kubernetes::Off => None,
        Kubernetes::On | Kubernetes::WhenPresent => Some(ask_kubelet(settings, tasks, shutdown.clone())),
    };
    let kubelet = asked.as_ref().map(|asked| Arc::clone(&asked.kubelet));
    let owners: Box<dyn Attribution> = Box::new(Ownership {
        assigner: Assigner::new(kubelet, procfs, sight(settings)),
        asked,
    });
    #[cfg(feature = "kubernetes-labels")]
    let owners = super::labelled::labelled(owners, settings, tasks, shutdown);
    super::batch::with_jobs(owners, settings)
}

/// Whether processes of other containers can be looked up.
pub(super) fn sight(settings: &Settings) -> Sight {
    match settings.process_sight {
        ProcessSight::Detect => processes::sight(&settings.procfs),
        ProcessSight::Host => Sight::Host,
        ProcessSight::Own => Sight::Own,
    }
}

fn ask_kubelet(settings: &Settings, tasks: &mut Tasks, shutdown: Shutdown) -> Asked {
    let asking = Arc::new(AtomicBool::new(settings.kubernetes == Kubernetes::On));
    let paths = HostPaths::below(&settings.sysfs, &settings.kubelet_directory, &settings.logs);
    let mut how = KubeletSettings::new(settings.kubelet_socket.clone(), paths);
    how.resources = GpuResources::with_renamed(settings.resource_names.iter().cloned());
    let socket = settings.kubelet_socket.clone();
    let kubelet = Arc::new(Kubelet::new(how, Arc::new(SystemClock)));
    let (asked, begun) = (Arc::clone(&kubelet), Arc::clone(&asking));
    tasks.start("kubelet", move || {
        let (kubelet, asking) = (Arc::clone(&asked), Arc::clone(&begun));
        let (socket, shutdown) = (socket.clone(), shutdown.clone());
        async move {
            if !asking.load(Ordering::Relaxed) && !socket.exists() {
                info!("there is no kubelet's socket: GPUs have no pods until there is one");
            }
            while !asking.load(Ordering::Relaxed) && !socket.exists() {
                tokio::select! {
                    () = shutdown.triggered() => return Ok(()),
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
            asking.store(true, Ordering::Relaxed);
            kubelet.run(&shutdown).await;
            Ok(())
        }
    });
    Asked { kubelet, asking }
}

struct Asked {
    kubelet: Arc<Kubelet>,
    /// Whether it is asked yet; until its socket is there it is no source of this node.
    asking: Arc<AtomicBool>,
}

struct Ownership {
    assigner: Assigner,
    asked: Option<Asked>,
}

impl Attribution for Ownership {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        self.assigner.assign(devices, Instant::now());
    }

    fn status(&self) -> Vec<SourceStatus> {
        let asked = self.asked.iter();
        asked
            .filter(|asked| asked.asking.load(Ordering::Relaxed))
            .map(|asked| asked.kubelet.latest().status(Instant::now()))
            .collect()
    }
}
