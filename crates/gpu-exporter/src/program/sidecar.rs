//! The owner of every GPU where the exporter is a container of the pod that works on them. What Kubernetes and the main
//! container tell the pod in files is read again every few seconds on a thread of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tracing::{error, info, warn};

use crate::collect::Attribution;
use crate::owners::own_pod::OwnGpus;
use crate::owners::pod_info::{self, Pairs};
use crate::settings::{OwnGpusFrom, Sidecar};
use crate::snapshot::{DeviceSnapshot, LabelSet, SourceStatus, Workload};

/// The name of the source in metrics.
const NAME: &str = "pod_info";
/// The kubelet renews the files within a minute or two; the main container writes its GPUs once, at its start.
const LOOK: Duration = Duration::from_secs(3);
/// As many names of GPUs as a pod can have fit many times.
const MOST_BYTES_OF_GPUS: u64 = 64 * 1024;
/// The page shows no more labels of a pod.
const MOST_LABELS: usize = 64;
/// Reading small files needs little.
const STACK_BYTES: usize = 256 * 1024;

/// Starts to read what the pod is told.
pub(super) fn own_pod(sidecar: Sidecar) -> Box<dyn Attribution> {
    let mut reader = Reader {
        sidecar: sidecar.clone(),
        problem: None,
        errors: BTreeMap::new(),
    };
    let told = Arc::new(ArcSwap::from_pointee(reader.look()));
    let stop = Arc::new(AtomicBool::new(false));
    let (renewed, stopped) = (Arc::clone(&told), Arc::clone(&stop));
    let started = std::thread::Builder::new()
        .name(NAME.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            loop {
                std::thread::sleep(LOOK);
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                renewed.store(Arc::new(reader.look()));
            }
        });
    if let Err(error) = started {
        error!(%error, "cannot start to read what the pod is told; what was read at the start stands");
    }
    Box::new(SidecarOwner { sidecar, told, stop })
}

/// What the files said at the last look.
struct Told {
    workload: Arc<Workload>,
    /// Absent until the main container has written it.
    own_gpus: Option<OwnGpus>,
    status: Option<Status>,
}

struct Status {
    problem: Option<&'static str>,
    looked_at: Instant,
    errors: BTreeMap<&'static str, u64>,
}

struct SidecarOwner {
    sidecar: Sidecar,
    told: Arc<ArcSwap<Told>>,
    stop: Arc<AtomicBool>,
}

impl Attribution for SidecarOwner {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        let told = self.told.load_full();
        let Some(own) = &told.own_gpus else {
            return;
        };
        self.sidecar.pod.attribute(own, devices);
        for holder in devices.iter_mut().flat_map(|device| &mut device.holders) {
            holder.labels = Arc::clone(&told.workload.labels);
        }
    }

    fn status(&self) -> Vec<SourceStatus> {
        let told = self.told.load();
        let status = |status: &Status| SourceStatus {
            name: NAME,
            up: status.problem.is_none(),
            problem: status.problem.map(Arc::from),
            last_success_age: status.problem.is_none().then(|| status.looked_at.elapsed()),
            last_duration: None,
            errors: status.errors.clone(),
        };
        told.status.iter().map(status).collect()
    }

    /// Empty, so that the page counts the labels of the pod that it has no room for; not asked for, there is nothing to count.
    fn node_labels(&self) -> Option<LabelSet> {
        (!self.sidecar.labels.is_empty()).then(Arc::default)
    }

    fn workload(&self) -> Option<Arc<Workload>> {
        Some(Arc::clone(&self.told.load().workload))
    }

    /// The GPUs of other pods may be seen from here, and are none of ours to show.
    fn shows(&self, device: &DeviceSnapshot) -> bool {
        let told = self.told.load();
        told.own_gpus.as_ref().is_some_and(|own| own.touches(device))
    }
}

impl Drop for SidecarOwner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Reader {
    sidecar: Sidecar,
    problem: Option<&'static str>,
    errors: BTreeMap<&'static str, u64>,
}

impl Reader {
    fn look(&mut self) -> Told {
        let looked_at = Instant::now();
        let directory = self.sidecar.pod_info.directory.clone();
        let is_source = self.sidecar.pod_info.is_named || directory.is_dir();
        let is_file = matches!(self.sidecar.own_gpus, OwnGpusFrom::File(_));
        let mut problem = None;
        let (labels, annotations) = if is_source {
            let labels = self.pairs(directory.join("labels"), &mut problem);
            (labels, self.pairs(directory.join("annotations"), &mut problem))
        } else {
            Default::default()
        };
        let own_gpus = self.own_gpus(&mut problem);
        if problem != self.problem {
            match problem {
                Some(problem) => warn!(problem, "what the pod is told cannot be read"),
                None => info!("what the pod is told can be read"),
            }
            self.problem = problem;
        }
        let shown = labels
            .pairs
            .iter()
            .filter(|(name, _)| self.sidecar.labels.takes(name));
        let shown: Vec<(String, String)> = shown.take(MOST_LABELS).cloned().collect();
        Told {
            workload: Arc::new(Workload {
                namespace: self.sidecar.pod.namespace.clone(),
                pod: self.sidecar.pod.pod.clone(),
                workflow: pod_info::workflow(&self.sidecar.workflow, &labels, &annotations),
                labels: shown.into(),
            }),
            own_gpus,
            status: (is_source || is_file).then(|| Status {
                problem,
                looked_at,
                errors: self.errors.clone(),
            }),
        }
    }

    fn pairs(&mut self, path: PathBuf, problem: &mut Option<&'static str>) -> Pairs {
        let Some(text) = read(&path, pod_info::MOST_BYTES) else {
            *self.errors.entry("unreadable").or_default() += 1;
            *problem = Some(
                "the downward API's files cannot be read; mount `labels` and `annotations` by a downwardAPI volume",
            );
            return Pairs::default();
        };
        let pairs = Pairs::parse(&text);
        if pairs.bad > 0 {
            *self.errors.entry("malformed").or_default() += 1;
            *problem = Some("some lines of the downward API's files are not `key=\"value\"`");
        }
        pairs
    }

    fn own_gpus(&mut self, problem: &mut Option<&'static str>) -> Option<OwnGpus> {
        match &self.sidecar.own_gpus {
            OwnGpusFrom::Settings(own) => Some(own.clone()),
            OwnGpusFrom::File(path) => {
                let text = read(path, MOST_BYTES_OF_GPUS);
                if text.is_none() {
                    *self.errors.entry("own_gpus").or_default() += 1;
                    *problem =
                        Some("the main container has not written yet which GPUs are its own; see --own-gpus");
                }
                text.as_deref().map(OwnGpus::parse)
            }
        }
    }
}

/// The text of a small file; none where it cannot be read or is too large to be what was meant.
fn read(path: &Path, most_bytes: u64) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > most_bytes {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
