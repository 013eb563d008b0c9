//! The real program where a driver cannot be loaded and a tool of its vendor stands in: pages of several generations, and tools
//! that hang, rave, fail and come back.

use std::time::{Duration, Instant};

use gpu_exposition::Format;
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::Scenario;
use nix::sys::signal::Signal;

use super::reading::{normalised, parse, value};
use super::tools::FakeTool;
use crate::exporter::{Exporter, command, run, wait};
use crate::fake_kubelet::{FakeKubelet, answer, pod};
use crate::golden;

const NO_LIBRARY: &str = "--nvml-library=/nowhere/libnvidia-ml.so.1";
const MIG: &[(&str, &str)] = &[("'-q -x'", "h100-mig.xml"), ("-L", "h100-mig.list")];

fn arguments(tool: &FakeTool, flag: &str, further: &[&str]) -> Vec<String> {
    let given = format!("{flag}={}", tool.path().display());
    let usual = [
        NO_LIBRARY,
        "--node-name=node-a",
        "--kubernetes=false",
        "--host-processes=false",
        "--kernel-log=/dev/null",
        // Not the GPUs of the machine that runs the tests.
        "--path.sysfs=/nowhere",
    ];
    let is_given = |word: &str| {
        further
            .iter()
            .any(|own| own.split('=').next() == word.split('=').next())
    };
    let usual = usual
        .into_iter()
        .filter(|word| !is_given(word))
        .map(str::to_owned);
    usual
        .chain([given])
        .chain(further.iter().map(|word| (*word).to_owned()))
        .collect()
}

