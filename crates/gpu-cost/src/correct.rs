//! Closing a window again: what changed is taken back and written anew, what did not is left alone.

use std::collections::BTreeMap;

use crate::{Entry, LedgerRow, RowKey};

/// The rows to append so that a window says what a fresh settlement of it says. Empty where it already does.
///
/// `written` is everything the ledger holds of the window, corrections included. Rows are compared by what they say, so a
/// correction touches only what it changes; each correction has a revision of its own, so its keys are new even where a
/// former state comes back.
pub fn correct(written: &[LedgerRow], fresh: Vec<LedgerRow>) -> Vec<LedgerRow> {
    let standing = standing(written);
    let mut wanted: BTreeMap<[u8; 16], Vec<LedgerRow>> = BTreeMap::new();
    for row in fresh {
        wanted.entry(row.content()).or_default().push(row);
    }
    let revision = written
        .iter()
        .map(|row| row.revision.saturating_add(1))
        .max()
        .unwrap_or(0);
    let mut rows = Vec::new();
    for row in standing {
        match wanted.get_mut(&row.content()).and_then(Vec::pop) {
            Some(_) => {}
            None => rows.push(row.reversed(revision)),
        }
    }
    for mut row in wanted.into_values().flatten() {
        row.revision = revision;
        rows.push(row.sealed());
    }
    rows
}

/// The charges that no reversal took back, in the order of their keys.
pub fn standing(written: &[LedgerRow]) -> Vec<&LedgerRow> {
    let mut charges: BTreeMap<RowKey, &LedgerRow> = BTreeMap::new();
    for row in written.iter().filter(|row| row.entry == Entry::Charge) {
        charges.insert(row.key, row);
    }
    for row in written {
        if let Entry::Reversal { of } = row.entry {
            charges.remove(&of);
        }
    }
    charges.into_values().collect()
}
