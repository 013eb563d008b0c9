//! The exporter as a real DaemonSet pod, installed by the chart: whom the kubelet's own socket and real control groups
//! say that a GPU belongs to, through the restarts of pods and of the kubelet, and with how few rights.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gpu_nvml_double::scenario::{Process, Scenario, Utilization};
use gpu_testbed::real_node::{RealNode, until};
use gpu_testbed::{Program, require};
use serde_json::json;

use super::exporter_release::{ExporterPod, Metrics, Release, status_of};
use super::exporter_worker::{GIB, SHARED, UNTOLD, WHOLE, Worker, busy, check_sums, gpu_of, idle_gpus};
use super::pods::{RUNS_WITHIN, shared_node_alone};

/// Two installations of the chart and two restarts, on a machine that may do other things at the same time.
const TEST_WITHIN: Duration = Duration::from_secs(420);

/// The kubelet is asked at least every five seconds, and a sample follows within one more; the rest is for the machine.
const KNOWN_WITHIN: Duration = Duration::from_secs(30);

async fn until_page<T>(
    release: &Release<'_>,
    pod: &ExporterPod,
    what: &str,
    check: impl Fn(&Metrics) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    until(what, KNOWN_WITHIN, async || check(&release.page(pod).await?)).await
}

/// The rights that the kernel really left the process with, whatever the manifest says.
fn check_rights(pid: i32, user: &str) -> anyhow::Result<()> {
    ensure!(
        status_of(pid, "Uid")? == [user; 4],
        "{:?}",
        status_of(pid, "Uid")?
    );
    ensure!(
        status_of(pid, "Gid")? == [user; 4],
        "{:?}",
        status_of(pid, "Gid")?
    );
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let rights = status_of(pid, set)?;
        ensure!(rights == ["0000000000000000"], "{set} is {rights:?}");
    }
    ensure!(status_of(pid, "NoNewPrivs")? == ["1"], "it may gain rights");
    ensure!(status_of(pid, "Seccomp")? == ["2"], "no filter of system calls");
    Ok(())
}

/// Whether the process can write to any of these places: the flags of its own mounts.
fn check_read_only(pid: i32, places: &[&str]) -> anyhow::Result<()> {
    let table = std::fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
    for place in places {
        let mut lines = table.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mount = lines.find(|words| words.get(4) == Some(place));
        let mount = mount.with_context(|| format!("nothing is mounted on {place}: {table}"))?;
        ensure!(
            mount[5].split(',').any(|flag| flag == "ro"),
            "{place} is {}",
            mount[5]
        );
    }
    Ok(())
}

