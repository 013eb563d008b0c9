//! Trees that are not as they should be: copies, holes, devices that go, tables that lie.

use std::fs;
use std::path::Path;

use gpu_exporter::readings::{DeviceReadings, Field};
use gpu_exporter::source::DriverFault;
use gpu_model::Reading;

use super::{Node, check, load};
use crate::amd_tree::{Gpu, mi210, mi300x, mi300x_cpx, rx7900xtx};

/// A board as people copy it: the class alone, plain directories instead of links, files padded to a page.
fn copied(root: &Path) {
    let card = root.join("sys/class/drm/card1/device");
    let write = |path: &str, text: &str| {
        let path = card.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(4096, 0);
        fs::write(path, bytes).unwrap();
    };
    write(
        "uevent",
        "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:0c:00.0\n",
    );
    write("gpu_busy_percent", "3\n");
    write("hwmon/hwmon17/name", "amdgpu\n");
    write("hwmon/hwmon17/temp1_label", "edge\n");
    write("hwmon/hwmon17/temp1_input", "56000\n");
    write("hwmon/hwmon17/power1_average", "36000000\n");
    fs::create_dir_all(root.join("sys/class/drm/card1-DP-1/device")).unwrap();
    let other = root.join("sys/class/drm/card0/device");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("vendor"), "0x8086\n").unwrap();
}

#[test]
fn a_copied_tree_without_the_drivers_list_is_read() {
    let root = tempfile::tempdir().unwrap();
    copied(root.path());
    let driver = load(root.path()).unwrap();
    let listed = driver.list().unwrap();
    assert_eq!(listed.len(), 1, "neither connectors nor other vendors' cards");
    let identity = &listed[0].identity;
    assert_eq!(identity.pci_bus_id, "0000:0c:00.0");
    assert_eq!(identity.uuid, "amd-0000:0c:00.0");
    assert_eq!(identity.model, "AMD Radeon RX 6800/6900 XT");
    let mut readings = DeviceReadings::default();
    driver.open(&listed[0]).unwrap().fast.read(&mut readings).unwrap();
    check(
        &readings,
        &[
            (Field::Utilization, Some(0.03)),
            (Field::Temperature, Some(56.0)),
            (Field::Power, Some(36.0)),
            (Field::MemoryUsed, None),
        ],
    );
    assert_eq!(readings.failed, Vec::<&str>::new());
    assert_eq!(readings.processes, Reading::Unsupported);
}

/// A tree with nothing but a render node, no `uevent`, and the sensors in their own class.
#[test]
fn a_tree_with_a_render_node_alone_is_read() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join("sys/class").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("drm/renderD130/device/vendor", "0x1002\n");
    write("drm/renderD130/device/uevent", "PCI_SLOT_NAME=0000:0C:00.0\n");
    write("drm/renderD130/device/gpu_busy_percent", "7\n");
    write("hwmon/hwmon0/name", "nvme\n");
    write("hwmon/hwmon4/name", "amdgpu\n");
    write("hwmon/hwmon4/device/uevent", "PCI_SLOT_NAME=0000:0c:00.0\n");
    write("hwmon/hwmon4/power1_input", "9000000\n");
    // A partition's node is behind a platform device, and one of another driver is somebody else's.
    write(
        "drm/renderD131/device/uevent",
        "DRIVER=amdgpu_xcp\nMODALIAS=platform:amdgpu_xcp\n",
    );
    write(
        "drm/renderD132/device/uevent",
        "DRIVER=nvidia\nPCI_ID=10DE:2330\n",
    );
    let driver = load(root.path()).unwrap();
    let listed = driver.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].identity.minor, Some(130));
    assert_eq!(listed[0].identity.model, "AMD GPU");
    let mut readings = DeviceReadings::default();
    driver.open(&listed[0]).unwrap().fast.read(&mut readings).unwrap();
    check(
        &readings,
        &[(Field::Utilization, Some(0.07)), (Field::Power, Some(9.0))],
    );
}

/// The content of a table, the classes that count what is wrong with it, and the power that is read nevertheless.
type Case<'a> = (Option<&'a [u8]>, &'a [&'a str], f64);

/// What is wrong with a table is told apart, and the sensors stand in for it.
#[test]
fn tables_that_are_absent_cut_off_or_unknown_are_told_apart() {
    let gpu = mi300x();
    let node = Node::of(std::slice::from_ref(&gpu));
    let table = fs::read(node.tree.device(&gpu).join("gpu_metrics")).unwrap();
    let mut future = table.clone();
    future[3] = 77;
    let cases: [Case<'_>; 5] = [
        (Some(&table), &[], 312.0),
        (Some(&table[..600]), &["table_truncated"], 312.0),
        (Some(&future), &["table_unknown"], 311.0),
        (Some(&[]), &["table_empty"], 311.0),
        (None, &[], 311.0),
    ];
    for (content, classes, watts) in cases {
        match content {
            Some(content) => node.tree.change(&gpu, "gpu_metrics", content),
            None => fs::remove_file(node.tree.device(&gpu).join("gpu_metrics")).unwrap(),
        }
        let readings = node.read(0);
        assert_eq!(readings.failed, classes);
        check(
            &readings,
            &[
                (Field::Power, Some(watts)),
                (Field::Temperature, Some(48.0)),
                (Field::Utilization, Some(0.42)),
            ],
        );
    }
}

