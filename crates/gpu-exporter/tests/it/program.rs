//! The program's other sides: one page and the end, the port, signals, exit codes, the doctor, and the driver's comings and
//! goings.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;

use gpu_exposition::{Format, Page, ParserOptions};
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::Scenario;
use nix::sys::signal::Signal;

use crate::exporter::{Exporter, command, run};
use crate::fake_kubelet::{FakeKubelet, answer, pod};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn once_without_a_gpu_is_a_page_that_says_so() {
    let ended = run(&[
        "--once",
        "--node-name",
        "node-a",
        "--nvml-library",
        "/nowhere/libnvidia-ml.so.1",
    ]);
    assert!(ended.status.success(), "{ended:?}");
    let page = text(ended.stdout);
    assert!(page.contains("\ndcgm_up 0\n"), "{page}");
    assert!(
        page.contains("gpu_exporter_source_up{source=\"nvml\"} 0"),
        "{page}"
    );
    let of_gpus = |line: &str| {
        line.starts_with("gpu_") && !line.starts_with("gpu_exporter_") || line.starts_with("DCGM_")
    };
    assert!(!page.lines().any(of_gpus), "{page}");
    Page::parse(page.as_bytes(), ParserOptions::new(Format::Text)).unwrap();
}

#[test]
fn a_wrong_word_is_usage_and_a_wrong_value_an_error() {
    assert_eq!(run(&["--no-such-flag"]).status.code(), Some(2));
    let ended = run(&["--sample-interval", "1ms"]);
    assert_eq!(ended.status.code(), Some(1));
    assert!(text(ended.stderr).contains("sample-interval"));
    assert_eq!(run(&["--metrics-path", "/healthz"]).status.code(), Some(1));
    assert_eq!(run(&["--log-level", "loud"]).status.code(), Some(1));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}

#[test]
fn a_taken_port_is_named_with_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run(&["--address", &address]);
    assert_eq!(ended.status.code(), Some(1));
    let said = text(ended.stderr);
    assert!(said.contains(&address) && said.contains("--port"), "{said}");
}

#[test]
fn terminate_and_interrupt_end_it_well() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut exporter = Exporter::start(&[]);
        exporter.signal(signal);
        assert_eq!(exporter.wait().code(), Some(0), "{}", exporter.log());
    }
}

#[test]
fn fetch_says_when_nobody_answers() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let ended = run(&["--address", &free, "fetch"]);
    assert_eq!(ended.status.code(), Some(1));
    assert!(text(ended.stderr).contains("is it running"));
    let exporter = Exporter::start(&[]);
    let address = exporter.address.to_string();
    let fetched = run(&["--address", &address, "fetch", "/healthz"]);
    assert_eq!(
        (fetched.status.code(), text(fetched.stdout)),
        (Some(0), "ok\n".to_owned())
    );
    assert_eq!(
        run(&["--address", &address, "fetch", "/nope"]).status.code(),
        Some(1)
    );
    assert_eq!(
        run(&["--address", &address, "fetch", "no path"]).status.code(),
        Some(1)
    );
}

#[test]
fn a_stranger_on_the_port_is_no_exporter() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap().to_string();
    let talk = std::thread::spawn(move || {
        let (mut stream, _) = stranger.accept().unwrap();
        stream.write_all(b"220 mail.example ready\r\n").unwrap();
    });
    let ended = run(&["--address", &address, "fetch"]);
    talk.join().unwrap();
    assert_eq!(ended.status.code(), Some(1));
}

#[test]
fn the_doctor_says_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let web = directory.path().join("web.yml");
    std::fs::write(&web, "tls_server_config: {}\n").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    drop(taken);
    let ended = run(&[
        "--kubernetes=true",
        "--pod-resources-kubelet-socket",
        "/nowhere/kubelet.sock",
        "--nvml-library",
        "/nowhere/libnvidia-ml.so.1",
        "--path.procfs",
        "/nowhere",
        "--path.sysfs",
        "/nowhere",
        "--kernel-log",
        "/nowhere",
        "--address",
        &address,
        "--web-config-file",
        web.to_str().unwrap(),
        "doctor",
    ]);
    assert_eq!(ended.status.code(), Some(1));
    let told = text(ended.stdout);
    for line in [
        "ok    settings",
        "fail  web configuration: `cert_file`",
        "fail  driver nvml",
        "warn  processes",
        "warn  control groups",
        "fail  kubelet",
        "warn  kernel log",
        "ok    port",
    ] {
        assert!(told.contains(line), "{told}\nhas no {line:?}");
    }
    let typo = run(&["--config-file", "/nowhere/config.yml", "doctor"]);
    assert_eq!(typo.status.code(), Some(1));
    assert!(text(typo.stdout).contains("fail  settings"));
}

/// An exporter on a double of NVIDIA's library, sampling quickly.
fn with_driver(directory: &Path, scenario: &Scenario, further: &[&str]) -> (Exporter, Installed) {
    let driver = Installed::into(directory, scenario).unwrap();
    let library = driver.library();
    let mut command = command(&["--sample-interval", "100ms", "--address", "127.0.0.1:0"]);
    command
        .args(["--nvml-library", library.to_str().unwrap()])
        .args(further);
    (Exporter::spawn(command), driver)
}

