//! The collector against a driver of ours that hangs, loses devices, restarts and changes on demand. Times are short and every
//! wait has a deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use gpu_model::{Reading, Vendor};
use gpu_runtime::SystemClock;

use super::{Collector, Hold, Intervals, NoAttribution, Surroundings};
use crate::readings::{DeviceReadings, Field};
use crate::snapshot::{DeviceState, Identity, NodeSnapshot, Origin};
use crate::source::{
    DeviceReader, Driver, DriverFault, DriverLoader, Fault, FaultDevice, FaultStream, Listed, Readers,
};

/// What the fake driver is told to do.
#[derive(Default)]
struct Orders {
    devices: Vec<u32>,
    layout: String,
    hung: BTreeSet<u32>,
    lost: BTreeSet<u32>,
    gone: bool,
    version_changed: bool,
    faults: Vec<Fault>,
    loads: u32,
    inside: BTreeMap<u32, u32>,
}

#[derive(Clone, Default)]
struct Fake(Arc<(Mutex<Orders>, Condvar)>);

impl Fake {
    fn with_devices(count: u32) -> Self {
        let fake = Self::default();
        fake.order(|orders| orders.devices = (0..count).collect());
        fake
    }

    fn order<T>(&self, change: impl FnOnce(&mut Orders) -> T) -> T {
        let answer = change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
        answer
    }

    fn driver_fault(&self) -> Result<(), DriverFault> {
        self.order(|orders| match (orders.gone, orders.version_changed) {
            (_, true) => Err(DriverFault::VersionChanged),
            (true, _) => Err(DriverFault::Gone),
            _ => Ok(()),
        })
    }
}

impl DriverLoader for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        if self.order(|orders| orders.gone) {
            return Err(DriverFault::Absent("the driver is not loaded".to_owned()));
        }
        self.order(|orders| orders.loads += 1);
        Ok(Arc::new(self.clone()))
    }
}

impl Driver for Fake {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        self.driver_fault()?;
        Ok(self.order(|orders| {
            let listed = |&index: &u32| Listed {
                identity: Arc::new(identity(index)),
                layout: vec![orders.layout.clone()],
            };
            orders.devices.iter().map(listed).collect()
        }))
    }

    fn open(&self, device: &Listed) -> Result<Readers, DriverFault> {
        let reader = |half| {
            Box::new(Reader {
                fake: self.clone(),
                index: device.identity.index,
                half,
            })
        };
        Ok(Readers {
            fast: reader(Half::Fast),
            slow: reader(Half::Slow),
        })
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        Some(Box::new(self.clone()))
    }
}

impl FaultStream for Fake {
    fn next(&mut self, _within: Duration) -> Result<Option<Fault>, DriverFault> {
        std::thread::sleep(Duration::from_millis(2));
        Ok(self.order(|orders| orders.faults.pop()))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Fast,
    Slow,
}

struct Reader {
    fake: Fake,
    index: u32,
    half: Half,
}

impl DeviceReader for Reader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        if self.half == Half::Slow {
            into.set(Field::PcieLinkWidth, Reading::Known(16.0));
            return Ok(());
        }
        self.fake.driver_fault()?;
        let (orders, changed) = &*self.fake.0;
        let mut orders = orders.lock().unwrap();
        *orders.inside.entry(self.index).or_default() += 1;
        orders = changed
            .wait_while(orders, |orders| orders.hung.contains(&self.index))
            .unwrap();
        *orders.inside.entry(self.index).or_default() -= 1;
        if orders.lost.contains(&self.index) {
            return Err(DriverFault::DeviceLost);
        }
        into.set(Field::Utilization, Reading::Known(0.5));
        into.set(Field::Temperature, Reading::Known(9999.0));
        Ok(())
    }
}

