//! Holds a test bed open for a person, or for a test that wants to see a bed's owner killed: it starts a command or a
//! whole cluster on a bed, prints where the bed is, and ends with its standard input. `sweep` removes
//! what beds of killed tests left, and fails when it had to.
#![allow(clippy::disallowed_methods, reason = "a program: it meets the world outside")]

use std::io::{Read, Write};

use anyhow::{Context, bail};
use gpu_testbed::{Bed, Fleet, PartSpec, RealNode};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", program, ref args @ ..] => {
            let bed = Bed::new()?;
            bed.spawn(PartSpec::new("command", program).args(args.iter().copied()))?;
            hold(&bed, "")
        }
        ["fleet"] => {
            let runtime = tokio::runtime::Runtime::new()?;
            let fleet = runtime.block_on(Fleet::start())?;
            hold(
                fleet.bed(),
                &format!("export KUBECONFIG={}\n", fleet.kubeconfig().display()),
            )
        }
        ["real-node"] => {
            let runtime = tokio::runtime::Runtime::new()?;
            let node = runtime.block_on(RealNode::start())?;
            let kubeconfig = node.kubeconfig_outside()?;
            hold(
                node.bed(),
                &format!("export KUBECONFIG={}\n", kubeconfig.display()),
            )
        }
        ["sweep"] => {
            let found = gpu_testbed::sweep()?;
            if !found.is_empty() {
                bail!("beds of ended tests had left this, and now it is gone:\n{found}");
            }
            Ok(())
        }
        _ => bail!(USAGE),
    }
}

fn hold(bed: &Bed, hint: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "bed {} in {}", bed.id(), bed.directory().display())?;
    write!(out, "{hint}")?;
    out.flush()?;
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .context("failed to wait for the end of standard input")?;
    Ok(())
}

const USAGE: &str = "usage: testbed-up run PROGRAM [ARGUMENT...] | testbed-up fleet | testbed-up real-node | testbed-up sweep";
