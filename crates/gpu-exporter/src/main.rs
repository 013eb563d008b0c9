//! The program: what it is told, and the parts it is made of.

use std::process::ExitCode;

use clap::Parser as _;
use gpu_exporter::program::{self, Parts};
use gpu_exporter::settings::{Cli, Settings, Source, with_two_dashes};
use gpu_exporter::source::DriverLoader;

fn main() -> ExitCode {
    let parts = Parts {
        loaders,
        ..Parts::default()
    };
    let arguments = with_two_dashes(std::env::args_os());
    program::run(&Cli::parse_from(arguments), &parts)
}

fn loaders(settings: &Settings) -> Vec<Box<dyn DriverLoader>> {
    match settings.source {
        Source::Drivers => program::drivers(settings),
        #[cfg(feature = "sim")]
        Source::Sim => vec![Box::new(gpu_exporter::source::sim::SimLoader)],
        #[cfg(not(feature = "sim"))]
        Source::Sim => Vec::new(),
    }
}
