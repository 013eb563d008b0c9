//! Properties of writer and parser together, and what they allocate.

mod allocations;
mod arbitrary;
mod robustness;
mod roundtrip;

#[path = "../../benches/fleet/mod.rs"]
mod fleet;
