//! How good waste detection is: a labelled replay set, ours against the naive rule, and with each signal left out.

mod labels;
mod masks;
mod naive;
mod set;
mod table;
mod tally;
mod trace;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use gpu_runtime::Terminal;

use masks::Mask;
use set::{CHECK_SEEDS, Plan, TUNE_SEEDS};

/// The settings of `replay`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayOptions {
    /// Which seeds to play: rules are tuned on `tune` and judged on `check`
    #[arg(long, value_enum, default_value_t = Set::Check)]
    pub(crate) set: Set,

    /// Other seeds than those of the set, such as 1-8 or 3,5
    #[arg(long, value_name = "SEEDS", value_parser = parse_seeds)]
    pub(crate) seeds: Option<Seeds>,

    /// Nodes of each simulated fleet
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) nodes: u32,

    /// Leave no signal out in turn: eight times as fast
    #[arg(long)]
    pub(crate) quick: bool,

    /// Print every mistake
    #[arg(long)]
    pub(crate) mistakes: bool,

    /// A trace of your own instead of the simulated set; see docs/waste.md for its columns
    #[arg(long, value_name = "FILE.csv", requires = "labels")]
    pub(crate) trace: Option<PathBuf>,

    /// The labels of the trace
    #[arg(long, value_name = "FILE.csv", requires = "trace")]
    pub(crate) labels: Option<PathBuf>,

    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Set {
    Tune,
    Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Table,
    Json,
}

/// A list of seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seeds(Vec<u64>);

/// A set of more fleets takes hours and tells no more.
const MOST_SEEDS: u64 = 1000;

fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let problem = || format!("`{text}` is no list of seeds: give 1-8, or 3,5,9");
    let mut seeds = Vec::new();
    for piece in text.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let first: u64 = first.trim().parse().map_err(|_| problem())?;
        let last: u64 = last.trim().parse().map_err(|_| problem())?;
        if last < first || last - first >= MOST_SEEDS {
            return Err(problem());
        }
        seeds.extend(first..=last);
    }
    Ok(Seeds(seeds))
}

pub(crate) fn run(options: &ReplayOptions) -> anyhow::Result<()> {
    let outcome = match (&options.trace, &options.labels) {
        (Some(trace), Some(labels)) => trace::play(&read(trace)?, &read(labels)?, &masks_of(options))?,
        _ => set::play(&plan(options))?,
    };
    let is_valid = table::is_valid(&outcome);
    Terminal::stdout().say(match options.output {
        Output::Table => table::table(&outcome, options.mistakes),
        Output::Json => table::json(&outcome)?,
    });
    if !is_valid {
        bail!(
            "the set is not valid: the naive rule reaches 80 % precision on it, or nothing was labelled, so that it tells good rules from bad ones no longer"
        );
    }
    Ok(())
}

/// A month of a hundred GPUs at a sample a minute; the whole file is held in memory.
const LARGEST_FILE: u64 = 512 << 20;

#[expect(
    clippy::disallowed_methods,
    reason = "a command that reads the files it is given"
)]
fn read(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("failed to read `{}`", path.display());
    let size = std::fs::metadata(path).with_context(failed)?.len();
    if size > LARGEST_FILE {
        bail!(
            "`{}` has {size} bytes and at most {LARGEST_FILE} are read: cut the trace",
            path.display()
        );
    }
    std::fs::read_to_string(path).with_context(failed)
}

fn masks_of(options: &ReplayOptions) -> Vec<Mask> {
    if options.quick {
        Vec::new()
    } else {
        Mask::ALL.to_vec()
    }
}

fn plan(options: &ReplayOptions) -> Plan {
    let of_set = match options.set {
        Set::Tune => TUNE_SEEDS,
        Set::Check => CHECK_SEEDS,
    };
    Plan {
        seeds: options
            .seeds
            .clone()
            .map_or_else(|| of_set.collect(), |seeds| seeds.0),
        nodes: options.nodes,
        left_out: masks_of(options),
    }
}

#[cfg(test)]
mod tests;
