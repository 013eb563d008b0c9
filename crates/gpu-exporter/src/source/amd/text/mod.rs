//! The kernel's text files about GPUs, each as a function from its text to a value. Nothing here allocates, and whatever the
//! text is, the answer is a value or none; the files are read elsewhere.

mod clocks;
mod errors;
mod fdinfo;
mod hwmon;
mod kfd;
mod partition;
mod pci;

pub use clocks::{
    ClockLevels, PcieBandwidth, clock_levels, link_transfers_per_second, link_width, pcie_bandwidth,
};
pub use errors::{AerCounts, BadPages, ErrorCounts, aer_counts, bad_pages, error_counts, xgmi_error};
pub use fdinfo::{Engine, FdInfo, MAX_ENGINES, MAX_REGIONS, Region, fdinfo};
pub use hwmon::{TemperatureSensor, celsius, hertz, volts, watts};
pub use kfd::{GfxTarget, KfdNode, kfd_node};
pub use partition::{ComputePartition, MemoryPartition, compute_partitions};
pub use pci::{NotAnAddress, PciAddress, uevent};

/// The text of a file: without the zeros that some tools and some drivers pad it with, and without space around it. None where
/// it is not text.
pub fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).ok().map(str::trim)
}

/// A plain number, as in most files: `gpu_busy_percent`, `mem_info_vram_used`, `vram_<gpu_id>` of a process.
pub fn number(text: &str) -> Option<u64> {
    trimmed(text).parse().ok()
}

/// A percentage as a ratio. A driver that says more than 100 says something else.
pub fn percent(text: &str) -> Option<f64> {
    let percent = number(text)?;
    (percent <= 100).then_some(percent as f64 / 100.0)
}

/// The digits of `unique_id`, which has no `0x` in front, and of other files that have it.
pub fn hexadecimal(text: &str) -> Option<u64> {
    let text = trimmed(text);
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // The parser would take a sign.
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Without the zeros behind the text and the space around it.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches('\0').trim()
}

/// Lines that are not empty. As many as the text has: whoever reads the file bounds its size.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    trimmed(text)
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

/// `name value`, with any space between them.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(char::is_whitespace)?;
    Some((name, value.trim()))
}

#[cfg(test)]
mod tests;
