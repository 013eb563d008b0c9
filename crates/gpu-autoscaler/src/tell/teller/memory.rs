//! Memories in the store, by room and term. Of several of one thing, that of the latest term counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::Moment;
use gpu_model::ClusterId;
use gpu_store::entries::Memory;
use gpu_store::{Batch, Record, RecordKind, RecordQuery, Store, StoreError};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::warn;

use super::CycleError;
use crate::lead::{Term, WritePermit};

/// How long something is remembered that nobody writes again. It is written again with every telling.
const KEPT_DAYS: i64 = 30;
const DAY_MILLISECONDS: i64 = 24 * 3600 * 1000;
/// Pages of five thousand: more findings than any fleet has.
const MOST_PAGES: usize = 100;

pub(super) struct Rooms {
    store: Arc<dyn Store>,
    cluster: ClusterId,
}

impl Rooms {
    pub(super) fn new(store: Arc<dyn Store>, cluster: ClusterId) -> Self {
        Self { store, cluster }
    }

    /// Everything that is remembered in a room. What cannot be read is left out and said: it is told once more at worst.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        room: &str,
    ) -> Result<BTreeMap<String, T>, StoreError> {
        let mut latest: BTreeMap<String, (u64, Value)> = BTreeMap::new();
        let mut query = RecordQuery::of(RecordKind::Memory);
        query.cluster = Some(self.cluster.clone());
        query.subject = Some(room.to_owned());
        for _ in 0..MOST_PAGES {
            let page = self.store.records(query.clone()).await?;
            for record in &page.records {
                let memory = Memory::read(record)?;
                let known = latest.get(&memory.id).map_or(0, |(term, _)| *term);
                if memory.term >= known {
                    latest.insert(memory.id, (memory.term, memory.body));
                }
            }
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        let mut read = BTreeMap::new();
        for (id, (_, body)) in latest {
            // What is over was overwritten with nothing.
            if body.is_null() {
                continue;
            }
            match serde_json::from_value(body) {
                Ok(value) => {
                    read.insert(id, value);
                }
                Err(error) => warn!(room, id, %error, "left out a memory that cannot be read"),
            }
        }
        Ok(read)
    }

    pub(super) fn remember(
        &self,
        room: &str,
        id: &str,
        term: Term,
        value: &impl Serialize,
        now: Timestamp,
    ) -> Result<Record, CycleError> {
        let body = serde_json::to_value(value)?;
        Ok(self.memory(room, id, term, body, now).record()?)
    }

    pub(super) fn forget(
        &self,
        room: &str,
        id: &str,
        term: Term,
        now: Timestamp,
    ) -> Result<Record, StoreError> {
        self.memory(room, id, term, Value::Null, now).record()
    }

    fn memory(&self, room: &str, id: &str, term: Term, body: Value, now: Timestamp) -> Memory {
        let now = now.as_millisecond();
        Memory {
            cluster: self.cluster.clone(),
            room: room.to_owned(),
            id: id.to_owned(),
            term: term.number(),
            at: Moment(now),
            until: Moment(now.saturating_add(KEPT_DAYS * DAY_MILLISECONDS)),
            body,
        }
    }

    /// Writes a batch while the permit holds. Afterwards the next leader's memory is what counts.
    pub(super) async fn write(&self, permit: &WritePermit, batch: Batch) -> Result<(), StoreError> {
        if !permit.is_valid() || (batch.records.is_empty() && batch.replacements.is_empty()) {
            return Ok(());
        }
        self.store.append(batch).await.map(|_| ())
    }
}
