//! The real program on whole machines: the double of NVIDIA's library, a kubelet's socket, a `/proc` and control groups in
//! the shapes of real nodes. What is on its pages, and that they are served whatever happens.

mod amd;
mod applications;
mod fallback;
mod growth;
mod lifecycle;
mod machine;
mod machines;
mod pages;
mod parity;
mod prometheus;
mod reading;
mod scrape;
mod sums;
mod tools;
mod torture;
mod watch;
