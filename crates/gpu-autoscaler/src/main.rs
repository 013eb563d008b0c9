//! The control plane, the command line and the demo of gpu-autoscaler. This file only wires.

mod api;
mod catalog;
mod cli;
mod demo;
mod fleet;
mod pages;
mod ui;

use std::process::ExitCode;

use clap::Parser as _;
use gpu_runtime::{Chain, Terminal, complain, start_logging};

use cli::{Cli, Command};

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(Chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(cli: Cli) -> anyhow::Result<()> {
    start_logging(cli.log_level, cli.log_format)?;
    match cli.command {
        Some(Command::Demo(options)) => gpu_runtime::run(demo::run(options))?,
        None => {
            Terminal::stdout().say(cli::help());
            Ok(())
        }
    }
}
