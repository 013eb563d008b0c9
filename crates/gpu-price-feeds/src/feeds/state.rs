//! What a feed remembers of its lists, in memory and in a file, so that neither a failure nor a restart loses a price or
//! fetches an unchanged list again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gpu_cost::prices::PriceVersion;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::warn;

use super::Validators;
use crate::{History, Problem, SourceStatus, Wanted};

/// The form of the file; another number is another form, and such a file is not read.
const FORM: u32 = 1;
/// A history of the most steps it may have is half of this.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The lists of a feed by region; those that are no longer wanted keep their prices.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) by_region: BTreeMap<Option<String>, List>,
}

/// One list.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct List {
    pub(super) history: History,
    /// What was asked for when it was last read.
    pub(super) read_for: Wanted,
    pub(super) validators: Validators,
    pub(super) confirmed_at: Option<Timestamp>,
    /// What was asked for at the last attempt, whether it failed or not.
    #[serde(skip)]
    pub(super) tried_for: Wanted,
    #[serde(skip)]
    pub(super) problem: Option<Problem>,
    #[serde(skip)]
    pub(super) failures: u32,
    /// When it is read next; at once where absent.
    #[serde(skip)]
    pub(super) due: Option<Instant>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    lists: Vec<(Option<String>, List)>,
}

impl List {
    pub(super) fn status(&self, source: &'static str, region: Option<&String>) -> SourceStatus {
        SourceStatus {
            confirmed_at: self.confirmed_at,
            last_error: self.problem.clone(),
            failures: self.failures,
            versions: self.history.len(),
            ..SourceStatus::new(source, region.cloned())
        }
    }
}

impl Lists {
    pub(super) fn versions(&self) -> Vec<PriceVersion> {
        self.by_region
            .values()
            .flat_map(|list| list.history.versions())
            .collect()
    }

    /// Reads what an earlier process kept. A file that is missing or spoilt costs a download, nothing else.
    pub(super) fn load(directory: &Path, source: &str) -> Self {
        let path = file(directory, source);
        let kept = match read(&path) {
            Ok(kept) => kept,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    warn!(path = %path.display(), %error, "left kept prices unread; they are fetched again");
                }
                return Self::default();
            }
        };
        Self {
            by_region: kept.lists.into_iter().collect(),
        }
    }

    /// Keeps everything for the next process. The file is there as a whole or as it was before.
    pub(super) fn save(&self, directory: &Path, source: &str) -> io::Result<()> {
        let kept = Kept {
            form: FORM,
            lists: self.by_region.clone().into_iter().collect(),
        };
        let path = file(directory, source);
        let draft = path.with_extension("draft");
        fs::create_dir_all(directory)?;
        fs::write(&draft, serde_json::to_vec(&kept)?)?;
        fs::rename(draft, path)
    }
}

fn file(directory: &Path, source: &str) -> PathBuf {
    directory.join(format!("{source}.json"))
}

fn read(path: &Path) -> io::Result<Kept> {
    if fs::metadata(path)?.len() > FILE_BYTES {
        return Err(io::Error::other("it is larger than any that we write"));
    }
    let kept: Kept = serde_json::from_slice(&fs::read(path)?)?;
    if kept.form != FORM {
        return Err(io::Error::other("it is of another form"));
    }
    Ok(kept)
}
