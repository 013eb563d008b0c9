//! AMD GPUs, read from the kernel's files and nothing else: no library, no device file, no root.
//!
//! `list` walks the driver's devices and the compute driver's topology; `open` gives a GPU a quick reader, whose files stay
//! open, and a slow one. A partition of a GPU (DPX, QPX, CPX) is a slice of it.

mod card;
mod clients;
mod discovery;
mod fast;
mod fill;
mod growth;
mod kfd;
mod models;
mod peers;
mod processes;
mod sensors;
mod slices;
mod slow;
pub mod tables;
pub mod text;
mod throttle;
mod topology;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::attribute;
use super::{Driver, DriverFault, DriverLoader, FaultStream, Listed, Readers};
use crate::owners::Sight;
use crate::snapshot::Identity;
use attribute::read_text;
use card::Card;
use clients::Clients;
use fast::FastReader;
use processes::ProcessReader;
use slow::SlowReader;
use topology::Topology;

const NO_DRIVER: &str =
    "found no amdgpu driver: load the kernel module, or mount the host's /sys and name it with --path.sysfs";

/// Finds the driver under the roots of the settings.
pub struct AmdLoader {
    sysfs: PathBuf,
    procfs: PathBuf,
    sight: Sight,
    granted: Option<PathBuf>,
}

impl AmdLoader {
    /// Processes are looked for under `procfs` only with the host's sight.
    pub fn new(sysfs: PathBuf, procfs: PathBuf, sight: Sight) -> Self {
        Self {
            sysfs,
            procfs,
            sight,
            granted: None,
        }
    }

    /// Only GPUs and partitions whose render node is in this directory. `/sys` shows every container all of the node's; the
    /// device files are what a container was given.
    pub fn granted_in(self, directory: PathBuf) -> Self {
        Self {
            granted: Some(directory),
            ..self
        }
    }
}

impl DriverLoader for AmdLoader {
    fn name(&self) -> &'static str {
        "amdgpu"
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        if discovery::find(&self.sysfs).is_none() {
            return Err(DriverFault::Absent(NO_DRIVER.to_owned()));
        }
        let clients = match self.sight {
            Sight::Host => Clients::start(self.procfs.clone()),
            Sight::Own => Arc::default(),
        };
        Ok(Arc::new(AmdDriver {
            version: driver_version(&self.sysfs, &self.procfs),
            sysfs: self.sysfs.clone(),
            granted: self.granted.clone(),
            clients,
            state: Mutex::default(),
        }))
    }

    fn sees_hardware(&self) -> bool {
        super::pci::has_display(&self.sysfs, super::pci::AMD)
    }
}

/// The module's own version where it was built apart from the kernel; otherwise it is the kernel's.
fn driver_version(sysfs: &Path, procfs: &Path) -> String {
    let of_module = read_text(&sysfs.join("module/amdgpu/version"));
    of_module
        .or_else(|| read_text(&procfs.join("sys/kernel/osrelease")))
        .unwrap_or_default()
}

struct AmdDriver {
    sysfs: PathBuf,
    granted: Option<PathBuf>,
    version: String,
    clients: Arc<Clients>,
    state: Mutex<State>,
}

/// What the last listing found.
#[derive(Default)]
struct State {
    topology: Arc<Topology>,
    /// By uuid.
    known: BTreeMap<String, Known>,
}

struct Known {
    card: Arc<Card>,
    identity: Arc<Identity>,
}

impl Driver for AmdDriver {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        let found = discovery::find(&self.sysfs).ok_or(DriverFault::Gone)?;
        let mut state = self.lock();
        state.topology = Topology::read(&self.sysfs, &state.topology);
        let topology = Arc::clone(&state.topology);
        let cards: Vec<Card> = found
            .into_iter()
            .map(|found| Card::new(&self.sysfs, found, &topology))
            .filter_map(|card| self.granted_part(card))
            .collect();
        let uuids = uuids(&cards);
        let mut known = BTreeMap::new();
        let mut listed = Vec::with_capacity(cards.len());
        for (index, (card, uuid)) in (0..).zip(cards.into_iter().zip(uuids)) {
            let before = state.known.remove(&uuid);
            let same = before.filter(|before| *before.card == card && before.identity.index == index);
            // Who a device is does not change while its files stay where they are.
            let one = same.unwrap_or_else(|| Known {
                identity: Arc::new(card.identity(index, uuid.clone(), &self.version)),
                card: Arc::new(card),
            });
            listed.push(Listed {
                identity: Arc::clone(&one.identity),
                layout: one.card.layout(),
            });
            known.insert(uuid, one);
        }
        state.known = known;
        Ok(listed)
    }

    fn open(&self, device: &Listed) -> Result<Readers, DriverFault> {
        let state = self.lock();
        let known = state.known.get(&device.identity.uuid);
        let card = Arc::clone(&known.ok_or(DriverFault::DeviceLost)?.card);
        if !card.found.directory.is_dir() {
            return Err(DriverFault::DeviceLost);
        }
        let all: Vec<(u32, &Card)> = state
            .known
            .values()
            .map(|known| (known.identity.index, known.card.as_ref()))
            .collect();
        let peers = peers::peers(&all, device.identity.index);
        let processes = ProcessReader::new(&self.sysfs, &card, Arc::clone(&self.clients));
        Ok(Readers {
            fast: Box::new(FastReader::new(&card, processes)),
            slow: Box::new(SlowReader::new(&card, peers)),
        })
    }

    /// The driver reports faults in the kernel's log alone.
    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        None
    }
}

impl AmdDriver {
    /// What of a GPU is this container's.
    fn granted_part(&self, mut card: Card) -> Option<Card> {
        let Some(granted) = &self.granted else {
            return Some(card);
        };
        let is_granted = |render: u32| granted.join(format!("renderD{render}")).exists();
        if card.partitions.is_empty() {
            return card.found.render.is_some_and(is_granted).then_some(card);
        }
        card.partitions.retain(|part| is_granted(part.node.render));
        (!card.partitions.is_empty()).then_some(card)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The uuids of all devices. Boards whose firmware gave several the same number are told apart by their places.
fn uuids(cards: &[Card]) -> Vec<String> {
    let plain: Vec<String> = cards.iter().map(Card::uuid).collect();
    let is_shared = |uuid: &String| plain.iter().filter(|other| *other == uuid).count() > 1;
    let uuid = |(card, uuid): (&Card, &String)| match is_shared(uuid) {
        true => format!("{uuid}-{}", card.found.address),
        false => uuid.clone(),
    };
    cards.iter().zip(&plain).map(uuid).collect()
}
