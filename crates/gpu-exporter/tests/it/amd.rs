//! The AMD source on trees of our own: what each kind of board gives, what it does not have, what is wrong and what is not.

mod odd_trees;
mod speed;

use std::path::Path;
use std::time::{Duration, Instant};

use gpu_exporter::owners::Sight;
use gpu_exporter::readings::{DeviceReadings, Field, PartField, SliceId, ThrottleReason};
use gpu_exporter::source::amd::AmdLoader;
use gpu_exporter::source::amd::tables::write::write_partition;
use gpu_exporter::source::amd::tables::{Metrics, Version};
use gpu_exporter::source::{Driver, DriverFault, DriverLoader as _, Listed, Readers};
use gpu_model::Reading;

use crate::amd_tree::{Gpu, Tree, apu, mi100, mi210, mi300x, mi300x_cpx, rx7900xtx};

/// A node of these GPUs, and its driver.
struct Node {
    driver: std::sync::Arc<dyn Driver>,
    tree: Tree,
    _root: tempfile::TempDir,
}

impl Node {
    fn of(gpus: &[Gpu]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::below(root.path());
        tree.plant(gpus);
        Self {
            driver: load(root.path()).unwrap(),
            tree,
            _root: root,
        }
    }

    fn list(&self) -> Vec<Listed> {
        self.driver.list().unwrap()
    }

    fn open(&self, index: usize) -> Readers {
        self.driver.open(&self.list()[index]).unwrap()
    }

    /// Both halves of one device's readings.
    fn read(&self, index: usize) -> DeviceReadings {
        let mut readers = self.open(index);
        let (mut fast, mut slow) = (DeviceReadings::default(), DeviceReadings::default());
        readers.fast.read(&mut fast).unwrap();
        readers.slow.read(&mut slow).unwrap();
        let mut joined = fast.joined_with(&slow);
        joined.failed.extend(&slow.failed);
        joined
    }
}

fn load(root: &Path) -> Result<std::sync::Arc<dyn Driver>, DriverFault> {
    AmdLoader::new(root.join("sys"), root.join("proc"), Sight::Own).load()
}

#[track_caller]
fn check(readings: &DeviceReadings, expected: &[(Field, Option<f64>)]) {
    for (field, value) in expected {
        assert_eq!(readings.values.known(*field), *value, "{field:?}");
    }
}

#[test]
fn a_machine_without_the_driver_says_so() {
    let root = tempfile::tempdir().unwrap();
    let Err(DriverFault::Absent(words)) = load(root.path()) else {
        panic!("it is there");
    };
    assert!(
        words.contains("amdgpu") && words.contains("--path.sysfs"),
        "{words}"
    );
    // A module without a device is a driver that answers.
    std::fs::create_dir_all(root.path().join("sys/module/amdgpu")).unwrap();
    assert_eq!(load(root.path()).unwrap().list(), Ok(Vec::new()));
}

#[test]
fn eight_boards_are_known_by_place_and_unique_id() {
    let gpus: Vec<Gpu> = (0..8).map(|number| mi300x().at(number)).collect();
    let node = Node::of(&gpus);
    let listed = node.list();
    assert_eq!(listed.len(), 8);
    for ((index, device), gpu) in (0..).zip(&listed).zip(&gpus) {
        let identity = &device.identity;
        assert_eq!(identity.index, index);
        assert_eq!(identity.uuid, format!("{:016x}", gpu.unique_id));
        assert_eq!(identity.pci_bus_id, gpu.address);
        assert_eq!(identity.model, "AMD Instinct MI300X OAM");
        assert_eq!(identity.architecture, Some("gfx942"));
        assert_eq!(identity.driver_version, "6.10.5");
        assert_eq!(identity.serial.as_deref(), Some("692444001234"));
        assert_eq!(identity.board.render, Some(gpu.render));
        assert_eq!(identity.board.compute_partition.as_deref(), Some("SPX"));
    }
    let readings = node.read(0);
    assert_eq!(readings.peers.len(), 7);
    assert_eq!(readings.links.len(), 7);
    assert!(
        readings.slices.is_empty(),
        "platform devices without a node are no partitions"
    );
    assert_eq!(readings.failed, Vec::<&str>::new());
    assert_eq!(readings.rejected, 0);
}

