//! Workloads that write textfiles on a machine with the real program: the ordinary way, and every wrong one.

use std::os::unix::fs::symlink;
use std::time::Duration;

use gpu_exposition::Format;
use gpu_testbed::prometheus::{Prometheus, PrometheusOptions};
use gpu_testbed::{Bed, eventually, require};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::machine::Machine;
use super::machines;
use super::reading::{parse, samples, value};
use crate::exporter::run;

const SOON: Duration = Duration::from_secs(60);
const WHOLE: Duration = Duration::from_secs(120);
/// Far above what the program has otherwise.
const MOST_RESIDENT: u64 = 64 * 1024 * 1024;

/// Four pods on one GPU.
fn sharing() -> Machine {
    let machine = machines::t4_time_sliced()
        .arguments(&["--application-interval=200ms"])
        .with_textfiles()
        .start();
    machine.wait(|page| page.contains("pod=\"notebook-3\""));
    machine
}

fn steps(steps: u32, tokens: u32) -> String {
    format!(
        "# HELP train_steps_total Steps of the optimizer.\n# TYPE train_steps_total counter\ntrain_steps_total {steps}\n\
         # HELP train_tokens_total Tokens that were trained on.\n# TYPE train_tokens_total counter\n\
         train_tokens_total{{split=\"train\"}} {tokens}\n"
    )
}

#[test]
fn two_pods_that_share_a_gpu_show_their_own_steps() {
    let machine = sharing();
    machine.write_textfile("ml_notebook-0/train.prom", &steps(10, 5_000));
    machine.write_textfile("ml_notebook-1/train.prom", &steps(20, 7_000));
    let of = |page: &str, pod: &str| value(page, "train_steps_total", &[&format!("pod=\"{pod}\"")]);
    let page = machine.wait(|page| of(page, "notebook-1").is_some());
    assert_eq!(
        (of(&page, "notebook-0"), of(&page, "notebook-1")),
        (Some(10.0), Some(20.0))
    );
    let uuid = format!("uuid=\"{}\"", machine.scenario.gpus[0].uuid);
    for label in ["namespace=\"ml\"", "gpu=\"0\"", "node=\"node-a\"", &uuid] {
        assert!(
            value(&page, "train_tokens_total", &[label, "split=\"train\""]).is_some(),
            "{label}\n{page}"
        );
    }
    let parsed = parse(&page, Format::Text);
    assert_eq!(samples(&parsed, "gpu_application_info").len(), 2);
    assert_eq!(samples(&parsed, "gpu_exporter_application_up").len(), 2);
    assert_eq!(value(&page, "gpu_exporter_source_up", &["textfile"]), Some(1.0));
    // The next word replaces the last one, and a file that is gone takes its series with it.
    machine.write_textfile("ml_notebook-0/train.prom", &steps(11, 6_000));
    machine.wait(|page| of(page, "notebook-0") == Some(11.0));
    std::fs::remove_file(machine.textfile("ml_notebook-1/train.prom")).unwrap();
    machine.wait(|page| of(page, "notebook-1").is_none() && of(page, "notebook-0").is_some());
    let core = machine.exporter.get("/metrics?families=core").text();
    assert!(!core.contains("train_steps"), "{core}");
    let open = [("accept", "application/openmetrics-text;version=1.0.0")];
    let open = machine.exporter.ask("GET", "/metrics", &open).text();
    assert!(open.contains("# TYPE train_steps counter\n"), "{open}");
    parse(&open, Format::OpenMetrics);
}

#[test]
fn a_pod_that_has_ended_takes_its_numbers_with_it() {
    let mut machine = sharing();
    machine.write_textfile("ml_notebook-0/train.prom", &steps(10, 5_000));
    machine.write_textfile("ml_stranger/train.prom", &steps(99, 9_000));
    let page = machine.wait(|page| page.contains("\ntrain_steps_total{"));
    assert!(!page.contains("stranger"), "{page}");
    machine.end_pod("notebook-0");
    machine.tell_kubelet();
    machine.wait(|page| !page.contains("train_steps_total"));
}

