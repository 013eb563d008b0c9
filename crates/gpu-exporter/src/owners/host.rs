//! Reads the node's own files about its pods: the kubelet's checkpoint, the names in the log directories, and the control
//! group tree. Every read is bounded, and a file that cannot be read costs what it would have told, no more.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpu_model::PodUid;

use super::cgroup::uid_of_group;
use super::checkpoint::Checkpoint;
use super::names::PodNames;

/// A checkpoint holds what plugins told the kubelet for each container, some kilobytes at most; the kubelet's own limit for
/// an answer is the same.
const LARGEST_CHECKPOINT: u64 = 16 << 20;
/// A kubelet runs a few hundred pods; ten times as many names are read, and no more.
const MOST_NAMES: usize = 20_000;
/// Prefixes of the tree as deep as this are found: hierarchy, engine, kubelet, tree.
const DEEPEST_TREE: usize = 4;
/// A search stops here, on a host with very many control groups of its own.
const MOST_SEARCHED: usize = 4_096;
/// Version 1 repeats the tree in a dozen hierarchies; two that agree are enough, two more allow for one left behind.
const MOST_TREES: usize = 4;
/// At the usual five seconds a minute passes between searches for a tree that is not there.
const READS_BETWEEN_SEARCHES: u32 = 12;

/// Where the node's files are, each possibly under a mount of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPaths {
    pub checkpoint: PathBuf,
    pub pod_logs: PathBuf,
    pub container_logs: PathBuf,
    pub cgroups: PathBuf,
}

impl HostPaths {
    /// The usual places below the host's `/sys`, the kubelet's directory and `/var/log`, wherever those are mounted.
    pub fn below(sysfs: &Path, kubelet: &Path, logs: &Path) -> Self {
        Self {
            checkpoint: kubelet.join("device-plugins/kubelet_internal_checkpoint"),
            pod_logs: logs.join("pods"),
            container_logs: logs.join("containers"),
            cgroups: sysfs.join("fs/cgroup"),
        }
    }
}

/// What could not be read, and so what is not known. A closed set: it counts in a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unreadable {
    /// Pod uids come from the log directories alone.
    Checkpoint,
    /// Pod uids come from the checkpoint alone, and processes have no pod names.
    PodLogs,
    /// Containers of one pod cannot be told apart.
    ContainerLogs,
    /// Pods that have ended are told by the kubelet alone.
    Cgroups,
}

impl Unreadable {
    /// The word for it in metrics and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::PodLogs => "pod_logs",
            Self::ContainerLogs => "container_logs",
            Self::Cgroups => "cgroups",
        }
    }
}

/// The files, with what need not be read again.
#[derive(Debug)]
pub struct HostFiles {
    paths: HostPaths,
    checkpoint: Option<(Stamp, Arc<Checkpoint>)>,
    trees: Vec<PathBuf>,
    reads_until_search: u32,
}

/// A file that has the same stamp has the same content: the kubelet replaces the checkpoint by a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl HostFiles {
    pub fn new(paths: HostPaths) -> Self {
        Self {
            paths,
            checkpoint: None,
            trees: Vec::new(),
            reads_until_search: 0,
        }
    }

    /// Reads everything again. It blocks as file systems do.
    pub fn read(&mut self) -> (PodNames, BTreeSet<Unreadable>) {
        let mut names = PodNames::default();
        let mut unreadable = BTreeSet::new();
        match self.read_checkpoint() {
            Ok(checkpoint) => names.set_checkpoint(checkpoint),
            Err(_) => {
                self.checkpoint = None;
                unreadable.insert(Unreadable::Checkpoint);
            }
        }
        let pods = for_each_name(&self.paths.pod_logs, |name| names.add_pod_directory(name));
        if pods.is_err() {
            unreadable.insert(Unreadable::PodLogs);
        }
        let containers = for_each_name(&self.paths.container_logs, |name| names.add_container_link(name));
        if containers.is_err() {
            unreadable.insert(Unreadable::ContainerLogs);
        }
        let alive = self.read_alive();
        if alive.is_empty() {
            unreadable.insert(Unreadable::Cgroups);
        }
        names.set_alive(alive);
        (names, unreadable)
    }

    fn read_checkpoint(&mut self) -> io::Result<Arc<Checkpoint>> {
        let file = File::open(&self.paths.checkpoint)?;
        let metadata = file.metadata()?;
        let stamp = Stamp {
            inode: metadata.ino(),
            length: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        };
        if let Some((known, checkpoint)) = &self.checkpoint
            && *known == stamp
        {
            return Ok(Arc::clone(checkpoint));
        }
        let mut text = Vec::new();
        file.take(LARGEST_CHECKPOINT).read_to_end(&mut text)?;
        let checkpoint = Arc::new(Checkpoint::parse(&text)?);
        self.checkpoint = Some((stamp, Arc::clone(&checkpoint)));
        Ok(checkpoint)
    }

    /// The pods that have a control group in any of the trees.
    fn read_alive(&mut self) -> BTreeSet<PodUid> {
        let mut alive = BTreeSet::new();
        self.trees.retain(|tree| pods_in(tree, &mut alive).is_ok());
        if self.trees.is_empty() {
            if self.reads_until_search > 0 {
                self.reads_until_search -= 1;
                return alive;
            }
            self.reads_until_search = READS_BETWEEN_SEARCHES;
            self.trees = find_trees(&self.paths.cgroups);
            self.trees.retain(|tree| pods_in(tree, &mut alive).is_ok());
        }
        alive
    }
}

/// Adds the pods of a tree, of all three classes of service.
fn pods_in(tree: &Path, alive: &mut BTreeSet<PodUid>) -> io::Result<()> {
    let mut classes = Vec::new();
    for_each_name(tree, |name| match uid_of_group(name) {
        Some(uid) => {
            alive.insert(uid);
        }
        None => {
            let class = name.strip_suffix(".slice").unwrap_or(name);
            if class.ends_with("burstable") || class.ends_with("besteffort") {
                classes.push(tree.join(name));
            }
        }
    })?;
    for class in classes {
        for_each_name(&class, |name| alive.extend(uid_of_group(name)))?;
    }
    Ok(())
}

/// The kubelet's trees of pods, nearest to the root first.
fn find_trees(root: &Path) -> Vec<PathBuf> {
    let mut trees = Vec::new();
    let mut level = vec![root.to_path_buf()];
    let mut searched = 0;
    for _ in 0..DEEPEST_TREE {
        let mut below = Vec::new();
        for directory in &level {
            searched += 1;
            if searched > MOST_SEARCHED || trees.len() >= MOST_TREES {
                return trees;
            }
            let Ok(entries) = fs::read_dir(directory) else {
                continue;
            };
            for entry in entries.flatten().take(MOST_NAMES) {
                // Links lead to hierarchies that stand under their own name too.
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                let name = entry.file_name();
                let is_tree = name
                    .to_str()
                    .is_some_and(|name| name == "kubepods" || name.ends_with("kubepods.slice"));
                match is_tree {
                    true => trees.push(entry.path()),
                    false => below.push(entry.path()),
                }
            }
        }
        below.sort_unstable();
        level = below;
    }
    trees.truncate(MOST_TREES);
    trees
}

fn for_each_name(directory: &Path, mut act: impl FnMut(&str)) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.take(MOST_NAMES) {
        if let Some(name) = entry?.file_name().to_str() {
            act(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