#[test]
fn an_mi300x_gives_everything() {
    let node = Node::of(&[mi300x()]);
    let readings = node.read(0);
    check(
        &readings,
        &[
            (Field::Utilization, Some(0.42)),
            (Field::MemoryBandwidthUtilization, Some(0.17)),
            (Field::MemoryTotal, Some(206_158_430_208.0)),
            (Field::MemoryUsed, Some(51_539_607_552.0)),
            (Field::Power, Some(312.0)),
            (Field::PowerLimit, Some(750.0)),
            (Field::Energy, Some(1_572_864.0)),
            (Field::Temperature, Some(48.0)),
            (Field::EdgeTemperature, None),
            (Field::HotspotTemperature, Some(48.0)),
            (Field::MemoryTemperature, Some(41.0)),
            (Field::TemperatureSlowdown, Some(100.0)),
            (Field::GraphicsClockMax, Some(2.1e9)),
            (Field::FabricClock, Some(2.1e9)),
            (Field::PcieLinkGeneration, Some(5.0)),
            (Field::PcieReplays, Some(3.0)),
            (Field::LinkReceivedBytes, Some(28.0 * 1_073_741_824.0)),
            (Field::EccCorrectedVolatile, Some(12.0)),
            (Field::EccDeferredVolatile, Some(1.0)),
            (Field::BadPagesRetired, Some(1.0)),
            (Field::BadPagesPending, Some(1.0)),
        ],
    );
    assert_eq!(readings.parts.of(PartField::GraphicsBusy).count(), 8);
    assert_eq!(readings.blocks.len(), 6);
    let power_cap = readings.throttle_seconds[ThrottleReason::PowerCap as usize];
    assert_eq!(power_cap, Reading::Known(0.0), "a life's sum is no time");
}

#[test]
fn partitions_are_slices_with_figures_of_their_own() {
    let gpu = mi300x_cpx().process(4100, 3, 1 << 30, 30);
    let node = Node::of(&[gpu]);
    let readings = node.read(0);
    assert_eq!(readings.slices.len(), 8);
    let names: Vec<&str> = readings.slices.iter().map(|slice| slice.uuid.as_str()).collect();
    assert_eq!(names[..3], ["0000:05:00.0", "amdgpu_xcp_1", "amdgpu_xcp_2"]);
    let third = &readings.slices[3];
    assert_eq!(third.id, SliceId { gi: 3, ci: 0 });
    assert_eq!(third.profile, "cpx_nps4");
    assert_eq!(third.render, Some(131));
    assert_eq!(third.values.known(Field::MemoryTotal), Some(25_769_803_776.0));
    assert_eq!(third.values.known(Field::MemoryUsed), Some(5_368_709_120.0));
    assert_eq!(third.values.known(Field::GraphicsClock), Some(1.323e9));
    let busy = third.values.known(Field::Utilization).unwrap();
    assert!((busy - 0.4).abs() < 1e-9, "{busy}");
    assert_eq!(third.parts.of(PartField::GraphicsBusy).count(), 1);
    // The runtime opened all eight partitions; the process is on one.
    let processes = readings.processes.known().unwrap();
    assert_eq!(processes.len(), 1);
    assert_eq!((processes[0].pid, processes[0].slice), (4100, Some(third.id)));
    assert_eq!(processes[0].memory_bytes, Reading::Known(1_073_741_824.0));
    assert_eq!(processes[0].utilization, Reading::Unsupported);
    assert_eq!(readings.occupancy.len(), 1);
}

#[test]
fn a_partition_that_is_missing_does_not_rename_the_others() {
    let node = Node::of(&[mi300x_cpx()]);
    let before = node.list();
    std::fs::remove_dir_all(node.tree.sysfs.join("class/kfd/kfd/topology/nodes/3")).unwrap();
    assert_eq!(
        node.list(),
        before,
        "nothing has changed before the driver says so"
    );
    let generation = node.tree.sysfs.join("class/kfd/kfd/topology/generation_id");
    std::fs::write(generation, "3\n").unwrap();
    assert_ne!(node.list()[0].layout, before[0].layout);
    let slices = node.read(0).slices;
    let numbers: Vec<u32> = slices.iter().map(|slice| slice.id.gi).collect();
    assert_eq!(numbers, [0, 1, 3, 4, 5, 6, 7]);
    assert_eq!(slices[2].uuid, "amdgpu_xcp_3");
}

