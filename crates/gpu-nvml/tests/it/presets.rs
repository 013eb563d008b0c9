//! Every preset gives the values of its scenario, and what the model does not have is unsupported.

use std::fmt::{Debug, Write};

use gpu_model::{Bytes, Celsius, Megahertz, Milliwatts};
use gpu_nvml::{
    Answer, AnswerExt, Clock, CommonAncestor, Device, Direction, EccCounter, EccKind, EccLocation, Engine,
    Fault, Field, FieldQuery, GpmSupport, KibPerSecond, LinkError, LinkState, P2p, Peer, PerfPolicy,
    RetiredCause, Sliced, Threshold,
};
use gpu_nvml_double::scenario::{Licence, Model, Scenario};

use crate::machine::Machine;

/// The abilities of a GPU as one line: a letter for each that it has.
fn abilities(device: &Device) -> String {
    let mut line = String::new();
    let mut note = |name: &str, has: bool| {
        if has {
            let _ = write!(line, "{name} ");
        }
    };
    note("jpeg", device.engine_utilization(Engine::Jpeg).is_ok());
    note("ofa", device.engine_utilization(Engine::OpticalFlow).is_ok());
    note("instant", device.power_instant().is_ok());
    note("memtemp", device.memory_temperature().is_ok());
    note("margin", device.temperature_margin().is_ok());
    note("appclocks", device.application_clock(Clock::Sm).is_ok());
    note("links", device.link_count().is_ok());
    note("ecc", device.ecc_mode().is_ok());
    note("remap", device.remapped_rows().is_ok());
    note("retire", device.retired_pages_pending().is_ok());
    note("fabric", device.fabric().is_ok());
    note("mig", device.mig_mode().is_ok());
    note("gpm", device.gpm_support() == Ok(GpmSupport::Available));
    note("pciebytes", device.field(Field::PcieSent).is_ok());
    note("serial", device.identity().unwrap().serial.is_known());
    line.trim_end().to_owned()
}

#[track_caller]
fn check(model: Model, name: &str, memory_mib: u64, watts: u32, sm_max: u32, expected: &str) {
    let device = Machine::new(Scenario::of(model, 1)).first();
    assert_eq!(device.name().as_deref(), Ok(name));
    let memory = device.memory().unwrap();
    assert_eq!(memory.total, Bytes::from_mib(memory_mib));
    assert_eq!(
        memory.used.0 + memory.free.0 + memory.reserved.unwrap().0,
        memory.total.0
    );
    assert_eq!(device.power_limit(), Ok(Milliwatts::from_watts(watts)));
    assert_eq!(device.max_clock(Clock::Sm), Ok(Megahertz(sm_max)));
    assert_eq!(abilities(&device), expected);
}

#[test]
fn each_model_has_its_limits_and_abilities() {
    let hopper = "jpeg ofa instant memtemp margin appclocks links ecc remap fabric mig gpm pciebytes serial";
    check(Model::H100, "NVIDIA H100 80GB HBM3", 81_559, 700, 1980, hopper);
    check(Model::H200, "NVIDIA H200", 143_771, 700, 1980, hopper);
    let blackwell = "jpeg ofa instant memtemp margin links ecc remap fabric mig gpm pciebytes serial";
    check(Model::B200, "NVIDIA B200", 183_359, 1000, 1965, blackwell);
    let ampere = "jpeg ofa instant memtemp appclocks links ecc remap mig serial";
    check(
        Model::A100Gb80,
        "NVIDIA A100-SXM4-80GB",
        81_920,
        400,
        1410,
        ampere,
    );
    check(
        Model::A100Gb40,
        "NVIDIA A100-SXM4-40GB",
        40_960,
        400,
        1410,
        ampere,
    );
    check(
        Model::T4,
        "Tesla T4",
        15_360,
        70,
        1590,
        "ofa appclocks ecc retire serial",
    );
    check(
        Model::L40s,
        "NVIDIA L40S",
        46_068,
        350,
        2520,
        "jpeg ofa instant appclocks ecc remap serial",
    );
    check(
        Model::Rtx3080,
        "NVIDIA GeForce RTX 3080",
        10_240,
        320,
        2100,
        "jpeg ofa instant",
    );
}

#[track_caller]
fn same<T: Debug + PartialEq>(answer: Answer<T>, expected: T) {
    assert_eq!(answer, Ok(expected));
}

