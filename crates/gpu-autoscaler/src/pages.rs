//! What readers get: the newest view of the fleet, and its documents, each rendered at most once.
//!
//! Readers never reach what makes the view. A document is rendered when it is first asked for, away from the
//! threads that answer, and every later reader of the same view gets the same bytes.

use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwapOption;
use axum::body::Bytes;
use gpu_exposition::Format;
use gpu_model::FleetView;
use tokio::sync::OnceCell;

use crate::fleet;

/// The newest snapshot, shared between the one who makes it and all who read it.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    current: ArcSwapOption<Snapshot>,
}

impl Pages {
    /// Replaces the snapshot; readers of the old one finish with the old one.
    pub(crate) fn publish(&self, view: FleetView) {
        self.current.store(Some(Arc::new(Snapshot::new(view))));
    }

    /// The newest snapshot, once there is one.
    pub(crate) fn current(&self) -> Option<Arc<Snapshot>> {
        self.current.load_full()
    }
}

/// The fleet at one instant and its documents.
#[derive(Debug)]
pub(crate) struct Snapshot {
    view: Arc<FleetView>,
    text: OnceCell<Bytes>,
    open_metrics: OnceCell<Bytes>,
    gpu_metrics: OnceCell<Bytes>,
    cluster: OnceCell<Bytes>,
}

impl Snapshot {
    fn new(view: FleetView) -> Self {
        Self {
            view: Arc::new(view),
            text: OnceCell::new(),
            open_metrics: OnceCell::new(),
            gpu_metrics: OnceCell::new(),
            cluster: OnceCell::new(),
        }
    }

    /// The metrics page.
    pub(crate) async fn metrics(&self, format: Format) -> anyhow::Result<Bytes> {
        let cell = match format {
            Format::Text => &self.text,
            Format::OpenMetrics => &self.open_metrics,
        };
        self.render(cell, move |view| {
            Ok(fleet::metrics_page(view, format)?.into_bytes())
        })
        .await
    }

    /// The document of `/api/v1/monitoring/gpu-metrics`.
    pub(crate) async fn gpu_metrics(&self) -> anyhow::Result<Bytes> {
        self.render(&self.gpu_metrics, |view| Ok(fleet::gpu_metrics(view)?))
            .await
    }

    /// The document of `/api/v1/cluster`.
    pub(crate) async fn cluster(&self) -> anyhow::Result<Bytes> {
        self.render(&self.cluster, |view| Ok(fleet::cluster(view)?)).await
    }

    async fn render<R>(&self, cell: &OnceCell<Bytes>, render: R) -> anyhow::Result<Bytes>
    where
        R: FnOnce(&FleetView) -> anyhow::Result<Vec<u8>> + Send + 'static,
    {
        let fill = async || {
            let view = self.view.clone();
            // Thousands of GPUs take many milliseconds, in which an executor thread could not answer a probe.
            let rendered = tokio::task::spawn_blocking(move || render(&view)).await;
            rendered.context("failed to finish rendering")?.map(Bytes::from)
        };
        cell.get_or_try_init(fill).await.cloned()
    }
}
