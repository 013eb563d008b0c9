//! The document of `GET /api/v1/prices`: what a GPU-hour costs on every node, and where each price comes from.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PricesDocument {
    pub timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    pub cluster: String,
    pub nodes: Vec<NodePrice>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodePrice {
    pub node: String,
    /// Absent where no price is known; `price` says why.
    pub gpu_hour_usd: Option<f64>,
    pub price: String,
}
