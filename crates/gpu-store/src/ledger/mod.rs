//! The nouns of the ledger and its pure arithmetic: rows, what they are charged to, buckets of time, folding into roll-ups.
//!
//! Nothing here knows of a database: both stores share this code, so that they cannot disagree.

mod bucket;
mod charged;
mod dimension;
mod fingerprint;
mod fold;
mod growth;
mod sums;
mod values;
mod window;

pub use bucket::{ceil, cut, floor, grain_code, grain_of_code};
pub use charged::{Dimensions, LONGEST_ROW_MS, RowError, check_row};
pub(crate) use charged::{check_names, reverses};
pub use dimension::Dimension;
pub(crate) use fingerprint::Fingerprints;
pub(crate) use fold::{ANY_PRICE, LABEL_SEPARATOR};
pub use fold::{Fold, FoldFrom, FoldInput, Folded, SetSlice, Slice};
pub use sums::{Measures, SUM_COLUMNS, Sums};
pub(crate) use values::{Catalog, FoundSets, SetValues};
pub use window::{Segment, Source, WindowError, plan};

#[cfg(test)]
mod tests;
