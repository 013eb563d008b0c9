//! The ledger in the terms of FOCUS 1.3, the open format of cost and usage, with its columns for split costs.
//!
//! A machine's hour at one price is the *origin charge*; every row of the ledger in it is an *allocated charge*. All columns
//! that describe the origin are the same on its allocated charges, costs and quantities sum to the origin's, and ratios sum
//! to one, exactly. [`check`] knows the published rules and distrusts the mapping.

mod columns;
mod csv;
mod map;
mod record;
mod rules;
mod texts;

pub use columns::{Column, Level};
pub use csv::{parse_csv, write_csv};
pub use map::{Account, Export, export};
pub use record::Record;
pub use rules::{Finding, check};
