//! Jobs of batch systems: on the page in each vocabulary, from real files that come, change, break and go, and by the scripts
//! that are shipped for Slurm.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use gpu_exporter::page::{PageSettings, Subset, page_text};
use gpu_exporter::readings::{DeviceReadings, Field};
use gpu_exporter::snapshot::{Job, NodeSnapshot};
use gpu_exposition::{Format, Page, ParserOptions};
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::{Model, Scenario};

use crate::exporter::{Exporter, command};
use crate::nodes as pieces;

fn job(instance: Option<u32>, id: &str) -> Job {
    Job {
        instance,
        id: id.to_owned(),
        ..Job::default()
    }
}

/// A node with one GPU: plain, or in two slices.
fn node(slices: &[u32], jobs: Vec<Job>) -> NodeSnapshot {
    let mut device = pieces::device(0, "NVIDIA A100", "ampere", "580.82");
    let mut readings: DeviceReadings = pieces::basic(&[
        (Field::Temperature, 40.0),
        (Field::MemoryUsed, 64.0 * pieces::MIB),
    ]);
    readings.slices = slices
        .iter()
        .map(|gi| pieces::slice(*gi, 0, "1g.10gb", 100.0, 16.0))
        .collect();
    device.readings = Arc::new(readings);
    device.jobs = jobs.into();
    pieces::node("node-1", Vec::new(), vec![device])
}

/// The labels of interest and the value of every series of a family.
fn series(node: &NodeSnapshot, family: &str, labels: &[&str]) -> Vec<String> {
    let text = page_text(node, &PageSettings::default(), Format::Text, Subset::Full).unwrap();
    let page = Page::parse(text.as_bytes(), ParserOptions::new(Format::Text)).unwrap();
    let Some(family) = page.families.iter().find(|one| one.name == family) else {
        return Vec::new();
    };
    let line = |sample: &gpu_exposition::Sample| {
        let known = labels.iter().filter_map(|name| {
            let (_, value) = sample.labels.iter().find(|(own, _)| own == name)?;
            Some(format!("{name}={value}"))
        });
        let known: Vec<String> = known.collect();
        format!("{} {}", known.join(" "), sample.value)
    };
    family.samples.iter().map(line).collect()
}

#[test]
fn one_job_is_a_label_of_dcgm_and_a_family_of_ours() {
    let ada = Job {
        user: Some("ada".to_owned()),
        partition: Some("a100".to_owned()),
        cluster: Some("hpc1".to_owned()),
        ..job(None, "101")
    };
    let node = node(&[], vec![ada]);
    assert_eq!(
        series(&node, "DCGM_FI_DEV_GPU_TEMP", &["hpc_job"]),
        ["hpc_job=101 40"]
    );
    let labels = ["uuid", "job_id", "job_user", "job_partition", "job_cluster"];
    let uuid = "uuid=GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000000";
    let expected = format!("{uuid} job_id=101 job_user=ada job_partition=a100 job_cluster=hpc1 1");
    assert_eq!(series(&node, "gpu_job_info", &labels), [expected]);
    assert_eq!(
        series(&node, "gpu_memory_used_bytes", &["hpc_job", "job_id"]),
        [" 67108864"]
    );
    let nobody = self::node(&[], Vec::new());
    assert_eq!(series(&nobody, "gpu_job_info", &[]), [""; 0]);
    assert_eq!(series(&nobody, "DCGM_FI_DEV_GPU_TEMP", &["hpc_job"]), [" 40"]);
}

#[test]
fn several_jobs_repeat_the_series_of_dcgm_and_no_sum_of_ours() {
    let node = node(&[], vec![job(None, "101"), job(None, "102")]);
    assert_eq!(
        series(&node, "DCGM_FI_DEV_FB_USED", &["hpc_job"]),
        ["hpc_job=101 64", "hpc_job=102 64"]
    );
    assert_eq!(
        series(&node, "gpu_job_info", &["job_id"]),
        ["job_id=101 1", "job_id=102 1"]
    );
    assert_eq!(series(&node, "gpu_memory_used_bytes", &[]), [" 67108864"]);
}

#[test]
fn a_job_on_a_slice_is_on_that_slice_alone() {
    let node = node(&[1, 2], vec![job(Some(2), "201"), job(Some(2), "202")]);
    assert_eq!(
        series(&node, "DCGM_FI_DEV_FB_USED", &["GPU_I_ID", "hpc_job"]),
        [
            "GPU_I_ID=1 16",
            "GPU_I_ID=2 hpc_job=201 16",
            "GPU_I_ID=2 hpc_job=202 16"
        ]
    );
    assert_eq!(series(&node, "DCGM_FI_DEV_GPU_TEMP", &["hpc_job"]), [" 40"]);
    assert_eq!(
        series(&node, "gpu_job_info", &["partition", "job_id"]),
        [
            "partition=1g.10gb/2/0 job_id=201 1",
            "partition=1g.10gb/2/0 job_id=202 1"
        ]
    );
}

/// An exporter of two GPUs that reads jobs from a directory.
struct Scene {
    exporter: Exporter,
    jobs: PathBuf,
    _driver: Installed,
    _directory: tempfile::TempDir,
}

