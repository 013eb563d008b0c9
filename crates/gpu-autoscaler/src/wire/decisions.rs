//! The documents of `GET /api/v1/decisions` and `GET /api/v1/explain`: what was decided about something, and why.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::waste::FindingLine;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionsDocument {
    pub cluster: String,
    /// The newest first.
    pub decisions: Vec<DecisionLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionLine {
    pub at: Timestamp,
    /// `pod/NAMESPACE/NAME`, `node/NAME`, `gpu/NODE/UUID`.
    pub subject: String,
    /// A word from a closed list: `found`, `told`, `resolved`, `held-back`, `unhealthy`, `healthy`, `paused`, `resumed`.
    pub verdict: String,
    pub reason: String,
}

/// All that is known about one pod or node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    pub subject: String,
    /// What is known of it, in words, the most telling first.
    pub facts: Vec<Fact>,
    pub findings: Vec<FindingLine>,
    /// Why there is no finding, where one could be expected.
    pub without_finding: Vec<String>,
    pub decisions: Vec<DecisionLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainQuery {
    pub subject: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionsQuery {
    pub subject: Option<String>,
    pub limit: Option<usize>,
}
