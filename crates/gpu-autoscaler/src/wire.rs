//! The documents of the API as types: the server writes them, the command line reads them, and scripts depend on their names.
//!
//! Everything here is for people and charts. Money is rounded to cents and shares are floats; decisions are made before.

pub mod cost;
pub mod decisions;
pub mod prices;
pub mod status;
pub mod waste;
