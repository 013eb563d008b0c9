//! Finds GPU waste: samples become windows, windows meet rules, and rules give findings with evidence, money and a fix.
//!
//! Pure: time, prices and the cluster come in as values. Nothing here knows how a finding reaches its owner.

mod account;
mod activity;
mod case;
mod detect;
mod evidence;
mod facts;
mod finding;
mod fix;
mod group;
mod holders;
mod patterns;
mod power;
mod price;
mod rooms;
mod rules;
mod score;
mod settings;
mod shares;
mod sizes;
mod surroundings;
mod windows;

pub use account::{Bucket, CauseTotal};
pub use detect::{Exempted, Report, detect};
pub use finding::{Cause, Evidence, Finding, FindingId, Fix, FixKind, HeldPart, Signal, Speaks, Subject};
pub use patterns::{HourPattern, Pattern, PatternKey, Patterns};
pub use score::score;
pub use settings::{Deviations, Settings, WindowSettings};
pub use surroundings::{GpuRate, Surroundings};
pub use windows::{Memory, PartMemory, PodMemory, Windows};
