//! Errors: `ras/*_err_count`, `ras/gpu_vram_bad_pages`, `aer_dev_*`, `xgmi_error`.

use super::{hexadecimal, lines, number, pair, trimmed};

/// A block's errors since the driver was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    pub uncorrectable: Option<u64>,
    pub correctable: Option<u64>,
    /// Put off until the poisoned data is used; only newer cards count them.
    pub deferred: Option<u64>,
}

/// Reads `ue: N`, `ce: N`, `de: N`. None where not one of them is there: the block has no counters.
pub fn error_counts(text: &str) -> Option<ErrorCounts> {
    let mut counts = ErrorCounts::default();
    for line in lines(text) {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let place = match name.trim() {
            "ue" => &mut counts.uncorrectable,
            "ce" => &mut counts.correctable,
            "de" => &mut counts.deferred,
            _ => continue,
        };
        *place = number(value);
    }
    (counts != ErrorCounts::default()).then_some(counts)
}

/// Pages of the device's memory that are no longer used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BadPages {
    pub retired: u64,
    /// To be taken out of use at the next reset.
    pub pending: u64,
    /// In use by something that cannot let go of them.
    pub unreservable: u64,
}

/// Counts lines such as `0x00000042 : 0x00001000 : R`. An empty file is a device without bad pages; lines of another form do
/// not count.
pub fn bad_pages(text: &str) -> BadPages {
    let mut pages = BadPages::default();
    for line in lines(text) {
        let mut parts = line.split(':').map(str::trim);
        let (Some(page), Some(size), Some(state), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if hexadecimal(page).is_none() || hexadecimal(size).is_none() {
            continue;
        }
        match state {
            "R" => pages.retired += 1,
            "P" => pages.pending += 1,
            "F" => pages.unreservable += 1,
            _ => {}
        }
    }
    pages
}

/// Errors of the PCIe link, from one of the three files `aer_dev_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AerCounts {
    /// The kernel's own total where it gives one, and otherwise the sum.
    pub total: u64,
    /// Replays that were given up or ran out of time (`Rollover`, `Timeout`); only in the file of correctable errors.
    pub replays: Option<u64>,
    /// Packets that arrived damaged (`RxErr`, `BadTLP`, `BadDLLP`); only in the file of correctable errors.
    pub damaged: Option<u64>,
}

pub fn aer_counts(text: &str) -> Option<AerCounts> {
    let (mut total, mut sum, mut replays, mut damaged) = (None, None, None, None);
    let add = |to: &mut Option<u64>, count: u64| *to = Some(to.unwrap_or(0).saturating_add(count));
    for (name, value) in lines(text).filter_map(pair) {
        let Some(count) = number(value) else {
            continue;
        };
        if name.starts_with("TOTAL_ERR_") {
            total = Some(count);
            continue;
        }
        add(&mut sum, count);
        match name {
            "Rollover" | "Timeout" => add(&mut replays, count),
            "RxErr" | "BadTLP" | "BadDLLP" => add(&mut damaged, count),
            _ => {}
        }
    }
    Some(AerCounts {
        total: total.or(sum)?,
        replays,
        damaged,
    })
}

/// The number of `xgmi_error`: 0 none, 1 one, 2 several since the last look.
pub fn xgmi_error(text: &str) -> Option<u64> {
    let text = trimmed(text);
    match text.strip_prefix("0x") {
        Some(_) => hexadecimal(text),
        None => number(text),
    }
}
