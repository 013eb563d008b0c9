//! Tests of the crate, through its public items.

mod negotiation;
mod reading;
mod writing;
