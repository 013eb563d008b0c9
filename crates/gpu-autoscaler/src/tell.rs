//! Telling people: which findings are told, when, how often and to whom, and what came of it.
//!
//! - [`diary`] decides, without a clock or a socket; [`sights`] says how the subjects of old findings fare.
//! - [`events`] writes Kubernetes events, [`notices`] sends to webhooks, chats and mailboxes, [`annotate`] marks pods where that is asked for.
//! - [`gpu_health`] judges GPUs by their faults, [`node_condition`] writes the verdict to their nodes.
//! - [`teller`] does one cycle of all of it for the replica that leads.
//!
//! Nothing here finds waste, and nothing here changes a workload.

pub mod annotate;
pub mod diary;
pub mod events;
pub mod gpu_health;
pub mod node_condition;
pub mod notices;
pub mod sights;
pub mod teller;
mod words;

pub use words::dollars;
