//! Processes that compute on a GPU, as the compute driver lists them: `class/kfd/kfd/proc/<pid>`. The device file behind it is
//! never opened: who holds that one keeps a GPU from being divided anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::attribute::{names, numbered};
use super::card::Card;
use super::text;
use crate::readings::{ProcessOccupancy, SliceId};

/// Contexts come and go slowly; every look opens some files for each process and partition.
const LOOK: Duration = Duration::from_secs(2);
/// Half a minute.
const LOOKS_TO_KEEP: u32 = 15;
/// More processes than a node has on its GPUs. Those beyond are left out, and what they use then has no owner.
const MOST_PROCESSES: usize = 1024;
/// Queues of one process that are looked at to find out whether it uses a GPU on which it holds no memory.
const MOST_QUEUES: usize = 64;

/// A process on the GPU or on one of its partitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Context {
    pub(super) pid: u32,
    pub(super) slice: Option<SliceId>,
    /// None where it cannot be read, which the process may have ended before.
    pub(super) memory: Option<u64>,
}

/// The processes of one GPU.
pub(super) struct Contexts {
    root: PathBuf,
    /// The compute driver's number of the GPU, or of each of its partitions.
    targets: Vec<(u32, Option<SliceId>)>,
    looked_at: Option<Instant>,
    path: String,
    /// The GPUs on which the process at hand has queues, once they were looked at.
    queues: Option<Vec<u64>>,
    /// Processes that have no file for this GPU. They get theirs when they are made, so that there is no use in looking again
    /// and again; a number that was given out anew is noticed when all are forgotten.
    strangers: BTreeSet<u32>,
    looks: u32,
    is_stranger: bool,
    /// None while the compute driver does not list processes.
    pub(super) found: Option<Vec<Context>>,
    pub(super) occupancy: Vec<ProcessOccupancy>,
}

impl Contexts {
    pub(super) fn new(sysfs: &Path, card: &Card) -> Self {
        let targets = if card.partitions.is_empty() {
            let whole = card.node.iter().map(|node| (node.gpu_id, None));
            whole.collect::<Vec<_>>()
        } else {
            let partitions = card.partitions.iter();
            partitions
                .map(|part| {
                    let id = SliceId {
                        gi: part.index,
                        ci: 0,
                    };
                    (part.node.gpu_id, Some(id))
                })
                .collect()
        };
        Self {
            root: sysfs.join("class/kfd/kfd/proc"),
            targets: targets.into_iter().filter(|(gpu_id, _)| *gpu_id != 0).collect(),
            looked_at: None,
            path: String::new(),
            queues: None,
            strangers: BTreeSet::new(),
            looks: 0,
            is_stranger: false,
            found: None,
            occupancy: Vec::new(),
        }
    }

    /// Looks again when it is time to.
    pub(super) fn refresh(&mut self, now: Instant) {
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < LOOK;
        if self.targets.is_empty() || self.looked_at.is_some_and(is_fresh) {
            return;
        }
        self.looked_at = Some(now);
        self.occupancy.clear();
        let Some(names) = names(&self.root) else {
            self.found = None;
            return;
        };
        let mut found = self.found.take().unwrap_or_default();
        found.clear();
        let pids = names.iter().filter_map(|name| numbered(name, ""));
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS_TO_KEEP) {
            self.strangers.clear();
        }
        for pid in pids.take(MOST_PROCESSES) {
            if self.strangers.contains(&pid) {
                continue;
            }
            self.queues = None;
            self.is_stranger = true;
            for at in 0..self.targets.len() {
                found.extend(self.context(pid, at));
            }
            if self.is_stranger && self.strangers.len() < MOST_PROCESSES {
                self.strangers.insert(pid);
            }
        }
        self.found = Some(found);
    }

    fn context(&mut self, pid: u32, target: usize) -> Option<Context> {
        let (gpu_id, slice) = self.targets[target];
        let memory = match self.number(pid, format_args!("vram_{gpu_id}")) {
            Ok(memory) => memory,
            // The process has no context on this GPU.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(_) => None,
        };
        self.is_stranger = false;
        // The runtime opens every GPU that it sees: a context without memory and queues is of nobody's use.
        if memory == Some(0) && !self.has_queue(pid, gpu_id) {
            return None;
        }
        let occupied = self.number(pid, format_args!("stats_{gpu_id}/cu_occupancy"));
        if let Ok(Some(compute_units)) = occupied {
            self.occupancy.push(ProcessOccupancy {
                pid,
                slice,
                compute_units: compute_units as f64,
            });
        }
        Some(Context { pid, slice, memory })
    }

    /// Whether the process has a queue on the GPU. Its queues are looked at once, for all partitions.
    fn has_queue(&mut self, pid: u32, gpu_id: u32) -> bool {
        if self.queues.is_none() {
            let names = names(&self.root.join(format!("{pid}/queues"))).unwrap_or_default();
            let queues = names.iter().take(MOST_QUEUES);
            let of = |queue: &String| {
                self.number(pid, format_args!("queues/{queue}/gpuid"))
                    .ok()
                    .flatten()
            };
            self.queues = Some(queues.filter_map(of).collect());
        }
        let queues = self.queues.as_deref().unwrap_or_default();
        queues.contains(&u64::from(gpu_id))
    }

    /// The number in a file of a process; none where the file has another content.
    fn number(&mut self, pid: u32, name: std::fmt::Arguments<'_>) -> io::Result<Option<u64>> {
        self.path.clear();
        let root = self.root.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        write!(self.path, "{root}/{pid}/{name}").map_err(io::Error::other)?;
        let mut buffer = [0; 64];
        let length = File::open(&self.path)?.read_at(&mut buffer, 0)?;
        Ok(text::text(&buffer[..length]).and_then(|text| text.parse().ok()))
    }
}
