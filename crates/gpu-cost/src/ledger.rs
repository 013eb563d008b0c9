//! What the books hold: rows that are written once and never changed, and what is summed up from them.

mod holder;
mod key;
mod price_note;
mod rollup_row;
mod row;
mod subject;

pub use holder::{Dimensions, Holder, HolderKey};
pub(crate) use key::Digest;
pub use key::RowKey;
pub use price_note::{PriceNote, PriceSource, UnpricedReason};
pub use rollup_row::{RollupKey, RollupRow};
pub use row::{Amounts, Entry, GpuTime, LedgerRow, Part, Phase, ShareBasis, Slot};
pub use subject::{CommitmentName, Machine, Subject};
