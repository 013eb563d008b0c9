//! Faults counted by device and code. The driver's events and the kernel's log may both report the same fault, so each
//! reporter has its own count and the larger one is shown: nothing is counted twice, and what only one saw is not lost.

use std::collections::BTreeMap;

use crate::source::{Fault, FaultDevice};

/// Who reported a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reporter {
    Driver,
    KernelLog,
}

/// A device reports a few dozen codes at most; this bounds what a corrupted stream can make us keep.
const MOST_CODES: usize = 256;

/// Counts since the exporter started. They outlive a device that is lost and found again.
#[derive(Debug, Default)]
pub struct FaultLedger {
    /// By the device's PCI address, then by code: one count a reporter.
    counts: BTreeMap<String, BTreeMap<u32, [u64; 2]>>,
    uuids: BTreeMap<String, String>,
    /// By the device's PCI address: the code that came last.
    last: BTreeMap<String, u32>,
}

impl FaultLedger {
    /// Learns which address belongs to which device, so that both ways of naming it meet.
    pub fn introduce(&mut self, uuid: &str, pci_bus_id: &str) {
        if !self.uuids.contains_key(uuid) {
            self.uuids.insert(uuid.to_owned(), pci_bus_id.to_owned());
        }
    }

    /// Counts one fault; one of a device that was never listed is kept by the name it came with.
    pub fn record(&mut self, reporter: Reporter, fault: &Fault) {
        let address = match &fault.device {
            FaultDevice::Uuid(uuid) => self.uuids.get(uuid).unwrap_or(uuid),
            FaultDevice::PciBusId(address) => address,
        };
        let codes = self.counts.entry(address.clone()).or_default();
        if codes.len() < MOST_CODES || codes.contains_key(&fault.code) {
            codes.entry(fault.code).or_default()[reporter as usize] += 1;
        }
        self.last.insert(address.clone(), fault.code);
    }

    /// The code that a device reported last; none when it never did.
    pub fn last_of(&self, pci_bus_id: &str) -> Option<u32> {
        self.last.get(pci_bus_id).copied()
    }

    /// The counts of one device, by code.
    pub fn of(&self, pci_bus_id: &str) -> Vec<(u32, u64)> {
        let codes = self.counts.get(pci_bus_id);
        codes
            .into_iter()
            .flatten()
            .map(|(code, [driver, log])| (*code, *driver.max(log)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    //! Two reporters of one fault count once.

    use super::{FaultLedger, Reporter};
    use crate::source::{Fault, FaultDevice};

    #[test]
    fn both_reporters_count_once() {
        let mut ledger = FaultLedger::default();
        ledger.introduce("GPU-1", "00000000:1b:00.0");
        let by_uuid = Fault {
            device: FaultDevice::Uuid("GPU-1".into()),
            code: 79,
        };
        let by_address = Fault {
            device: FaultDevice::PciBusId("00000000:1b:00.0".into()),
            code: 79,
        };
        ledger.record(Reporter::Driver, &by_uuid);
        ledger.record(Reporter::KernelLog, &by_address);
        assert_eq!(ledger.of("00000000:1b:00.0"), [(79, 1)]);
        ledger.record(Reporter::KernelLog, &by_address);
        assert_eq!(ledger.of("00000000:1b:00.0"), [(79, 2)]);
        assert_eq!(ledger.of("00000000:1c:00.0"), []);
        assert_eq!(ledger.last_of("00000000:1b:00.0"), Some(79));
        assert_eq!(ledger.last_of("00000000:1c:00.0"), None);
    }
}
