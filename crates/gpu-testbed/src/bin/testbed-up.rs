//! Holds a test bed open for a person, or for a test that wants to see a bed's owner killed: it starts the named
//! command on a bed, prints where the bed is, and ends with its standard input.
#![allow(clippy::disallowed_methods, reason = "a program: it meets the world outside")]

use std::io::{Read, Write};

use anyhow::{Context, bail};
use gpu_testbed::{Bed, PartSpec};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(([verb, program], args)) = words.split_first_chunk::<2>() else {
        bail!(USAGE)
    };
    if verb != "run" {
        bail!(USAGE);
    }
    let bed = Bed::new()?;
    bed.spawn(PartSpec::new("command", program).args(args.iter().cloned()))?;
    let mut out = std::io::stdout();
    writeln!(out, "bed {} in {}", bed.id(), bed.directory().display())?;
    out.flush()?;
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .context("failed to wait for the end of standard input")?;
    Ok(())
}

const USAGE: &str = "usage: testbed-up run PROGRAM [ARGUMENT...]";
