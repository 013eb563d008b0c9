//! Which labels are asked for, and what is said where they cannot be.

use clap::Parser;

use super::{AllowList, unmet_label_wish};
use crate::settings::{Cli, Settings};

fn told(arguments: &[&str]) -> (Cli, Result<Settings, String>) {
    let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(arguments.iter().copied()));
    let settings = Settings::resolve(&cli.flags, "host-a").map_err(|error| error.to_string());
    (cli, settings)
}

#[test]
fn names_and_prefixes_are_told_apart() {
    let list = AllowList::parse(["team", " app.kubernetes.io/* ", ""]).unwrap();
    for (name, taken) in [
        ("team", true),
        ("team-b", false),
        ("app.kubernetes.io/name", true),
        ("app", false),
    ] {
        assert_eq!(list.takes(name), taken, "{name}");
    }
    assert!(AllowList::everything().takes("anything"));
    let refused = AllowList::parse(["^team$"]).unwrap_err();
    assert!(
        refused.contains("^team$") && refused.contains("prefix"),
        "{refused}"
    );
    let many: Vec<String> = (0..17).map(|n| n.to_string()).collect();
    let refused = AllowList::parse(many.iter().map(String::as_str)).unwrap_err();
    assert!(refused.starts_with("17 names"), "{refused}");
}

#[test]
fn nothing_is_asked_unless_it_is_wished() {
    for arguments in [
        &[][..],
        &["--kubernetes-enable-pod-labels=false"],
        &["--kubernetes-pod-label-allowlist-regex", "^app$"],
    ] {
        let (_, settings) = told(arguments);
        assert_eq!(settings.unwrap().api_labels, None, "{arguments:?}");
    }
    let (cli, _) = told(&["--kubernetes-pod-label-allowlist-regex", "^app$"]);
    let wish = unmet_label_wish(&cli.flags).unwrap();
    assert!(wish.contains("--kubernetes-enable-pod-labels"), "{wish}");
}

#[cfg(not(feature = "kubernetes-labels"))]
#[test]
fn a_build_without_the_client_says_so() {
    for flag in ["--pod-label-allow", "--node-label-allow"] {
        let refused = told(&[flag, "team"]).1.unwrap_err();
        assert!(refused.contains("--features kubernetes-labels"), "{refused}");
    }
    // A manifest of dcgm-exporter starts, and is told.
    let (cli, settings) = told(&["--kubernetes-enable-pod-labels"]);
    assert_eq!(settings.unwrap().api_labels, None);
    let wish = unmet_label_wish(&cli.flags).unwrap();
    assert!(wish.contains("no client"), "{wish}");
}
