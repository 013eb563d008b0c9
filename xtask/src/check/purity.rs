//! What a crate may never link, asserted on cargo's own dependency tree. Clippy guards the doors of the standard library;
//! this guards the crates.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{shell, workspace};

/// Core crates compute; whatever waits, listens, logs, stores or talks has no place below them.
const NOT_IN_CORE: &[&str] = &[
    "async-std",
    "axum",
    "getrandom",
    "hyper",
    "k8s-openapi",
    "kube",
    "libloading",
    "log",
    "mio",
    "nix",
    "nvml-wrapper",
    "reqwest",
    "rusqlite",
    "rustix",
    "rustls",
    "tokio",
    "tokio-postgres",
    "tonic",
    "tracing",
    "ureq",
];
/// The control plane never loads a driver.
const DRIVERS: &[&str] = &["libloading", "nvml-wrapper", "nvml-wrapper-sys"];
/// Objects in, values out: it knows Kubernetes and talks to nobody.
const NOT_IN_KINDS: &[&str] = &[
    "hyper",
    "kube-client",
    "mio",
    "rusqlite",
    "rustls",
    "tokio",
    "tokio-postgres",
    "tracing",
];
/// The exporter is privileged and must stay small enough to audit.
const NOT_IN_EXPORTER: &[&str] = &[
    "aws-config",
    "azure_core",
    "google-cloud-gax",
    "k8s-openapi",
    "kube",
    "reqwest",
    "rusqlite",
    "tokio-postgres",
];
/// The node agent touches its own Node and the cloud's metadata, nothing else.
const NOT_IN_NODE_AGENT: &[&str] = &[
    "libloading",
    "nvml-wrapper",
    "nvml-wrapper-sys",
    "rusqlite",
    "tokio-postgres",
];
/// A first build has no use for what signs requests to AWS, and prices in a file need no cluster.
const NOT_IN_PRICE_FEEDS: &[&str] = &["aws-sigv4", "k8s-openapi", "kube"];

/// One line a crate: which packages its normal dependencies must not reach, in the default build.
const RULES: &[(&str, &[&str])] = &[
    ("gpu-model", NOT_IN_CORE),
    ("gpu-waste", NOT_IN_CORE),
    ("gpu-planner", NOT_IN_CORE),
    ("gpu-cost", NOT_IN_CORE),
    ("gpu-sim", NOT_IN_CORE),
    ("gpu-exposition", NOT_IN_CORE),
    ("gpu-price-feeds", NOT_IN_PRICE_FEEDS),
    ("gpu-k8s", NOT_IN_KINDS),
    ("gpu-autoscaler", DRIVERS),
    ("gpu-exporter", NOT_IN_EXPORTER),
    ("gpu-node-agent", NOT_IN_NODE_AGENT),
];

/// Features with which only tests build, and which the default build of their package must not have.
const NOT_SHIPPED: &[(&str, &str)] = &[("gpu-autoscaler", "failpoints")];

/// Checks every rule whose crate exists.
pub(crate) fn run(root: &Path) -> Result<()> {
    let present = workspace::packages(root)?;
    let mut broken = Vec::new();
    for (package, banned) in RULES {
        if !present.iter().any(|existing| existing.name == *package) {
            continue;
        }
        for name in linked(root, package)? {
            if banned.contains(&name.as_str()) {
                broken.push(explain(root, package, &name));
            }
        }
    }
    for (package, feature) in NOT_SHIPPED {
        broken.extend(shipped(root, package, feature)?);
    }
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(())
}

/// What is wrong where the default features of a package lead to a feature that must not ship.
fn shipped(root: &Path, package: &str, feature: &str) -> Result<Option<String>> {
    let tree = shell::read(shell::cargo(root).args([
        "tree",
        "--locked",
        "-p",
        package,
        "-e",
        "normal,features",
        "--prefix",
        "none",
        "--depth",
        "0",
        "-f",
        "{f}",
    ]))?;
    let has = tree
        .lines()
        .any(|line| line.split([',', ' ']).any(|each| each == feature));
    Ok(has.then(|| {
        format!("`{package}` has the feature `{feature}` in its default build, which is for tests alone")
    }))
}

/// The names of all packages that the crate links, itself left out.
fn linked(root: &Path, package: &str) -> Result<Vec<String>> {
    let tree = shell::read(shell::cargo(root).args([
        "tree", "--locked", "-p", package, "-e", "normal", "--prefix", "none",
    ]))?;
    let mut names: Vec<String> = tree
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// The way from the crate to what it must not link, as `cargo tree -i` draws it.
fn explain(root: &Path, package: &str, banned: &str) -> String {
    let path = shell::read(
        shell::cargo(root).args(["tree", "--locked", "-p", package, "-e", "normal", "-i", banned]),
    )
    .unwrap_or_default();
    format!("`{package}` must not link `{banned}`, but does:\n{path}")
}
