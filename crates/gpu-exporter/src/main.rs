//! The program: what it is told, and the parts it is made of.

use std::process::ExitCode;

use clap::Parser as _;
use gpu_exporter::program::{self, Parts};
use gpu_exporter::settings::{Cli, Settings, Source};
use gpu_exporter::source::DriverLoader;
use gpu_exporter::source::nvidia::NvidiaLoader;

fn main() -> ExitCode {
    let parts = Parts {
        loaders,
        ..Parts::default()
    };
    program::run(&Cli::parse(), &parts)
}

fn loaders(settings: &Settings) -> Vec<Box<dyn DriverLoader>> {
    match settings.source {
        Source::Drivers => vec![Box::new(NvidiaLoader::new(settings.nvml_library.clone()))],
        #[cfg(feature = "sim")]
        Source::Sim => vec![Box::new(gpu_exporter::source::sim::SimLoader)],
        #[cfg(not(feature = "sim"))]
        Source::Sim => Vec::new(),
    }
}
