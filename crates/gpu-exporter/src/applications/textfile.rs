//! The textfile directory. Files `*.prom` in it belong to the node, as node_exporter's do, and those in a directory
//! `<namespace>_<pod>` or `<namespace>_<pod>_<container>` to that pod: the kubelet makes such a directory for a mount with
//! `subPathExpr`, so that a pod sees and writes its own alone. Where the whole directory is one pod's, as in a sidecar, only
//! the files in it count.
//!
//! A file that is refused costs nobody else's. Files that did not change are not read again.

mod files;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_exposition::Format;
use gpu_model::{ContainerName, Namespace, PodName};
use jiff::Timestamp;
use tracing::{debug, info, warn};

use super::{Content, HoldingPods, Owner, PageStatus, Part, Rules, Sheet, SourceState, Way};
use crate::snapshot::NodeSnapshot;
pub use files::FileProblem;
use files::{Directory, Opened, Print};

/// The name of the source in metrics.
pub const TEXTFILE: &str = "textfile";

/// The files of one owner. A workload has one, or one a process of it.
const MOST_FILES: usize = 16;
/// What one owner's files may weigh together in one turn.
const MOST_BYTES_OF_OWNER: usize = 1024 * 1024;
/// Entries of a directory that are looked at: pods that have ended leave theirs behind until somebody tidies up.
const MOST_ENTRIES: usize = 4_096;
/// Directories of pods without a GPU that are counted for the log; more are not named in it.
const MOST_TOLD: usize = 256;
/// The kubelet may take some turns to say what a new pod holds.
const TOLD_AFTER: u8 = 4;

/// Whose the directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// The node's, with a directory for each pod.
    Node,
    /// All of it is one owner's.
    Whole(Owner),
}

impl Layout {
    /// A sidecar's directory is that of the pod it stands beside.
    pub fn of(snapshot: &NodeSnapshot) -> Self {
        match &snapshot.workload {
            Some(workload) => Self::Whole(Owner::Pod {
                namespace: workload.namespace.clone(),
                pod: workload.pod.clone(),
                container: None,
            }),
            None => Self::Node,
        }
    }
}

/// The directory, and what is known of its files.
pub struct Textfiles {
    directory: PathBuf,
    max_age: Duration,
    kept: BTreeMap<Key, Kept>,
    /// For how many turns the pods of directories have held no GPU.
    unheld: BTreeMap<String, u8>,
    state: SourceState,
}

type Key = (Owner, String);

struct Kept {
    print: Print,
    rules: Arc<Rules>,
    content: Result<Arc<Content>, FileProblem>,
    /// It was taken when it was last looked at; the log tells a problem when it begins.
    is_well: bool,
    /// Seen in this turn; what is not is forgotten.
    is_there: bool,
}

/// The files of one owner as they were found.
struct Found {
    owner: Owner,
    directory: Directory,
    names: Vec<String>,
}

impl Textfiles {
    pub fn new(directory: PathBuf, max_age: Duration) -> Self {
        Self {
            directory,
            max_age,
            kept: BTreeMap::new(),
            unheld: BTreeMap::new(),
            state: SourceState::default(),
        }
    }

    /// Looks at the whole directory.
    pub fn read(
        &mut self,
        layout: &Layout,
        holding: &HoldingPods,
        rules: &Arc<Rules>,
        now: Timestamp,
    ) -> Part {
        self.kept.values_mut().for_each(|kept| kept.is_there = false);
        let mut part = Part::default();
        match self.find(layout, holding) {
            Ok(found) => {
                for one in found {
                    self.read_owner(&one, rules, now, &mut part);
                }
                self.state.problem = None;
                self.state.succeeded_at = Some(Instant::now());
            }
            Err(error) => {
                self.count("directory");
                if self.state.problem.is_none() {
                    warn!(%error, directory = %self.directory.display(), "cannot read the textfile directory");
                }
                let problem =
                    "the textfile directory cannot be read; make it, or mount it where --textfile-dir says";
                self.state.problem = Some(problem.into());
            }
        }
        self.kept.retain(|_, kept| kept.is_there);
        part.source = self.state.clone();
        part
    }

    fn find(&mut self, layout: &Layout, holding: &HoldingPods) -> Result<Vec<Found>, nix::Error> {
        let mut top = Directory::open(&self.directory)?;
        let entries = top.names(MOST_ENTRIES)?;
        let (files, others): (Vec<String>, Vec<String>) = entries.into_iter().partition(|name| is_page(name));
        let owner = match layout {
            Layout::Node => Owner::Node,
            Layout::Whole(owner) => owner.clone(),
        };
        let mut found = Vec::new();
        if *layout == Layout::Node {
            for name in others {
                if let Some(one) = self.find_pod(&top, &name, holding) {
                    found.push(one);
                }
            }
        }
        found.push(Found {
            owner,
            directory: top,
            names: files,
        });
        Ok(found)
    }

