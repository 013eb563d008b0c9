//! What must hold of every bill.

mod arbitrary;
mod examples;
mod fleet;
mod formats;
mod keys;
mod prices;
mod properties;
mod restarts;
mod tables;
