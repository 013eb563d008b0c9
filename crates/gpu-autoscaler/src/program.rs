//! From the command line to the command.

use std::process::ExitCode;

use clap::Parser as _;
use gpu_runtime::{Chain, Terminal, complain, start_logging};

use crate::cli::{self, Cli, Command};
use crate::demo;

/// The program. Its exit code is 0 when all went well, 1 when not; wrong usage ends with 2 before this returns.
pub fn main() -> ExitCode {
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
