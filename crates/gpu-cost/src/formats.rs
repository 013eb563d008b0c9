//! Readers of the clouds' public price lists. They take bytes from anywhere and give prices; who fetched the bytes, and from
//! where, is not known here.
//!
//! The lists are large (AWS publishes hundreds of megabytes a region) and come from outside: each reader keeps only what was
//! asked for, stops at a number of bytes, and never holds the list as a whole.

pub mod aws_offer;
pub mod aws_offer_csv;
pub mod aws_spot;
pub mod azure_retail;
mod bounded;
mod csv;
pub mod gcp_skus;
mod point;

pub use bounded::Bounded;
pub use point::{FormatError, Limits, PricePoint, versions};