/// Everything the doctor looks at is well. Of the kernel's log it must say that a pod without rights cannot read it.
async fn check_doctor(release: &Release<'_>, pod: &ExporterPod, gpus: usize) -> anyhow::Result<()> {
    let said = release.run(pod, &["doctor"]).await?;
    let (well, rest): (Vec<&str>, Vec<&str>) = said.lines().partition(|line| line.starts_with("ok  "));
    ensure!(
        matches!(rest[..], [one] if one.starts_with("warn  kernel log: ")),
        "{said}"
    );
    for expected in [
        format!("ok    driver nvml: it answers and lists {gpus} GPUs"),
        "ok    kubelet: it answers and lists ".to_owned(),
        "ok    port: an exporter runs on ".to_owned(),
        "ok    control groups: ".to_owned(),
        "ok    processes: ".to_owned(),
    ] {
        ensure!(
            well.iter().any(|line| line.starts_with(&expected)),
            "no `{expected}` in {said}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn pods_are_told_apart_by_the_exporter_in_its_daemonset() -> anyhow::Result<()> {
    require!(RealNode::needs(), Program::Helm);
    let (node, _alone) = shared_node_alone().await?;
    let work = async {
        let mut scenario = idle_gpus();
        let values = json!({"perProcess": {"enabled": true}});
        let release = Release::install(node, "gpu-monitoring", Some(&scenario), &values).await?;
        let exporter = release.pod().await?;
        let process = release.process(&exporter)?;
        check_rights(process, "0")?;
        check_read_only(
            process,
            &[
                "/",
                "/var/lib/kubelet/pod-resources",
                "/var/lib/kubelet/device-plugins",
                "/var/log/pods",
                "/var/log/containers",
                "/host/sys/fs/cgroup",
            ],
        )?;
        check_doctor(&release, &exporter, scenario.gpus.len()).await?;

        // One pod has a GPU for itself, two share another, and so does a process of the node itself.
        let alone = Worker::start(node, "alone", WHOLE, (4 * GIB, 60)).await?;
        let one = Worker::start(node, "sharer-one", SHARED, (2 * GIB, 30)).await?;
        let two = Worker::start(node, "sharer-two", SHARED, (3 * GIB, 20)).await?;
        ensure!(
            one.uuid() == two.uuid() && one.device != two.device,
            "they do not share"
        );
        let outside = Process::compute(1, GIB, 10);
        busy(gpu_of(&mut scenario, &alone.device)?, vec![alone.process.clone()]);
        busy(
            gpu_of(&mut scenario, &one.device)?,
            vec![one.process.clone(), two.process.clone(), outside],
        );
        release.change(&scenario)?;
        let owned = |page: &Metrics| {
            for worker in [&alone, &one, &two] {
                worker.check(page)?;
                check_sums(page, worker.uuid())?;
            }
            let beside = [("uuid", one.uuid()), ("reason", "outside_kubernetes")];
            let beside = page.value("gpu_unattributed_memory_bytes", &beside)?;
            ensure!(beside == GIB as f64, "{beside}");
            Ok(())
        };
        until_page(&release, &exporter, "the pods are told apart", owned).await?;
        let fetched = Metrics::parse(&release.run(&exporter, &["fetch"]).await?)?;
        owned(&fetched).context("the page that `fetch` prints")?;

        restart_kubelet(node, &release, &exporter, owned).await?;
        let alone = restart_pod(node, &release, &exporter, &mut scenario, alone).await?;
        let after = release.pod().await?;
        ensure!(
            after.uid == exporter.uid && after.restarts == 0,
            "the exporter was restarted"
        );
        for worker in [alone, one, two] {
            worker.pod.delete(node).await?;
        }
        release.uninstall().await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

/// While the kubelet is gone and after it is back every look at the page finds the same owners.
async fn restart_kubelet(
    node: &RealNode,
    release: &Release<'_>,
    exporter: &ExporterPod,
    owned: impl Fn(&Metrics) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let kubelet = [("source", "kubelet")];
    let mut looks = 0;
    let mut restart = std::pin::pin!(node.restart_kubelet());
    loop {
        owned(&release.page(exporter).await?).context("while the kubelet restarts")?;
        looks += 1;
        tokio::select! {
            done = &mut restart => break done?,
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
        }
    }
    ensure!(looks > 1, "the restart was over before it was seen");
    until_page(release, exporter, "the new kubelet answers", |page| {
        owned(page)?;
        let up = page.value("gpu_exporter_source_up", &kubelet)?;
        let age = page.value("gpu_exporter_source_age_seconds", &kubelet)?;
        ensure!(up == 1.0 && age < 10.0, "up {up}, age {age}");
        Ok(())
    })
    .await
}

/// A pod ends: its GPU is free. One of the same name starts: the GPU it got is its own.
async fn restart_pod(
    node: &RealNode,
    release: &Release<'_>,
    exporter: &ExporterPod,
    scenario: &mut Scenario,
    before: Worker,
) -> anyhow::Result<Worker> {
    let name = before.pod.name.clone();
    let gpu = gpu_of(scenario, &before.device)?;
    gpu.processes.clear();
    gpu.memory.used = 0;
    gpu.utilization = Some(Utilization { gpu: 0, memory: 0 });
    before.pod.delete(node).await?;
    release.change(scenario)?;
    let ended = Instant::now();
    until_page(release, exporter, "the ended pod has left the page", |page| {
        let left = page.with_label("pod", Some(&name));
        ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await?;
    let released_in = ended.elapsed();
    ensure!(
        released_in < Duration::from_secs(10),
        "the GPU was held for {released_in:?}"
    );

    let after = Worker::start(node, &name, WHOLE, (GIB, 90)).await?;
    busy(gpu_of(scenario, &after.device)?, vec![after.process.clone()]);
    release.change(scenario)?;
    until_page(release, exporter, "the new pod has its GPU", |page| {
        after.check(page)?;
        check_sums(page, after.uuid())
    })
    .await?;
    Ok(after)
}

#[tokio::test]
async fn without_attribution_it_needs_no_rights_and_names_no_pod() -> anyhow::Result<()> {
    require!(RealNode::needs(), Program::Helm);
    let (node, _alone) = shared_node_alone().await?;
    let work = async {
        let mut scenario = idle_gpus();
        let worker = Worker::start(node, "unseen", WHOLE, (GIB, 40)).await?;
        busy(
            gpu_of(&mut scenario, &worker.device)?,
            vec![worker.process.clone()],
        );
        let values = |stage: &str| {
            json!({
                "attribution": {"enabled": false},
                "config": {"static-labels": {"stage": stage}},
            })
        };
        let release = Release::install(node, "gpu-metrics", Some(&scenario), &values("one")).await?;
        let exporter = release.pod().await?;
        let process = release.process(&exporter)?;
        check_rights(process, "65532")?;
        check_read_only(process, &["/", "/etc/gpu-exporter/config"])?;
        let table = std::fs::read_to_string(format!("/proc/{process}/mountinfo"))?;
        ensure!(
            !table.contains("/var/lib/kubelet") && !table.contains("/var/log/"),
            "{table}"
        );

        until_page(&release, &exporter, "the GPUs are on the page", |page| {
            let used = page.value(
                "gpu_memory_used_bytes",
                &[("uuid", worker.uuid()), ("stage", "one")],
            )?;
            ensure!(used == (GIB + UNTOLD.0) as f64, "{used}");
            let (pods, namespaces) = (page.with_label("pod", None), page.with_label("namespace", None));
            ensure!(
                pods.is_empty() && namespaces.is_empty(),
                "{pods:?} {namespaces:?}"
            );
            ensure!(
                page.samples("gpu_exporter_source_up", &[("source", "kubelet")])
                    .is_empty()
            );
            Ok(())
        })
        .await?;
        let said = release.run(&exporter, &["doctor"]).await?;
        ensure!(!said.contains("fail  "), "{said}");

        // A change of what the page shows reaches the running program.
        release.upgrade(&values("two")).await?;
        until("the new setting is on the page", RUNS_WITHIN * 2, async || {
            let page = release.page(&exporter).await?;
            page.value("gpu_up", &[("uuid", worker.uuid()), ("stage", "two")])
        })
        .await?;
        let after = release.pod().await?;
        ensure!(
            after.uid == exporter.uid && after.restarts == 0,
            "the exporter was restarted"
        );
        worker.pod.delete(node).await?;
        release.uninstall().await
    };
    node.bed().guard(TEST_WITHIN, work).await
}

#[tokio::test]
async fn without_attribution_it_fits_the_restricted_standard_and_runs_without_a_driver() -> anyhow::Result<()>
{
    require!(RealNode::needs(), Program::Helm);
    let (node, _alone) = shared_node_alone().await?;
    let work = async {
        let name = "gpu-restricted";
        let enforced = "pod-security.kubernetes.io/enforce=restricted";
        node.kubectl(&["create", "namespace", name]).await?;
        node.kubectl(&["label", "namespace", name, enforced]).await?;
        let values = |attribution: bool| json!({"attribution": {"enabled": attribution}});
        let release = Release::install(node, name, None, &values(false)).await?;
        let exporter = release.pod().await?;
        let page = release.page(&exporter).await?;
        assert_eq!(page.value("dcgm_up", &[])?, 0.0);
        assert!(page.samples("gpu_up", &[]).is_empty());
        let doctor = release.run(&exporter, &["doctor"]).await.unwrap_err();
        ensure!(
            format!("{doctor:#}").contains("fail  driver nvml: "),
            "{doctor:#}"
        );

        // With attribution the same namespace refuses the pods, and names the node's directories as the reason.
        release.upgrade(&values(true)).await?;
        until("the refusal is told", RUNS_WITHIN, async || {
            let reason = "--field-selector=reason=FailedCreate";
            let events = node
                .kubectl(&[
                    "get",
                    "events",
                    "--namespace",
                    name,
                    reason,
                    "--output=jsonpath={.items[*].message}",
                ])
                .await?;
            ensure!(
                events.contains("violates PodSecurity") && events.contains("hostPath"),
                "{events}"
            );
            Ok(())
        })
        .await?;
        release.uninstall().await
    };
    node.bed().guard(TEST_WITHIN, work).await
}
