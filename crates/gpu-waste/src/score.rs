//! The score of a finding, 0 to 100.
//!
//! `score = 100 x affected share x confidence`, rounded down, both as shares of one.
//!
//! The affected share is the part of what the finding names that is lost: of idle GPUs all, of an under-used GPU what is not
//! used, of a throttled one the time held down. Money is not in it: a list is ordered by money, and a score that held money
//! would hide a small team's certain waste behind a large team's doubtful one.

use gpu_model::Permille;

/// The score of a loss of this share, known with this confidence.
pub fn score(affected: Permille, confidence: Permille) -> u8 {
    let exact = u32::from(affected.get()) * u32::from(confidence.get()) / 10_000;
    u8::try_from(exact).unwrap_or(100).min(100)
}
