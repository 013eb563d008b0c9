//! What a sidecar must be told, and what it makes of it.

use std::path::PathBuf;

use clap::Parser as _;

use super::{OwnGpusFrom, Sidecar, UntilProcess};
use crate::owners::own_pod::{OwnGpus, Sharing};
use crate::settings::{Cli, Settings, SettingsError};

const POD: [&str; 8] = [
    "--mode",
    "sidecar",
    "--pod-name",
    "fit-0",
    "--pod-namespace",
    "ml",
    "--node-name",
    "gpu-1",
];

fn resolve(words: &[&str]) -> Result<Settings, SettingsError> {
    let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(words.iter().copied()));
    Settings::resolve(&cli.flags, "fit-0")
}

fn sidecar(further: &[&str]) -> Sidecar {
    let words: Vec<&str> = POD.iter().chain(further).copied().collect();
    resolve(&words).unwrap().sidecar.unwrap()
}

#[test]
fn a_node_is_told_nothing_of_pods() {
    let settings = resolve(&["--pod-name", "fit-0"]).unwrap();
    assert_eq!(settings.sidecar, None);
    assert_eq!(settings.until, super::Until::default());
}

#[test]
fn what_is_missing_is_named_with_the_way_to_set_it() {
    for (left_out, name, field) in [
        ("--pod-name", "pod-name", "metadata.name"),
        ("--pod-namespace", "pod-namespace", "metadata.namespace"),
        ("--node-name", "node-name", "spec.nodeName"),
    ] {
        let at = POD.iter().position(|word| *word == left_out).unwrap();
        let words: Vec<&str> = POD[..at].iter().chain(&POD[at + 2..]).copied().collect();
        let words = resolve(&words).unwrap_err().to_string();
        assert!(words.contains(name) && words.contains(field), "{words}");
    }
    let words: Vec<&str> = POD.iter().chain(&["--main-container", "../x"]).copied().collect();
    assert!(
        resolve(&words)
            .unwrap_err()
            .to_string()
            .contains("main-container")
    );
}

#[test]
fn the_defaults_are_those_of_argo() {
    let sidecar = sidecar(&[]);
    assert_eq!(sidecar.pod.container.as_str(), "main");
    assert_eq!(sidecar.pod.sharing, Sharing::Exclusive);
    assert_eq!(sidecar.own_gpus, OwnGpusFrom::Settings(OwnGpus::All));
    assert!(!sidecar.pod_info.is_named);
    let settings = resolve(&POD).unwrap();
    let exit_code = PathBuf::from("/var/run/argo/ctr/main/exitcode");
    assert_eq!(settings.until.file, Some(exit_code));
    assert_eq!(settings.until.process, None);
    assert_eq!(settings.api_labels, None);
}

#[test]
fn everything_can_be_said() {
    let own = sidecar(&[
        "--main-container",
        "train",
        "--shared-gpus",
        "--own-gpus",
        "/gpus/own",
        "--workflow-name",
        "fit",
        "--workflow-retry",
        "2",
        "--pod-label-allow",
        "team,app.kubernetes.io/*",
    ]);
    assert_eq!(own.pod.sharing, Sharing::Shared);
    assert_eq!(own.own_gpus, OwnGpusFrom::File(PathBuf::from("/gpus/own")));
    assert_eq!(
        own.workflow,
        [("workflow", "fit".to_owned()), ("retry", "2".to_owned())]
    );
    assert!(own.labels.takes("team") && !own.labels.takes("owner"));
    let listed = sidecar(&["--own-gpus", "GPU-a,1"]);
    assert_eq!(listed.own_gpus, OwnGpusFrom::Settings(OwnGpus::parse("gpu-A 1")));
    let words: Vec<&str> = POD.iter().chain(&["--until-process", "auto"]).copied().collect();
    assert_eq!(resolve(&words).unwrap().until.process, Some(UntilProcess::Others));
    let words: Vec<&str> = POD.iter().chain(&["--until-file", "none"]).copied().collect();
    assert_eq!(resolve(&words).unwrap().until.file, None);
    let words: Vec<&str> = POD
        .iter()
        .chain(&["--node-label-allow", "pool"])
        .copied()
        .collect();
    assert!(
        resolve(&words)
            .unwrap_err()
            .to_string()
            .contains("node-label-allow")
    );
}
