//! The document of `GET /api/v1/status`: how the control plane itself fares.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusDocument {
    pub timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    pub cluster: String,
    pub version: String,
    pub fleet: FleetLine,
    pub metrics: MetricsLine,
    pub leadership: LeadershipLine,
    /// Set while all writes are paused.
    pub paused: Option<PauseLine>,
    /// What is not as it should be, by name.
    pub problems: BTreeMap<String, String>,
}

/// The fleet in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetLine {
    pub nodes: usize,
    pub gpus: usize,
    pub allocated: usize,
    /// Percent, the mean over the GPUs that report it.
    pub utilization: Option<f64>,
    pub running_pods: usize,
    pub pending_pods: usize,
    /// What the GPUs with a price cost in an hour.
    pub hourly_usd: Option<f64>,
    /// Nodes for whose GPUs no price is known.
    pub unpriced_nodes: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricsLine {
    /// `direct`, `prometheus` or `sim`.
    pub kind: String,
    pub targets: usize,
    pub failing: usize,
    /// Of the newest round that brought anything; absent before the first.
    pub age_seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeadershipLine {
    /// `leader`, `follower`, or `alone` where nothing is elected.
    pub role: String,
    pub holder: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PauseLine {
    pub by: String,
    pub reason: Option<String>,
    pub since: Timestamp,
}
