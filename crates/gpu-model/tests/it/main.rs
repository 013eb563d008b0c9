//! What the values promise to the crates that stand on them.

mod catalogue;
mod ids;
mod mig;
mod money;
mod quantity;
mod reading;
