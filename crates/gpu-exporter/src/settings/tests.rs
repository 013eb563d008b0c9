//! Which of flag, environment and file wins, and what is refused with which words.

use std::time::Duration;

use clap::Parser;

use super::{Cli, Kubernetes, Settings, SettingsError, with_two_dashes};

fn resolve(arguments: &[&str]) -> Result<Settings, SettingsError> {
    let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(arguments.iter().copied()));
    Settings::resolve(&cli.flags, "host-a")
}

/// A settings file that vanishes with the value.
fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = resolve(&[]).unwrap();
    assert_eq!(settings.address.port(), 9400);
    assert_eq!(settings.metrics_path, "/metrics");
    assert_eq!(settings.sample_interval, Duration::from_secs(1));
    assert_eq!(settings.collection_interval, Duration::from_secs(30));
    assert_eq!(settings.node, "host-a");
    assert_eq!(settings.kubernetes, Kubernetes::WhenPresent);
}

#[test]
fn flags_win_over_the_file() {
    let file =
        file("collection-interval: 60\nsample-interval: 500ms\nnode-name: from-file\nkubernetes: false\n");
    let path = file.path().to_str().unwrap();
    let settings = resolve(&["--config-file", path, "--node-name", "from-flag", "-c", "10000"]).unwrap();
    assert_eq!(settings.node, "from-flag");
    assert_eq!(settings.collection_interval, Duration::from_secs(10));
    assert_eq!(settings.sample_interval, Duration::from_millis(500));
    assert_eq!(settings.kubernetes, Kubernetes::Off);
}

#[test]
fn switches_of_dcgm_exporter_are_taken() {
    let words = [
        "-a",
        ":9500",
        "-k",
        "-o",
        "--remote-hostengine-info",
        "localhost:5555",
        "--devices",
        "f",
    ];
    let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(words));
    let settings = Settings::resolve(&cli.flags, "host-a").unwrap();
    assert_eq!(settings.address.to_string(), "[::]:9500");
    assert_eq!(settings.kubernetes, Kubernetes::On);
    assert_eq!(cli.flags.dcgm.without_meaning.given(), ["remote-hostengine-info"]);
}

