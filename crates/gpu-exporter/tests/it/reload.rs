//! Settings that change while the real program runs: taken over as a whole, or refused with the reason while the old ones
//! stay.

use std::path::Path;

use nix::sys::signal::Signal;

use crate::exporter::{Exporter, replace, run};

const TAKEN: &str = "took changed settings over what=\"config\"";
const REFUSED: &str = "refused changed settings";

fn start(directory: &Path, config: &str) -> Exporter {
    let path = directory.join("config.yml");
    std::fs::write(&path, config).unwrap();
    Exporter::start(&["--config-file", path.to_str().unwrap()])
}

fn page(exporter: &Exporter) -> String {
    exporter.get("/metrics").text()
}

#[test]
fn a_signal_reads_the_settings_again() {
    let directory = tempfile::tempdir().unwrap();
    let exporter = start(directory.path(), "static-labels: {team: a}\n");
    exporter.wait_for_page("/metrics", |answer| answer.text().contains("team=\"a\""));
    std::fs::write(directory.path().join("config.yml"), "static-labels: {team: b}\n").unwrap();
    exporter.signal(Signal::SIGHUP);
    exporter.wait_for_page("/metrics", |answer| answer.text().contains("team=\"b\""));
    exporter.wait_for_log(TAKEN);
}

#[test]
fn an_invalid_change_is_refused_and_told_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let exporter = start(directory.path(), "static-labels: {team: a}\n");
    std::fs::write(directory.path().join("config.yml"), "static-lables: {team: b}\n").unwrap();
    exporter.signal(Signal::SIGHUP);
    let line = exporter.wait_for_log(REFUSED);
    assert!(line.contains("static-lables"), "{line}");
    let is_told = |line: &str| {
        line.starts_with("gpu_exporter_source_up{")
            && line.contains("source=\"config\"")
            && line.ends_with(" 0")
    };
    let told = exporter.wait_for_page("/metrics", |answer| answer.text().lines().any(is_told));
    assert!(told.text().contains("class=\"refused\""), "{}", told.text());
    let ready = exporter.get("/readyz").text();
    assert!(ready.contains("the log says why"), "{ready}");
    assert!(!ready.contains("config.yml"), "{ready}");
    assert_eq!(exporter.get("/healthz").status, 200);

    std::fs::write(directory.path().join("config.yml"), "static-labels: {team: c}\n").unwrap();
    exporter.signal(Signal::SIGHUP);
    exporter.wait_for_page("/metrics", |answer| answer.text().contains("team=\"c\""));
    exporter.wait_for_page("/readyz", |answer| !answer.text().contains("the log says why"));
}

#[test]
fn a_changed_counters_file_is_noticed_without_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let counters = directory.path().join("counters.csv");
    std::fs::write(&counters, "DCGM_FI_DEV_GPU_UTIL, gauge, use\n").unwrap();
    let exporter = start(directory.path(), &format!("collectors: {}\n", counters.display()));
    let skipped = "gpu_exporter_counters_skipped 1";
    assert!(!page(&exporter).contains(skipped));
    replace(
        &counters,
        "DCGM_FI_DEV_GPU_UTIL, gauge, use\nDCGM_FI_NO_SUCH_FIELD, gauge, none\n",
    );
    exporter.wait_for_page("/metrics", |answer| answer.text().contains(skipped));
    replace(&counters, "DCGM_FI_DEV_GPU_UTIL, gouge, use\n");
    let line = exporter.wait_for_log(REFUSED);
    assert!(line.contains("gouge"), "{line}");
    assert!(page(&exporter).contains(skipped));
    replace(&counters, "DCGM_FI_DEV_GPU_UTIL, gauge, use\n");
    exporter.wait_for_page("/metrics", |answer| !answer.text().contains(skipped));
}

#[test]
fn a_changed_configuration_of_amds_exporter_is_noticed_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let amd = directory.path().join("amd.json");
    std::fs::write(
        &amd,
        r#"{"GPUConfig": {"Fields": ["GPU_CLOCK"], "Selector": "0"}}"#,
    )
    .unwrap();
    let exporter = start(
        directory.path(),
        &format!("vocabulary: [amd]\namd-metrics-config: {}\n", amd.display()),
    );
    let line = exporter.wait_for_log("configuration of AMD's exporter");
    assert!(line.contains("GPUConfig.Selector"), "{line}");
    replace(&amd, r#"{"GPUConfig": {"Fields": "GPU_CLOCK"}}"#);
    let line = exporter.wait_for_log(REFUSED);
    assert!(line.contains("GPUConfig.Fields"), "{line}");
    replace(&amd, r#"{"GPUConfig": {"Fields": ["GPU_HEALTH"]}}"#);
    exporter.wait_for_log(TAKEN);
}

#[test]
fn what_needs_a_restart_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let exporter = start(directory.path(), "sample-interval: 500ms\n");
    std::fs::write(directory.path().join("config.yml"), "sample-interval: 600ms\n").unwrap();
    exporter.signal(Signal::SIGHUP);
    let line = exporter.wait_for_log(REFUSED);
    assert!(line.contains("`sample-interval` cannot change"), "{line}");
}

#[test]
fn a_typo_ends_the_start_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yml");
    std::fs::write(&path, "colectors: /x\n").unwrap();
    let ended = run(&[
        "--config-file",
        path.to_str().unwrap(),
        "--address",
        "127.0.0.1:0",
    ]);
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(
        said.contains("colectors") && said.contains("config.yml"),
        "{said}"
    );
}

#[test]
fn a_swapped_link_is_noticed_as_kubernetes_swaps_it() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    for (version, team) in [("v1", "a"), ("v2", "b")] {
        std::fs::create_dir(directory.path().join(version)).unwrap();
        let text = format!("static-labels: {{team: {team}}}\n");
        std::fs::write(directory.path().join(version).join("config.yml"), text).unwrap();
    }
    let (link, next) = (directory.path().join("data"), directory.path().join("data.next"));
    symlink("v1", &link).unwrap();
    let config = link.join("config.yml");
    let exporter = Exporter::start(&["--config-file", config.to_str().unwrap()]);
    exporter.wait_for_page("/metrics", |answer| answer.text().contains("team=\"a\""));
    symlink("v2", &next).unwrap();
    std::fs::rename(&next, &link).unwrap();
    exporter.wait_for_page("/metrics", |answer| answer.text().contains("team=\"b\""));
}
