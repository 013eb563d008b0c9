//! The long tier: the same tests with more cases and more time. The normal run takes a sample of each.

use anyhow::Result;
use clap::Args;

use crate::{shell, workspace};

#[derive(Args)]
pub(crate) struct Options {
    /// Cases for each property
    #[arg(long, default_value_t = 1_000_000)]
    cases: u32,
    /// Seconds for each long run of a real program
    #[arg(long, default_value_t = 3600)]
    seconds: u32,
}

/// The packages that state properties; their other tests run along, which costs nothing beside the cases.
const PROPERTIES: &[&str] = &[
    "gpu-cost",
    "gpu-exporter",
    "gpu-exposition",
    "gpu-model",
    "gpu-nvml",
    "gpu-sim",
    "gpu-store",
];

/// Runs every property with many cases, then every test whose name begins with `soak_` for a long time.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root();
    shell::step(&format!("properties, {} cases each", options.cases), || {
        let mut command = shell::cargo(&root);
        command
            .env("PROPTEST_CASES", options.cases.to_string())
            .args(["test", "--release", "--locked"]);
        for package in PROPERTIES {
            command.args(["--package", package]);
        }
        shell::run(&mut command)
    })?;
    shell::step(&format!("long runs, {} s each", options.seconds), || {
        shell::run(
            shell::cargo(&root)
                .env("GPU_SOAK_SECONDS", options.seconds.to_string())
                .args([
                    "test",
                    "--release",
                    "--workspace",
                    "--locked",
                    "--",
                    "soak_",
                    "--nocapture",
                ]),
        )
    })
}
