//! The little that must be known of a program's header: its machine and its dynamic loader. Pure: bytes in, facts out.

use std::path::PathBuf;

/// Facts of a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// As images name it.
    pub(crate) architecture: &'static str,
    /// The dynamic loader; none for a static program.
    pub(crate) interpreter: Option<PathBuf>,
}

/// The segment that names the loader.
const INTERPRETER_SEGMENT: u32 = 3;

/// The size of one segment header in a 64-bit file.
const SEGMENT_BYTES: usize = 56;

/// Reads the header of a 64-bit little-endian program, which is every machine that GPU nodes are built of.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, &'static str> {
    const TRUNCATED: &str = "its header is cut off";
    if !bytes.starts_with(b"\x7fELF") {
        return Err("it is not a Linux program");
    }
    if bytes.get(4..6) != Some(&[2, 1]) {
        return Err("it is not a 64-bit little-endian program");
    }
    let architecture = match u16_at(bytes, 18).ok_or(TRUNCATED)? {
        62 => "amd64",
        183 => "arm64",
        _ => return Err("its machine is neither amd64 nor arm64"),
    };
    let segments = offset_at(bytes, 32).ok_or(TRUNCATED)?;
    let count = usize::from(u16_at(bytes, 56).ok_or(TRUNCATED)?);
    for index in 0..count {
        let at = index
            .checked_mul(SEGMENT_BYTES)
            .and_then(|at| at.checked_add(segments))
            .ok_or(TRUNCATED)?;
        if u32_at(bytes, at).ok_or(TRUNCATED)? == INTERPRETER_SEGMENT {
            let start = offset_at(bytes, at + 8).ok_or(TRUNCATED)?;
            let length = offset_at(bytes, at + 32).ok_or(TRUNCATED)?;
            let end = start.checked_add(length).ok_or(TRUNCATED)?;
            let name = bytes.get(start..end).ok_or(TRUNCATED)?;
            let name = std::str::from_utf8(name).map_err(|_| "its loader's name is not plain text")?;
            return Ok(Header {
                architecture,
                interpreter: Some(PathBuf::from(name.trim_end_matches('\0'))),
            });
        }
    }
    Ok(Header {
        architecture,
        interpreter: None,
    })
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

fn offset_at(bytes: &[u8], at: usize) -> Option<usize> {
    array_at(bytes, at)
        .map(u64::from_le_bytes)
        .and_then(|offset| usize::try_from(offset).ok())
}

#[cfg(test)]
mod tests;
