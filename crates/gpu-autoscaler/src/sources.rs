//! Where the figures come from: exporters that are scraped directly, or a Prometheus that has scraped them, behind one trait.
//!
//! A source makes one round over everything it knows of and hands in a [`Harvest`]. It never invents a figure: what could not be
//! asked is in the harvest as a target that failed, and its GPUs are not.

mod dialects;
pub mod direct;
pub mod discover;
pub mod prometheus;
mod standalone;

use std::time::Duration;

use futures::future::BoxFuture;
use gpu_model::Harvest;
use jiff::Timestamp;

pub use standalone::{StandaloneError, standalone};

/// One round over the exporters of a fleet.
pub trait MetricsSource: Send {
    /// The word for settings, labels and logs.
    fn name(&self) -> &'static str;

    /// Makes a round. `now` is when it begins.
    fn collect(&mut self, now: Timestamp) -> BoxFuture<'_, Harvest>;

    /// Rounds that were missed, the oldest first. Empty when the source has no memory, or its memory does not answer.
    fn backfill(&mut self, from: Timestamp, to: Timestamp, step: Duration) -> BoxFuture<'_, Vec<Harvest>>;
}

/// Messages of others are cut here; the start says enough.
const LONGEST_MESSAGE: usize = 300;

/// A message of bounded length on one line.
fn cut(message: &str) -> String {
    let end = message
        .char_indices()
        .nth(LONGEST_MESSAGE)
        .map_or(message.len(), |(at, _)| at);
    message[..end].replace(char::is_control, " ")
}