/// Everything that a hostile or careless pod may put there, beside an honest one.
fn spoil(machine: &Machine) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(machine.textfile(name), bytes).unwrap();
    write("ml_notebook-1/large.prom", &b"a 1\n".repeat(10 * 1024 * 1024 / 4));
    let labels: String = (0..1_000_000).map(|n| format!("l{n}=\"\",")).collect();
    write(
        "ml_notebook-1/labels.prom",
        format!("b{{{labels}}} 1\n").as_bytes(),
    );
    mkfifo(&machine.textfile("ml_notebook-1/pipe.prom"), Mode::S_IRWXU).unwrap();
    symlink("/etc/shadow", machine.textfile("ml_notebook-1/shadow.prom")).unwrap();
    symlink("/dev/zero", machine.textfile("ml_notebook-1/zero.prom")).unwrap();
    write("ml_notebook-1/binary.prom", b"\x7fELF\x02\x01\x01\0\0\xff\xfe\n");
    write("ml_notebook-1/torn.prom", b"tokens_total 12");
    write(
        "ml_notebook-2/odd.prom",
        b"nan NaN\ninf +Inf\ntwice 1\ntwice 2\nstamped 1 1790000000000\n\
          gpu_utilization_ratio{gpu=\"0\"} 0\nDCGM_FI_DEV_GPU_UTIL 0\nup 0\n\
          named{pod=\"other\",namespace=\"kube-system\",gpu=\"7\"} 1\n",
    );
    let many: String = (0..3_000).map(|n| format!("many{{n=\"{n}\"}} 1\n")).collect();
    write("ml_notebook-2/many.prom", many.as_bytes());
    write("ml_../x.prom", b"up 1\n");
}

#[test]
fn hostile_files_cost_only_themselves() {
    let machine = sharing();
    spoil(&machine);
    machine.write_textfile("ml_notebook-0/train.prom", &steps(10, 5_000));
    let errors = |page: &str, class: &str| {
        let class = format!("class=\"{class}\"");
        value(page, "gpu_exporter_source_errors_total", &["textfile", &class])
    };
    let classes = ["too_large", "not_regular", "malformed", "torn", "too_many_series"];
    let page = machine.wait(|page| {
        page.contains("train_steps_total{") && classes.iter().all(|class| errors(page, class) > Some(0.0))
    });
    let parsed = parse(&page, Format::Text);
    for family in ["a", "b", "tokens_total", "twice", "stamped", "many", "up"] {
        assert_eq!(samples(&parsed, family), [], "{family}");
    }
    assert!(!page.contains("root:"), "{page}");
    let invented = samples(&parsed, "gpu_utilization_ratio").iter();
    assert_eq!(invented.filter(|sample| sample.value == 0.0).count(), 0, "{page}");
    let named = value(
        &page,
        "named",
        &[
            "exported_pod=\"other\"",
            "exported_gpu=\"7\"",
            "pod=\"notebook-2\"",
        ],
    );
    assert_eq!(named, Some(1.0), "{page}");
    assert!(value(&page, "nan", &["notebook-2"]).unwrap().is_nan());
    assert_eq!(value(&page, "inf", &["notebook-2"]), Some(f64::INFINITY));
    for (reason, series) in [("name_reserved", 3.0), ("duplicate", 2.0), ("timestamp", 1.0)] {
        let reason = format!("reason=\"{reason}\"");
        assert_eq!(
            value(&page, "gpu_exporter_application_series_dropped", &[&reason]),
            Some(series),
            "{page}"
        );
    }
    let up = |pod: &str| value(&page, "gpu_exporter_application_up", &[&format!("pod=\"{pod}\"")]);
    assert_eq!(
        [up("notebook-0"), up("notebook-1"), up("notebook-2")],
        [Some(1.0), Some(0.0), Some(0.0)]
    );
    // The log names each file once, however often it is looked at.
    let log = machine.exporter.wait_for_log("large.prom");
    assert!(log.contains("left out a textfile"), "{log}");
    let before = errors(&page, "too_large").unwrap();
    machine.wait(|page| errors(page, "too_large") > Some(before + 5.0));
    let log = machine.exporter.log();
    assert_eq!(log.matches("large.prom").count(), 1, "{log}");
    let resident = machine.exporter.resident();
    assert!(resident < MOST_RESIDENT, "{resident} bytes");
}

