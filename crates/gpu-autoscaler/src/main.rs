//! The control plane, the command line and the demo.
fn main() {}
