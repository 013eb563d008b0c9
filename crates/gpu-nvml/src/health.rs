//! Errors of memory and what the board did about them. None of these calls allocates.

use crate::device::Device;
use crate::fault::Answer;

/// Whether memory errors are detected now, and after the next reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EccMode {
    pub current: EccState,
    pub pending: EccState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EccState {
    Enabled,
    Disabled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EccKind {
    Corrected,
    Uncorrected,
}

/// Since the driver was loaded, or in the life of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EccCounter {
    Volatile,
    Aggregate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EccLocation {
    L1Cache,
    L2Cache,
    DeviceMemory,
    RegisterFile,
    TextureMemory,
    TextureShared,
    Cbu,
    Sram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemappedRows {
    pub correctable: u32,
    pub uncorrectable: u32,
    /// Rows wait for a reset.
    pub pending: bool,
    /// A row could not be remapped: the board has to go.
    pub failure: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetiredCause {
    SingleBit,
    DoubleBit,
}

impl EccKind {
    fn number(self) -> u32 {
        match self {
            EccKind::Corrected => 0,
            EccKind::Uncorrected => 1,
        }
    }
}

impl EccCounter {
    fn number(self) -> u32 {
        match self {
            EccCounter::Volatile => 0,
            EccCounter::Aggregate => 1,
        }
    }
}

impl EccState {
    fn from_number(number: u32) -> EccState {
        if number == 0 {
            EccState::Disabled
        } else {
            EccState::Enabled
        }
    }
}

impl Device {
    pub fn ecc_mode(&self) -> Answer<EccMode> {
        self.handle.ecc_mode().map(|(current, pending)| EccMode {
            current: EccState::from_number(current),
            pending: EccState::from_number(pending),
        })
    }

    pub fn ecc_errors(&self, kind: EccKind, counter: EccCounter) -> Answer<u64> {
        self.handle.ecc_total(kind.number(), counter.number())
    }

    pub fn ecc_errors_at(&self, kind: EccKind, counter: EccCounter, location: EccLocation) -> Answer<u64> {
        let place = match location {
            EccLocation::L1Cache => 0,
            EccLocation::L2Cache => 1,
            EccLocation::DeviceMemory => 2,
            EccLocation::RegisterFile => 3,
            EccLocation::TextureMemory => 4,
            EccLocation::TextureShared => 5,
            EccLocation::Cbu => 6,
            EccLocation::Sram => 7,
        };
        self.handle.ecc_at(kind.number(), counter.number(), place)
    }

    /// Ampere and newer.
    pub fn remapped_rows(&self) -> Answer<RemappedRows> {
        let [correctable, uncorrectable, pending, failure] = self.handle.remapped_rows()?;
        Ok(RemappedRows {
            correctable,
            uncorrectable,
            pending: pending != 0,
            failure: failure != 0,
        })
    }

    /// How many pages were taken out of use; before Ampere.
    pub fn retired_pages(&self, cause: RetiredCause) -> Answer<u32> {
        self.handle.retired_pages(match cause {
            RetiredCause::SingleBit => 0,
            RetiredCause::DoubleBit => 1,
        })
    }

    /// Whether pages wait for a reset to be retired.
    pub fn retired_pages_pending(&self) -> Answer<bool> {
        self.handle.retired_pending().map(|pending| pending != 0)
    }
}
