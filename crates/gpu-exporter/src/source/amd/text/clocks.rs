//! Clocks and links: `pp_dpm_*`, `current_link_speed`, `current_link_width`, `pcie_bw`.

use super::{lines, trimmed};

/// The steps of a clock, from a file `pp_dpm_*`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockLevels {
    /// The line with the star, also that of a sleep state (`S:`). None where no line has one.
    pub current_hertz: Option<f64>,
    /// Of the numbered lines, without sleep states.
    pub lowest_hertz: f64,
    pub highest_hertz: f64,
}

/// Reads lines such as `1: 1300Mhz *`. Where two lines have the star, which happens when two steps are equal, the last one
/// counts. A file of links (`pp_dpm_pcie`) has no clock in the first place and gives none.
pub fn clock_levels(text: &str) -> Option<ClockLevels> {
    let mut levels: Option<ClockLevels> = None;
    let mut current = None;
    for (step, hertz, starred) in lines(text).filter_map(level) {
        if starred {
            current = Some(hertz);
        }
        if step.parse::<u32>().is_ok() {
            let known = levels.get_or_insert(ClockLevels {
                current_hertz: None,
                lowest_hertz: hertz,
                highest_hertz: hertz,
            });
            known.lowest_hertz = known.lowest_hertz.min(hertz);
            known.highest_hertz = known.highest_hertz.max(hertz);
        }
    }
    levels.map(|levels| ClockLevels {
        current_hertz: current,
        ..levels
    })
}

fn level(line: &str) -> Option<(&str, f64, bool)> {
    let (step, rest) = line.split_once(':')?;
    let (rest, starred) = match rest.trim_end().strip_suffix('*') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let rest = rest.trim();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, unit) = rest.split_at(digits);
    let megahertz: u32 = number.parse().ok()?;
    unit.trim()
        .eq_ignore_ascii_case("mhz")
        .then_some((step.trim(), f64::from(megahertz) * 1e6, starred))
}

/// `16.0 GT/s PCIe` as transfers a second; `Unknown` is none.
pub fn link_transfers_per_second(text: &str) -> Option<f64> {
    let number = trimmed(text).split_once("GT/s")?.0.trim();
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let gigatransfers: f64 = number.parse().ok().filter(|_| plain)?;
    Some(gigatransfers * 1e9)
}

/// The lanes of a link. 0 and 255 are the kernel's words for a link that is down or not known.
pub fn link_width(text: &str) -> Option<u32> {
    trimmed(text)
        .parse()
        .ok()
        .filter(|lanes| !matches!(lanes, 0 | 255))
}

/// What `pcie_bw` counted within the second for which its read blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcieBandwidth {
    pub received_packets: u64,
    pub sent_packets: u64,
    /// The largest payload of a packet: an upper bound, not the mean.
    pub max_payload_bytes: u64,
}

pub fn pcie_bandwidth(text: &str) -> Option<PcieBandwidth> {
    let mut numbers = trimmed(text).split_whitespace().map(|word| word.parse().ok());
    let bandwidth = PcieBandwidth {
        received_packets: numbers.next()??,
        sent_packets: numbers.next()??,
        max_payload_bytes: numbers.next()??,
    };
    numbers.next().is_none().then_some(bandwidth)
}