#[test]
fn older_boards_and_desks_give_what_they_have() {
    let readings = Node::of(&[mi210()]).read(0);
    check(
        &readings,
        &[
            (Field::Energy, Some(100_000.0)),
            (Field::Power, Some(121.0)),
            (Field::PowerInstant, None),
            (Field::EdgeTemperature, Some(44.0)),
            (Field::PcieLinkGeneration, Some(4.0)),
            (Field::PcieSentSample, None),
        ],
    );
    assert_eq!(readings.parts.of(PartField::StackTemperature).count(), 4);
    let node = Node::of(&[mi100()]);
    let identity = &node.list()[0].identity;
    assert_eq!(identity.model, "AMD Instinct MI100");
    assert_eq!(identity.serial, None);
    assert_eq!(node.read(0).throttled, Reading::Unsupported);
    let readings = Node::of(&[rx7900xtx()]).read(0);
    check(
        &readings,
        &[
            // In a unit of the board's own, so that power is summed up instead.
            (Field::Energy, None),
            (Field::FanSpeed, Some(612.0)),
            (Field::FanDuty, Some(0.2)),
            (Field::GraphicsVoltage, Some(0.762)),
            (Field::EccCorrectedVolatile, None),
        ],
    );
    assert!(readings.throttled.is_known());
    let node = Node::of(&[apu()]);
    assert_eq!(node.list()[0].identity.uuid, "amd-0000:05:00.0");
    check(
        &node.read(0),
        &[
            (Field::Power, Some(9.103)),
            (Field::Temperature, Some(45.0)),
            (Field::GraphicsClock, Some(8e8)),
            (Field::MemoryTotal, Some(4_294_967_296.0)),
        ],
    );
}

#[test]
fn a_bus_counter_that_blocks_is_read_by_the_slow_half_and_not_before_the_first_page() {
    let node = Node::of(&[mi210()]);
    let mut slow = node.open(0).slow;
    let mut readings = DeviceReadings::default();
    slow.read(&mut readings).unwrap();
    assert_eq!(readings.values.known(Field::PcieSentSample), None);
    slow.read(&mut readings).unwrap();
    assert_eq!(
        readings.values.known(Field::PcieSentSample),
        Some(2_528.0 * 256.0)
    );
    assert_eq!(
        readings.values.known(Field::PcieReceivedSample),
        Some(11_886.0 * 256.0)
    );
}

#[test]
fn a_gpu_that_sleeps_is_not_woken() {
    let gpu = rx7900xtx();
    let node = Node::of(std::slice::from_ref(&gpu));
    let mut readers = node.open(0);
    let mut readings = DeviceReadings::default();
    readers.fast.read(&mut readings).unwrap();
    assert!(readings.values.known(Field::Power).is_some());
    node.tree.change(&gpu, "power/runtime_status", "suspended\n");
    readers.fast.read(&mut readings).unwrap();
    check(
        &readings,
        &[
            (Field::Power, None),
            (Field::Utilization, None),
            (Field::MemoryUsed, Some(3_221_225_472.0)),
        ],
    );
    let mut slow = DeviceReadings::default();
    readers.slow.read(&mut slow).unwrap();
    assert_eq!(slow.values.known(Field::PowerLimit), None);
    assert_eq!(readings.failed, Vec::<&str>::new());
    node.tree.change(&gpu, "power/runtime_status", "active\n");
    readers.fast.read(&mut readings).unwrap();
    assert!(readings.values.known(Field::Power).is_some());
}

#[test]
fn two_boards_with_the_same_number_are_told_apart() {
    let twin = Gpu {
        unique_id: mi210().unique_id,
        ..mi210().at(1)
    };
    let node = Node::of(&[mi210(), twin]);
    let uuids: Vec<String> = node.list().iter().map(|one| one.identity.uuid.clone()).collect();
    assert_eq!(
        uuids,
        ["7c1033f098ab0d42-0000:05:00.0", "7c1033f098ab0d42-0000:15:00.0"]
    );
}

