//! The program: what it is told, and the parts it is made of.

use std::process::ExitCode;

use clap::Parser as _;
use gpu_exporter::program::{self, Parts};
use gpu_exporter::settings::Cli;

fn main() -> ExitCode {
    program::run(&Cli::parse(), &Parts::default())
}