#[test]
fn what_has_grown_old_is_gone_and_counted() {
    let machine = machines::t4_time_sliced()
        .arguments(&["--application-interval=200ms", "--textfile-max-age=2s"])
        .with_textfiles()
        .start();
    machine.write_textfile("ml_notebook-0/train.prom", &steps(10, 5_000));
    machine.write_textfile("node.prom", "backup_seconds 3\n");
    machine.wait(|page| {
        page.contains("\ntrain_steps_total{") && page.contains("\nbackup_seconds{node=\"node-a\",")
    });
    machine.wait(|page| !page.contains("train_steps_total"));
    let stale = ["textfile", "class=\"stale\""];
    machine.wait(|page| value(page, "gpu_exporter_source_errors_total", &stale) > Some(0.0));
    machine.wait(|page| value(page, "gpu_exporter_application_up", &["notebook-0"]) == Some(0.0));
}

#[test]
fn a_machine_without_kubernetes_owns_its_directory() {
    let machine = machines::rtx3080().with_textfiles().start();
    machine.write_textfile(
        "render.prom",
        "# TYPE frames_total counter\nframes_total{scene=\"a\"} 4\n",
    );
    let labels = ["scene=\"a\"", "node=\"node-a\"", "gpu=\"0\""];
    machine.wait(|page| value(page, "frames_total", &labels) == Some(4.0));
    let page = machine.page();
    assert!(!page.contains("frames_total{scene=\"a\",pod="), "{page}");
}

#[test]
fn once_shows_textfiles_too() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.prom"), "frames_total 4\n").unwrap();
    let path = directory.path().to_str().unwrap();
    let output = run(&[
        "--once",
        "--kubernetes=false",
        "--textfile-dir",
        path,
        "--node-name",
        "n",
    ]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("frames_total{node=\"n\"} 4\n"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_divides_tokens_by_joules() -> anyhow::Result<()> {
    require!(Prometheus::need());
    let machine = machines::h100_x8()
        .arguments(&["--application-interval=200ms"])
        .with_textfiles()
        .start();
    // One pod with four GPUs and one with one.
    machine.write_textfile("ml_train-0/train.prom", &steps(10, 40_000));
    machine.write_textfile("ml_serve-4/train.prom", &steps(10, 20_000));
    machine.wait(|page| page.matches("\ntrain_tokens_total{").count() == 2);
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let options = PrometheusOptions::scraping(machine.exporter.address.to_string(), "/metrics");
        let prometheus = Prometheus::start(&bed, &options).await?;
        let ask = |query: &'static str, count: usize| {
            let prometheus = &prometheus;
            async move {
                eventually(query, SOON, || async {
                    Ok(Some(prometheus.query(query).await?).filter(|found| found.len() == count))
                })
                .await
            }
        };
        let by_energy = ask(
            "sum by (namespace, pod) (train_tokens_total) / on (namespace, pod) sum by (namespace, pod) (gpu_energy_joules_total)",
            2,
        )
        .await?;
        assert!(by_energy.iter().all(|series| series.value > 0.0), "{by_energy:?}");
        // A pod's value for each of its GPUs, by the family that says which they are.
        let by_gpu = ask(
            "gpu_application_info * on (namespace, pod) group_left sum by (namespace, pod) (train_tokens_total)",
            5,
        )
        .await?;
        let of = |pod: &str| by_gpu.iter().filter(|series| series.labels["pod"] == pod).count();
        assert_eq!((of("train-0"), of("serve-4")), (4, 1), "{by_gpu:?}");
        // The pod with one GPU meets it directly.
        let direct = ask("train_tokens_total * on (uuid) group_left (model) gpu_info", 1).await?;
        assert_eq!(direct[0].labels["pod"], "serve-4");
        Ok(())
    })
    .await
}
