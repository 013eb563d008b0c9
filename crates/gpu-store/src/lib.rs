//! Where the ledger lives: interval rows, roll-ups, prices, usage history, decisions, intents and refusals behind one
//! [`Store`], kept by SQLite in a file of its own or by PostgreSQL for two and more replicas.
//!
//! The crate keeps and finds; it prices nothing and decides nothing. Both stores pass one suite of contract tests, so that a program
//! never has to know which of them it talks to.
//!
//! - [`ledger`] holds the rows, their dimensions, and the pure arithmetic of buckets, clipping and folding.
//! - [`Store`] is what a program asks; [`open`] makes one from an address.
//! - [`dump`] moves a whole store from one kind to the other and proves that nothing was lost; [`export`] writes for people and bills.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets files and a database server"
)]

pub mod address;
pub mod dump;
pub mod entries;
pub mod error;
pub mod export;
pub mod ledger;
pub mod query;
pub mod record;
pub mod retention;
pub mod store;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

mod codes;
mod gather;
mod stored;

pub use address::{AddressError, StoreAddress};
pub use error::StoreError;
pub use ledger::{Dimension, Dimensions, Measures, RowError, Sums};
pub use query::{
    CostAnswer, CostLine, CostQuery, Filter, RowPage, RowQuery, SetSum, Step, SumPage, SumPlace, SumQuery,
};
pub use record::{Record, RecordKind, RecordPage, RecordQuery};
pub use retention::{Floors, Retention};
pub use store::{Answer, Appended, Batch, Facts, Progress, Store, Totals, open};
pub use stored::StoredRow;