#[test]
fn the_driver_is_let_go_and_taken_again() {
    let directory = tempfile::tempdir().unwrap();
    let (exporter, _driver) = with_driver(directory.path(), &Scenario::rtx3080(), &[]);
    let up = |value: u8| {
        let line = format!("\ndcgm_up {value}\n");
        exporter.wait_for_page("/metrics", |answer| answer.text().contains(&line))
    };
    up(1);
    exporter.signal(Signal::SIGUSR1);
    up(0);
    assert!(exporter.get("/readyz").text().contains("released on request"));
    exporter.signal(Signal::SIGUSR2);
    up(1);
}

#[test]
fn faults_of_the_kernels_log_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap().to_owned();
    let (exporter, _driver) = with_driver(directory.path(), &Scenario::rtx3080(), &["--kernel-log", &path]);
    let page = exporter
        .wait_for_page("/metrics", |answer| answer.text().contains("gpu_info{"))
        .text();
    let (_, rest) = page.split_once("pci_bus_id=\"").unwrap();
    let bus_id = rest.split('"').next().unwrap();
    // The kernel writes four digits of the domain, and each record at once.
    let short = bus_id[4..].trim_end_matches(".0");
    let record = format!("3,9,9,-;NVRM: Xid (PCI:{short}): 79, pid=1, GPU has fallen off the bus.\n");
    log.write_all(record.as_bytes()).unwrap();
    exporter.wait_for_page("/metrics", |answer| {
        answer
            .text()
            .lines()
            .any(|line| line.starts_with("gpu_faults_total{") && line.contains("79") && line.ends_with(" 1"))
    });
}

#[test]
fn a_driver_of_another_version_ends_the_program_by_its_own_code() {
    use gpu_nvml_double::scenario::{Fault, FaultKind};
    /// NVML's own number for a library that does not fit the kernel module.
    const LIB_RM_VERSION_MISMATCH: u32 = 18;
    let directory = tempfile::tempdir().unwrap();
    let scenario = Scenario::rtx3080();
    let (mut exporter, driver) = with_driver(directory.path(), &scenario, &[]);
    exporter.wait_for_page("/metrics", |answer| answer.text().contains("\ndcgm_up 1\n"));
    let mut changed = scenario;
    let all = Fault::new("*", FaultKind::Fail(LIB_RM_VERSION_MISMATCH));
    let listing = Fault::new("nvmlDeviceGetCount_v2", FaultKind::Fail(LIB_RM_VERSION_MISMATCH));
    changed.faults.extend([all, listing]);
    driver.change(&changed).unwrap();
    let ended = exporter.wait();
    assert_eq!(
        ended.code(),
        Some(i32::from(gpu_exporter::program::EXIT_DRIVER_CHANGED)),
        "{}",
        exporter.log()
    );
}

#[test]
fn pods_that_the_kubelet_names_are_on_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kubelet.sock");
    let path = socket.to_str().unwrap().to_owned();
    let scenario = Scenario::rtx3080();
    let uuid = scenario.gpus[0].uuid.clone();
    let further = ["--pod-resources-kubelet-socket", path.as_str()];
    let (exporter, driver) = with_driver(directory.path(), &scenario, &further);
    let page = exporter.wait_for_page("/metrics", |answer| answer.text().contains("gpu_info{"));
    assert!(!page.text().contains("source=\"kubelet\""), "{}", page.text());

    // The socket comes later, as it does on a node that is still being set up.
    let held = pod("ml", "train-0", "nvidia.com/gpu", &[uuid.as_str()]);
    let _kubelet = FakeKubelet::start(&socket, answer(vec![held]));
    let is_held = |line: &str| line.starts_with("gpu_") && line.contains("pod=\"train-0\"");
    exporter.wait_for_page("/metrics", |answer| answer.text().lines().any(is_held));
    exporter.wait_for_page("/readyz", |answer| {
        answer.text().contains("{\"name\":\"kubelet\",\"up\":true")
    });
    let library = driver.library();
    let once = run(&[
        "--once",
        "--nvml-library",
        library.to_str().unwrap(),
        further[0],
        further[1],
    ]);
    assert!(text(once.stdout).lines().any(is_held));
}

#[test]
fn simulated_gpus_are_only_in_builds_that_ask_for_them() {
    let ended = run(&["--once", "--source", "sim", "--kubernetes=false"]);
    if cfg!(feature = "sim") {
        let page = text(ended.stdout);
        assert!(page.contains("gpu_info{"), "{page}");
        let exporter = Exporter::start(&["--source", "sim"]);
        exporter.wait_for_page("/api/v1/monitoring/gpu-metrics", |answer| {
            answer.text().contains("\"source\":\"sim\"")
        });
    } else {
        assert_eq!(ended.status.code(), Some(1));
        assert!(text(ended.stderr).contains("no simulated source"));
    }
}
