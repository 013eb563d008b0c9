//! One run for all devices: what a reader sees of it, and how often.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gpu_model::{Reading, Vendor};

use super::{Answer, Pace, Told, Tool, ToolDriver};
use crate::readings::{DeviceReadings, Field};
use crate::snapshot::{Board, Identity};
use crate::source::{Driver as _, DriverFault, Listed};

pub(super) fn told(uuid: &str, utilization: f64) -> Told {
    let identity = Identity {
        vendor: Vendor::Nvidia,
        index: 0,
        minor: None,
        uuid: uuid.to_owned(),
        model: String::new(),
        pci_bus_id: uuid.to_owned(),
        serial: None,
        vbios: None,
        driver_version: String::new(),
        architecture: None,
        board: Board::default(),
    };
    let mut readings = DeviceReadings::default();
    readings.set(Field::Utilization, Reading::Known(utilization));
    Told {
        listed: Listed {
            identity: Arc::new(identity),
            layout: Vec::new(),
        },
        outcome: Ok(readings),
    }
}

/// Answers what it is told to and counts.
#[derive(Clone)]
struct Scripted {
    runs: Arc<AtomicUsize>,
    next: Arc<Mutex<Result<Answer, DriverFault>>>,
}

impl Tool for Scripted {
    fn ask(&mut self) -> Result<Answer, DriverFault> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.next.lock().unwrap().clone()
    }
}

fn answer(devices: &[Told]) -> Result<Answer, DriverFault> {
    Ok(Answer {
        devices: devices.to_vec(),
        undescribed: Vec::new(),
    })
}

#[track_caller]
fn until(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is() {
        assert!(Instant::now() < deadline, "not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn readers_share_a_run_and_see_each_once() {
    let tool = Scripted {
        runs: Arc::default(),
        next: Arc::new(Mutex::new(answer(&[told("a", 0.5), told("b", 0.25)]))),
    };
    let pace = Pace {
        interval: Duration::from_millis(200),
        patience: Duration::from_secs(1),
    };
    let driver = ToolDriver::start("test", Box::new(tool.clone()), pace).unwrap();
    let listed = driver.list().unwrap();
    assert_eq!(listed.len(), 2);
    let mut first = driver.open(&listed[0]).unwrap().fast;
    let mut second = driver.open(&listed[1]).unwrap().fast;
    let mut into = DeviceReadings::default();
    first.read(&mut into).unwrap();
    assert_eq!(into.values.known(Field::Utilization), Some(0.5));
    second.read(&mut into).unwrap();
    assert_eq!(into.values.known(Field::Utilization), Some(0.25));
    let at = first.measured_at();
    assert!(at.is_some() && at == second.measured_at());
    for _ in 0..100 {
        first.read(&mut into).unwrap();
    }
    assert_eq!(first.measured_at(), at, "the same answer is the same sample");
    assert!(
        tool.runs.load(Ordering::SeqCst) <= 2,
        "reading does not run the tool"
    );

    *tool.next.lock().unwrap() = Err(DriverFault::Failed { class: "timeout" });
    until("the fault is listed", || driver.list().is_err());
    assert_eq!(
        first.read(&mut into),
        Err(DriverFault::Failed { class: "timeout" })
    );
    *tool.next.lock().unwrap() = answer(&[told("b", 0.75)]);
    until("it answers again", || driver.list().is_ok());
    assert_eq!(first.read(&mut into), Err(DriverFault::DeviceLost));
    second.read(&mut into).unwrap();
    assert_eq!(into.values.known(Field::Utilization), Some(0.75));
    *tool.next.lock().unwrap() = Err(DriverFault::Absent("gone".to_owned()));
    until("a tool that went away lets everything go", || {
        driver.list() == Err(DriverFault::Gone)
    });

    drop(driver);
    until("the thread ends with the driver", || {
        Arc::strong_count(&tool.runs) == 1
    });
}

#[test]
fn a_device_that_was_never_read_never_looks_well() {
    let mut lost = told("a", 0.0);
    lost.outcome = Err(DriverFault::DeviceLost);
    let tool = Scripted {
        runs: Arc::default(),
        next: Arc::new(Mutex::new(answer(&[lost]))),
    };
    let pace = Pace {
        interval: Duration::from_secs(100),
        patience: Duration::from_secs(1),
    };
    let driver = ToolDriver::start("test", Box::new(tool), pace).unwrap();
    let mut reader = driver.open(&driver.list().unwrap()[0]).unwrap().fast;
    for _ in 0..3 {
        assert_eq!(
            reader.read(&mut DeviceReadings::default()),
            Err(DriverFault::DeviceLost)
        );
    }
}
