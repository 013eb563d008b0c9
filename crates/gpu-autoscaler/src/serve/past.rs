//! What windows know beyond their own length, kept in the store: which pods ever worked, and since when others are idle. Without it a
//! restart would take a service that has been idle since noon for one that never used its GPU.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::Moment;
use gpu_model::ClusterId;
use gpu_store::entries::Memory as Kept;
use gpu_store::{Batch, RecordKind, RecordQuery, Store, StoreError};
use gpu_waste::{Memory, PartMemory};
use jiff::Timestamp;
use tracing::warn;

const ROOM: &str = "windows";
/// A crash forgets at most so much, in milliseconds.
const EVERY: i64 = 5 * 60 * 1000;
/// A control plane that was away for longer begins anew, in milliseconds.
const KEPT: i64 = 24 * 3600 * 1000;
/// A record a node: five thousand nodes on a page.
const MOST_PAGES: usize = 20;

pub(super) struct Past {
    store: Arc<dyn Store>,
    cluster: ClusterId,
    written_at: Option<Moment>,
}

impl Past {
    pub(super) fn new(store: Arc<dyn Store>, cluster: ClusterId) -> Self {
        Self {
            store,
            cluster,
            written_at: None,
        }
    }

    /// What was kept, the newest word of every node. Records that cannot be read are left out: a node then begins anew.
    pub(super) async fn read(&self) -> Result<Memory, StoreError> {
        let mut newest: BTreeMap<String, Kept> = BTreeMap::new();
        let mut query = RecordQuery::of(RecordKind::Memory);
        query.cluster = Some(self.cluster.clone());
        query.subject = Some(ROOM.to_owned());
        for _ in 0..MOST_PAGES {
            let page = self.store.records(query.clone()).await?;
            for kept in page.records.iter().filter_map(|record| Kept::read(record).ok()) {
                let is_newer = newest.get(&kept.id).is_none_or(|known| known.at < kept.at);
                if is_newer {
                    newest.insert(kept.id.clone(), kept);
                }
            }
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        let mut parts: Vec<PartMemory> = Vec::new();
        for (node, kept) in newest {
            match serde_json::from_value::<Vec<PartMemory>>(kept.body) {
                Ok(read) => parts.extend(read),
                Err(error) => warn!(%node, %error, "left out what was kept of a node's windows"),
            }
        }
        Ok(Memory { parts })
    }

    /// Whether it is time to write again.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let age = |at: Moment| Moment::from(now).0.saturating_sub(at.0);
        // A clock that stepped back makes it due.
        self.written_at.is_none_or(|at| !(0..EVERY).contains(&age(at)))
    }

    /// Keeps what the windows know, a record a node.
    pub(super) async fn write(
        &mut self,
        memory: Memory,
        term: u64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let at = Moment::from(now);
        let mut nodes: BTreeMap<String, Vec<PartMemory>> = BTreeMap::new();
        for part in memory.parts {
            nodes.entry(part.node.to_string()).or_default().push(part);
        }
        let mut batch = Batch::default();
        for (node, parts) in nodes {
            let Ok(body) = serde_json::to_value(&parts) else {
                continue;
            };
            let kept = Kept {
                cluster: self.cluster.clone(),
                room: ROOM.to_owned(),
                id: node,
                term,
                at,
                until: at.plus(KEPT),
                body,
            };
            batch.replacements.push(kept.record()?);
        }
        self.store.append(batch).await?;
        self.written_at = Some(at);
        Ok(())
    }
}
