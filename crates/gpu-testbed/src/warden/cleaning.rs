//! Takes mounts, directories and control groups of a bed away. Shared by the warden and by the sweep after it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::mount::{MntFlags, umount2};

/// A control group stays busy until the kernel has buried its last process, which takes milliseconds.
const CGROUP_PATIENCE: Duration = Duration::from_secs(3);

const POLL: Duration = Duration::from_millis(20);

/// The mount points at or below `directory`, deepest and newest first: the order in which they can be unmounted.
pub(crate) fn mounts_below(directory: &Path) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut points: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(|escaped| PathBuf::from(unescape(escaped)))
        .filter(|point| point.starts_with(directory))
        .collect();
    points.reverse();
    points
}

/// The kernel writes blanks, tabs, line ends and backslashes of a path as three octal digits.
fn unescape(escaped: &str) -> String {
    let mut plain = String::new();
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        match after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Unmounts everything at or below `directory`.
pub(crate) fn unmount_below(directory: &Path) -> anyhow::Result<()> {
    for point in mounts_below(directory) {
        umount2(&point, MntFlags::MNT_DETACH)
            .with_context(|| format!("failed to unmount `{}`", point.display()))?;
    }
    Ok(())
}

/// Removes `directory` with all that is in it, but never through a mount: what is mounted there belongs to others.
pub(crate) fn remove_directory(directory: &Path) -> anyhow::Result<()> {
    unmount_below(directory)?;
    if let Some(point) = mounts_below(directory).first() {
        bail!(
            "`{}` is still mounted, so `{}` stays",
            point.display(),
            directory.display()
        );
    }
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove `{}`", directory.display()))
        }
        _ => Ok(()),
    }
}

/// Removes a control group and those below it, children first.
pub(crate) fn remove_cgroup(path: &Path) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path())?;
        }
    }
    let deadline = Instant::now() + CGROUP_PATIENCE;
    loop {
        match std::fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Instant::now() >= deadline => {
                return Err(error)
                    .with_context(|| format!("failed to remove control group `{}`", path.display()));
            }
            Err(_) => std::thread::sleep(POLL),
        }
    }
}
