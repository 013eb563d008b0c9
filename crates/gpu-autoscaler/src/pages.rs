//! What readers get: the newest round over the fleet, and its documents, each rendered at most once.
//!
//! Readers never reach what makes a round. A document is rendered when it is first asked for, away from the
//! threads that answer, and every later reader of the same round gets the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwapOption;
use axum::body::Bytes;
use gpu_exposition::Format;
use gpu_model::{ClusterPicture, FleetView, NodeName, TargetReport};
use gpu_waste::{GpuRate, Report};
use jiff::Timestamp;
use tokio::sync::OnceCell;

use crate::fleet;

/// What one round over the fleet gave.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) view: FleetView,
    /// Absent where there is no Kubernetes.
    pub(crate) picture: Option<Arc<ClusterPicture>>,
    pub(crate) report: Report,
    pub(crate) rates: BTreeMap<NodeName, GpuRate>,
    pub(crate) targets: Vec<TargetReport>,
    /// The newest instant at which anything was measured; absent before the first.
    pub(crate) data_at: Option<Timestamp>,
    /// What could not be told in this round, and why, for the pages.
    pub(crate) problems: BTreeMap<String, String>,
}

/// The newest snapshot, shared between the one who makes it and all who read it.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    current: ArcSwapOption<Snapshot>,
}

impl Pages {
    /// Replaces the snapshot; readers of the old one finish with the old one. Gives the round back, which is shared now.
    pub(crate) fn publish(&self, round: Round) -> Arc<Round> {
        let snapshot = Snapshot::new(round);
        let round = snapshot.round.clone();
        self.current.store(Some(Arc::new(snapshot)));
        round
    }

    /// The newest snapshot, once there is one.
    pub(crate) fn current(&self) -> Option<Arc<Snapshot>> {
        self.current.load_full()
    }
}

/// A round and its documents.
#[derive(Debug)]
pub(crate) struct Snapshot {
    round: Arc<Round>,
    text: OnceCell<Bytes>,
    open_metrics: OnceCell<Bytes>,
    gpu_metrics: OnceCell<Bytes>,
    cluster: OnceCell<Bytes>,
}

impl Snapshot {
    fn new(round: Round) -> Self {
        Self {
            round: Arc::new(round),
            text: OnceCell::new(),
            open_metrics: OnceCell::new(),
            gpu_metrics: OnceCell::new(),
            cluster: OnceCell::new(),
        }
    }

    pub(crate) fn round(&self) -> &Arc<Round> {
        &self.round
    }

    /// The page with the metrics of every GPU, which the demo serves in place of exporters.
    pub(crate) async fn metrics(&self, format: Format) -> anyhow::Result<Bytes> {
        let cell = match format {
            Format::Text => &self.text,
            Format::OpenMetrics => &self.open_metrics,
        };
        self.render(cell, move |round| {
            Ok(fleet::metrics_page(&round.view, format)?.into_bytes())
        })
        .await
    }

    /// The document of `/api/v1/monitoring/gpu-metrics`.
    pub(crate) async fn gpu_metrics(&self) -> anyhow::Result<Bytes> {
        self.render(&self.gpu_metrics, |round| Ok(fleet::gpu_metrics(&round.view)?))
            .await
    }

    /// The document of `/api/v1/cluster`.
    pub(crate) async fn cluster(&self) -> anyhow::Result<Bytes> {
        self.render(&self.cluster, |round| Ok(fleet::cluster(&round.view)?))
            .await
    }

    async fn render<R>(&self, cell: &OnceCell<Bytes>, render: R) -> anyhow::Result<Bytes>
    where
        R: FnOnce(&Round) -> anyhow::Result<Vec<u8>> + Send + 'static,
    {
        let fill = async || {
            let round = self.round.clone();
            // Thousands of GPUs take many milliseconds, in which an executor thread could not answer a probe.
            let rendered = tokio::task::spawn_blocking(move || render(&round)).await;
            rendered.context("failed to finish rendering")?.map(Bytes::from)
        };
        cell.get_or_try_init(fill).await.cloned()
    }
}
