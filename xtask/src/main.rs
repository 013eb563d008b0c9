//! The workshop: checks, tests, soak.
fn main() {}