impl Scene {
    fn new(flag: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let driver = Installed::into(directory.path(), &Scenario::of(Model::H100, 2)).unwrap();
        let jobs = directory.path().join("jobs");
        std::fs::create_dir(&jobs).unwrap();
        let mut command = command(&["--sample-interval", "200ms", "--address", "127.0.0.1:0"]);
        command
            .args([
                "--nvml-library",
                driver.library().to_str().unwrap(),
                "--kernel-log",
                "/dev/null",
            ])
            .args([flag, jobs.to_str().unwrap()]);
        Self {
            exporter: Exporter::spawn(command),
            jobs,
            _driver: driver,
            _directory: directory,
        }
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.jobs.join(name), content).unwrap();
    }

    /// Waits until the jobs on the page are these, each as `gpu id user`.
    #[track_caller]
    fn wait_for(&self, expected: &[&str]) -> String {
        let answer = self.exporter.wait_for_page("/metrics", |answer| {
            answer.text().contains("gpu_info{") && held(&answer.text()) == expected
        });
        answer.text()
    }
}

fn held(page: &str) -> Vec<String> {
    let value = |line: &str, name: &str| {
        let start = line.find(&format!("{name}=\""))? + name.len() + 2;
        line[start..].split('"').next().map(str::to_owned)
    };
    let lines = page.lines().filter(|line| line.starts_with("gpu_job_info{"));
    lines
        .map(|line| {
            let words = ["gpu", "job_id", "job_user"].map(|name| value(line, name));
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        })
        .collect()
}

#[test]
fn files_that_come_change_and_go_are_followed() {
    let scene = Scene::new("--hpc-job-mapping-dir");
    scene.wait_for(&[]);
    scene.write("0", "101\n");
    scene.write("1", "102\n103\n");
    scene.write("README", "not a job");
    let page = scene.wait_for(&["0 101", "1 102", "1 103"]);
    let repeated = page
        .lines()
        .filter(|line| line.starts_with("DCGM_FI_DEV_GPU_UTIL{"));
    assert_eq!(
        repeated.filter(|line| line.contains("hpc_job=")).count(),
        3,
        "{page}"
    );
    let answer = scene.exporter.get("/api/v1/monitoring/gpu-metrics").text();
    assert!(answer.contains("\"jobs\":[{\"id\":\"101\""), "{answer}");
    // The job ends, and the GPU is nobody's.
    std::fs::remove_file(scene.jobs.join("0")).unwrap();
    scene.write("1", "104");
    scene.wait_for(&["1 104"]);
}

#[test]
fn a_bad_file_is_named_counted_and_costs_only_itself() {
    let scene = Scene::new("--slurm-job-dir");
    scene.write("0", "{\"SLURM_JOB_ID\": \"1\", ");
    scene.write("1", "{\"SLURM_JOB_ID\": \"2\", \"SLURM_JOB_USER\": \"ada\"}");
    nix::unistd::mkfifo(&scene.jobs.join("3"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    scene.wait_for(&["1 2 ada"]);
    let log = scene.exporter.wait_for_log("not a JSON object");
    assert!(log.contains("jobs/0"), "{log}");
    scene.exporter.wait_for_log("jobs/3");
    let is_counted = |text: &str| {
        text.contains("gpu_exporter_source_errors_total{source=\"jobs\",class=\"malformed\"}")
            && text.contains("gpu_exporter_source_up{source=\"jobs\"} 0")
    };
    scene
        .exporter
        .wait_for_page("/metrics", |answer| is_counted(&answer.text()));
    scene.write("0", "{\"SLURM_JOB_ID\": \"1\"}");
    std::fs::remove_file(scene.jobs.join("3")).unwrap();
    scene.wait_for(&["0 1", "1 2 ada"]);
    scene.exporter.wait_for_page("/metrics", |answer| {
        answer
            .text()
            .contains("gpu_exporter_source_up{source=\"jobs\"} 1")
    });
    // The directory itself goes, and with it the jobs.
    std::fs::remove_dir_all(&scene.jobs).unwrap();
    scene.wait_for(&[]);
    scene.exporter.wait_for_log("cannot list the directory");
}

/// Runs a script that is shipped for Slurm as slurmd does: without a search path.
fn run_script(name: &str, directory: &Path, gpus: &str, id: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging/slurm")
        .join(name);
    let mode = std::fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "{name} can be executed");
    let ended = Command::new(script)
        .env_clear()
        .env("GPU_EXPORTER_SLURM_JOB_DIR", directory)
        .env("SLURM_JOB_ID", id)
        .env("SLURM_JOB_USER", "ada \"the\" \\first")
        .env("SLURM_JOB_PARTITION", "gpu")
        .env("SLURM_CLUSTER_NAME", "hpc1")
        .env("SLURM_JOB_GPUS", gpus)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn the_scripts_for_slurm_give_and_take_a_job() {
    let scene = Scene::new("--slurm-job-dir");
    run_script("prolog.sh", &scene.jobs, "0,1", "4711");
    scene.wait_for(&["0 4711 ada the first", "1 4711 ada the first"]);
    // The next job has a GPU before the epilog of the last one ran: it keeps it.
    run_script("prolog.sh", &scene.jobs, "1", "4712");
    run_script("epilog.sh", &scene.jobs, "0,1", "4711");
    scene.wait_for(&["1 4712 ada the first"]);
    run_script("epilog.sh", &scene.jobs, "1", "4712");
    scene.wait_for(&[]);
    // No GPU, no directory, odd words: never a failed job.
    run_script("prolog.sh", &scene.jobs, "", "4713");
    run_script("prolog.sh", &scene.jobs, "../0,x,2", "4714");
    let left: Vec<_> = std::fs::read_dir(&scene.jobs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["2"]);
    run_script("epilog.sh", &scene.jobs.join("nowhere"), "0", "4715");
}
