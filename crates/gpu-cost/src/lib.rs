//! What GPU time costs and who carries it: prices, settlement in integers, ledger rows, roll-ups.
//!
//! Everything here is a value made from values. Time comes in with the events, prices come in with the price book, and the
//! same input gives the same rows, byte for byte, in every run. Nothing here reads a clock, a file or a price list's web
//! page; no float holds money; and no amount is ever divided in a way that loses or makes a billionth of a dollar.

mod apportion;
mod attribution;
mod books;
mod correct;
mod events;
pub mod focus;
pub mod formats;
mod history;
mod ledger;
mod moment;
pub mod prices;
mod rollup;
mod settle;
mod usage;
pub mod watching;

pub use apportion::charge;
pub use attribution::{AttributionRules, PodFacts, dimensions};
pub use books::{Books, RecordError};
pub use correct::{correct, standing};
pub use events::{Certainty, Claim, End, Event, Gpu, HolderClass};
pub use ledger::{
    Amounts, CommitmentName, Dimensions, Entry, GpuTime, Holder, HolderKey, LedgerRow, Machine, Part, Phase,
    PriceNote, PriceSource, RollupKey, RollupRow, RowKey, ShareBasis, Slot, Subject, UnpricedReason,
};
pub use moment::{Grain, Moment, Span};
pub use prices::PriceBook;
pub use rollup::{Efficiency, efficiency, roll_up, roll_up_further};
pub use settle::{MigBasis, Settings};
pub use usage::{Template, UsageRow};
pub use watching::{EndedPod, Look, Noted, WatchSettings, Watcher};
