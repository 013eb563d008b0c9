//! From a process id to its owner, through `/proc`. What was read of a process is kept as long as it is the same process:
//! a process id alone may have been given out again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::cgroup::{self, PodCgroup};
use super::names::PodNames;
use super::{ProcessOwner, Sight};

/// More processes than any node has on its GPUs; those beyond are unreadable, and the rest stays right.
const MOST_PROCESSES: usize = 4_096;
/// A process may be moved to another control group after it started; at one sample a second this notices within a minute.
const CYCLES_TO_KEEP: u64 = 60;
/// A line for each of a dozen hierarchies, each path bounded by the kernel.
const LARGEST_CGROUP: u64 = 64 << 10;
const LARGEST_STAT: u64 = 4 << 10;
/// The inode of the first process namespace, a constant of the kernel's interface.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// The processes that were seen on GPUs.
#[derive(Debug)]
pub struct Processes {
    procfs: PathBuf,
    sight: Sight,
    known: BTreeMap<u32, Known>,
    cycle: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Known {
    /// When the process started, in the kernel's ticks: with the id it names one process for ever.
    started: u64,
    cgroup: Option<PodCgroup>,
    read_in: u64,
    used_in: u64,
}

/// The owners of the processes of one cycle.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    pub owners: BTreeMap<u32, ProcessOwner>,
    /// Processes of pods that the names do not know yet: a reason to ask the kubelet soon.
    pub unknown_pods: usize,
    pub unreadable: usize,
}

/// Whether this process runs in the host's process namespace, as far as `procfs` shows it.
pub fn sight(procfs: &Path) -> Sight {
    match std::fs::read_link(procfs.join("self/ns/pid")) {
        Ok(namespace) if namespace.as_os_str() == FIRST_NAMESPACE => Sight::Host,
        _ => Sight::Own,
    }
}

impl Processes {
    /// Looks processes up under `procfs`. Without the host's sight the driver's process ids are not those of the host, so
    /// none is looked up.
    pub fn new(procfs: PathBuf, sight: Sight) -> Self {
        Self {
            procfs,
            sight,
            known: BTreeMap::new(),
            cycle: 0,
            buffer: Vec::new(),
        }
    }

    pub fn sight(&self) -> Sight {
        self.sight
    }

    /// The owners of the processes with these ids. It reads one small file for each that is known, three for a new one.
    pub fn resolve(&mut self, pids: impl IntoIterator<Item = u32>, names: &PodNames) -> Resolved {
        self.cycle += 1;
        let mut resolved = Resolved::default();
        for pid in pids {
            if resolved.owners.contains_key(&pid) {
                continue;
            }
            let owner = match self.sight {
                Sight::Own => ProcessOwner::Unreadable,
                Sight::Host => match self.look_up(pid) {
                    Ok(known) => names.owner(known.cgroup.as_ref()),
                    Err(_) => ProcessOwner::Unreadable,
                },
            };
            match &owner {
                ProcessOwner::Pod { pod: None, .. } => resolved.unknown_pods += 1,
                ProcessOwner::Unreadable => resolved.unreadable += 1,
                ProcessOwner::Pod { .. } | ProcessOwner::Outside => {}
            }
            resolved.owners.insert(pid, owner);
        }
        let cycle = self.cycle;
        self.known.retain(|_, known| known.used_in == cycle);
        resolved
    }

    fn look_up(&mut self, pid: u32) -> io::Result<&Known> {
        let started = self.read_start(pid)?;
        let fresh = self
            .known
            .get(&pid)
            .is_some_and(|known| known.started == started && self.cycle - known.read_in < CYCLES_TO_KEEP);
        if !fresh {
            if self.known.len() >= MOST_PROCESSES && !self.known.contains_key(&pid) {
                return Err(io::Error::other("too many processes"));
            }
            let cgroup = self.read_cgroup(pid)?;
            // The process may have ended in between, and another may have its id.
            if self.read_start(pid)? != started {
                return Err(io::Error::other("the process has ended"));
            }
            let known = Known {
                started,
                cgroup,
                read_in: self.cycle,
                used_in: self.cycle,
            };
            self.known.insert(pid, known);
        }
        let known = self.known.get_mut(&pid).ok_or(io::ErrorKind::NotFound)?;
        known.used_in = self.cycle;
        Ok(known)
    }

    fn read_start(&mut self, pid: u32) -> io::Result<u64> {
        self.read(pid, "stat", LARGEST_STAT)?;
        start_of(&self.buffer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn read_cgroup(&mut self, pid: u32) -> io::Result<Option<PodCgroup>> {
        self.read(pid, "cgroup", LARGEST_CGROUP)?;
        Ok(cgroup::parse(&String::from_utf8_lossy(&self.buffer)))
    }

    fn read(&mut self, pid: u32, name: &str, largest: u64) -> io::Result<()> {
        self.buffer.clear();
        let file = File::open(self.procfs.join(format!("{pid}/{name}")))?;
        file.take(largest).read_to_end(&mut self.buffer)?;
        Ok(())
    }
}

/// The 22nd field. The second is the program's name in brackets, which may hold spaces and brackets itself.
fn start_of(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests;
