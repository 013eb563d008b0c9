//! Packs images and reads them back with the eyes of a runtime.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "integration tests write files, and a failed step is a failed test"
)]

mod image;
