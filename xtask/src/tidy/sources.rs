//! Rules about Rust sources.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file tells one story; past this it tells two. The aim is 400.
const MAX_LINES: usize = 600;
/// Names that say nothing of what lies inside.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];
/// Crates that may touch files, sockets, clocks and processes. A crate that is not here is pure, and clippy holds it to that.
const EDGES: &[&str] = &[
    "gpu-autoscaler",
    "gpu-exporter",
    "gpu-image",
    "gpu-kubelet",
    "gpu-node-agent",
    "gpu-nvml",
    "gpu-nvml-double",
    "gpu-price-feeds",
    "gpu-runtime",
    "gpu-store",
    "gpu-testbed",
    "xtask",
];

/// Checks every Rust file.
pub(super) fn findings(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for path in files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
    {
        let text = std::fs::read_to_string(root.join(path))
            .with_context(|| format!("failed to read `{}`", path.display()))?;
        findings.extend(judge(path, &text));
    }
    Ok(findings)
}

fn judge(path: &Path, text: &str) -> Vec<String> {
    let shown = path.display();
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        findings.push(format!(
            "{shown}: {lines} lines; split it by what it is about (limit {MAX_LINES})"
        ));
    }
    if !text.starts_with("//!") {
        findings.push(format!("{shown}: starts without `//!`; say what the file holds"));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if EMPTY_NAMES.contains(&stem.as_ref()) {
        findings.push(format!(
            "{shown}: `{stem}` says nothing; put the code beside its first user"
        ));
    }
    for (number, line) in text.lines().enumerate() {
        findings.extend(judge_line(line).map(|words| format!("{shown}:{}: {words}", number + 1)));
    }
    findings.extend(judge_purity(path, text));
    findings
}

fn judge_line(line: &str) -> Option<&'static str> {
    // The words are put together here, so that this file does not find itself.
    let unfinished = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    if unfinished
        .iter()
        .any(|word| line.contains(&format!("{word}:")) || line.contains(&format!("{word} ")))
    {
        return Some("unfinished work is finished or told in the documents, not marked in the source");
    }
    if line.trim_start().starts_with(concat!("#[ign", "ore")) {
        return Some("a test that does not run proves nothing; make it report itself as skipped");
    }
    None
}

/// Only an edge crate, an integration test or a benchmark may open the doors that clippy keeps shut.
fn judge_purity(path: &Path, text: &str) -> Option<String> {
    let opens = text
        .lines()
        .any(|line| line.contains("clippy::disallowed_methods") || line.contains("clippy::disallowed_types"));
    let is_source = path.components().any(|part| part.as_os_str() == "src");
    let in_edge = path
        .components()
        .any(|part| EDGES.iter().any(|edge| part.as_os_str() == *edge));
    (opens && is_source && !in_edge).then(|| {
        format!(
            "{}: a pure crate must not lift the ban on files, sockets and clocks",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests;
