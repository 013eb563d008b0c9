//! Prints what the driver says of every GPU: `readings [path of libnvidia-ml.so.1]`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program: it reads its arguments and prints"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use gpu_nvml::{AnswerExt, Clock, Device, Nvml, ProcessList};

fn main() -> ExitCode {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let nvml = match Nvml::load(path.as_deref()) {
        Ok(nvml) => nvml,
        Err(error) => {
            eprintln!("{}: {error}", error.class());
            return ExitCode::FAILURE;
        }
    };
    println!("driver {} cuda {:?}", nvml.driver(), nvml.cuda_version());
    for index in 0..nvml.device_count().unwrap_or(0) {
        match nvml.device(index) {
            Ok(device) => print(&device),
            Err(fault) => println!("gpu {index}: {fault}"),
        }
    }
    ExitCode::SUCCESS
}

fn print(device: &Device) {
    let identity = match device.identity() {
        Ok(identity) => identity,
        Err(fault) => {
            println!("{fault}");
            return;
        }
    };
    println!("gpu {} {} {}", identity.index, identity.uuid, identity.name);
    println!("  at {} serial {:?}", identity.pci_address, identity.serial);
    println!("  utilization {:?}", device.utilization().reading());
    println!("  memory {:?}", device.memory().reading());
    println!(
        "  power {:?} energy {:?}",
        device.power().reading(),
        device.energy().reading()
    );
    println!("  temperature {:?}", device.temperature().reading());
    println!("  clock {:?}", device.clock(Clock::Sm).reading());
    let mut processes = ProcessList::default();
    match device.processes(&mut processes) {
        Ok(()) => processes.iter().for_each(|process| println!("  {process:?}")),
        Err(fault) => println!("  processes: {fault}"),
    }
    for slice in device.mig_devices().unwrap_or_default() {
        println!(
            "  slice {} {} {:?}",
            slice.profile,
            slice.uuid,
            slice.device.memory().reading()
        );
    }
}
