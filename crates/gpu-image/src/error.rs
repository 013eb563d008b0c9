//! Why an image could not be packed.

use std::{io, path::PathBuf};

/// Why an image could not be packed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The name lacks its registry or tag, and runtimes would complete it in different ways.
    #[error(
        "image name `{name}` is not full; write registry, path and tag, as in `docker.io/library/thing:1.0`"
    )]
    Name {
        /// The name given.
        name: String,
    },
    /// The program cannot run in a Linux container.
    #[error("cannot pack `{path}`: {why}")]
    Program {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file is larger than anything that belongs in an image.
    #[error("cannot pack `{path}`: {size_bytes} bytes are more than an image of one program may hold")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
    },
    /// A file could not be read.
    #[error("failed to read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The archive could not be written.
    #[error("failed to write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The dynamic loader did not start.
    #[error("failed to ask the loader `{loader}` which libraries `{program}` needs")]
    Loader {
        /// The loader named by the program.
        loader: PathBuf,
        /// The program.
        program: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The dynamic loader could not resolve the program.
    #[error("the loader cannot resolve `{program}`: {why}")]
    Unresolved {
        /// The program.
        program: PathBuf,
        /// What the loader printed.
        why: String,
    },
    /// A library lies where no image can hold it.
    #[error("cannot pack the library `{path}`: its path is not plain text")]
    LibraryPath {
        /// The library.
        path: PathBuf,
    },
}
