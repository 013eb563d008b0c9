//! What the kernel knows of processes: their time on a processor and the memory that they held.

use std::time::Duration;

use super::Outcome;

/// User and system time of a process and, where asked, of all that descend from it or did. The kernel counts in hundredths of a
/// second.
pub(crate) fn cpu_time(pid: u32, with_children: bool) -> Outcome<Duration> {
    let mut hundredths = ticks(pid, if with_children { 4 } else { 2 }).ok_or("the process is gone")?;
    if with_children {
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Some(child) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if parent(child) == Some(pid) {
                hundredths += ticks(child, 2).unwrap_or(0);
            }
        }
    }
    Ok(Duration::from_millis(hundredths * 10))
}

fn fields(pid: u32) -> Option<Vec<u64>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    // The state is a letter; some later fields are negative. Neither is asked for.
    Some(
        after_name
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect(),
    )
}

/// The first two are its own, the next two are of children that it waited for.
fn ticks(pid: u32, count: usize) -> Option<u64> {
    Some(fields(pid)?.iter().skip(11).take(count).sum())
}

fn parent(pid: u32) -> Option<u32> {
    u32::try_from(*fields(pid)?.get(1)?).ok()
}

/// The most memory that this process ever held.
pub(crate) fn peak_memory_mib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("the kernel does not say")?;
    Ok(number.parse::<u64>()? / 1024)
}

/// The one-minute load, without which an elapsed time means nothing.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}
