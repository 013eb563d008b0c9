//! From the command line to the command.

use std::process::ExitCode;

use clap::Parser as _;
use gpu_runtime::{Chain, Terminal, complain, start_logging};

use crate::cli::{self, Cli, Command};
use crate::commands::{self, Ending};
use crate::{demo, replay, serve};

/// The program. Its exit code is 0 when all went well, 1 when not, 3 for findings that a script asked about; wrong usage ends
/// with 2 before this returns.
pub fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Findings) => ExitCode::from(FINDINGS),
        Err(error) => {
            complain(Chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// Findings at or above the score that a script asked about.
const FINDINGS: u8 = 3;

fn dispatch(cli: Cli) -> anyhow::Result<Ending> {
    start_logging(cli.log_level, cli.log_format)?;
    match cli.command {
        Some(Command::Demo(options)) => gpu_runtime::run(demo::run(options))?.map(|()| Ending::Done),
        Some(Command::Serve(options)) => gpu_runtime::run(serve::run(options))?.map(|()| Ending::Done),
        Some(Command::Replay(options)) => replay::run(&options).map(|()| Ending::Done),
        Some(Command::Status(options)) => gpu_runtime::run(commands::status(options))?,
        Some(Command::Optimize(options)) => gpu_runtime::run(commands::optimize(options))?,
        Some(Command::Cost(options)) => gpu_runtime::run(commands::cost(options))?,
        Some(Command::Explain(options)) => gpu_runtime::run(commands::explain(options))?,
        Some(Command::Pause(options)) => gpu_runtime::run(commands::pause(options))?,
        Some(Command::Resume(options)) => gpu_runtime::run(commands::resume(options))?,
        None => {
            Terminal::stdout().say(cli::help());
            Ok(Ending::Done)
        }
    }
}
