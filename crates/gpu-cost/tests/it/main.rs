//! What must hold of every bill.

mod arbitrary;
mod examples;
mod fleet;
mod focus;
mod formats;
mod history;
mod keys;
mod memory;
mod prices;
mod properties;
mod restarts;
mod tables;
mod watching;