/// Where the device's table only has the whole, each partition has a table of its own.
#[test]
fn partitions_with_tables_of_their_own_are_read_from_them() {
    let mut gpu = mi300x_cpx();
    let table = gpu.table.as_mut().unwrap();
    table.version = Version {
        format: 1,
        content: 9,
    };
    table.partitions = Metrics::EMPTY.partitions;
    for die in 0..8 {
        table.whole.gfx_busy_ratio[die] = Some(0.5);
    }
    let node = Node::of(std::slice::from_ref(&gpu));
    let busy = |at: usize| node.read(0).slices[at].values.known(Field::Utilization);
    assert_eq!((busy(0), busy(3)), (Some(0.5), Some(0.5)), "by dies of the whole");
    let mut own = Metrics::EMPTY;
    own.version = Version {
        format: 1,
        content: 0,
    };
    own.whole.gfx_busy_ratio[0] = Some(0.75);
    let bytes = write_partition(&own).unwrap();
    let directory = node.tree.sysfs.join("devices/platform/amdgpu_xcp_3/xcp");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("xcp_metrics"), bytes).unwrap();
    assert_eq!((busy(0), busy(3)), (Some(0.5), Some(0.75)));
}

/// `/sys` shows all GPUs of the node to every container; only what has a device file here was given to this one.
#[test]
fn a_container_may_be_shown_only_what_it_was_given() {
    let node = Node::of(&[mi300x_cpx(), mi210().at(8)]);
    let root = node.tree.sysfs.parent().unwrap();
    let granted = root.join("dri");
    let load = || {
        AmdLoader::new(root.join("sys"), root.join("proc"), Sight::Own)
            .granted_in(granted.clone())
            .load()
            .unwrap()
    };
    assert_eq!(load().list(), Ok(Vec::new()));
    std::fs::create_dir(&granted).unwrap();
    std::fs::write(granted.join("renderD130"), "").unwrap();
    let driver = load();
    let listed = driver.list().unwrap();
    assert_eq!(listed.len(), 1);
    let mut readings = DeviceReadings::default();
    driver.open(&listed[0]).unwrap().fast.read(&mut readings).unwrap();
    let names: Vec<&str> = readings.slices.iter().map(|slice| slice.uuid.as_str()).collect();
    assert_eq!(names, ["amdgpu_xcp_2"]);
    std::fs::write(granted.join(format!("renderD{}", mi210().at(8).render)), "").unwrap();
    assert_eq!(driver.list().unwrap().len(), 2);
}

/// A process that computes also shows its memory in its open files, where it is the same memory.
#[test]
fn a_process_that_computes_and_draws_is_counted_once() {
    let both =
        "drm-driver:\tamdgpu\ndrm-client-id:\t4\ndrm-pdev:\t0000:05:00.0\ndrm-memory-vram:\t3145728 KiB\n";
    let draws = "drm-driver:\tamdgpu\ndrm-client-id:\t5\ndrm-pdev:\t0000:05:00.0\ndrm-memory-vram:\t1024 KiB\n\
                 drm-engine-gfx:\t5 ns\n";
    let gpu = rx7900xtx()
        .process(1500, 0, 1 << 30, 10)
        .client(1500, both)
        .client(1501, draws);
    let node = Node::of(&[gpu]);
    let root = node.tree.sysfs.parent().unwrap();
    let driver = AmdLoader::new(root.join("sys"), root.join("proc"), Sight::Host)
        .load()
        .unwrap();
    let mut fast = driver.open(&driver.list().unwrap()[0]).unwrap().fast;
    let mut readings = DeviceReadings::default();
    let deadline = Instant::now() + Duration::from_secs(20);
    let processes = loop {
        fast.read(&mut readings).unwrap();
        let processes = readings.processes.as_ref().known().unwrap();
        if processes.len() == 2 && processes[1].utilization.is_known() {
            break processes;
        }
        assert!(Instant::now() < deadline, "{processes:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(processes[0].pid, 1500);
    assert_eq!(processes[0].memory_bytes, Reading::Known(3_221_225_472.0));
    assert_eq!(processes[0].utilization, Reading::Unsupported);
    assert_eq!(processes[1].pid, 1501);
    assert_eq!(processes[1].memory_bytes, Reading::Known(1_048_576.0));
    assert_eq!(processes[1].utilization, Reading::Known(0.0));
}
