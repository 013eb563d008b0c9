//! The condition `gpu-autoscaler.io/GPUHealthy` of nodes, and the events that go with it.
//!
//! Nodes whose GPUs were never in trouble get no condition: thousands of healthy nodes are not written to.

use std::collections::BTreeMap;

use gpu_model::{GpuUuid, NodeName};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use serde_json::json;

use super::events::{Reason, TellError, Telling, node_reference};
use super::gpu_health::{HealthMemory, HealthSettings, News, Spell, Trouble};
use super::words::cut;
use crate::lead::{Change, Refusal, WriteKind, WritePermit, Writer, Written};

/// The type of the condition.
pub const CONDITION: &str = "gpu-autoscaler.io/GPUHealthy";
/// A node whose status changed under three looks is left to the next cycle.
const LOOKS: u32 = 3;
/// Enough for the GPUs of one node.
const LONGEST_MESSAGE: usize = 1024;

/// What a node's condition is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub is_healthy: bool,
    pub reason: String,
    pub message: String,
}

impl Verdict {
    /// The verdict over the troubles of one node.
    pub fn of(troubles: &[(u16, GpuUuid, Trouble, Spell)]) -> Self {
        let Some((_, _, first, _)) = troubles.first() else {
            return Self {
                is_healthy: true,
                reason: "NoTrouble".to_owned(),
                message: "no GPU of this node is in trouble any more".to_owned(),
            };
        };
        let words: Vec<String> = troubles
            .iter()
            .map(|(index, uuid, trouble, spell)| {
                format!(
                    "GPU {index} ({uuid}): {trouble}, since {}",
                    spell.first.strftime("%Y-%m-%d %H:%M UTC")
                )
            })
            .collect();
        Self {
            is_healthy: false,
            reason: first.reason(),
            message: cut(&words.join("; "), LONGEST_MESSAGE),
        }
    }

    fn status(&self) -> &'static str {
        if self.is_healthy { "True" } else { "False" }
    }
}

/// What a cycle over the nodes did.
#[derive(Debug, Default)]
pub struct Noted {
    pub conditions: usize,
    pub events: usize,
    /// Nodes that could not be written to, and why. They are tried again in the next cycle.
    pub failures: Vec<(NodeName, TellError)>,
    /// The boot ids of the nodes that were looked at.
    pub boots: BTreeMap<NodeName, String>,
}

/// Writes the verdicts that changed, and tells the news.
pub async fn note_health(
    writer: &Writer,
    permit: &WritePermit,
    memory: &HealthMemory,
    news: &[News],
    settings: &HealthSettings,
    now: Timestamp,
) -> Noted {
    let mut noted = Noted::default();
    let troubles = memory.by_node(settings);
    let mut nodes: BTreeMap<&NodeName, Verdict> = troubles
        .iter()
        .map(|(node, troubles)| (node, Verdict::of(troubles)))
        .collect();
    for each in news {
        nodes.entry(&each.node).or_insert_with(|| Verdict::of(&[]));
    }
    for (node, verdict) in nodes {
        match write_condition(writer, permit, node, &verdict, now, &mut noted.boots).await {
            Ok(true) => noted.conditions += 1,
            Ok(false) => {}
            Err(error) => noted.failures.push((node.clone(), error)),
        }
    }
    for each in news {
        match telling(each).tell(writer, permit, now).await {
            Ok(_) => noted.events += 1,
            Err(error) => noted.failures.push((each.node.clone(), error)),
        }
    }
    noted
}

fn telling(news: &News) -> Telling {
    let (reason, action, verb) = if news.is_over {
        (Reason::Healthy, "Resolved", "is trusted again after")
    } else {
        (Reason::Unhealthy, "Detected", "is left out of planning:")
    };
    let identity = format!("{}/{}", news.uuid, news.trouble.reason());
    Telling {
        identity,
        reason,
        action,
        note: format!("GPU {} ({}) {verb} {}.", news.index, news.uuid, news.trouble),
        regarding: node_reference(news.node.as_str(), news.node.as_str()),
        related: None,
    }
}

/// Whether it had to be written.
async fn write_condition(
    writer: &Writer,
    permit: &WritePermit,
    name: &NodeName,
    verdict: &Verdict,
    now: Timestamp,
    boots: &mut BTreeMap<NodeName, String>,
) -> Result<bool, TellError> {
    let nodes: Api<Node> = Api::all(writer.reader().clone());
    for _ in 0..LOOKS {
        let found = nodes
            .get_opt(name.as_str())
            .await
            .map_err(|error| TellError::Look(Box::new(error)))?;
        let Some(node) = found else { return Ok(false) };
        let status = node.status.as_ref();
        if let Some(info) = status.and_then(|status| status.node_info.as_ref()) {
            boots.insert(name.clone(), info.boot_id.clone());
        }
        let conditions = status
            .and_then(|status| status.conditions.as_deref())
            .unwrap_or_default();
        let current = conditions.iter().find(|condition| condition.type_ == CONDITION);
        let is_same = match current {
            Some(condition) => {
                condition.status == verdict.status()
                    && condition.reason.as_deref() == Some(&verdict.reason)
                    && condition.message.as_deref() == Some(&verdict.message)
            }
            None => verdict.is_healthy,
        };
        if is_same {
            return Ok(false);
        }
        let turned = current.is_none_or(|condition| condition.status != verdict.status());
        let mut condition = json!({
            "type": CONDITION,
            "status": verdict.status(),
            "reason": verdict.reason,
            "message": verdict.message,
            "lastHeartbeatTime": second(now),
        });
        if turned {
            condition["lastTransitionTime"] = json!(second(now));
        }
        let patch = json!({"status": {"conditions": [condition]}});
        let change = Change::patch_status::<Node>(WriteKind::NodeCondition, None, &node.metadata, patch)?;
        match writer.send(permit, &change).await? {
            Written::Refused(Refusal::Conflict) => {}
            written => return Ok(written.is_done()),
        }
    }
    Ok(false)
}

/// Conditions have whole seconds.
fn second(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
