//! Holders with the labels of their pods: the API server is watched by a task of its own, and every turn of the collection
//! takes what is known.

use std::sync::Arc;
use std::time::Instant;

use gpu_runtime::{Shutdown, Tasks};
use tracing::warn;

use crate::collect::Attribution;
use crate::owners::labels::Labels;
use crate::settings::{Kubernetes, Settings};
use crate::snapshot::{DeviceSnapshot, LabelSet, SourceStatus, Workload};

/// Starts to watch labels if the settings ask for some.
pub(super) fn labelled(
    inner: Box<dyn Attribution>,
    settings: &Settings,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) -> Box<dyn Attribution> {
    let Some(wanted) = settings.api_labels.clone() else {
        return inner;
    };
    if settings.kubernetes == Kubernetes::Off {
        warn!("there are no labels from the API server, because --kubernetes is false");
        return inner;
    }
    let labels = Arc::new(Labels::new(wanted));
    let (watching, shutdown) = (Arc::clone(&labels), shutdown.clone());
    tasks.start("labels", move || {
        let (labels, shutdown) = (Arc::clone(&watching), shutdown.clone());
        async move {
            labels.find_and_run(&shutdown).await;
            Ok(())
        }
    });
    Box::new(Labelled::new(inner, labels))
}

/// An attribution whose holders have labels.
pub struct Labelled {
    inner: Box<dyn Attribution>,
    labels: Arc<Labels>,
}

impl Labelled {
    pub fn new(inner: Box<dyn Attribution>, labels: Arc<Labels>) -> Self {
        Self { inner, labels }
    }
}

impl Attribution for Labelled {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        self.inner.attribute(devices);
        let book = self.labels.latest();
        for holder in devices.iter_mut().flat_map(|device| &mut device.holders) {
            holder.labels = book.pod(holder.uid.as_ref(), &holder.namespace, &holder.pod);
        }
    }

    fn status(&self) -> Vec<SourceStatus> {
        let mut all = self.inner.status();
        all.push(self.labels.latest().status(Instant::now()));
        all
    }

    fn node_labels(&self) -> Option<LabelSet> {
        Some(self.labels.latest().node())
    }

    fn workload(&self) -> Option<Arc<Workload>> {
        self.inner.workload()
    }

    fn shows(&self, device: &DeviceSnapshot) -> bool {
        self.inner.shows(device)
    }
}
