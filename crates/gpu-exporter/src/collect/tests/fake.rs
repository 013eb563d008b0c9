//! A driver of ours that hangs, loses devices, restarts and changes on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use gpu_model::{Reading, Vendor};

use crate::readings::{DeviceReadings, Field, ThrottleReason, ThrottleSet};
use crate::snapshot::{Board, Identity};
use crate::source::{DeviceReader, Driver, DriverFault, DriverLoader, Fault, FaultStream, Listed, Readers};

/// What the fake driver is told to do.
#[derive(Default)]
pub(super) struct Orders {
    pub(super) devices: Vec<u32>,
    pub(super) layout: String,
    pub(super) hung: BTreeSet<u32>,
    pub(super) slow_hung: BTreeSet<u32>,
    pub(super) lost: BTreeSet<u32>,
    /// Opening these fails.
    pub(super) closed: BTreeSet<u32>,
    /// What the driver counts of one reason by itself, where it does.
    pub(super) throttled_seconds: Option<f64>,
    pub(super) gone: bool,
    pub(super) version_changed: bool,
    pub(super) faults: Vec<Fault>,
    pub(super) loads: u32,
    pub(super) opened: u32,
    pub(super) inside: BTreeMap<u32, u32>,
}

#[derive(Clone, Default)]
pub(super) struct Fake(Arc<(Mutex<Orders>, Condvar)>);

impl Fake {
    pub(super) fn with_devices(count: u32) -> Self {
        let fake = Self::default();
        fake.order(|orders| orders.devices = (0..count).collect());
        fake
    }

    pub(super) fn order<T>(&self, change: impl FnOnce(&mut Orders) -> T) -> T {
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
        if self.order(|orders| orders.closed.contains(&device.identity.index)) {
            return Err(DriverFault::Failed { class: "unknown" });
        }
        self.order(|orders| orders.opened += 1);
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
            let (orders, changed) = &*self.fake.0;
            let orders = changed
                .wait_while(orders.lock().unwrap(), |orders| {
                    orders.slow_hung.contains(&self.index)
                })
                .unwrap();
            into.set(Field::PcieLinkWidth, Reading::Known(16.0));
            let counted = orders
                .throttled_seconds
                .map_or(Reading::Unsupported, Reading::Known);
            into.throttle_seconds[ThrottleReason::PowerCap as usize] = counted;
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
        into.throttled = Reading::Known(ThrottleSet::default());
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
        board: Board::default(),
    }
}
