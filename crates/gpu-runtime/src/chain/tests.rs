//! How chains of errors read.

use anyhow::anyhow;

use super::Chain;

#[test]
fn every_cause_is_named_once_outermost_first() {
    let error = anyhow!("disk is full")
        .context("failed to write `a`")
        .context("failed to save");
    assert_eq!(
        Chain(error.as_ref()).to_string(),
        "failed to save: failed to write `a`: disk is full"
    );
}

#[test]
fn a_lone_error_is_printed_as_it_is() {
    let error = std::io::Error::other("no such luck");
    assert_eq!(Chain(&error).to_string(), "no such luck");
}
