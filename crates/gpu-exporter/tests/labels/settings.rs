//! Flags in the build that has a client: ours, and dcgm-exporter's as it means them.

use clap::Parser as _;
use gpu_exporter::settings::{ApiLabels, Cli, Settings, unmet_label_wish};

fn resolve(words: &str) -> Result<Option<ApiLabels>, String> {
    let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(words.split_whitespace()));
    let settings = Settings::resolve(&cli.flags, "node-1").map_err(|error| error.to_string())?;
    assert_eq!(unmet_label_wish(&cli.flags), None);
    Ok(settings.api_labels)
}

/// Which of some names are taken for pods and for the node.
#[track_caller]
fn check(words: &str, pods: &[&str], node: &[&str]) {
    let labels = resolve(words).unwrap().unwrap();
    assert_eq!(labels.node.as_str(), "node-1");
    let names = ["app", "app.kubernetes.io/name", "my-app", "team"];
    let taken = |list: &gpu_exporter::settings::AllowList| {
        let taken = names.into_iter().filter(|name| list.takes(name));
        taken.collect::<Vec<_>>()
    };
    assert_eq!(taken(&labels.of_pods), pods, "pods: {words}");
    assert_eq!(taken(&labels.of_node), node, "node: {words}");
}

#[test]
fn names_are_enough() {
    check(
        "--pod-label-allow app,team --node-label-allow team",
        &["app", "team"],
        &["team"],
    );
    check("--node-label-allow app*", &[], &["app", "app.kubernetes.io/name"]);
}

#[test]
fn switches_of_dcgm_exporter_mean_what_they_mean_there() {
    let all = ["app", "app.kubernetes.io/name", "my-app", "team"];
    check("--kubernetes-enable-pod-labels", &all, &[]);
    let only = "--kubernetes-enable-pod-labels=true --kubernetes-pod-label-allowlist-regex";
    check(&format!("{only} ^app$,^te\\wm"), &["app", "team"], &[]);
    check(
        &format!("{only} app"),
        &["app", "app.kubernetes.io/name", "my-app"],
        &[],
    );
    check(
        &format!("{only} ^app$ --pod-label-allow team"),
        &["app", "team"],
        &[],
    );
}

#[test]
fn what_is_wrong_is_named() {
    let refused = |words: &str, named: &[&str]| {
        let error = resolve(words).unwrap_err();
        assert!(named.iter().all(|name| error.contains(name)), "{error}");
    };
    let wrong = "--kubernetes-enable-pod-labels --kubernetes-pod-label-allowlist-regex [a";
    refused(wrong, &["kubernetes-pod-label-allowlist-regex", "[a"]);
    refused("--pod-label-allow a(b", &["pod-label-allow", "a(b"]);
    refused("--pod-label-allow app --node-name Not_a_name", &["node-name"]);
}

#[test]
fn a_changed_list_needs_a_new_process() {
    let settings = |words: &[&str]| {
        let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(words.iter().copied()));
        Settings::resolve(&cli.flags, "node-1").unwrap()
    };
    let expression = |text| {
        settings(&[
            "--kubernetes-enable-pod-labels",
            "--kubernetes-pod-label-allowlist-regex",
            text,
        ])
    };
    let named = Some("pod-label-allow, node-label-allow");
    assert_eq!(expression("a").fixed_difference(&expression("a")), None);
    assert_eq!(expression("a").fixed_difference(&expression("b")), named);
    assert_eq!(
        settings(&[]).fixed_difference(&settings(&["--pod-label-allow", "a"])),
        named
    );
}