#[test]
fn every_value_comes_through_unchanged() {
    let mut scenario = Scenario::h100_x8();
    let gpu = &mut scenario.gpus[2];
    gpu.power.as_mut().unwrap().usage = 431_007;
    gpu.power.as_mut().unwrap().enforced = 650_000;
    gpu.temperatures.margin = Some(-3);
    gpu.clock_reasons = 0x24;
    gpu.throttled.as_mut().unwrap().reliability = 7;
    gpu.pcie.replays = 9;
    let ecc = gpu.ecc.as_mut().unwrap();
    ecc.volatile.corrected = 11;
    ecc.aggregate.uncorrected = 12;
    gpu.remapped.as_mut().unwrap().uncorrectable = 2;
    gpu.remapped.as_mut().unwrap().pending = true;
    gpu.nvlink.as_mut().unwrap().down = vec![3];
    gpu.nvlink.as_mut().unwrap().errors.crc_flit = 5;
    let device = Machine::new(scenario).nvml().device(2).unwrap();
    same(device.power(), Milliwatts(431_007));
    same(device.power_instant(), Milliwatts(422_250));
    same(device.power_enforced_limit(), Milliwatts(650_000));
    same(
        device.power_limits().map(|limits| limits.min),
        Milliwatts(200_000),
    );
    same(device.temperature(), Celsius(43));
    same(device.temperature_margin(), Celsius(-3));
    same(device.temperature_threshold(Threshold::Shutdown), Celsius(92));
    same(device.clock_reasons().map(|reasons| reasons.iter().count()), 2);
    same(
        device
            .violation(PerfPolicy::Reliability)
            .map(|time| time.as_nanos()),
        7,
    );
    same(device.performance_state().map(|state| state.0), 0);
    same(device.pcie_replays(), 9);
    same(
        device.pcie_link().map(|link| (link.generation, link.width)),
        (5, 16),
    );
    same(device.pcie_throughput(Direction::Sent), KibPerSecond(2048));
    same(device.bar1().map(|bar| bar.used), Bytes::from_mib(2));
    same(device.ecc_errors(EccKind::Corrected, EccCounter::Volatile), 11);
    same(
        device.ecc_errors_at(
            EccKind::Uncorrected,
            EccCounter::Aggregate,
            EccLocation::DeviceMemory,
        ),
        12,
    );
    same(
        device
            .remapped_rows()
            .map(|rows| (rows.uncorrectable, rows.pending)),
        (2, true),
    );
    same(device.link_state(3), LinkState::Down);
    same(device.link_state(4), LinkState::Up);
    same(device.link_errors(0, LinkError::CrcFlit), 5);
    same(device.link_remote(5).map(|remote| remote.peer), Peer::Switch);
    same(device.mig_mode().map(|mode| mode.current), Sliced::No);
    assert_eq!(
        device
            .temperature_threshold(Threshold::MemoryMax)
            .reading()
            .known(),
        Some(Celsius(95))
    );
}

#[test]
fn identity_is_normalised_and_leads_back_to_the_device() {
    let nvml = Machine::new(Scenario::h100_x8()).nvml();
    let identity = nvml.device(7).unwrap().identity().unwrap();
    assert_eq!(identity.index.0, 7);
    assert_eq!(identity.pci_address.as_str(), "0000:76:00.0");
    assert_eq!(identity.pci_address_long.as_str(), "00000000:76:00.0");
    assert_eq!(identity.pci_device_id, 0x2330_10DE);
    assert_eq!(identity.numa_node.known(), Some(1));
    for found in [
        nvml.device_by_uuid(identity.uuid.as_str()),
        nvml.device_by_pci(identity.pci_address.as_str()),
        nvml.device_by_pci(identity.pci_address_long.as_str()),
    ] {
        assert_eq!(found.unwrap().identity().unwrap(), identity);
    }
    assert_eq!(nvml.device_by_uuid("GPU-none").unwrap_err(), Fault::NotFound);
}

#[test]
fn links_and_ways_between_gpus() {
    let nvml = Machine::new(Scenario::h100_x8()).nvml();
    let (first, last) = (nvml.device(0).unwrap(), nvml.device(7).unwrap());
    same(first.link_count(), 18);
    same(
        first.common_ancestor(&nvml.device(1).unwrap()),
        CommonAncestor::Node,
    );
    same(first.common_ancestor(&last), CommonAncestor::System);
    same(first.nvlink_p2p(&last), P2p::Ok);
    let link = |scope| {
        let query = FieldQuery {
            field: Field::LinkSent,
            scope,
        };
        first.field(query).unwrap().unsigned().unwrap()
    };
    assert_eq!(link(gpu_nvml::ALL_LINKS), 18 * link(0));
    let mut processors = [0; 2];
    first.near_processors(&mut processors).unwrap();
    assert_eq!(processors, [0xFFFF_FFFF, 0]);
    let other = Machine::new(Scenario::h100_x8()).first();
    assert!(
        first.common_ancestor(&other).is_err(),
        "devices of two sessions do not mix"
    );
}

#[test]
fn older_drivers_answer_in_older_forms() {
    let mut scenario = Scenario::h100_x8().with_driver("535.104.05");
    scenario.hide = vec![
        "nvmlDeviceGetMemoryInfo_v2".to_owned(),
        "nvmlDeviceGetCurrentClocksEventReasons".to_owned(),
        "nvmlInitWithFlags".to_owned(),
        "nvmlDeviceGetNumaNodeId".to_owned(),
    ];
    let device = Machine::new(scenario).first();
    let memory = device.memory().unwrap();
    assert_eq!(memory.reserved, None);
    assert_eq!(memory.used.0 + memory.free.0, memory.total.0);
    assert!(device.clock_reasons().is_ok());
    same(device.numa_node(), 0);
    same(device.fabric().map(|fabric| fabric.health_summary), None);
    let newer = Machine::new(Scenario::h100_x8()).first();
    same(newer.fabric().map(|fabric| fabric.health_summary), Some(1));
}

#[test]
fn pages_retire_and_licences_are_told() {
    let mut scenario = Scenario::of(Model::T4, 1);
    let gpu = &mut scenario.gpus[0];
    gpu.retired.as_mut().unwrap().double_bit = 3;
    gpu.licence = Some(Licence {
        product: "NVIDIA RTX Virtual Workstation".to_owned(),
        feature: 2,
        licensed: false,
    });
    let device = Machine::new(scenario).first();
    same(device.retired_pages(RetiredCause::DoubleBit), 3);
    same(device.retired_pages(RetiredCause::SingleBit), 0);
    let licences = device.licences().unwrap();
    assert_eq!(licences.len(), 1);
    assert!(!licences[0].licensed);
    let bare = Machine::new(Scenario::of(Model::T4, 1)).first();
    assert_eq!(bare.licences(), Err(Fault::Unsupported));
}
