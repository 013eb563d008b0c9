//! FOCUS.
