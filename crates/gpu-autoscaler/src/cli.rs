//! The command line: every flag, its bounds and the words that teach it.

pub(crate) mod cost;
pub(crate) mod people;
pub(crate) mod serve;

use std::net::{Ipv4Addr, SocketAddr};

use clap::builder::StyledStr;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use gpu_runtime::{LogFormat, LogLevel};

use crate::replay::ReplayOptions;

const TRY_IT: &str = "\
Try it, with no GPU and no cluster:
  gpu-autoscaler demo               96 simulated GPUs on http://127.0.0.1:8080
  gpu-autoscaler demo --nodes 100   a larger fleet
  gpu-autoscaler demo --help        all its settings

On a running demo or control plane:
  gpu-autoscaler status --server http://127.0.0.1:8080
  gpu-autoscaler optimize           every finding with its fix, the dearest first
  gpu-autoscaler explain pod/NAME   why

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 findings at or above --fail-on.";

/// Sees what every GPU of a Kubernetes fleet does and for whom, finds the waste and gives it back.
#[derive(Debug, Parser)]
#[command(name = "gpu-autoscaler", version, after_help = TRY_IT)]
pub(crate) struct Cli {
    /// How much to log on standard error: error, warn, info, debug, trace, or `info,hyper=warn`
    #[arg(
        long,
        global = true,
        help_heading = "Logging",
        value_name = "LEVEL",
        default_value = "warn",
        env = "GPU_AUTOSCALER_LOG_LEVEL"
    )]
    pub(crate) log_level: LogLevel,

    /// The form of log lines: text or json
    #[arg(
        long,
        global = true,
        help_heading = "Logging",
        value_name = "FORMAT",
        default_value = "text",
        env = "GPU_AUTOSCALER_LOG_FORMAT"
    )]
    pub(crate) log_format: LogFormat,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one value, made once at the start")]
pub(crate) enum Command {
    /// Watch a cluster, find GPU waste and tell owners
    #[command(long_about = serve::SERVE)]
    Serve(serve::ServeOptions),

    /// Show the fleet, its waste and the control plane on one screen
    Status(people::StatusOptions),

    /// List what is wasted, what it costs and what to do, the dearest first
    Optimize(people::OptimizeOptions),

    /// Show what GPU time cost, who carried it and how much of it was used
    Cost(cost::CostOptions),

    /// Say why a pod or a node was judged as it was
    Explain(people::ExplainOptions),

    /// Stop all writes of the control plane, on every replica, until `resume`
    Pause(people::PauseOptions),

    /// Let the control plane write again
    Resume(people::PauseOptions),

    /// Show a simulated GPU fleet on a live web page, as Prometheus metrics and as JSON
    #[command(long_about = DEMO, allow_negative_numbers = true)]
    Demo(DemoOptions),

    /// Measure how good waste detection is, on labelled fleets
    #[command(long_about = REPLAY)]
    Replay(ReplayOptions),
}

const REPLAY: &str = "\
Measure how good waste detection is, on labelled fleets: precision and recall of our rules, of the naive rule \
`below 50 % for 5 minutes`, and of ours with each signal left out.

The fleets are simulated and their labels come from what the simulator hides from detectors; a trace of your own with \
labels of your own is taken by --trace and --labels. Ends with 1 when the set is too easy to tell rules apart.";

const DEMO: &str = "\
Show a simulated GPU fleet on a live web page, as Prometheus metrics and as JSON.

Nothing here is measured: the fleet comes from a seed, and the same seed gives the same fleet. The page carries a banner, \
the JSON says \"source\":\"sim\", and every GPU series under /metrics carries the label source=\"sim\".";

/// The settings of `demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoOptions {
    /// How many nodes to simulate, 1 to 5000; most have eight GPUs
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=MAX_NODES),
          env = "GPU_AUTOSCALER_NODES")]
    pub(crate) nodes: u32,

    /// Where the fleet comes from: the same seed gives the same fleet and the same events
    #[arg(long, default_value_t = 1, env = "GPU_AUTOSCALER_SEED")]
    pub(crate) seed: u64,

    /// Simulated seconds per real second, 1 to 3600: 60 shows an hour in a minute
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=MAX_SPEED),
          env = "GPU_AUTOSCALER_SPEED")]
    pub(crate) speed: u32,

    /// The address and port to serve on; port 0 takes any free one and prints it
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = parse_address,
          env = "GPU_AUTOSCALER_LISTEN")]
    pub(crate) listen: SocketAddr,
}

/// Forty thousand GPUs, which is what the simulation moves on in a second.
const MAX_NODES: i64 = 5000;

/// An hour in a second; a night's traffic then passes in ten.
const MAX_SPEED: i64 = 3600;

/// The help of the program as it is printed when it is started without a command.
pub(crate) fn help() -> StyledStr {
    Cli::command().render_help()
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Some(port) = text.strip_prefix("localhost:") {
        let port = port
            .parse()
            .map_err(|_| format!("`{port}` is no port: give a number from 0 to 65535"))?;
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| {
        "give an address and a port, 127.0.0.1:8080 for this machine alone or 0.0.0.0:8080 for all networks".to_owned()
    })
}
