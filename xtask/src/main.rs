//! The workshop of the repository: `cargo xtask check` is the inner loop, `cargo xtask test` runs everything against
//! the real programs, `cargo xtask soak` holds what takes longer than a test run may.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an edge crate: it runs cargo, git and the package managers"
)]

#[expect(unreachable_pub, reason = "the file is part of a library too")]
#[path = "../../crates/gpu-testbed/src/cache_layout.rs"]
mod cache_layout;
mod check;
mod image;
mod prepare;
mod prices;
mod run_tests;
mod shell;
mod soak;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Checks, tests and long runs of gpu-autoscaler",
    version
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The fast inner loop: format, lints, unit tests, purity, licences, tidiness
    Check,
    /// Get all that the tests need, then run every test against the real programs
    Test(run_tests::Options),
    /// Only get what the tests need (system packages, Kubernetes, helm, moto), without running a test
    Prepare,
    /// The long tier: million-case properties and long runs of the real programs
    Soak(soak::Options),
    /// Pack a program into a container image, without a container engine
    Image(image::Options),
    /// Make the bundled table of prices from price lists, or prove that it is sound
    Prices(prices::Options),
    /// Rewrite golden files and other files that are made from code
    Bless,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Check => check::run(),
        Command::Test(options) => run_tests::run(&options),
        Command::Prepare => prepare::run(),
        Command::Soak(options) => soak::run(&options),
        Command::Image(options) => image::run(&options),
        Command::Prices(options) => prices::run(&options),
        Command::Bless => run_tests::bless(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
