//! What must hold of every bill.

mod arbitrary;
mod examples;
mod fleet;
mod keys;
mod properties;
mod restarts;
