//! Lines as kernels write them, lines that only look like them, and a log that grows while it is read.

use std::io::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;

use super::{KernelLog, parse_line, parse_record};
use crate::source::{Fault, FaultDevice};

#[track_caller]
fn check(text: &str, expected: Option<(&str, u32)>) {
    let expected = expected.map(|(address, code)| Fault {
        device: FaultDevice::PciBusId(address.to_owned()),
        code,
    });
    assert_eq!(parse_line(text), expected, "{text:?}");
}

#[test]
fn faults_are_read_in_every_form() {
    check(
        "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        Some(("00000000:3b:00.0", 79)),
    );
    check(
        "NVRM: Xid (PCI:0000:9B:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s",
        Some(("00000000:9b:00.0", 119)),
    );
    check("NVRM: Xid (0000:03:00): 6, PE0001", Some(("00000000:03:00.0", 6)));
    check(
        "NVRM: Xid (PCI:0018:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 05",
        Some(("00000018:01:00.0", 145)),
    );
    check(
        "NVRM: Xid (PCI:0000:5d:00 GPU-I:05): 13, pid=11",
        Some(("00000000:5d:00.0", 13)),
    );
    check("NVRM: Xid (PCI:0001:00:00.1): 48", Some(("00000001:00:00.0", 48)));
    check(
        "NVRM: Xid (PCI:00000000:81:1f): 94, Contained",
        Some(("00000000:81:1f.0", 94)),
    );
}

#[test]
fn everything_else_is_passed_over() {
    for text in [
        "",
        "NVRM: GPU at PCI:0000:9b:00: GPU-509665ad-b600-ac93-3616-d754b23d636d",
        "NVRM: Xid (PCI:0000:3b:00)",
        "NVRM: Xid (PCI:0000:3b:00): , pid=1",
        "NVRM: Xid (PCI:0000:3b:00): 99999999999, pid=1",
        "NVRM: Xid (PCI:0000:3b:00:00): 79",
        "NVRM: Xid (PCI:zz00:3b:00): 79",
        "NVRM: Xid (): 79",
        "program: NVRM: Xid (PCI:0000:3b:00): 79",
    ] {
        check(text, None);
    }
}

#[test]
fn only_the_kernel_is_believed() {
    let line = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1";
    assert!(parse_record(&format!("3,1042,88123456,-;{line}")).is_some());
    // Facility 1: a program wrote it.
    assert_eq!(parse_record(&format!("11,1043,88123457,-;{line}")), None);
    assert_eq!(parse_record(line), None);
}

proptest! {
    #[test]
    fn fuzz_nothing_panics(text in "(6,1,2,-;)?(NVRM: Xid \\((PCI:)?)?\\PC{0,60}") {
        let _ = parse_record(&text);
        let _ = parse_line(&text);
    }

    #[test]
    fn fuzz_every_address_and_code_comes_back(domain: u16, bus: u8, device in 0u8..32, code in 0u32..1000) {
        let text = format!("NVRM: Xid (PCI:{domain:04x}:{bus:02x}:{device:02x}): {code}, pid=7");
        let address = format!("{domain:08x}:{bus:02x}:{device:02x}.0");
        let expected = Fault { device: FaultDevice::PciBusId(address), code };
        prop_assert_eq!(parse_line(&text), Some(expected));
    }
}

#[test]
fn what_is_said_from_now_on_is_heard() {
    let mut log = tempfile::NamedTempFile::new().unwrap();
    writeln!(log, "3,1,1,-;NVRM: Xid (PCI:0000:01:00): 31, before").unwrap();
    let (sender, heard) = mpsc::channel();
    let _reader = KernelLog::start(log.path(), move |fault| sender.send(fault.code).unwrap()).unwrap();
    writeln!(log, "6,2,2,-;usb 1-1: new device").unwrap();
    writeln!(log, "3,3,3,-;NVRM: Xid (PCI:0000:01:00): 79, after").unwrap();
    assert_eq!(heard.recv_timeout(Duration::from_secs(20)).unwrap(), 79);
}

#[test]
fn a_log_that_is_not_there_is_an_error() {
    assert!(KernelLog::start(std::path::Path::new("/does/not/exist"), |_| {}).is_err());
}
