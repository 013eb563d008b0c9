//! SQLite's errors in our words.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::StoreError;

/// Turns an error of SQLite into ours.
pub(super) trait Failing<T> {
    fn or_fail(self, act: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> Failing<T> for rusqlite::Result<T> {
    fn or_fail(self, act: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|error| sorted(error, act, path))
    }
}

fn sorted(error: rusqlite::Error, act: &'static str, path: &Path) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::DiskFull {
            path: path.to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged {
            path: path.to_owned(),
            detail: error.to_string(),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Unavailable {
            seconds: super::BUSY_TIMEOUT.as_secs(),
            source: Box::new(error),
        },
        _ => StoreError::failed(act, error),
    }
}
