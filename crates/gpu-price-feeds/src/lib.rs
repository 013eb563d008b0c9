//! Prices from outside, assembled into one price book: the clouds' live lists, and what people of the cluster wrote down.
//!
//! - [`PriceDesk`] is what a program holds: it starts everything, and gives the book of the moment and the state of its
//!   sources.
//! - `feeds` fetch the clouds' lists. They hand the bytes to the readers of `gpu-cost` as they arrive, so a list of a gigabyte
//!   needs no more memory than one of a kilobyte.
//! - `document` is the text in which people write prices; it comes from a file or from a ConfigMap.
//!
//! A source that fails leaves what it said before in force, with its age. Nothing here makes up a price.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

#[cfg(feature = "aws")]
pub mod aws;
mod desk;
pub mod document;
pub mod feeds;
mod history;
mod status;
mod wanted;

pub use desk::{Bundled, DeskError, DeskSettings, PriceDesk};
pub use document::DocumentSource;
pub use history::History;
pub use status::{Problem, SourceStatus};
pub use wanted::Wanted;
