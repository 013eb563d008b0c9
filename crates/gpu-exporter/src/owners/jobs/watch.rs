//! Reads the directories of job files again and again on a thread of its own, so that a slow disk delays neither a sample nor a
//! request. A file that cannot be used is named in the log, counted, and costs nothing but its own jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tracing::{info, warn};

use super::{Convention, JobBook, Malformed, Named, parse};
use crate::snapshot::SourceStatus;

/// The name of the source in metrics.
pub const NAME: &str = "jobs";
/// A job of a minute is seen for most of it, and a dozen small files in this time cost nothing.
const LOOK: Duration = Duration::from_secs(2);
/// Sixteen GPUs in seven slices are 128 names; in a directory with far more something else writes.
const MOST_FILES: usize = 1024;
/// 32 ids of 256 bytes, or Slurm's seven variables, with room to spare.
const MOST_BYTES: u64 = 64 * 1024;
/// Parsing needs little; the default of 2 MiB a thread frightens people who look at virtual memory.
const STACK_BYTES: usize = 256 * 1024;

/// What was found at the last look.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub book: Arc<JobBook>,
    problem: Option<Arc<str>>,
    succeeded_at: Option<Instant>,
    took: Option<Duration>,
    errors: BTreeMap<&'static str, u64>,
}

impl Found {
    /// How the directories fare, for metrics.
    pub fn status(&self, now: Instant) -> SourceStatus {
        SourceStatus {
            name: NAME,
            up: self.problem.is_none(),
            problem: self.problem.clone(),
            last_success_age: self.succeeded_at.map(|at| now.saturating_duration_since(at)),
            last_duration: self.took,
            errors: self.errors.clone(),
        }
    }
}

/// The directories and what they say; it stops looking when it is dropped.
pub struct Jobs {
    found: Arc<ArcSwap<Found>>,
    stop: Arc<AtomicBool>,
}

impl Jobs {
    /// Looks once, then starts the thread that looks again.
    pub fn start(directories: Vec<(Convention, PathBuf)>) -> std::io::Result<Self> {
        let mut reader = Reader::new(directories);
        let first = reader.look();
        let jobs = Self {
            found: Arc::new(ArcSwap::from_pointee(first)),
            stop: Arc::default(),
        };
        let (found, stop) = (Arc::clone(&jobs.found), Arc::clone(&jobs.stop));
        std::thread::Builder::new()
            .name(NAME.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                loop {
                    std::thread::sleep(LOOK);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    found.store(Arc::new(reader.look()));
                }
            })?;
        Ok(jobs)
    }

    pub fn latest(&self) -> Arc<Found> {
        self.found.load_full()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Why a file or a directory was of no use.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("cannot list the directory: {0}")]
    Directory(std::io::Error),
    #[error("the directory has more than 1024 files; the rest is not read")]
    Files,
    #[error("cannot read it: {0}")]
    Read(std::io::Error),
    #[error("it is not a file of at most 64 KiB")]
    Kind,
    #[error(transparent)]
    Content(#[from] Malformed),
}

impl Problem {
    /// The value of the `class` label.
    const fn class(&self) -> &'static str {
        match self {
            Self::Directory(_) => "directory",
            Self::Files => "too_many_files",
            Self::Read(_) => "unreadable",
            Self::Kind => "not_a_small_file",
            Self::Content(_) => "malformed",
        }
    }
}

struct Reader {
    directories: Vec<(Convention, PathBuf)>,
    /// What was wrong at the last look, so that a new problem is logged once and an old one is not repeated.
    known: BTreeMap<PathBuf, String>,
    /// What was wrong at the last look for the first time: a prolog that is still writing is no news.
    fresh: BTreeSet<PathBuf>,
    errors: BTreeMap<&'static str, u64>,
    succeeded_at: Option<Instant>,
}

impl Reader {
    fn new(directories: Vec<(Convention, PathBuf)>) -> Self {
        Self {
            directories,
            known: BTreeMap::new(),
            fresh: BTreeSet::new(),
            errors: BTreeMap::new(),
            succeeded_at: None,
        }
    }

    fn look(&mut self) -> Found {
        let started = Instant::now();
        let mut book = JobBook::new();
        let mut problems: Vec<(PathBuf, Problem)> = Vec::new();
        for (convention, directory) in &self.directories {
            read_directory(*convention, directory, &mut book, &mut problems);
        }
        let is_listed = !problems
            .iter()
            .any(|(_, problem)| matches!(problem, Problem::Directory(_)));
        self.tell(problems);
        let problem = match (is_listed, self.known.is_empty()) {
            (false, _) => Some("a directory of job files cannot be listed; the log names it"),
            (true, false) => Some("some job files cannot be used; the log names them"),
            (true, true) => None,
        };
        if is_listed {
            self.succeeded_at = Some(started);
        }
        Found {
            book: Arc::new(book),
            problem: problem.map(Arc::from),
            succeeded_at: self.succeeded_at,
            took: Some(started.elapsed()),
            errors: self.errors.clone(),
        }
    }

    /// Counts what is wrong at every look, and says it when it stays.
    fn tell(&mut self, problems: Vec<(PathBuf, Problem)>) {
        let mut known = BTreeMap::new();
        let mut fresh = BTreeSet::new();
        for (path, problem) in problems {
            *self.errors.entry(problem.class()).or_default() += 1;
            let words = problem.to_string();
            let is_told = self.known.get(&path) == Some(&words);
            let is_new = !self.fresh.contains(&path) && !self.known.contains_key(&path);
            let may_be_half_written = is_new && matches!(problem, Problem::Content(_));
            if is_told || !may_be_half_written {
                if !is_told {
                    warn!(path = %path.display(), problem = %words, "cannot use a job file");
                }
                known.insert(path, words);
            } else {
                fresh.insert(path);
            }
        }
        for path in self.known.keys().filter(|path| !known.contains_key(*path)) {
            info!(path = %path.display(), "a job file can be used again, or is gone");
        }
        (self.known, self.fresh) = (known, fresh);
    }
}

fn read_directory(
    convention: Convention,
    directory: &Path,
    book: &mut JobBook,
    problems: &mut Vec<(PathBuf, Problem)>,
) {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return problems.push((directory.to_owned(), Problem::Directory(error))),
    };
    for (count, entry) in entries.enumerate() {
        if count == MOST_FILES {
            return problems.push((directory.to_owned(), Problem::Files));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return problems.push((directory.to_owned(), Problem::Directory(error))),
        };
        let Some(named) = entry.file_name().to_str().and_then(Named::parse) else {
            continue;
        };
        match read(&entry.path()) {
            Ok(Some(content)) => match parse(&content) {
                Ok(jobs) => drop(book.insert((convention, named), jobs)),
                Err(problem) => problems.push((entry.path(), problem.into())),
            },
            Ok(None) => {}
            Err(problem) => problems.push((entry.path(), problem)),
        }
    }
}

/// A small file's bytes; `None` when it went away meanwhile, as the epilog has it do.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    // Without blocking, because a named pipe would hold up all others for ever.
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Problem::Read(error)),
    };
    let metadata = file.metadata().map_err(Problem::Read)?;
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        return Err(Problem::Kind);
    }
    let mut content = Vec::new();
    file.take(MOST_BYTES)
        .read_to_end(&mut content)
        .map_err(Problem::Read)?;
    Ok(Some(content))
}
