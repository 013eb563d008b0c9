//! What lasts of a keeper: records in the store, and back.
//!
//! One record for the ledger itself, one a machine, one a pod that holds something, and a ring of notes of the newest rounds. They are
//! replaced in the batch that holds the rows, so that rows and memory never disagree.

use std::sync::Arc;

use gpu_cost::watching::{MachineMemo, MachineNotes, Notes, PodMemo};
use gpu_cost::{Moment, Span};
use gpu_model::{ClusterId, MachineId};
use gpu_store::entries::Opening;
use gpu_store::record::Record;
use gpu_store::{RecordKind, RecordQuery, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const LEDGER: &str = "ledger";
const MACHINE: &str = "machine/";
const POD: &str = "pod/";
const NOTES: &str = "notes/";

/// Rounds whose notes are kept: those of a window, of its lateness, and of a store that is away for some minutes.
pub(super) const RING: u64 = 40;
/// A record holds 256 KiB; this leaves room for what an estimate misses.
const NOTES_BYTES: usize = 128 * 1024;
/// A pod's uid with quotes, and what stands around its uses.
const POD_BYTES: usize = 48;

/// What a process goes on from.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) settled_until: Moment,
    pub(super) last: Moment,
    /// Time in which nobody watched anything, and that is not settled.
    pub(super) blind: Vec<Span>,
    pub(super) machines: Vec<MachineMemo>,
    pub(super) pods: Vec<PodMemo>,
    pub(super) notes: Vec<Notes>,
    /// The next place in the ring of notes.
    pub(super) place: u64,
    /// Records that could not be read.
    pub(super) set_aside: u64,
}

/// The record of the ledger itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Heart {
    pub(super) last: Moment,
    pub(super) blind: Vec<Span>,
    pub(super) place: u64,
}

/// Makes records of one ledger.
pub(super) struct Scribe<'a> {
    pub(super) cluster: &'a ClusterId,
    pub(super) settled_until: Moment,
}

impl Scribe<'_> {
    pub(super) fn heart(&self, heart: &Heart) -> Result<Record, StoreError> {
        self.opening(LEDGER.to_owned(), LEDGER, heart.last, None, heart)
    }

    pub(super) fn machine(&self, memo: &MachineMemo) -> Result<Record, StoreError> {
        let id = memo.machine.id.as_str();
        let ended = memo.gone.map(|end| end.at);
        self.opening(format!("{MACHINE}{id}"), id, memo.launched, ended, memo)
    }

    pub(super) fn pod(&self, memo: &PodMemo) -> Result<Record, StoreError> {
        let ended = memo.ended.map(|end| end.at);
        let key = format!("{POD}{}", memo.holder.uid);
        self.opening(key, memo.machine.as_str(), memo.bound, ended, memo)
    }

    /// The notes of a round at its place in the ring, in as many records as they need.
    pub(super) fn notes(&self, notes: &Notes, place: u64) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        for (number, piece) in pieces(notes).into_iter().enumerate() {
            let key = format!("{NOTES}{}/{number}", place % RING);
            records.push(self.opening(key, LEDGER, notes.span.end, None, &piece)?);
        }
        Ok(records)
    }

    fn opening(
        &self,
        id: String,
        machine: &str,
        since: Moment,
        ended: Option<Moment>,
        holding: &impl Serialize,
    ) -> Result<Record, StoreError> {
        let holding = serde_json::to_value(holding).unwrap_or(Value::Null);
        let opening = Opening {
            cluster: self.cluster.clone(),
            id,
            machine: machine.to_owned(),
            since,
            settled_until: self.settled_until,
            // What ended is needed until the window of its end is written.
            is_closed: ended.is_some_and(|ended| ended <= self.settled_until),
            holding,
        };
        let record = opening.record()?;
        record.checked_body()?;
        Ok(record)
    }
}

/// Cuts notes so that each piece fits into a record.
fn pieces(notes: &Notes) -> Vec<Notes> {
    let mut pieces = vec![Notes::new(notes.span)];
    let mut bytes = 0;
    for (machine, of) in &notes.machines {
        let size = size(machine, of);
        if bytes > 0 && bytes + size > NOTES_BYTES {
            pieces.push(Notes::new(notes.span));
            bytes = 0;
        }
        bytes += size;
        if let Some(piece) = pieces.last_mut() {
            piece.machines.insert(machine.clone(), of.clone());
        }
    }
    pieces
}

fn size(machine: &MachineId, of: &MachineNotes) -> usize {
    let uses: usize = of.used.values().map(|uses| POD_BYTES + 5 * uses.len()).sum();
    machine.as_str().len() + 64 + uses + 56 * of.withheld.len() + 48 * of.blind.len()
}

/// Reads where the ledger ends and what was known there. None is a ledger that nobody has begun.
pub(super) async fn load(store: Arc<dyn Store>, cluster: ClusterId) -> Result<Option<Kept>, StoreError> {
    let mut query = RecordQuery::of(RecordKind::Opening);
    query.cluster = Some(cluster);
    query.is_open = Some(true);
    let mut heart: Option<(Moment, Heart)> = None;
    let mut kept = Kept {
        settled_until: Moment(0),
        last: Moment(0),
        blind: Vec::new(),
        machines: Vec::new(),
        pods: Vec::new(),
        notes: Vec::new(),
        place: 0,
        set_aside: 0,
    };
    loop {
        let page = store.records(query.clone()).await?;
        for record in &page.records {
            let Ok(opening) = Opening::read(record) else {
                kept.set_aside += 1;
                continue;
            };
            let is_read = if opening.id == LEDGER {
                let read = read(opening.holding);
                heart = read.map(|read| (opening.settled_until, read));
                heart.is_some()
            } else if opening.id.starts_with(MACHINE) {
                push(&mut kept.machines, opening.holding)
            } else if opening.id.starts_with(POD) {
                push(&mut kept.pods, opening.holding)
            } else {
                push(&mut kept.notes, opening.holding)
            };
            kept.set_aside += u64::from(!is_read);
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    let Some((settled_until, heart)) = heart else {
        return Ok(None);
    };
    kept.settled_until = settled_until;
    kept.last = heart.last;
    kept.blind = heart.blind;
    kept.place = heart.place;
    // Notes of windows that are closed stay in the ring until their place is needed.
    kept.notes.retain(|notes| notes.span.end > settled_until);
    kept.notes.sort_by_key(|notes| notes.span);
    Ok(Some(kept))
}

/// Up to where the ledger is written.
pub(crate) async fn settled_until(
    store: Arc<dyn Store>,
    cluster: ClusterId,
) -> Result<Option<Moment>, StoreError> {
    let mut query = RecordQuery::of(RecordKind::Opening);
    query.cluster = Some(cluster);
    query.is_open = Some(true);
    query.subject = Some(LEDGER.to_owned());
    let page = store.records(query).await?;
    let heart = page.records.iter().find(|record| record.key == LEDGER);
    Ok(heart.and_then(|record| record.until))
}

fn push<T: serde::de::DeserializeOwned>(list: &mut Vec<T>, holding: Value) -> bool {
    let value = read(holding);
    let is_read = value.is_some();
    list.extend(value);
    is_read
}

fn read<T: serde::de::DeserializeOwned>(holding: Value) -> Option<T> {
    serde_json::from_value(holding).ok()
}
