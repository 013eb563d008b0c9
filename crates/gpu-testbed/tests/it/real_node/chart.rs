//! The chart: what helm says of it, what it renders, what it refuses, and that it runs on a real node.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use gpu_image::{ImageSpec, build_image};
use gpu_testbed::real_node::{RealNode, until, workspace_program};
use gpu_testbed::{Bed, PartSpec, Program, require};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{Api, ListParams};

use super::pods::{RUNS_WITHIN, TEST_WITHIN, shared_node};

/// helm works on local files here, without a cluster.
const HELM_WITHIN: Duration = Duration::from_secs(60);

pub(super) fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/gpu-autoscaler")
}

/// Runs helm without a cluster, with the chart after the first words.
pub(super) async fn helm(words: &[&str], settings: &[&str]) -> anyhow::Result<String> {
    let bed = Bed::new()?;
    let mut spec = PartSpec::new("helm", Program::Helm.path()?)
        .args(words.iter().copied())
        .arg(chart().display().to_string())
        .env("HOME", bed.directory().display().to_string());
    for setting in settings {
        spec = spec.args(["--set", setting]);
    }
    Ok(bed.run(spec, HELM_WITHIN).await?)
}

#[tokio::test]
async fn helm_finds_nothing_to_complain_about() -> anyhow::Result<()> {
    require!(Program::Helm);
    for settings in [&[][..], &["demo.enabled=true"], &["controlPlane.enabled=true"]] {
        let said = helm(&["lint", "--strict"], settings).await?;
        ensure!(said.contains("1 chart(s) linted, 0 chart(s) failed"), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn the_default_objects_are_these() -> anyhow::Result<()> {
    require!(Program::Helm);
    let rendered = helm(&["template", "gpus"], &[]).await?;
    insta::assert_snapshot!("chart_default", rendered);
    Ok(())
}

#[tokio::test]
async fn the_objects_of_the_demo_are_these() -> anyhow::Result<()> {
    require!(Program::Helm);
    let rendered = helm(
        &["template", "demo"],
        &["demo.enabled=true", "exporter.enabled=false"],
    )
    .await?;
    insta::assert_snapshot!("chart_demo", rendered);
    Ok(())
}

#[tokio::test]
async fn the_objects_of_the_control_plane_are_these() -> anyhow::Result<()> {
    require!(Program::Helm);
    let settings = [
        "controlPlane.enabled=true",
        "controlPlane.telling.annotations=true",
        "exporter.enabled=false",
        "networkPolicy.enabled=true",
    ];
    let rendered = helm(&["template", "gpus"], &settings).await?;
    insta::assert_snapshot!("chart_control_plane", rendered);
    Ok(())
}

#[tokio::test]
async fn every_setting_of_the_demo_reaches_its_objects() -> anyhow::Result<()> {
    require!(Program::Helm);
    let settings = [
        "demo.enabled=true",
        "exporter.enabled=false",
        "networkPolicy.enabled=true",
        "demo.nodes=100",
        "demo.seed=7",
        "demo.speed=60",
        "fullnameOverride=gpus",
        "image.repository=registry.example/gpus",
        "image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "image.pullPolicy=Never",
        "imagePullSecrets[0].name=registry",
        "log.level=debug",
        "log.format=text",
        "metrics.scrapeAnnotations=true",
        "nodeSelector.pool=cpu",
        "podAnnotations.note=n",
        "podLabels.team=ml",
        "priorityClassName=high",
        "replicas=2",
        "service.annotations.note=s",
        "service.port=80",
        "service.type=NodePort",
        "serviceAccount.annotations.note=a",
        "terminationGracePeriodSeconds=5",
        "tolerations[0].operator=Exists",
    ];
    let rendered = helm(&["template", "demo"], &settings).await?;
    insta::assert_snapshot!("chart_demo_all_settings", rendered);
    Ok(())
}

pub(super) async fn check_refused(setting: &str, expected: &str) -> anyhow::Result<()> {
    let error = helm(&["template", "demo"], &["demo.enabled=true", setting])
        .await
        .expect_err(setting);
    ensure!(error.to_string().contains(expected), "{setting}: {error}");
    Ok(())
}

#[tokio::test]
async fn a_wrong_value_is_refused_by_name() -> anyhow::Result<()> {
    require!(Program::Helm);
    check_refused(
        "demo.enabled=false,exporter.enabled=false",
        "nothing is switched on",
    )
    .await?;
    check_refused("demo.node=3", "'/demo': additional properties 'node' not allowed").await?;
    check_refused("replica=2", "additional properties 'replica' not allowed").await?;
    check_refused("demo.nodes=0", "'/demo/nodes': minimum").await?;
    check_refused("service.port=http", "'/service/port': got string, want integer").await?;
    check_refused("image.digest=latest", "'/image/digest'").await?;
    check_refused("resources.limits.memory=lots", "'/resources/limits/memory'").await
}

/// The pods of a release that are ready, by name.
async fn ready_pods(pods: &Api<Pod>) -> anyhow::Result<Vec<String>> {
    let found = pods
        .list(&ListParams::default().labels("app.kubernetes.io/instance=trial"))
        .await?;
    let ready = found.items.into_iter().filter(|pod| {
        let conditions = pod
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        conditions
            .into_iter()
            .any(|found| found.type_ == "Ready" && found.status == "True")
    });
    Ok(ready.filter_map(|pod| pod.metadata.name).collect())
}

#[tokio::test]
async fn the_demo_runs_on_a_real_node() -> anyhow::Result<()> {
    require!(RealNode::needs(), Program::Helm);
    let program = workspace_program("gpu-autoscaler", "gpu-autoscaler")?;
    let (node, _calm) = shared_node().await?;
    let work = async {
        let image = "docker.io/gpu-autoscaler/gpu-autoscaler:under-test";
        let built = build_image(&ImageSpec::new(
            image,
            program,
            node.bed().path("gpu-autoscaler.tar"),
        ))?;
        node.import_image(&built.path).await?;
        let chart = chart().display().to_string();
        let mut words = vec![
            "install",
            "trial",
            &chart,
            "--namespace",
            "trial",
            "--create-namespace",
        ];
        words.extend([
            "--set",
            "demo.enabled=true,exporter.enabled=false,image.tag=under-test,image.pullPolicy=Never",
        ]);
        let said = node.helm(&words).await?;
        ensure!(said.contains("SIMULATED"), "{said}");

        let client = node.client().await?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), "trial");
        until("the pod is ready", RUNS_WITHIN, async || {
            ensure!(
                ready_pods(&pods).await?.len() == 1,
                "{:?}",
                pods.list(&ListParams::default()).await?.items
            );
            Ok(())
        })
        .await?;
        let services: Api<Service> = Api::namespaced(client, "trial");
        let service = services.get("trial-gpu-autoscaler").await?;
        let address = service
            .spec
            .and_then(|spec| spec.cluster_ip)
            .context("a Service has an address")?;
        until("the page answers through the Service", RUNS_WITHIN, async || {
            let page = node.get(&format!("http://{address}:8080/")).await?;
            ensure!(
                page.status == 200 && page.body.to_lowercase().contains("simulated"),
                "{page:?}"
            );
            Ok(())
        })
        .await?;

        node.helm(&["uninstall", "trial", "--namespace", "trial", "--wait"])
            .await?;
        until("nothing of the release is left", RUNS_WITHIN, async || {
            let (pods, services) = (
                pods.list(&ListParams::default()).await?,
                services.list(&ListParams::default()).await?,
            );
            ensure!(
                pods.items.is_empty() && services.items.is_empty(),
                "{pods:?} {services:?}"
            );
            Ok(())
        })
        .await
    };
    node.bed().guard(TEST_WITHIN, work).await
}
