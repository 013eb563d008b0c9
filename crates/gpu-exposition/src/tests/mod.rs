//! Tests of the crate, through its public items.

mod negotiation;
mod pages;
mod reading;
mod writing;
