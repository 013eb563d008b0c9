//! The bus, NVLink, and how two GPUs reach each other.

use gpu_model::PciAddress;

use crate::device::Device;
use crate::fault::{Answer, Fault};
use crate::fields::Field;

/// Twice the links of the largest GPU so far; a driver that claims more is not believed.
const MOST_LINKS: u32 = 36;

/// What the bus has or could have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcieLink {
    pub generation: u32,
    pub width: u32,
}

/// As seen from the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Sent,
    Received,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KibPerSecond(pub u32);

/// Whether a link is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    Up,
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkError {
    Replay,
    Recovery,
    CrcFlit,
    CrcData,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Gpu,
    Npu,
    Switch,
    Unknown,
}

/// The other end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkRemote {
    pub pci_address: PciAddress,
    pub peer: Peer,
}

/// The nearest place where the ways of two GPUs meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommonAncestor {
    SameBoard,
    SingleSwitch,
    MultipleSwitches,
    HostBridge,
    Node,
    System,
}

/// Whether two GPUs reach each other's memory over NVLink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum P2p {
    Ok,
    Unavailable,
}

impl Device {
    /// Counter.
    pub fn pcie_replays(&self) -> Answer<u32> {
        self.handle.pcie_replays()
    }

    pub fn pcie_link(&self) -> Answer<PcieLink> {
        Ok(PcieLink {
            generation: self.handle.pcie_generation()?,
            width: self.handle.pcie_width()?,
        })
    }

    /// The best that this board and this slot can do together.
    pub fn pcie_max_link(&self) -> Answer<PcieLink> {
        Ok(PcieLink {
            generation: self.handle.pcie_max_generation()?,
            width: self.handle.pcie_max_width()?,
        })
    }

    /// Blocks for about 20 ms while the driver watches the bus: never call it between two samples of other values.
    pub fn pcie_throughput(&self, direction: Direction) -> Answer<KibPerSecond> {
        let counter = match direction {
            Direction::Sent => 0,
            Direction::Received => 1,
        };
        self.handle.pcie_throughput(counter).map(KibPerSecond)
    }

    /// How many links the GPU has, up or down.
    pub fn link_count(&self) -> Answer<u32> {
        let count = self.field(Field::LinkCount)?.unsigned()?;
        Ok(u32::try_from(count).unwrap_or(MOST_LINKS).min(MOST_LINKS))
    }

    pub fn link_state(&self, link: u32) -> Answer<LinkState> {
        self.handle.link_state(link).map(|state| {
            if state == 0 {
                LinkState::Down
            } else {
                LinkState::Up
            }
        })
    }

    pub fn link_version(&self, link: u32) -> Answer<u32> {
        self.handle.link_version(link)
    }

    /// Counter. From Hopper on the same errors are also fields, which cost one call for all links.
    pub fn link_errors(&self, link: u32, error: LinkError) -> Answer<u64> {
        let counter = match error {
            LinkError::Replay => 0,
            LinkError::Recovery => 1,
            LinkError::CrcFlit => 2,
            LinkError::CrcData => 3,
        };
        self.handle.link_errors(link, counter)
    }

    pub fn link_remote(&self, link: u32) -> Answer<LinkRemote> {
        let pci = self.handle.link_remote_pci(link)?;
        let address = format!("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
        let peer = match self.handle.link_remote_kind(link) {
            Ok(0) => Peer::Gpu,
            Ok(1) => Peer::Npu,
            Ok(2) => Peer::Switch,
            Ok(_) | Err(Fault::Unsupported) => Peer::Unknown,
            Err(fault) => return Err(fault),
        };
        Ok(LinkRemote {
            pci_address: PciAddress::new(address).map_err(|_| Fault::Implausible)?,
            peer,
        })
    }

    pub fn common_ancestor(&self, other: &Device) -> Answer<CommonAncestor> {
        Ok(match self.handle.common_ancestor(&other.handle)? {
            0 => CommonAncestor::SameBoard,
            10 => CommonAncestor::SingleSwitch,
            20 => CommonAncestor::MultipleSwitches,
            30 => CommonAncestor::HostBridge,
            40 => CommonAncestor::Node,
            50 => CommonAncestor::System,
            _ => return Err(Fault::Implausible),
        })
    }

    pub fn nvlink_p2p(&self, other: &Device) -> Answer<P2p> {
        const NVLINK: u32 = 2;
        let status = self.handle.p2p(&other.handle, NVLINK)?;
        Ok(if status == 0 { P2p::Ok } else { P2p::Unavailable })
    }
}

impl CommonAncestor {
    /// The value of a label.
    pub fn as_str(self) -> &'static str {
        match self {
            CommonAncestor::SameBoard => "same_board",
            CommonAncestor::SingleSwitch => "single_switch",
            CommonAncestor::MultipleSwitches => "multiple_switches",
            CommonAncestor::HostBridge => "host_bridge",
            CommonAncestor::Node => "node",
            CommonAncestor::System => "system",
        }
    }
}
