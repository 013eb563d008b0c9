//! Packs a program into a container image without a container engine.
//!
//! [`build_image`] takes a program of this machine, adds the shared libraries that it loads and the few files that a
//! program expects of a system, and writes one archive that `ctr images import` and `docker load` both read. The same
//! input gives the same bytes: entries are sorted, times are fixed, and nothing of the machine's state goes in.
//! There is no shell, no package manager and no user but one without rights in the image.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it meets the world outside"
)]

mod archive;
mod digest;
mod elf;
mod error;
mod layer;
mod libraries;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use digest::Digest;
pub use error::ImageError;

/// The user and group of every image: nobody on the host has this number, and Kubernetes can see that it is not root.
pub const USER_ID: u32 = 65532;

/// Where the program lies in the image.
const PROGRAM_DIRECTORY: &str = "usr/local/bin";

/// Where most TLS libraries look for the certificates of well-known authorities.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// Programs are linked for tens of megabytes at most; a larger one was not meant to go into an image.
const PROGRAM_LIMIT_BYTES: u64 = 1 << 30;

/// What to pack.
#[derive(Debug, Clone)]
pub struct ImageSpec {
    /// The full name with registry and tag, as in `docker.io/library/thing:1.0`.
    pub name: String,
    /// The program's file on this machine.
    pub program: PathBuf,
    /// Arguments that the entrypoint gets unless the container names its own.
    pub arguments: Vec<String>,
    /// Labels of the image.
    pub labels: BTreeMap<String, String>,
    /// A bundle of certificate authorities on this machine, for programs that speak to the world.
    pub certificates: Option<PathBuf>,
    /// The archive to write.
    pub output: PathBuf,
}

impl ImageSpec {
    /// An image of `program` and nothing else.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            labels: BTreeMap::new(),
            certificates: None,
            output: output.into(),
        }
    }
}

/// A written image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The archive.
    pub path: PathBuf,
    /// The digest of the image's manifest, by which registries and runtimes know it.
    pub digest: Digest,
    /// The size of the archive.
    pub size_bytes: u64,
}

/// Packs the image and writes its archive.
pub fn build_image(spec: &ImageSpec) -> Result<Built, ImageError> {
    let (repository, tag) = split_name(&spec.name)?;
    let program = read(&spec.program)?;
    let header = elf::parse(&program).map_err(|why| ImageError::Program {
        path: spec.program.clone(),
        why,
    })?;
    let file_name = spec
        .program
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| ImageError::Program {
            path: spec.program.clone(),
            why: "its name is not plain text",
        })?;
    let in_image = format!("{PROGRAM_DIRECTORY}/{file_name}");

    let mut files = layer::Files::with_system();
    files.program(&in_image, program);
    if let Some(bundle) = &spec.certificates {
        files.plain(CERTIFICATES, read(bundle)?);
    }
    if let Some(interpreter) = &header.interpreter {
        for library in libraries::closure(interpreter, &spec.program)? {
            let name = library
                .to_str()
                .map(|path| path.trim_start_matches('/').to_owned());
            let name = name.ok_or_else(|| ImageError::LibraryPath {
                path: library.clone(),
            })?;
            files.program(&name, read(&library)?);
        }
    }
    let image = archive::Image {
        repository,
        tag,
        architecture: header.architecture,
        entrypoint: format!("/{in_image}"),
        arguments: &spec.arguments,
        labels: &spec.labels,
        layer: files.into_layer(),
    };
    let packed = archive::pack(&image);
    std::fs::write(&spec.output, &packed.bytes).map_err(|source| ImageError::Write {
        path: spec.output.clone(),
        source,
    })?;
    Ok(Built {
        path: spec.output.clone(),
        digest: packed.digest,
        size_bytes: u64::try_from(packed.bytes.len()).expect("a length fits 64 bits"),
    })
}

/// Splits at the colon of the tag; a colon before the last slash belongs to a registry's port.
fn split_name(name: &str) -> Result<(&str, &str), ImageError> {
    let malformed = || ImageError::Name {
        name: name.to_owned(),
    };
    let (repository, tag) = name.rsplit_once(':').ok_or_else(malformed)?;
    let registry = repository.split('/').next().unwrap_or_default();
    let full = repository.contains('/') && (registry.contains(['.', ':']) || registry == "localhost");
    if !full || tag.is_empty() || tag.contains('/') {
        return Err(malformed());
    }
    Ok((repository, tag))
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    let failed = |source| ImageError::Read {
        path: path.to_path_buf(),
        source,
    };
    let size_bytes = std::fs::metadata(path).map_err(failed)?.len();
    if size_bytes > PROGRAM_LIMIT_BYTES {
        return Err(ImageError::TooLarge {
            path: path.to_path_buf(),
            size_bytes,
        });
    }
    std::fs::read(path).map_err(failed)
}
