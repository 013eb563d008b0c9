//! Finds GPU waste: samples become windows, windows meet rules, and rules give findings with evidence, money and a fix.
//!
//! Pure: time, prices and the cluster come in as values. Nothing here knows how a finding reaches its owner.

mod finding;

pub use finding::{Cause, Evidence, Finding, FindingId, Fix, FixKind, HeldPart, Signal, Speaks, Subject};
