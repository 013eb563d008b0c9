//! The keeper of the ledger: from rounds over the fleet to rows in the store, through restarts, outages and changes of leader.
//!
//! [`LedgerKeeper`] is shown every round. It keeps books in memory, closes a window of five minutes once nothing more is expected of
//! it, and writes its rows together with all that another process needs to go on from there. What cannot be written waits in the
//! books, within a bound. Nothing here measures or prices; that is what `gpu-cost` and the rounds are for.

mod desk;
mod keeper;
mod kept;
mod settings;
mod status;
mod writing;

pub use keeper::{LedgerKeeper, LedgerLook};
pub(crate) use kept::settled_until;
pub use settings::LedgerSettings;
pub use status::{LedgerState, LedgerStatus};