fn identity(index: u32) -> Identity {
    Identity {
        vendor: Vendor::Nvidia,
        index,
        minor: Some(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA T4".to_owned(),
        pci_bus_id: format!("00000000:{index:02x}:00.0"),
        serial: None,
        vbios: None,
        driver_version: "580.82.07".to_owned(),
        architecture: None,
    }
}

fn start(fake: &Fake) -> Collector {
    let intervals = Intervals {
        sample: Duration::from_millis(20),
        slow: Duration::from_millis(50),
        list: Duration::from_millis(30),
    };
    let surroundings = Surroundings {
        node: "node-a".to_owned(),
        origin: Origin::Measured,
        clock: Arc::new(SystemClock),
    };
    Collector::start(
        vec![Box::new(fake.clone())],
        Box::new(NoAttribution),
        surroundings,
        intervals,
    )
    .unwrap()
}

/// Waits for a snapshot that fits, and says what was last seen when none comes.
#[track_caller]
fn wait(collector: &Collector, what: &str, fits: impl Fn(&NodeSnapshot) -> bool) -> Arc<NodeSnapshot> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let snapshot = collector.snapshot();
        if fits(&snapshot) {
            return snapshot;
        }
        assert!(
            Instant::now() < deadline,
            "no snapshot with {what}; the last one: {snapshot:#?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn states(snapshot: &NodeSnapshot) -> Vec<DeviceState> {
    snapshot.devices.iter().map(|device| device.state).collect()
}

fn sampled(snapshot: &NodeSnapshot, count: usize) -> bool {
    snapshot.devices.len() == count && snapshot.devices.iter().all(|device| device.age.is_some())
}

#[test]
fn both_halves_meet_in_one_snapshot_and_nonsense_is_refused() {
    let collector = start(&Fake::with_devices(2));
    let snapshot = wait(&collector, "slow readings", |snapshot| {
        sampled(snapshot, 2)
            && snapshot
                .devices
                .iter()
                .all(|device| device.readings.values.known(Field::PcieLinkWidth).is_some())
    });
    let device = &snapshot.devices[1];
    assert_eq!(device.identity.uuid, "GPU-1");
    assert_eq!(device.readings.values.known(Field::Utilization), Some(0.5));
    assert_eq!(device.readings.values.get(Field::Temperature), Reading::Failed);
    assert!(device.rejected_total > 0);
    assert!(snapshot.sources[0].up);
}

#[test]
fn a_hung_device_costs_only_its_own_series_and_no_more_threads() {
    let fake = Fake::with_devices(3);
    let collector = start(&fake);
    wait(&collector, "all devices", |snapshot| sampled(snapshot, 3));
    fake.order(|orders| orders.hung.insert(1));
    let snapshot = wait(&collector, "a stuck device", |snapshot| {
        states(snapshot) == [DeviceState::Up, DeviceState::Stuck, DeviceState::Up]
            && snapshot.devices[1].age > Some(Duration::from_millis(100))
    });
    assert!(snapshot.devices[0].age < snapshot.devices[1].age);
    assert_eq!(
        fake.order(|orders| orders.inside[&1]),
        1,
        "one thread may be inside the driver for a device"
    );
    fake.order(|orders| orders.hung.clear());
    wait(&collector, "all up again", |snapshot| {
        states(snapshot) == [DeviceState::Up; 3]
    });
}

#[test]
fn a_lost_device_is_shown_as_lost_and_found_again() {
    let fake = Fake::with_devices(2);
    let collector = start(&fake);
    wait(&collector, "all devices", |snapshot| sampled(snapshot, 2));
    fake.order(|orders| orders.lost.insert(1));
    let lost = [DeviceState::Up, DeviceState::Lost];
    let snapshot = wait(&collector, "a lost device", |snapshot| states(snapshot) == lost);
    assert!(snapshot.devices[1].errors["device_lost"] > 0);
    fake.order(|orders| orders.devices = vec![0]);
    wait(&collector, "a departed device", |snapshot| {
        states(snapshot) == lost && snapshot.devices[1].age.is_none()
    });
    fake.order(|orders| {
        orders.devices = vec![0, 1];
        orders.lost.clear();
    });
    wait(&collector, "both again", |snapshot| {
        states(snapshot) == [DeviceState::Up; 2] && sampled(snapshot, 2)
    });
}

#[test]
fn an_unloaded_driver_is_loaded_again_and_a_changed_one_asks_for_a_restart() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "a device", |snapshot| sampled(snapshot, 1));
    fake.order(|orders| orders.gone = true);
    wait(&collector, "no driver", |snapshot| {
        snapshot.devices.is_empty()
            && snapshot.sources[0].problem.as_deref() == Some("the driver is not loaded")
            && !snapshot.sources[0].up
    });
    fake.order(|orders| orders.gone = false);
    wait(&collector, "the device again", |snapshot| sampled(snapshot, 1));
    assert_eq!(fake.order(|orders| orders.loads), 2);
    assert!(!collector.must_restart());
    fake.order(|orders| orders.version_changed = true);
    wait(&collector, "the wish for a restart", |_| collector.must_restart());
}

#[test]
fn the_driver_is_released_on_request() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "a device", |snapshot| sampled(snapshot, 1));
    collector.hold(Hold::Released);
    wait(&collector, "nothing held", |snapshot| {
        snapshot.devices.is_empty() && !snapshot.sources[0].up
    });
    collector.hold(Hold::Held);
    wait(&collector, "the device again", |snapshot| sampled(snapshot, 1));
}

#[test]
fn faults_are_counted_and_survive_the_loss_of_the_device() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "a device", |snapshot| sampled(snapshot, 1));
    let fault = Fault {
        device: FaultDevice::Uuid("GPU-0".to_owned()),
        code: 79,
    };
    fake.order(|orders| orders.faults.push(fault));
    wait(&collector, "one fault", |snapshot| {
        snapshot.devices[0].faults == [(79, 1)]
    });
    fake.order(|orders| orders.devices.clear());
    wait(&collector, "a departed device with its fault", |snapshot| {
        states(snapshot) == [DeviceState::Lost] && snapshot.devices[0].faults == [(79, 1)]
    });
}
