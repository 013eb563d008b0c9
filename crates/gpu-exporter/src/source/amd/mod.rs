//! AMD GPUs, read from the kernel's files and nothing else.

pub mod tables;
pub mod text;
