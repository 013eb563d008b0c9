//! Processes that hold a GPU's display or render node, from `/proc/<pid>/fdinfo`: how much memory and how much of the engines'
//! time each uses. Looked for on a thread of its own, a few processes at a time, because a kernel that hangs over one process
//! must not hold up the readers, and because a node has thousands of processes of which few hold a GPU.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tracing::warn;

use super::attribute::{PAGE, numbered};
use super::text;

/// Between the first two looks: shares of time are known from the second on.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Between two looks later. With the bounds below this is a fraction of a thousandth of a core.
const LOOK: Duration = Duration::from_secs(5);
/// Processes whose open files are gone through in one look; a node of five hundred is known within a minute.
const PROCESSES_A_LOOK: usize = 40;
/// Open files that are gone through in one look: a server may have tens of thousands.
const FILES_A_LOOK: usize = 2_000;
/// Files of one process that are GPUs, and of all of them; those beyond are left out.
const MOST_NODES: usize = 64;
const MOST_CLIENTS: usize = 1_024;
/// More than a node's limit on processes usually is.
const MOST_PROCESSES: usize = 65_536;
const STACK_BYTES: usize = 256 * 1024;

/// What one process uses of one GPU.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Client {
    /// The place of the GPU on the bus.
    pub(super) address: String,
    pub(super) pid: u32,
    pub(super) render: Option<u32>,
    pub(super) memory: Option<u64>,
    /// The share of the time since the last look in which it kept the graphics and compute engines busy; none before the second.
    pub(super) utilization: Option<f64>,
}

/// The clients of all GPUs, as of the last look.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<Option<Arc<Vec<Client>>>>);

impl Clients {
    /// Nothing before the first look, and where nobody looks.
    pub(super) fn latest(&self) -> Option<Arc<Vec<Client>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, clients: Vec<Client>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(clients));
    }

    /// Starts the thread; it ends when nobody else has this value any more.
    pub(super) fn start(procfs: PathBuf) -> Arc<Self> {
        let clients = Arc::new(Self::default());
        let shared = Arc::downgrade(&clients);
        let started = std::thread::Builder::new()
            .name("amdgpu-clients".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || look_on(Search::new(procfs), &shared));
        if let Err(error) = started {
            warn!(%error, "failed to start the thread that looks for processes on AMD GPUs");
        }
        clients
    }
}

fn look_on(mut search: Search, shared: &Weak<Clients>) {
    let mut pause = FIRST_LOOK;
    while let Some(clients) = shared.upgrade() {
        clients.publish(search.look(Instant::now()));
        drop(clients);
        std::thread::sleep(std::mem::replace(&mut pause, LOOK));
    }
}

/// Who was found so far.
struct Search {
    procfs: PathBuf,
    /// The last process that was gone through.
    cursor: u32,
    /// By process, the numbers of its open files that are GPUs.
    holders: BTreeMap<u32, Vec<u32>>,
    /// By GPU and client, the engines' time at the last look.
    engines: BTreeMap<(String, u64), (u64, Instant)>,
}

/// A client as one of its files shows it.
struct Shown {
    address: String,
    id: Option<u64>,
    memory: Option<u64>,
    busy_nanoseconds: Option<u64>,
}

impl Search {
    fn new(procfs: PathBuf) -> Self {
        Self {
            procfs,
            cursor: 0,
            holders: BTreeMap::new(),
            engines: BTreeMap::new(),
        }
    }

    fn look(&mut self, now: Instant) -> Vec<Client> {
        self.find_holders();
        let mut clients: Vec<Client> = Vec::new();
        let mut counted = BTreeSet::new();
        let mut engines = BTreeMap::new();
        let holders = std::mem::take(&mut self.holders);
        for (pid, files) in &holders {
            for file in files {
                if clients.len() >= MOST_CLIENTS {
                    break;
                }
                let Some(shown) = self.read(*pid, *file) else {
                    continue;
                };
                // Files that were copied, within a process or into another, show the same client.
                let key = shown.id.map(|id| (shown.address.clone(), id));
                if key.clone().is_some_and(|key| !counted.insert(key)) {
                    continue;
                }
                let utilization = key.and_then(|key| {
                    let busy = shown.busy_nanoseconds?;
                    let before = self.engines.get(&key).copied();
                    engines.insert(key, (busy, now));
                    share(before?, (busy, now))
                });
                let render = self.render(*pid, *file);
                add(
                    &mut clients,
                    Client {
                        address: shown.address,
                        pid: *pid,
                        render,
                        memory: shown.memory,
                        utilization,
                    },
                );
            }
        }
        self.holders = holders;
        self.engines = engines;
        clients
    }

