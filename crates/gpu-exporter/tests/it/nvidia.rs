//! The NVIDIA source on the double of NVIDIA's library, through the real dlopen: what each kind of GPU gives, what it does not
//! have, and how often the driver is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_exporter::collect::{Collector, Intervals, NoAttribution, Surroundings};
use gpu_exporter::readings::{Field, ThrottleReason};
use gpu_exporter::snapshot::{DeviceSnapshot, DeviceState, NodeSnapshot, Origin};
use gpu_exporter::source::nvidia::NvidiaLoader;
use gpu_model::Reading;
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::{Fault, FaultKind, Model, Scenario, XidEvent};
use gpu_runtime::SystemClock;

/// A machine with the double as its driver, and a collector that looks often.
struct Machine {
    collector: Collector,
    driver: Installed,
    _directory: tempfile::TempDir,
}

impl Machine {
    fn start(scenario: &Scenario) -> Self {
        Self::with(scenario, Duration::from_millis(100))
    }

    fn with(scenario: &Scenario, sample: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let driver = Installed::into(directory.path(), scenario).unwrap();
        let loader = NvidiaLoader::new(Some(driver.library()));
        let surroundings = Surroundings {
            node: "node-a".to_owned(),
            origin: Origin::Measured,
            clock: Arc::new(SystemClock),
        };
        let intervals = Intervals {
            sample,
            slow: Duration::from_secs(30),
            list: Duration::from_millis(200),
        };
        let collector = Collector::start(
            vec![Box::new(loader)],
            Box::new(NoAttribution),
            surroundings,
            intervals,
        )
        .unwrap();
        Self {
            collector,
            driver,
            _directory: directory,
        }
    }

