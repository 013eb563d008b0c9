//! Proof that the tables are sound, without a network: they are what writing them would give, and they hang together.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use gpu_cost::prices::parse_table;

use super::tables::{Tables, prices_path, types_path};

/// Both files have to stay small enough to be part of every program.
const MOST_BYTES: usize = 1024 * 1024;

pub(super) fn run(root: &Path, tables: &Tables) -> Result<()> {
    let (prices, types) = tables.text()?;
    let mut findings = Vec::new();
    for (path, text) in [(prices_path(root), &prices), (types_path(root), &types)] {
        if std::fs::read_to_string(&path)? != *text {
            findings.push(format!(
                "{}: is not what `cargo xtask prices` writes",
                path.display()
            ));
        }
        if text.len() > MOST_BYTES {
            findings.push(format!("{}: {} bytes, over 1 MiB", path.display(), text.len()));
        }
    }
    let table = parse_table(&prices)?;
    let mut unknown = BTreeSet::new();
    for row in &table.rows {
        if !tables.knows(row.cloud, &row.instance_type) {
            unknown.insert(format!("{}/{}", row.cloud.as_str(), row.instance_type));
        }
    }
    if !unknown.is_empty() {
        findings.push(format!("prices of unknown machine types: {unknown:?}"));
    }
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    let oldest = table.rows.iter().map(|row| row.as_of).min();
    let youngest = table.rows.iter().map(|row| row.as_of).max();
    let (Some(oldest), Some(youngest)) = (oldest, youngest) else {
        bail!("the table of prices is empty");
    };
    println!(
        "{} prices of {} machine types, read from {oldest} to {youngest}, {} bytes",
        table.rows.len(),
        tables.types.len(),
        prices.len() + types.len()
    );
    Ok(())
}
