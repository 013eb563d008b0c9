//! What GPU time costs and who carries it: prices, settlement in integers, ledger rows, roll-ups.
//!
//! Everything here is a value made from values. Time comes in with the events, prices come in with the price book, and the
//! same input gives the same rows, byte for byte, in every run. Nothing here reads a clock, a file or a price list's web
//! page; no float holds money; and no amount is ever divided in a way that loses or makes a billionth of a dollar.

mod ledger;
mod moment;
mod usage;

pub use ledger::{
    Amounts, Dimensions, Entry, GpuTime, Holder, HolderKey, LedgerRow, Part, Phase, PriceNote, PriceSource,
    RollupKey, RollupRow, RowKey, ShareBasis, Slot, UnpricedReason,
};
pub use moment::{Grain, Moment, Span};
pub use usage::{Template, UsageRow};
