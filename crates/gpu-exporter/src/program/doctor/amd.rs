//! The doctor's look at AMD's GPUs: are their files readable, does the compute driver tell of them, and are they awake.

use std::sync::mpsc;

use super::{Finding, PATIENCE, Verdict};
use crate::readings::DeviceReadings;
use crate::settings::Settings;
use crate::source::amd::AmdLoader;
use crate::source::{Driver, DriverFault, DriverLoader as _, Listed};

/// Nobody reads more lines than this; the others are summed up.
const MOST_LINES: usize = 16;

/// A line for each GPU and one for the compute driver; none on machines without the driver.
pub(super) fn examine(settings: &Settings) -> Vec<Finding> {
    let sysfs = crate::program::devices_root(settings);
    let loader = AmdLoader::new(
        sysfs.clone(),
        settings.procfs.clone(),
        super::ownership::sight(settings),
    );
    let topology = sysfs.join("class/kfd/kfd/topology/nodes");
    let (sender, findings) = mpsc::channel();
    let started = std::thread::Builder::new().spawn(move || {
        let found = loader.load().and_then(|driver| {
            let devices = driver.list()?;
            let mut findings: Vec<Finding> = devices
                .iter()
                .take(MOST_LINES)
                .map(|device| look_at(driver.as_ref(), device))
                .collect();
            if !devices.is_empty() {
                findings.push(compute_driver(&topology));
            }
            Ok(findings)
        });
        // Nobody waits any more when the time is over.
        let _ = sender.send(found);
    });
    let hangs = || {
        Finding::new(
            Verdict::Bad,
            "AMD GPUs",
            "their files do not answer; look at the kernel's log",
        )
    };
    match started.map(|_| findings.recv_timeout(PATIENCE)) {
        Ok(Ok(Ok(findings))) => findings,
        // What is wrong with the driver has a line of its own.
        Ok(Ok(Err(_))) => Vec::new(),
        Ok(Err(_)) => vec![hangs()],
        Err(error) => {
            let words = format!("no thread could be started: {error}");
            vec![Finding::new(Verdict::Bad, "AMD GPUs", words)]
        }
    }
}

fn look_at(driver: &dyn Driver, device: &Listed) -> Finding {
    let identity = &device.identity;
    let name = format!("AMD GPU {}", identity.index);
    let mut readings = DeviceReadings::default();
    let outcome = driver
        .open(device)
        .and_then(|mut readers| readers.fast.read(&mut readings));
    let count = readings.values.iter().count();
    let words = format!(
        "{} at {}, {count} values, {} partitions",
        identity.model,
        identity.pci_bus_id,
        readings.slices.len()
    );
    match (outcome, readings.failed.first()) {
        (Err(DriverFault::DeviceLost), _) => Finding::new(
            Verdict::Bad,
            name,
            format!("{words}; it is gone: look at the kernel's log"),
        ),
        (Err(fault), _) => Finding::new(Verdict::Bad, name, format!("{words}; {fault}")),
        (Ok(()), Some(class)) => {
            let fix = match *class {
                "no_permission" => "let the exporter read the files of /sys",
                "table_unknown" | "table_unknown_type" => "this driver is newer than the exporter: update it",
                _ => "look at the kernel's log",
            };
            Finding::new(
                Verdict::Poor,
                name,
                format!("{words}; some failed (`{class}`): {fix}"),
            )
        }
        (Ok(()), None) => Finding::new(Verdict::Good, name, words),
    }
}

fn compute_driver(topology: &std::path::Path) -> Finding {
    let name = "AMD compute driver";
    match std::fs::read_dir(topology) {
        Ok(_) => Finding::new(Verdict::Good, name, "its topology can be read"),
        Err(error) => Finding::new(
            Verdict::Poor,
            name,
            format!(
                "its topology cannot be read ({error}), so that partitions and computing processes are not seen; load \
                 the kernel with HSA_AMD, or mount all of the host's /sys"
            ),
        ),
    }
}