    fn find_pod(&mut self, top: &Directory, name: &str, holding: &HoldingPods) -> Option<Found> {
        let Some(owner) = owner_of(name) else {
            debug!(
                ?name,
                "this entry of the textfile directory is not named after a pod"
            );
            return None;
        };
        if let Owner::Pod { namespace, pod, .. } = &owner
            && !holding.has(namespace, pod)
        {
            if self.unheld.len() < MOST_TOLD || self.unheld.contains_key(name) {
                let turns = self.unheld.entry(name.to_owned()).or_default();
                *turns = turns.saturating_add(1);
                if *turns == TOLD_AFTER {
                    info!(%namespace, %pod, "left out the textfiles of a pod that holds no GPU");
                }
            }
            return None;
        }
        self.unheld.remove(name);
        let opened = top.directory(name).and_then(|mut directory| {
            let names = directory.names(MOST_ENTRIES)?;
            Ok((directory, names))
        });
        match opened {
            Ok((directory, mut names)) => {
                names.retain(|name| is_page(name));
                Some(Found {
                    owner,
                    directory,
                    names,
                })
            }
            Err(error) => {
                debug!(?name, %error, "cannot read a pod's textfiles");
                self.count(FileProblem::Unreadable.class());
                None
            }
        }
    }

    fn read_owner(&mut self, found: &Found, rules: &Arc<Rules>, now: Timestamp, part: &mut Part) {
        if found.names.is_empty() {
            return;
        }
        let mut status = PageStatus {
            owner: found.owner.clone(),
            way: Way::Textfile,
            up: true,
            at: None,
            valid_until: Timestamp::MAX,
        };
        let mut budget = MOST_BYTES_OF_OWNER;
        for (at, name) in found.names.iter().enumerate() {
            let key = (found.owner.clone(), name.clone());
            let read = if at < MOST_FILES {
                self.read_file(&found.directory, &key, rules, now, &mut budget)
            } else {
                Err(FileProblem::TooMany)
            };
            match read {
                Ok((content, written_at)) => {
                    let valid_until = later(written_at, self.max_age);
                    status.at = Some(status.at.map_or(written_at, |at| at.min(written_at)));
                    status.valid_until = status.valid_until.min(valid_until);
                    part.sheets.push(Sheet {
                        owner: found.owner.clone(),
                        way: Way::Textfile,
                        name: name.clone(),
                        valid_until,
                        content,
                    });
                }
                Err(problem) => {
                    status.up = false;
                    self.count(problem.class());
                }
            }
        }
        part.pages.push(status);
    }

    /// The content of a file and when it was written.
    fn read_file(
        &mut self,
        directory: &Directory,
        key: &Key,
        rules: &Arc<Rules>,
        now: Timestamp,
        budget: &mut usize,
    ) -> Result<(Arc<Content>, Timestamp), FileProblem> {
        let known = self.kept.remove(key);
        let was_well = known.as_ref().is_none_or(|kept| kept.is_well);
        let found = directory.file(&key.1);
        let (print, content) = match found.and_then(|opened| self.fresh(opened, now)) {
            Ok(opened) => {
                let print = opened.print();
                let content = match known {
                    Some(kept) if kept.print == print && Arc::ptr_eq(&kept.rules, rules) => kept.content,
                    _ => content(opened, rules, budget).map(Arc::new),
                };
                (print, content)
            }
            Err(problem) => (Print::default(), Err(problem)),
        };
        if let (Err(problem), true) = (&content, was_well) {
            warn!(owner = ?key.0, file = ?key.1, %problem, "left out a textfile");
        }
        let kept = Kept {
            print,
            rules: Arc::clone(rules),
            content: content.clone(),
            is_well: content.is_ok(),
            is_there: true,
        };
        self.kept.insert(key.clone(), kept);
        content.map(|content| (content, print.written_at))
    }

    /// A file whose time is far in the future would never grow old, so that it is not believed either.
    fn fresh(&self, opened: Opened, now: Timestamp) -> Result<Opened, FileProblem> {
        let age = now.duration_since(opened.print().written_at).unsigned_abs();
        if age > self.max_age {
            return Err(FileProblem::Stale);
        }
        Ok(opened)
    }

    fn count(&mut self, class: &'static str) {
        *self.state.errors.entry(class).or_default() += 1;
    }
}

fn content(opened: Opened, rules: &Arc<Rules>, budget: &mut usize) -> Result<Content, FileProblem> {
    let bytes = opened.read()?;
    *budget = budget.checked_sub(bytes.len()).ok_or(FileProblem::TooMany)?;
    Content::read(&bytes, Format::Text, rules).map_err(FileProblem::Refused)
}

/// Hidden files are those that somebody is still writing.
fn is_page(name: &str) -> bool {
    name.ends_with(".prom") && !name.starts_with('.')
}

/// The pod after which a directory is named. Names of pods, namespaces and containers have no `_`.
fn owner_of(name: &str) -> Option<Owner> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let parts: Vec<&str> = name.split('_').collect();
    let is_name = |part: &&str| {
        !part.is_empty()
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(is_plain)
    };
    if !parts.iter().all(is_name) {
        return None;
    }
    let (namespace, pod, container) = match parts[..] {
        [namespace, pod] => (namespace, pod, None),
        [namespace, pod, container] => (namespace, pod, Some(ContainerName::new(container).ok()?)),
        _ => return None,
    };
    Some(Owner::Pod {
        namespace: Namespace::new(namespace).ok()?,
        pod: PodName::new(pod).ok()?,
        container,
    })
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
