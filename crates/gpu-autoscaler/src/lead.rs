//! Who of several replicas may write, and how every write stays harmless when that answer is out of date.
//!
//! - [`Election`] keeps a Lease; [`Leadership`] says whether this replica holds it and gives [`WritePermit`]s.
//! - [`Writer`] is the one way to the API server for whatever changes something: each [`Change`] carries a condition, so that the late
//!   write of a leader that was replaced meanwhile is refused by the server.
//! - [`pause`] and [`resume`] hold all writes of all replicas; [`PauseWatch`] tells each of them.
//! - [`check_store_sharing`] refuses a second replica that could not share its store.
//!
//! Nothing here decides what is written.

mod election;
mod lease;
mod metrics;
mod pause;
mod sharing;
mod standing;
mod writes;

pub use election::{Election, ElectionError, ElectionSettings, LeaseTimes, TimesError, new_identity};
pub use metrics::write_metrics;
pub use pause::{Pause, PauseError, PauseState, PauseWatch, STATE_OBJECT, pause, pause_state, resume};
pub use sharing::{SharingError, StoreKind, check_store_sharing};
pub use standing::{Leadership, Term, WritePermit};
#[cfg(feature = "failpoints")]
pub use writes::failpoint;
pub use writes::{
    Change, ChangeError, Mode, Refusal, WriteCounts, WriteError, WriteKind, WriteLimits, WriteResult, Writer,
    Written, client_for_writes,
};