#[test]
fn a_counter_that_was_there_has_failed_when_it_is_not() {
    let gpu = mi300x();
    let node = Node::of(std::slice::from_ref(&gpu));
    let mut fast = node.open(0).fast;
    let mut readings = DeviceReadings::default();
    fast.read(&mut readings).unwrap();
    node.tree.change(&gpu, "gpu_metrics", []);
    fast.read(&mut readings).unwrap();
    assert_eq!(readings.values.get(Field::Energy), Reading::Failed);
    assert_eq!(readings.values.get(Field::EdgeTemperature), Reading::Unsupported);
}

#[test]
fn a_file_that_cannot_be_read_has_failed_and_one_with_nonsense_too() {
    let gpu = rx7900xtx();
    let node = Node::of(std::slice::from_ref(&gpu));
    let device = node.tree.device(&gpu);
    fs::remove_file(device.join("mem_busy_percent")).unwrap();
    fs::create_dir(device.join("mem_busy_percent")).unwrap();
    node.tree.change(&gpu, "mem_info_vram_used", "plenty\n");
    let readings = node.read(0);
    assert_eq!(
        readings.values.get(Field::MemoryBandwidthUtilization),
        Reading::Failed
    );
    assert_eq!(readings.values.get(Field::MemoryUsed), Reading::Failed);
    assert_eq!(readings.failed, ["malformed", "io"]);
    assert_eq!(readings.values.known(Field::Utilization), Some(0.42));
}

#[test]
fn a_device_that_goes_is_no_longer_listed_and_a_driver_that_goes_is_gone() {
    let gpus = [mi210(), mi210().at(1)];
    let node = Node::of(&gpus);
    assert_eq!(node.list().len(), 2);
    node.tree.unplug(&gpus[0]);
    let left = node.list();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].identity.pci_bus_id, gpus[1].address);
    fs::remove_dir_all(&node.tree.sysfs).unwrap();
    assert_eq!(node.driver.list(), Err(DriverFault::Gone));
    assert_eq!(node.driver.open(&left[0]).err(), Some(DriverFault::DeviceLost));
}

#[test]
fn a_gpu_that_is_divided_anew_is_opened_anew() {
    let whole = mi300x();
    let node = Node::of(std::slice::from_ref(&whole));
    let before = node.list();
    fs::remove_dir_all(&node.tree.sysfs).unwrap();
    let divided = mi300x_cpx();
    node.tree.plant(std::slice::from_ref(&divided));
    let generation = node.tree.sysfs.join("class/kfd/kfd/topology/generation_id");
    fs::write(generation, "9\n").unwrap();
    let after = node.list();
    assert_eq!(after[0].identity.uuid, before[0].identity.uuid);
    assert_ne!(after[0].layout, before[0].layout);
    assert_eq!(node.read(0).slices.len(), 8);
}

#[test]
fn partitions_are_found_without_their_platform_devices() {
    let node = Node::of(&[mi300x_cpx()]);
    fs::remove_dir_all(node.tree.sysfs.join("devices/platform")).unwrap();
    let driver = load(node.tree.sysfs.parent().unwrap()).unwrap();
    let listed = driver.list().unwrap();
    let mut readings = DeviceReadings::default();
    driver.open(&listed[0]).unwrap().fast.read(&mut readings).unwrap();
    assert_eq!(readings.slices.len(), 8);
    assert_eq!(readings.slices[7].uuid, "0000:05:00.0-7");
}

/// Whatever bytes are in whatever file, the reader answers or fails, and never panics.
#[test]
fn garbage_in_every_file_harms_nobody() {
    let gpu: Gpu = mi300x_cpx().process(7, 0, 1 << 20, 3);
    for garbage in [
        &b"\xff\xfe\x00\x80"[..],
        b"-1\n",
        b"99999999999999999999999\n",
        b"* : * :\n\n0:Mhz*",
        &[0; 4096],
    ] {
        let node = Node::of(std::slice::from_ref(&gpu));
        let mut readers = node.open(0);
        overwrite(&node.tree.sysfs, garbage);
        let mut readings = DeviceReadings::default();
        for _ in 0..2 {
            let _ = readers.fast.read(&mut readings);
            let _ = readers.slow.read(&mut readings);
        }
        for device in node.driver.list().unwrap_or_default() {
            let _ = node
                .driver
                .open(&device)
                .map(|mut readers| readers.fast.read(&mut readings));
        }
    }
}

/// Every plain file below a directory.
fn overwrite(directory: &Path, content: &[u8]) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            overwrite(&entry.path(), content);
        } else if kind.is_file() {
            fs::write(entry.path(), content).unwrap();
        }
    }
}
