//! A file that is looked at again and again. Events of the file system would be faster and are not there on every kind of
//! volume; a price may be a few seconds late.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::Inbox;

/// A little more than a document may have, so that one that is too long is told as such.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// Looks at the file until the end of the task.
pub(super) async fn watch(path: &Path, every: Duration, inbox: &Inbox) {
    let mut seen = None;
    loop {
        let now = Look::at(path);
        if seen.as_ref() == Some(&now) {
            if matches!(now, Look::Found { .. }) {
                inbox.unchanged();
            }
        } else {
            take(path, &now, inbox);
            seen = Some(now);
        }
        sleep(every).await;
    }
}

fn take(path: &Path, look: &Look, inbox: &Inbox) {
    let shown = path.display();
    match look {
        Look::Failed(error) => inbox.refuse("file", format!("failed to read `{shown}`: {error}")),
        Look::Found { seconds, .. } => match read(path) {
            Ok(text) => inbox.text(&text, Timestamp::from_second(*seconds).ok()),
            Err(error) => inbox.refuse("file", format!("failed to read `{shown}`: {error}")),
        },
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// The state of the file at a look. It changes when the file is written, replaced, or the link to it is turned, as kubelets do.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Found {
        device: u64,
        inode: u64,
        bytes: u64,
        seconds: i64,
        nanoseconds: i64,
    },
    Failed(io::ErrorKind),
}

impl Look {
    fn at(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(found) => Self::found(&found),
            Err(error) => Self::Failed(error.kind()),
        }
    }

    fn found(metadata: &Metadata) -> Self {
        Self::Found {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        }
    }
}