#[test]
fn amds_file_flag_and_port_are_taken() {
    let config = file(r#"{"ServerPort": 5000, "GPUConfig": {"Fields": ["GPU_CLOCK"]}}"#);
    let path = config.path().to_str().unwrap();
    let given = [
        "gpu-exporter",
        "-amd-metrics-config",
        path,
        "-amd-metrics-configs",
    ]
    .map(Into::into);
    let words = with_two_dashes(given.into_iter());
    assert_eq!(
        words,
        [
            "gpu-exporter",
            "--amd-metrics-config",
            path,
            "-amd-metrics-configs"
        ]
    );
    let port = |arguments: &[&str]| {
        let mut all = vec!["--amd-metrics-config", path];
        all.extend(arguments);
        resolve(&all).unwrap().address.port()
    };
    assert_eq!(port(&[]), 5000);
    assert_eq!(port(&["--metrics-exporter-port", "5001"]), 5001);
    assert_eq!(port(&["--metrics-exporter-port", "5001", "--port", "5002"]), 5002);
    assert_eq!(
        port(&["-a", ":9500"]),
        9500,
        "an address says more than the file of another program"
    );
    let of_file = file(&format!("amd-metrics-config: {path}\n"));
    let settings = resolve(&["--config-file", of_file.path().to_str().unwrap()]).unwrap();
    assert_eq!(settings.page.amd.unwrap().families.unwrap().len(), 1);
    assert_eq!(settings.amd_metrics_config.as_deref(), Some(config.path()));
    let wrong = file(r#"{"GPUConfig": {"Fields": 7}}"#);
    let error = resolve(&["--amd-metrics-config", wrong.path().to_str().unwrap()]).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("GPUConfig.Fields"), "{cause}");
}

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let error = resolve(arguments).expect_err("these settings must be refused");
    let text = format!("{error}");
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

#[test]
fn wrong_values_are_named() {
    refused(&["--sample-interval", "1ms"], &["sample-interval", "100 ms"]);
    refused(&["--metrics-path", "metrics"], &["metrics-path", "/metrics"]);
    refused(&["--vocabulary", "gpu,foo"], &["foo", "nvidia_smi"]);
    refused(&["--label", "uuid=1"], &["uuid"]);
    refused(&["--max-series", "3"], &["3"]);
    refused(
        &["--scrape-rule", "ml/a=https://a:1"],
        &["scrape-rule", "http://", "ml/a"],
    );
    refused(
        &["--application-families", "a-b"],
        &["application-families", "a-b"],
    );
    refused(&["--textfile-max-age", "2h"], &["textfile-max-age", "one hour"]);
    refused(&["--config-file", "/does/not/exist"], &["/does/not/exist"]);
}

#[test]
fn a_typo_in_the_file_is_refused_with_its_name() {
    let file = file("colection-interval: 60\n");
    refused(
        &["--config-file", file.path().to_str().unwrap()],
        &["colection-interval"],
    );
}

#[test]
fn applications_are_off_until_they_are_asked_for() {
    let off = resolve(&[]).unwrap().applications;
    assert_eq!(
        (off.textfiles, off.scrape_rules.len(), off.scrape_node),
        (None, 0, None)
    );
    let file = file(
        "textfile-dir: /run/x\ntextfile-max-age: 60\napplication-families: [a, b_*]\nscrape-rule: ['a/b=http://c:1']\n",
    );
    let on = resolve(&["--config-file", file.path().to_str().unwrap()])
        .unwrap()
        .applications;
    let textfiles = on.textfiles.unwrap();
    assert_eq!(textfiles.directory.to_str(), Some("/run/x"));
    assert_eq!(textfiles.max_age, Duration::from_secs(60));
    assert!(on.families.takes("b_c") && !on.families.takes("c"));
    assert_eq!(on.scrape_rules.len(), 1);
}

#[cfg(not(feature = "kubernetes-labels"))]
#[test]
fn a_build_without_a_client_says_so_when_it_should_scrape_by_annotations() {
    refused(&["--scrape-pods"], &["scrape-pods", "kubernetes-labels"]);
}

#[test]
fn what_needs_a_new_process_is_known() {
    let before = resolve(&[]).unwrap();
    assert_eq!(
        before.fixed_difference(&resolve(&["--label", "team=a"]).unwrap()),
        None
    );
    assert_eq!(
        before.fixed_difference(&resolve(&["--port", "1"]).unwrap()),
        Some("address")
    );
}

#[test]
fn a_manifest_of_dcgm_exporter_starts_and_is_told_what_does_nothing() {
    let words = [
        "--web-systemd-socket",
        "--dump-enabled",
        "--dump-directory=/tmp/dumps",
        "--max-concurrent-scrapes",
        "4",
        "--hpc-job-mapping-dir",
        "/jobs",
        "--kubernetes-enable-pod-labels=false",
    ];
    let cli = Cli::parse_from(std::iter::once("gpu-exporter").chain(words));
    let told = cli.flags.dcgm.without_meaning.given();
    let expected = [
        "web-systemd-socket",
        "max-concurrent-scrapes",
        "dump-enabled",
        "dump-directory",
    ];
    assert_eq!(told, expected);
    // It is read, so nobody has to be told.
    let settings = Settings::resolve(&cli.flags, "host-a").unwrap();
    let jobs = (crate::owners::jobs::Convention::Mapping, "/jobs".into());
    assert_eq!(settings.job_directories, [jobs]);
}

#[test]
fn tools_that_stand_in_are_named() {
    use super::ToolName::{AmdSmi, NvidiaSmi, RocmSmi};
    let tools = |arguments: &[&str]| resolve(arguments).unwrap().fallback.tools;
    assert_eq!(tools(&[]), [NvidiaSmi]);
    assert_eq!(tools(&["--fallback", "none"]), []);
    assert_eq!(
        tools(&["--fallback", "amd-smi,nvidia-smi,amd-smi"]),
        [AmdSmi, NvidiaSmi]
    );
    let written =
        file("fallback: [rocm-smi]\nfallback-interval: 2\nfallback-timeout: 3s\nrocm-smi-path: /opt/x\n");
    let settings = resolve(&["--config-file", written.path().to_str().unwrap()])
        .unwrap()
        .fallback;
    assert_eq!(
        (settings.tools, settings.rocm_smi),
        (vec![RocmSmi], Some("/opt/x".into()))
    );
    assert_eq!(
        (settings.pace.interval.as_secs(), settings.pace.patience.as_secs()),
        (2, 3)
    );
    refused(&["--fallback", "sh"], &["fallback", "nvidia-smi", "none"]);
    refused(&["--fallback", "none,amd-smi"], &["fallback", "none"]);
    refused(&["--fallback-interval", "10s"], &["fallback-interval", "9s"]);
    refused(&["--fallback-timeout", "0.1s"], &["fallback-timeout", "500ms"]);
}

#[test]
fn a_choice_of_vocabularies_is_a_choice() {
    use crate::page::Companions;
    assert_eq!(resolve(&[]).unwrap().page.companions, Companions::Shown);
    let chosen = resolve(&["--vocabulary", "gpu"]).unwrap();
    assert_eq!(chosen.page.companions, Companions::Hidden);
}
