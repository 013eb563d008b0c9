//! Which GPU it is. A GPU that is lost no longer tells its own name; its place on the bus does.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::Vendor;

use super::super::tool::{Answer, Told, long_address};
use super::super::{DriverFault, Listed};
use crate::snapshot::{Board, Identity};

/// More GPUs than any machine has.
const MOST: usize = 256;

/// What was told of a device's identity.
#[derive(Debug, Default)]
pub(super) struct Passport {
    pub(super) uuid: Option<String>,
    pub(super) name: Option<String>,
    pub(super) bus_id: String,
    pub(super) minor: Option<u32>,
    pub(super) serial: Option<String>,
    pub(super) vbios: Option<String>,
    pub(super) driver: String,
    pub(super) architecture: Option<String>,
}

impl Passport {
    /// The uuid stays empty where it was not told.
    pub(super) fn identity(self, index: usize) -> Identity {
        Identity {
            vendor: Vendor::Nvidia,
            index: u32::try_from(index).unwrap_or(u32::MAX),
            minor: self.minor,
            uuid: self.uuid.unwrap_or_default(),
            model: self.name.unwrap_or_default(),
            pci_bus_id: long_address(&self.bus_id),
            serial: self.serial,
            vbios: self.vbios,
            driver_version: self.driver,
            architecture: self.architecture.as_deref().and_then(architecture),
            board: Board::default(),
        }
    }
}

fn architecture(name: &str) -> Option<&'static str> {
    let known = [
        "kepler",
        "maxwell",
        "pascal",
        "volta",
        "turing",
        "ampere",
        "ada",
        "hopper",
        "blackwell",
    ];
    let name = name.to_ascii_lowercase();
    // `Ada Lovelace` is called by its first name.
    known
        .into_iter()
        .find(|known| name.split(' ').next() == Some(known))
}

/// The devices that were described once, by their address.
#[derive(Debug, Default)]
pub(super) struct Acquaintances {
    known: BTreeMap<String, Arc<Identity>>,
}

impl Acquaintances {
    /// Gives devices that do not tell who they are the identity they had, and keeps the numbers of all: a report without a lost
    /// GPU would otherwise shift those behind it. What nobody knows is counted as undescribed.
    pub(super) fn recall(&mut self, answer: &mut Answer) {
        let mut described: Vec<Told> = Vec::with_capacity(answer.devices.len());
        for mut told in std::mem::take(&mut answer.devices) {
            let address = told.listed.identity.pci_bus_id.clone();
            let known = self.known.get(&address).cloned();
            match known {
                Some(known) if told.listed.identity.uuid.is_empty() => told.listed.identity = known,
                Some(known) if is_same(&known, &told.listed.identity) => told.listed.identity = known,
                _ if told.listed.identity.uuid.is_empty() => {
                    answer.undescribed.push(
                        told.outcome
                            .err()
                            .unwrap_or(DriverFault::Failed { class: "no_uuid" }),
                    );
                    continue;
                }
                _ => {
                    if self.known.len() < MOST || self.known.contains_key(&address) {
                        self.known.insert(address, Arc::clone(&told.listed.identity));
                    }
                }
            }
            described.push(told);
        }
        described.sort_by_key(|told| told.listed.identity.index);
        answer.devices = described;
    }
}

fn is_same(known: &Identity, told: &Identity) -> bool {
    *known
        == Identity {
            index: known.index,
            ..told.clone()
        }
}

/// A device without slices.
pub(super) fn listed(identity: Identity) -> Listed {
    Listed {
        identity: Arc::new(identity),
        layout: Vec::new(),
    }
}
