//! Copies of a store's file: made while it is written to, and put back.

use std::fs::File;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::failure::Failing;
use super::lock::{Lock, beside};
use crate::dump::Target;
use crate::error::StoreError;

/// Copies the store at `from` into a new file, whether or not a process writes to it. The copy is of one instant, compact and whole;
/// a copy that could not be finished is not left under the name that was asked for.
pub fn backup(from: &Path, to: &Path) -> Result<(), StoreError> {
    const ACT: &str = "back up the store";
    if to.exists() {
        return Err(StoreError::failed(
            ACT,
            format!("`{}` is there already: name a new file", to.display()),
        ));
    }
    // Not created when missing: an empty copy of a mistyped name would look like a backup.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags).or_fail(ACT, from)?;
    connection.busy_timeout(super::BUSY_TIMEOUT).or_fail(ACT, from)?;
    let unfinished = beside(to, ".unfinished");
    let _ = std::fs::remove_file(&unfinished);
    let name = unfinished.to_str().ok_or_else(|| {
        StoreError::failed(
            ACT,
            format!("`{}` is not valid text: name another file", to.display()),
        )
    })?;
    connection.execute("vacuum into ?1", [name]).or_fail(ACT, from)?;
    finish(&unfinished, to).map_err(|error| StoreError::failed(ACT, error))
}

/// Puts a backup in the place of a store that no process holds.
pub fn restore(backup: &Path, to: &Path, target: Target) -> Result<(), StoreError> {
    const ACT: &str = "restore the store";
    let _lock = Lock::take(to)?;
    let is_there = std::fs::metadata(to).is_ok_and(|file| file.len() > 0);
    if is_there && target == Target::MustBeEmpty {
        return Err(StoreError::NotEmpty);
    }
    let unfinished = beside(to, ".unfinished");
    std::fs::copy(backup, &unfinished).map_err(|error| StoreError::failed(ACT, error))?;
    let checked = check(&unfinished);
    if let Err(error) = checked {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error);
    }
    // The log of the old file would be played into the new one.
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(to, ending));
    }
    finish(&unfinished, to).map_err(|error| StoreError::failed(ACT, error))
}

fn check(path: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).or_fail("check the backup", path)?;
    let found: String = connection
        .query_row("pragma quick_check(1)", [], |row| row.get(0))
        .or_fail("check the backup", path)?;
    if found != "ok" {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            detail: found,
        });
    }
    Ok(())
}

/// On the disk first, under its name then.
fn finish(unfinished: &Path, to: &Path) -> std::io::Result<()> {
    File::open(unfinished)?.sync_all()?;
    std::fs::rename(unfinished, to)?;
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
