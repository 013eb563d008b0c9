//! The values every other crate speaks in.