    #[track_caller]
    fn wait(&self, what: &str, fits: impl Fn(&NodeSnapshot) -> bool) -> Arc<NodeSnapshot> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let snapshot = self.collector.snapshot();
            if fits(&snapshot) {
                return snapshot;
            }
            assert!(
                Instant::now() < deadline,
                "no snapshot with {what}; the last one: {snapshot:#?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The first snapshot in which every device has both halves of its readings and a second sample for the profiler.
    #[track_caller]
    fn complete(&self, devices: usize) -> Arc<NodeSnapshot> {
        self.wait("complete devices", |snapshot| {
            let complete = |device: &DeviceSnapshot| {
                device.age.is_some()
                    && device.readings.values.known(Field::PowerLimit).is_some()
                    && device.readings.values.get(Field::SmActive) != Reading::Failed
            };
            snapshot.devices.len() == devices && snapshot.devices.iter().all(complete)
        })
    }
}

#[track_caller]
fn has(device: &DeviceSnapshot, fields: &[Field]) {
    for field in fields {
        assert!(
            device.readings.values.known(*field).is_some(),
            "{field:?} is missing: {device:#?}"
        );
    }
}

#[track_caller]
fn lacks(device: &DeviceSnapshot, fields: &[Field]) {
    for field in fields {
        assert_eq!(
            device.readings.values.get(*field),
            Reading::Unsupported,
            "{field:?} cannot be there"
        );
    }
}

const PROFILING: &[Field] = &[
    Field::GraphicsActive,
    Field::SmActive,
    Field::SmOccupancy,
    Field::TensorActive,
    Field::DramActive,
    Field::PcieSentRate,
    Field::LinkSentRate,
];
const EVERYWHERE: &[Field] = &[
    Field::Utilization,
    Field::MemoryBandwidthUtilization,
    Field::MemoryTotal,
    Field::MemoryUsed,
    Field::MemoryFree,
    Field::Power,
    Field::PowerLimit,
    Field::Temperature,
    Field::SmClock,
    Field::MemoryClock,
    Field::PcieLinkWidth,
    Field::Bar1Total,
];

#[test]
fn h100_gives_profiling_links_and_health() {
    let machine = Machine::start(&Scenario::h100_x8());
    let snapshot = machine.complete(8);
    let device = &snapshot.devices[7];
    has(device, EVERYWHERE);
    has(device, PROFILING);
    has(
        device,
        &[
            Field::MemoryReserved,
            Field::Energy,
            Field::MemoryTemperature,
            Field::EccUncorrectedVolatile,
        ],
    );
    has(
        device,
        &[
            Field::RemappedRowsUncorrectable,
            Field::RowRemapFailure,
            Field::FabricState,
        ],
    );
    assert_eq!(device.identity.index, 7);
    assert_eq!(device.identity.architecture, Some("hopper"));
    assert!(
        device.identity.pci_bus_id.starts_with("00000000:"),
        "{}",
        device.identity.pci_bus_id
    );
    assert!(!device.readings.links.is_empty());
    assert_eq!(device.readings.peers.len(), 7);
    assert_eq!(device.readings.processes.as_ref().known().map(Vec::len), Some(1));
    assert_eq!(device.rejected_total, 0, "{device:#?}");
    assert!(device.errors.is_empty(), "{:?}", device.errors);
}

#[test]
fn older_gpus_have_no_profiling_and_no_zero_in_its_place() {
    let machine = Machine::start(&Scenario::t4_time_sliced());
    let snapshot = machine.complete(1);
    let device = &snapshot.devices[0];
    has(device, EVERYWHERE);
    lacks(device, PROFILING);
    has(device, &[Field::PcieSentSample, Field::PcieReceivedSample]);
    assert_eq!(device.totals.pcie_sent_bytes, Reading::Unsupported);
    let processes = device.readings.processes.as_ref().known().unwrap();
    assert_eq!(processes.len(), 4);
    assert!(
        processes
            .iter()
            .all(|process| process.utilization.is_known() && process.memory_bytes.is_known())
    );
}

#[test]
fn a_workstation_card_has_neither_ecc_nor_slices() {
    let machine = Machine::start(&Scenario::rtx3080());
    let snapshot = machine.complete(1);
    has(&snapshot.devices[0], EVERYWHERE);
    lacks(
        &snapshot.devices[0],
        &[Field::EccCorrectedVolatile, Field::MigEnabled, Field::FabricState],
    );
    assert!(snapshot.devices[0].readings.slices.is_empty());
}

#[test]
fn slices_have_their_own_memory_and_a_new_layout_shows() {
    let mut scenario = Scenario::a100_mixed_mig();
    let machine = Machine::start(&scenario);
    let snapshot = machine.complete(2);
    let sliced = &snapshot.devices[0];
    lacks(sliced, &[Field::Utilization]);
    let profiles: Vec<&str> = sliced
        .readings
        .slices
        .iter()
        .map(|slice| slice.profile.as_str())
        .collect();
    assert_eq!(profiles, ["3g.40gb", "2g.20gb", "1g.10gb"]);
    assert!(
        sliced
            .readings
            .slices
            .iter()
            .all(|slice| slice.values.known(Field::MemoryUsed).is_some())
    );
    lacks(sliced, PROFILING);
    let processes = sliced.readings.processes.as_ref().known().unwrap();
    assert!(
        processes
            .iter()
            .all(|process| process.slice.is_some() && !process.utilization.is_known())
    );

    let mig = scenario.gpus[0].mig.as_mut().unwrap();
    mig.instances.truncate(1);
    machine.driver.change(&scenario).unwrap();
    machine.wait("one slice", |snapshot| {
        snapshot.devices.len() == 2 && snapshot.devices[0].readings.slices.len() == 1
    });
}

#[test]
fn one_hung_gpu_leaves_the_others_fresh() {
    let mut scenario = Scenario::h100_x8();
    let machine = Machine::start(&scenario);
    machine.complete(8);
    let hung = scenario.gpus[3].uuid.clone();
    scenario.faults = vec![Fault::new("nvmlDeviceGetPowerUsage", FaultKind::Hang).on(&hung)];
    machine.driver.change(&scenario).unwrap();
    machine.wait("only GPU 3 stuck", |snapshot| {
        snapshot.devices.iter().all(|device| match device.identity.index {
            3 => device.state == DeviceState::Stuck && device.age > Some(Duration::from_millis(500)),
            _ => device.state == DeviceState::Up && device.age < Some(Duration::from_millis(500)),
        })
    });
    scenario.faults.clear();
    machine.driver.change(&scenario).unwrap();
    machine.wait("all up", |snapshot| {
        snapshot
            .devices
            .iter()
            .all(|device| device.state == DeviceState::Up)
    });
}

#[test]
fn a_driver_that_blocks_as_a_whole_makes_everything_stale_and_nothing_vanish() {
    let mut scenario = Scenario::of(Model::L40s, 2);
    let machine = Machine::start(&scenario);
    machine.complete(2);
    scenario.faults = vec![Fault::new("nvmlDeviceGetPowerUsage", FaultKind::HangAll)];
    machine.driver.change(&scenario).unwrap();
    machine.wait("everything stuck", |snapshot| {
        snapshot.devices.len() == 2
            && snapshot.devices.iter().all(|device| {
                device.state == DeviceState::Stuck
                    && device.readings.values.known(Field::MemoryTotal).is_some()
            })
    });
    scenario.faults.clear();
    machine.driver.change(&scenario).unwrap();
    machine.wait("all up", |snapshot| {
        snapshot
            .devices
            .iter()
            .all(|device| device.state == DeviceState::Up)
    });
}

#[test]
fn a_restarted_driver_is_taken_again_and_a_new_version_asks_for_a_new_process() {
    let mut scenario = Scenario::of(Model::T4, 1);
    let machine = Machine::start(&scenario);
    machine.complete(1);
    scenario.driver_gone = true;
    machine.driver.change(&scenario).unwrap();
    machine.wait("no driver", |snapshot| {
        !snapshot.sources[0].up && snapshot.devices.is_empty()
    });
    scenario.driver_gone = false;
    machine.driver.change(&scenario).unwrap();
    let back = Instant::now();
    machine.wait("the GPU again", |snapshot| {
        snapshot.devices.len() == 1 && snapshot.devices[0].age.is_some()
    });
    assert!(back.elapsed() < Duration::from_secs(5));
    assert!(!machine.collector.must_restart());
    scenario.version_mismatch = true;
    machine.driver.change(&scenario).unwrap();
    machine.wait("the wish for a new process", |_| machine.collector.must_restart());
}

fn xid(id: u64, uuid: &str, code: u64) -> XidEvent {
    XidEvent {
        id,
        gpu: uuid.to_owned(),
        code,
        gpu_instance: None,
        compute_instance: None,
    }
}

#[test]
fn xids_are_counted_by_code() {
    let mut scenario = Scenario::of(Model::A100Gb80, 2);
    let machine = Machine::start(&scenario);
    machine.complete(2);
    let uuid = scenario.gpus[1].uuid.clone();
    scenario.events = vec![xid(1, &uuid, 79), xid(2, &uuid, 94), xid(3, &uuid, 94)];
    machine.driver.change(&scenario).unwrap();
    let snapshot = machine.wait("three faults", |snapshot| {
        snapshot.devices[1].faults == [(79, 1), (94, 2)]
    });
    assert!(snapshot.devices[0].faults.is_empty());
}

#[test]
fn throttling_becomes_time() {
    let mut scenario = Scenario::of(Model::L40s, 1);
    // The bits of the power cap and of a hardware slowdown.
    scenario.gpus[0].clock_reasons = 0x4 | 0x8;
    let machine = Machine::start(&scenario);
    machine.complete(1);
    machine.wait("seconds of slowdown", |snapshot| {
        let seconds =
            |reason: ThrottleReason| snapshot.devices[0].totals.throttle_seconds[reason as usize].known();
        seconds(ThrottleReason::HardwareSlowdown) > Some(0.2)
            && seconds(ThrottleReason::HardwareSlowdown) < Some(60.0)
    });
}

/// The bound that the documentation states, with the default intervals.
#[test]
fn driver_calls_per_gpu_and_second_are_bounded() {
    let machine = Machine::with(
        &Scenario::of(Model::H100, 4).without_latency(),
        Duration::from_secs(1),
    );
    machine.complete(4);
    let before = machine.driver.tally().unwrap();
    let sequence = machine.collector.snapshot().sequence;
    let snapshot = machine.wait("four more seconds", |snapshot| snapshot.sequence >= sequence + 4);
    let after = machine.driver.tally().unwrap();
    let ticks = (snapshot.sequence - sequence) as f64;
    // The listing runs ten times as often as by default here: it has its own bound below.
    let listing = [
        "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetMigMode",
    ];
    let calls: u64 = after
        .calls
        .iter()
        .filter(|(name, _)| !listing.contains(&name.as_str()))
        .map(|(name, count)| count - before.of(name))
        .sum();
    let per_gpu_second = calls as f64 / ticks / 4.0;
    assert!(
        per_gpu_second < 24.0,
        "{per_gpu_second} driver calls a GPU and second: {after:#?}"
    );
    assert!(
        per_gpu_second > 5.0,
        "hardly anything was asked: {per_gpu_second}"
    );
}