    /// Goes on where the last look ended, and forgets processes that have ended.
    fn find_holders(&mut self) {
        let Ok(entries) = fs::read_dir(&self.procfs) else {
            return;
        };
        let mut pids: Vec<u32> = entries
            .take(MOST_PROCESSES)
            .flatten()
            .filter_map(|entry| numbered(entry.file_name().to_str()?, ""))
            .collect();
        pids.sort_unstable();
        self.holders.retain(|pid, _| pids.binary_search(pid).is_ok());
        let start = pids.partition_point(|pid| *pid <= self.cursor);
        let order = pids[start..].iter().chain(&pids[..start]);
        let mut files_left = FILES_A_LOOK;
        for pid in order.take(PROCESSES_A_LOOK) {
            if files_left == 0 {
                break;
            }
            let nodes = self.nodes_of(*pid, &mut files_left);
            match nodes.is_empty() {
                true => self.holders.remove(pid),
                false => self.holders.insert(*pid, nodes),
            };
            self.cursor = *pid;
        }
    }

    fn nodes_of(&self, pid: u32, files_left: &mut usize) -> Vec<u32> {
        let mut nodes = Vec::new();
        let Ok(entries) = fs::read_dir(self.procfs.join(format!("{pid}/fd"))) else {
            return nodes;
        };
        for entry in entries.flatten() {
            if *files_left == 0 || nodes.len() >= MOST_NODES {
                break;
            }
            *files_left -= 1;
            let is_node = fs::read_link(entry.path()).is_ok_and(|target| target.starts_with("/dev/dri"));
            if is_node {
                nodes.extend(entry.file_name().to_str().and_then(|name| numbered(name, "")));
            }
        }
        nodes.sort_unstable();
        nodes
    }

    fn read(&self, pid: u32, file: u32) -> Option<Shown> {
        let mut buffer = [0; PAGE];
        let path = self.procfs.join(format!("{pid}/fdinfo/{file}"));
        let length = File::open(path).ok()?.read_at(&mut buffer, 0).ok()?;
        shown(text::text(&buffer[..length])?)
    }

    fn render(&self, pid: u32, file: u32) -> Option<u32> {
        let target = fs::read_link(self.procfs.join(format!("{pid}/fd/{file}"))).ok()?;
        numbered(target.file_name()?.to_str()?, "renderD")
    }
}

/// Adds up the clients that one process has on one GPU.
fn add(clients: &mut Vec<Client>, client: Client) {
    let is_same = |one: &&mut Client| {
        (one.pid, one.render) == (client.pid, client.render) && one.address == client.address
    };
    let Some(one) = clients.iter_mut().find(is_same) else {
        clients.push(client);
        return;
    };
    one.memory = match (one.memory, client.memory) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    one.utilization = match (one.utilization, client.utilization) {
        (Some(a), Some(b)) => Some((a + b).min(1.0)),
        (a, b) => a.or(b),
    };
}

fn share(before: (u64, Instant), now: (u64, Instant)) -> Option<f64> {
    let elapsed = now.1.saturating_duration_since(before.1).as_nanos() as f64;
    let busy = now.0.checked_sub(before.0)? as f64;
    (elapsed > 0.0).then(|| (busy / elapsed).clamp(0.0, 1.0))
}

/// What a file shows, when it is one of this driver.
fn shown(text: &str) -> Option<Shown> {
    let info = text::fdinfo(text)?;
    if info.driver != Some("amdgpu") {
        return None;
    }
    let place: text::PciAddress = info.pdev?.parse().ok()?;
    // The other engines do not count as the GPU's own time.
    let busy = ["gfx", "compute"]
        .iter()
        .filter_map(|name| info.engine(name)?.busy_nanoseconds);
    Some(Shown {
        address: place.to_string(),
        id: info.client_id,
        memory: info.occupied_bytes("vram"),
        busy_nanoseconds: busy.reduce(u64::saturating_add),
    })
}

#[cfg(test)]
mod tests;