fn once(tool: &FakeTool, flag: &str, further: &[&str]) -> String {
    let arguments = arguments(tool, flag, further);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--once"]).collect();
    let ended = run(&arguments);
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// An exporter that looks often and is patient for half a second.
fn serve(tool: &FakeTool, further: &[&str]) -> Exporter {
    let further = [
        &[
            "--sample-interval=100ms",
            "--fallback-interval=1s",
            "--fallback-timeout=500ms",
            "--address=127.0.0.1:0",
        ],
        further,
    ];
    let arguments = arguments(tool, "--nvidia-smi-path", &further.concat());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Exporter::spawn(command(&arguments))
}

#[track_caller]
fn check_page(name: &str, tool: &FakeTool, flag: &str, further: &[&str]) -> String {
    let page = once(tool, flag, further);
    parse(&page, Format::Text);
    golden::check(&format!("real/fallback-{name}.prom"), &normalised(&page));
    page
}

#[test]
fn pages_of_nvidia_smi() {
    let mig = FakeTool::answering(MIG);
    let page = check_page("h100-mig", &mig, "--nvidia-smi-path", &[]);
    assert_eq!(
        mig.runs(),
        ["-q -x", "-L"],
        "one run tells all GPUs, and one the names of slices"
    );
    for name in [
        "source_up{source=\"nvml\"} 0",
        "source_up{source=\"nvidia_smi\"} 1",
        "dcgm_up 1",
    ] {
        assert!(page.contains(name), "{name}\n{page}");
    }
    assert!(
        page.contains("nvidia_smi_power_usage_watts"),
        "the tool brings its own names"
    );
    for (name, report) in [("v100", "v100.xml"), ("vgpu", "vgpu.xml")] {
        let tool = FakeTool::answering(&[("'-q -x'", report)]);
        check_page(name, &tool, "--nvidia-smi-path", &[]);
    }
}

#[test]
fn a_page_of_the_table_where_the_report_cannot_be_understood() {
    let tool = FakeTool::answering(&[
        ("'-q -x'", "rtx-help.txt"),
        ("--help-query-gpu", "rtx-help.txt"),
        ("--query-gpu=*", "rtx.csv"),
        ("--query-compute-apps=*", "rtx-apps.csv"),
    ]);
    check_page("rtx-table", &tool, "--nvidia-smi-path", &[]);
    let query = tool
        .runs()
        .into_iter()
        .find(|run| run.starts_with("--query-gpu="))
        .unwrap();
    assert!(query.contains("clocks_throttle_reasons.sw_power_cap"), "{query}");
    assert!(
        !query.contains("clocks_event_reasons"),
        "the help does not know it: {query}"
    );
}

#[test]
fn a_name_that_the_tool_does_not_know_is_dropped() {
    let csv = super::tools::fixture("rtx.csv");
    let tool = FakeTool::behaving(&format!(
        "case \"$*\" in\n--query-gpu=*fabric.state*) echo 'Field \"fabric.state\" is not a valid field to query.'; exit 2;;\n\
         --query-gpu=*) cat '{}'; exit 0;;\n--help-query-gpu) echo 'no list';;\nesac\necho 'no report'",
        csv.display()
    ));
    let page = once(&tool, "--nvidia-smi-path", &[]);
    assert!(page.contains("nvidia_smi_temperature_celsius"), "{page}");
    let queries = tool
        .runs()
        .into_iter()
        .filter(|run| run.starts_with("--query-gpu="))
        .count();
    assert_eq!(queries, 2);
}

#[test]
fn pages_of_amds_tools() {
    let rocm = FakeTool::answering(&[("*--json*", "mi100.json")]);
    check_page(
        "mi100-rocm-smi",
        &rocm,
        "--rocm-smi-path",
        &["--fallback=rocm-smi"],
    );
    let amd = FakeTool::answering(&[
        ("'metric --json'", "mi300x-metric.json"),
        ("'static --json'", "mi300x-static.json"),
        ("'list --json'", "mi300x-static.json"),
        ("'process --json'", "mi300x-process.json"),
    ]);
    check_page("mi300x-amd-smi", &amd, "--amd-smi-path", &["--fallback=amd-smi"]);
    let unasked = FakeTool::answering(&[("*--json*", "mi100.json")]);
    let page = once(&unasked, "--rocm-smi-path", &[]);
    assert!(
        !page.contains("rocm_smi") && unasked.runs().is_empty(),
        "only by name\n{page}"
    );
}

#[test]
fn chosen_vocabularies_and_none_are_respected() {
    let tool = FakeTool::answering(MIG);
    let page = once(&tool, "--nvidia-smi-path", &["--vocabulary=gpu,dcgm"]);
    assert!(
        !page.contains("\nnvidia_smi_") && page.contains("\ngpu_power_watts"),
        "{page}"
    );
    let off = FakeTool::answering(MIG);
    let page = once(&off, "--nvidia-smi-path", &["--fallback=none"]);
    assert!(page.contains("\ndcgm_up 0\n") && off.runs().is_empty(), "{page}");
}

/// What an exit code means to the reader of `/readyz`, and whether the page has GPUs.
#[track_caller]
fn check_code(body: &str, words: &str, gpus: usize) {
    let tool = FakeTool::behaving(body);
    let exporter = serve(&tool, &[]);
    let ready = exporter.wait_for_page("/readyz", |answer| answer.text().contains(words));
    assert_eq!(ready.status, 200);
    let page = exporter.get("/metrics").text();
    assert_eq!(
        page.lines().filter(|line| line.starts_with("gpu_up{")).count(),
        gpus,
        "{page}"
    );
    end(exporter, &tool);
}

#[test]
fn exit_codes_have_their_meanings() {
    check_code("echo 'NVIDIA-SMI has failed'; exit 9", "driver is not loaded", 0);
    check_code(
        "echo \"couldn't find libnvidia-ml.so\"; exit 12",
        "finds no libnvidia-ml.so.1",
        0,
    );
    check_code("echo 'No devices were found'; exit 6", "finds no GPU", 0);
    check_code("echo 'version mismatch'; exit 18", "version_mismatch", 0);
    check_code("echo 'Unable to determine the device handle'; exit 15", "lost", 0);
    check_code("echo garbage; exit 0", "unreadable", 0);
    check_code("echo 'Insufficient Permissions'; exit 4", "no_permission", 0);
    let table = super::tools::fixture("rtx.csv");
    let restricted = format!(
        "case \"$*\" in\n--query-gpu=*) cat '{}'; exit 0;;\nesac\nexit 4",
        table.display()
    );
    check_code(&restricted, "\"name\":\"nvidia_smi\",\"up\":true", 1);
    check_code("cat /dev/zero", "too_much_output", 0);
    check_code("exit 255", "exit_code", 0);
    // A GPU with a damaged infoROM makes the tool complain after a report that is whole.
    let report = super::tools::fixture("v100.xml");
    let complains = format!(
        "cat '{}'; echo 'WARNING: infoROM is corrupted at gpu 0000:3B:00.0'; exit 14",
        report.display()
    );
    check_code(&complains, "\"name\":\"nvidia_smi\",\"up\":true", 1);
}

/// Ends the exporter as an orchestrator does, and looks that nothing of the tool stays.
#[track_caller]
fn end(mut exporter: Exporter, tool: &FakeTool) {
    exporter.signal(Signal::SIGTERM);
    assert!(exporter.wait().success());
    let gone = || (tool.processes() == 0).then_some(());
    wait("nothing of the tool stays", gone, || {
        format!("{} processes", tool.processes())
    });
}

/// Hangs, with a child, as long as the exporter lives.
const HANGS: &str = "trap '' TERM\nwhile kill -0 $PPID 2>/dev/null; do sleep 0.05; done";

#[test]
fn one_that_hangs_is_killed_and_never_runs_twice() {
    let tool = FakeTool::answering(MIG);
    let exporter = serve(&tool, &[]);
    let up = |page: &str| value(page, "gpu_up", &["gpu=\"1\""]);
    exporter.wait_for_page("/metrics", |answer| up(&answer.text()) == Some(1.0));
    tool.behave(HANGS);
    let before = tool.runs().len();
    let started = Instant::now();
    let mut most = 0;
    while tool.runs().len() < before + 3 {
        assert!(started.elapsed() < Duration::from_secs(30));
        most = most.max(tool.processes());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(most, 1, "one at a time");
    let page = exporter
        .wait_for_page("/metrics", |answer| up(&answer.text()) == Some(0.0))
        .text();
    assert!(
        page.contains("source_errors_total{source=\"nvidia_smi\",class=\"timeout\"}"),
        "{page}"
    );
    assert!(
        value(&page, "gpu_last_sample_age_seconds", &["gpu=\"1\""]).unwrap() > 1.0,
        "the age is that of the answer\n{page}"
    );
    assert_eq!(value(&page, "gpu_exporter_source_up", &["nvidia_smi"]), Some(0.0));
    tool.answer(MIG);
    exporter.wait_for_page("/metrics", |answer| up(&answer.text()) == Some(1.0));
    tool.behave(HANGS);
    wait(
        "it hangs again",
        || (tool.processes() > 0).then_some(()),
        String::new,
    );
    end(exporter, &tool);
}

#[test]
fn a_gpu_that_is_lost_keeps_its_name() {
    let tool = FakeTool::answering(&[("'-q -x'", "v100.xml")]);
    let exporter = serve(&tool, &[]);
    let up = |page: &str| {
        value(
            page,
            "gpu_up",
            &["uuid=\"GPU-22222222-3333-4444-5555-666666666601\""],
        )
    };
    exporter.wait_for_page("/metrics", |answer| up(&answer.text()) == Some(1.0));
    tool.behave(
        "echo '<nvidia_smi_log><driver_version>418.67</driver_version><gpu id=\"00000000:3B:00.0\"><uuid>GPU is lost</uuid>\
         <utilization><gpu_util>GPU is lost</gpu_util></utilization></gpu></nvidia_smi_log>'",
    );
    let page = exporter
        .wait_for_page("/metrics", |answer| up(&answer.text()) == Some(0.0))
        .text();
    assert!(
        page.contains("gpu_exporter_device_errors_total") && page.contains("class=\"device_lost\""),
        "{page}"
    );
    end(exporter, &tool);
}

#[test]
fn a_slice_that_the_tool_tells_of_has_its_pod() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kubelet.sock");
    let slice = "MIG-aaaaaaaa-0000-5000-8000-000000000001";
    let held = pod("ml", "train-0", "nvidia.com/mig-3g.40gb", &[slice]);
    let whole = pod(
        "ml",
        "serve-0",
        "nvidia.com/gpu",
        &["GPU-11111111-2222-3333-4444-555555555502"],
    );
    let _kubelet = FakeKubelet::start(&socket, answer(vec![held, whole]));
    let tool = FakeTool::answering(MIG);
    let given = format!("--pod-resources-kubelet-socket={}", socket.display());
    let exporter = serve(&tool, &["--kubernetes=true", &given]);
    let of = |page: &str, pod: &str| value(page, "gpu_memory_used_bytes", &[&format!("pod=\"{pod}\"")]);
    let page = exporter
        .wait_for_page("/metrics", |answer| of(&answer.text(), "train-0").is_some())
        .text();
    assert_eq!(of(&page, "train-0"), Some(10240.0 * 1_048_576.0), "{page}");
    assert_eq!(
        value(&page, "gpu_utilization_ratio", &["pod=\"serve-0\""]),
        Some(0.37),
        "{page}"
    );
    end(exporter, &tool);
}

#[test]
fn the_library_takes_over_when_it_comes() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("there")).unwrap();
    let driver = Installed::into(&directory.path().join("there"), &Scenario::rtx3080()).unwrap();
    let hidden = directory.path().join("elsewhere");
    std::fs::rename(directory.path().join("there"), &hidden).unwrap();
    let tool = FakeTool::answering(&[("'-q -x'", "v100.xml")]);
    let given = format!("--nvml-library={}", driver.library().display());
    let path = format!("--nvidia-smi-path={}", tool.path().display());
    let exporter = Exporter::spawn(command(&[
        &given,
        &path,
        "--sample-interval=100ms",
        "--fallback-interval=1s",
        "--kubernetes=false",
        "--kernel-log=/dev/null",
        "--path.sysfs=/nowhere",
        "--address=127.0.0.1:0",
    ]));
    let source = |page: &str, name: &str| value(page, "gpu_exporter_source_up", &[&format!("\"{name}\"")]);
    let gpus = |page: &str| page.lines().filter(|line| line.starts_with("gpu_up{")).count();
    let page = exporter
        .wait_for_page("/metrics", |answer| gpus(&answer.text()) == 1)
        .text();
    assert_eq!(
        (source(&page, "nvml"), source(&page, "nvidia_smi")),
        (Some(0.0), Some(1.0))
    );
    std::fs::rename(&hidden, directory.path().join("there")).unwrap();
    let taken = |page: &str| source(page, "nvml") == Some(1.0) && page.contains("RTX 3080");
    let page = exporter
        .wait_for_page("/metrics", |answer| taken(&answer.text()))
        .text();
    assert_eq!(
        (source(&page, "nvidia_smi"), gpus(&page)),
        (None, 1),
        "never twice\n{page}"
    );
    assert!(!page.contains("\nnvidia_smi_"), "its names go with it");
    let runs = tool.runs().len();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(tool.runs().len(), runs, "it is not run any more");
    end(exporter, &tool);
}

#[test]
fn the_doctor_says_who_stands_in_and_why() {
    let tool = FakeTool::answering(MIG);
    let words = arguments(&tool, "--nvidia-smi-path", &["--address=127.0.0.1:0", "doctor"]);
    let told = String::from_utf8(run(&words.iter().map(String::as_str).collect::<Vec<_>>()).stdout).unwrap();
    let line = told.lines().find(|line| line.contains("driver nvml")).unwrap();
    assert!(
        line.starts_with("warn") && line.contains("nvidia_smi stands in for it and lists 2 GPUs"),
        "{told}"
    );
    assert!(line.contains("libnvidia-ml.so.1"), "{told}");
    let open = FakeTool::answering(MIG);
    std::fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let words = arguments(
        &open,
        "--nvidia-smi-path",
        &["--fallback=nvidia-smi", "--address=127.0.0.1:0", "doctor"],
    );
    let told = String::from_utf8(run(&words.iter().map(String::as_str).collect::<Vec<_>>()).stdout).unwrap();
    assert!(
        told.contains("others than its owner may write it") && open.runs().is_empty(),
        "{told}"
    );
}
