//! `cargo xtask image`: the container image of a program, without a container engine.

use anyhow::{Context, Result};
use clap::Args;
use gpu_image::{ImageSpec, build_image};

use crate::{shell, workspace};

/// Where distributions keep the certificates of well-known authorities; an image of a program that speaks to clouds needs them.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

#[derive(Args)]
pub(crate) struct Options {
    /// Which program to pack
    #[arg(long, default_value = "gpu-autoscaler")]
    program: String,
    /// The image's name with registry and tag
    #[arg(long)]
    name: Option<String>,
    /// How to build it, if not as it is shipped, which takes minutes: `release` is quick
    #[arg(long)]
    profile: Option<String>,
}

/// The profile in which a program is shipped. What runs on every node is built for size.
fn shipped_as(program: &str) -> &'static str {
    match program {
        "gpu-exporter" => "agent",
        _ => "dist",
    }
}

/// Builds the program, packs it, and tells where the archive is and how to load it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = workspace::root();
    let program = &options.program;
    let profile = options.profile.as_deref().unwrap_or(shipped_as(program));
    shell::step(&format!("building {program} ({profile})"), || {
        shell::run(
            shell::cargo(&root)
                .args(["build", "--locked", "--profile", profile])
                .args(["--package", program, "--bin", program]),
        )
    })?;
    let target = workspace::target(&root);
    let output = target.join("image");
    std::fs::create_dir_all(&output).with_context(|| format!("failed to create `{}`", output.display()))?;
    let name = options
        .name
        .clone()
        .unwrap_or_else(|| format!("docker.io/library/{program}:{}", env!("CARGO_PKG_VERSION")));
    let mut spec = ImageSpec::new(
        &name,
        target.join(profile).join(program),
        output.join(format!("{program}.tar")),
    );
    spec.certificates = Some(CERTIFICATES.into()).filter(|path: &std::path::PathBuf| path.is_file());
    let built = build_image(&spec).context("failed to pack the image")?;
    println!(
        "{name}\n{}\n{} ({} bytes)",
        built.digest,
        built.path.display(),
        built.size_bytes
    );
    println!(
        "load it with `ctr -n k8s.io images import {0}` or `docker load -i {0}`",
        built.path.display()
    );
    Ok(())
}
