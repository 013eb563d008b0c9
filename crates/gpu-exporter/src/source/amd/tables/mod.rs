//! The kernel's `gpu_metrics` file: one binary table with most of what the firmware measures, in more than a dozen versions.
//! Bytes in, numbers out; the file is read elsewhere.

mod apu;
mod cell;
mod described;
mod discrete;
mod layout;
mod metrics;
mod partition;
pub mod write;

pub use metrics::{
    ENERGY_STEPS_A_JOULE, Engines, MAX_CLOCKS, MAX_HBM, MAX_JPEG, MAX_VCN, MAX_XCC, MAX_XGMI_LINKS, Metrics,
    Residency, Throttler, ThrottlerSet, Version, XGMI_UNIT_BYTES,
};

use layout::Table;

/// Of every table: its size in two bytes, and the two revisions.
const HEADER_BYTES: usize = 4;
/// More than any table has, and a page of memory, which is what the kernel gives at most.
pub const MAX_TABLE_BYTES: usize = 4096;

/// Why a table cannot be used, or not as a whole.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// The driver has nothing to say, or the device is asleep.
    #[error("the table is empty")]
    Empty,
    #[error("the table ends inside its header, after {bytes} bytes")]
    ShorterThanHeader { bytes: usize },
    /// Newer than this program, or a form of a known version that is shorter than every one we know.
    #[error("tables {version} of {structure_size} bytes are not known to this program")]
    UnknownVersion { version: Version, structure_size: usize },
    /// The read gave less than the header promises. What lay wholly in front of the end is in `partial`.
    #[error("the table {version} ends after {bytes} of {expected} bytes")]
    Truncated {
        version: Version,
        bytes: usize,
        expected: usize,
        partial: Box<Metrics>,
    },
    /// A self-describing table has a number of unknown width, after which nothing can be found. What came before is in `partial`.
    #[error("attribute {attribute} of the table {version} has the unknown type {kind}")]
    UnknownType {
        version: Version,
        attribute: u16,
        kind: u8,
        partial: Box<Metrics>,
    },
}

impl TableError {
    /// What could be read nevertheless.
    pub fn partial(&self) -> Option<&Metrics> {
        match self {
            Self::Truncated { partial, .. } | Self::UnknownType { partial, .. } => Some(partial),
            Self::Empty | Self::ShorterThanHeader { .. } | Self::UnknownVersion { .. } => None,
        }
    }

    /// A word of a closed set, for logs and labels.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Empty => "table_empty",
            Self::ShorterThanHeader { .. } => "table_short",
            Self::UnknownVersion { .. } => "table_unknown",
            Self::Truncated { .. } => "table_truncated",
            Self::UnknownType { .. } => "table_unknown_type",
        }
    }
}

/// Reads a device's table of any known version. Bytes behind its end are no concern: the kernel may hand out a whole page.
pub fn parse(bytes: &[u8]) -> Result<Metrics, TableError> {
    let header = Header::read(bytes)?;
    if header.version == described::VERSION {
        return described::parse(bytes, header);
    }
    parse_fixed(bytes, header, tables())
}

/// Reads the table of a single partition (`xcp/xcp_metrics`), whose versions are numbered apart. Its engines are in
/// [`Metrics::whole`].
pub fn parse_partition(bytes: &[u8]) -> Result<Metrics, TableError> {
    let header = Header::read(bytes)?;
    if header.version == partition::DESCRIBED {
        return described::parse(bytes, header);
    }
    parse_fixed(bytes, header, partition::TABLES.iter())
}

/// What every table begins with.
#[derive(Clone, Copy)]
struct Header {
    version: Version,
    structure_size: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let Some(&[low, high, format, content]) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(match bytes.len() {
                0 => TableError::Empty,
                bytes => TableError::ShorterThanHeader { bytes },
            });
        };
        Ok(Self {
            version: Version { format, content },
            structure_size: usize::from(u16::from_le_bytes([low, high])),
        })
    }
}

/// Takes the longest form of the version that fits into the size of the header.
fn parse_fixed(
    bytes: &[u8],
    header: Header,
    known: impl Iterator<Item = &'static Table>,
) -> Result<Metrics, TableError> {
    let Header {
        version,
        structure_size,
    } = header;
    let Some(table) = known
        .filter(|table| table.version == version && table.size <= structure_size)
        .max_by_key(|table| table.size)
    else {
        return Err(TableError::UnknownVersion {
            version,
            structure_size,
        });
    };
    let mut metrics = Metrics::EMPTY;
    metrics.version = version;
    table.read(&bytes[..bytes.len().min(table.size)], &mut metrics);
    if bytes.len() < structure_size {
        return Err(TableError::Truncated {
            version,
            bytes: bytes.len(),
            expected: structure_size,
            partial: Box::new(metrics),
        });
    }
    Ok(metrics)
}

fn tables() -> impl Iterator<Item = &'static Table> {
    discrete::TABLES.iter().chain(apu::TABLES)
}

#[cfg(test)]
mod tests;
