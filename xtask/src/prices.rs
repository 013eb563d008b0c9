//! The bundled tables of prices and machine types: made from price lists on disk, or checked without any.
//!
//! Nothing is fetched here. The lists are files that somebody downloaded from the clouds' public addresses, or a table that is
//! already put together; what each file is, it says itself.

mod check;
mod lists;
mod normalized;
mod tables;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use jiff::civil::Date;

use crate::workspace;
use tables::Tables;

#[derive(Args)]
pub(crate) struct Options {
    /// Price lists to take over: AWS offer files (JSON or CSV) and spot history, GCP catalogue pages, Azure retail pages, or
    /// a table of nodes with a column for each of on-demand and spot
    #[arg(long, num_args = 1.., value_name = "FILE")]
    from: Vec<PathBuf>,
    /// The day on which the lists were read, for those that do not say it
    #[arg(long, value_name = "DATE")]
    as_of: Option<Date>,
    /// Only prove that the tables are sound
    #[arg(long, conflicts_with = "from")]
    check: bool,
}

/// Rewrites the tables, or checks them.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root();
    if options.from.is_empty() && !options.check {
        bail!("nothing to do: give price lists with `--from FILE...`, or ask for `--check`");
    }
    let mut tables = Tables::read(&root)?;
    if options.check {
        return check::run(&root, &tables);
    }
    for path in &options.from {
        let taken = lists::take(path, options.as_of, &mut tables)?;
        println!("{}: {taken}", path.display());
    }
    tables.write(&root)?;
    check::run(&root, &tables)
}

#[cfg(test)]
mod tests;
