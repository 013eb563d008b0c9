//! Trees of both drivers, and counters as rates.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpu_model::Reading;

use super::{IntelLoader, Rate, awake};
use crate::readings::{DeviceReadings, Field};
use crate::source::{DriverFault, DriverLoader as _};

struct Tree(tempfile::TempDir);

impl Tree {
    fn write(&self, directory: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = self.0.path().join(directory).join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    fn card(&self, number: u32, driver: &str, id: &str, address: &str) {
        let events = format!("DRIVER={driver}\nPCI_ID={id}\nPCI_SLOT_NAME={address}");
        self.write(&format!("class/drm/card{number}/device"), &[("uevent", &events)]);
    }

    fn loader(&self) -> IntelLoader {
        IntelLoader {
            sysfs: self.0.path().to_path_buf(),
            procfs: PathBuf::from("/nowhere"),
        }
    }

    /// What a card says at its first reading.
    #[track_caller]
    fn check(&self, uuid: &str, expected: &[(Field, Option<f64>)]) {
        let driver = self.loader().load().unwrap();
        let listed = driver.list().unwrap();
        let device = listed.iter().find(|device| device.identity.uuid == uuid);
        let mut readers = driver.open(device.unwrap()).unwrap();
        let mut readings = DeviceReadings::default();
        readers.fast.read(&mut readings).unwrap();
        readers.slow.read(&mut readings).unwrap();
        for (field, value) in expected {
            assert_eq!(readings.values.known(*field), *value, "{field:?}");
        }
    }
}

/// A card under each driver, and what must not be taken for one.
fn machine() -> Tree {
    let tree = Tree(tempfile::tempdir().unwrap());
    tree.card(0, "i915", "8086:4680", "0000:00:02.0");
    tree.card(3, "amdgpu", "1002:67DF", "0000:09:00.0");
    tree.card(1, "xe", "8086:E20B", "0000:4d:00.0");
    let unit = [
        ("gtidle/idle_residency_ms", "1000"),
        ("freq0/act_freq", "2850"),
        ("freq0/rp0_freq", "2900"),
    ];
    tree.write("class/drm/card1/device/tile0/gt0", &unit);
    let device = [
        ("tile0/physical_vram_size_bytes", "12884901888"),
        ("drm/renderD128/dev", "226:128"),
    ];
    tree.write("class/drm/card1/device", &device);
    let sensors = [
        ("name", "xe"),
        ("energy1_input", "5000000"),
        ("power1_max", "0"),
        ("temp2_input", "46000"),
    ];
    tree.write("class/drm/card1/device/hwmon/hwmon4", &sensors);
    tree.card(2, "i915", "8086:56C0", "0000:03:00.0");
    tree.write(
        "class/drm/card2/gt/gt0",
        &[("rc6_residency_ms", "77"), ("rps_act_freq_mhz", "2050")],
    );
    tree.write(
        "class/drm/card2/device/hwmon/hwmon1",
        &[("name", "i915_gt0"), ("energy1_input", "1")],
    );
    let sensors = [
        ("name", "i915"),
        ("energy1_input", "9000000"),
        ("power1_max", "120000000"),
    ];
    tree.write("class/drm/card2/device/hwmon/hwmon2", &sensors);
    tree
}

#[test]
fn cards_of_both_drivers_are_found_and_the_graphics_of_a_processor_are_not() {
    let tree = machine();
    let listed = tree.loader().load().unwrap().list().unwrap();
    let found = listed
        .iter()
        .map(|device| (device.identity.index, device.identity.pci_bus_id.as_str()));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [(0, "00000000:03:00.0"), (1, "00000000:4d:00.0")]
    );
    assert_eq!(listed[1].identity.board.render, Some(128));
    let empty = Tree(tempfile::tempdir().unwrap());
    assert!(matches!(empty.loader().load(), Err(DriverFault::Absent(_))));
    let on_bus = [("vendor", "0x8086"), ("class", "0x030000")];
    empty.write("bus/pci/devices/0000:00:02.0", &on_bus);
    assert!(!empty.loader().sees_hardware());
    empty.write("bus/pci/devices/0000:4d:00.0", &on_bus);
    assert!(
        empty.loader().sees_hardware(),
        "a card is there whose driver is not"
    );
}

#[test]
fn a_card_says_what_its_files_say_and_nothing_is_made_up() {
    let xe = [
        (Field::GraphicsClock, Some(2.85e9)),
        (Field::GraphicsClockMax, Some(2.9e9)),
        (Field::Energy, Some(5.0)),
        (Field::Temperature, Some(46.0)),
        (Field::MemoryTotal, Some(12_884_901_888.0)),
        // Switched off; not known after one reading; in no file.
        (Field::PowerLimit, None),
        (Field::Power, None),
        (Field::Utilization, None),
        (Field::MemoryUsed, None),
    ];
    machine().check("intel-0000:4d:00.0", &xe);
    let i915 = [
        (Field::GraphicsClock, Some(2.05e9)),
        (Field::Energy, Some(9.0)),
        (Field::PowerLimit, Some(120.0)),
        (Field::Temperature, None),
        (Field::MemoryTotal, None),
    ];
    machine().check("intel-0000:03:00.0", &i915);
    let asleep = machine();
    asleep.write("class/drm/card1/device/power", &[("runtime_status", "suspended")]);
    asleep.check(
        "intel-0000:4d:00.0",
        &[(Field::Utilization, Some(0.0)), (Field::GraphicsClock, None)],
    );
}

#[test]
fn counters_are_rates_between_readings_that_are_far_enough_apart() {
    let begin = Instant::now();
    let mut rate = Rate::default();
    let mut between = |at, count| rate.between(begin + Duration::from_millis(at), count);
    assert_eq!(between(0, 1000), Reading::Unsupported);
    assert_eq!(between(1, 1001), Reading::Unsupported);
    assert_eq!(between(500, 1200), Reading::Known(400.0));
    // The card was reset, and counts from there.
    assert_eq!(between(1000, 5), Reading::Unsupported);
    assert_eq!(between(2000, 105), Reading::Known(100.0));
    assert_eq!([awake(0.0), awake(250.0), awake(1003.0)], [1.0, 0.75, 0.0]);
}
