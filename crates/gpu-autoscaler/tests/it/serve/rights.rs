//! The rights that the chart gives to the control plane are those it needs.

use std::path::Path;

use anyhow::Context as _;
use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::{Fleet, PartSpec, Program, eventually, require};
use kube::config::Kubeconfig;
use serde_json::json;

use super::plane::{Plane, shortened};
use super::{SOON, WHOLE_TEST, events, found, scene};

/// A kubeconfig of the chart's account in a namespace, whose roles are applied as helm renders them.
async fn account(fleet: &Fleet, namespace: &TestNamespace) -> anyhow::Result<String> {
    let helm = Program::Helm.find().context("helm is there")?;
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/gpu-autoscaler");
    let name = namespace.name();
    let spec = PartSpec::new("helm", helm).args([
        "template".to_owned(),
        "gpus".to_owned(),
        chart.display().to_string(),
        format!("--namespace={name}"),
        "--set=controlPlane.enabled=true,exporter.enabled=false".to_owned(),
    ]);
    let rendered = fleet.bed().run(spec, SOON).await?;
    let wanted = [
        "kind: ServiceAccount",
        "kind: ClusterRole",
        "kind: Role",
        "kind: RoleBinding",
    ];
    let objects = rendered
        .split("\n---")
        .filter(|object| wanted.iter().any(|kind| object.contains(kind)));
    let roles = objects
        .filter(|object| !object.contains("kind: Deployment"))
        .collect::<Vec<_>>()
        .join("\n---");
    let path = fleet.bed().write_file(format!("{name}-roles.yaml"), roles)?;
    let path = path.display().to_string();
    fleet
        .kubectl(&["apply", "--namespace", name, "-f", &path])
        .await?;
    let token = fleet
        .kubectl(&["create", "token", "gpus-gpu-autoscaler", "--namespace", name])
        .await?;
    let mut config = Kubeconfig::read_from(fleet.kubeconfig())?;
    for user in &mut config.auth_infos {
        user.auth_info = Some(serde_json::from_value(json!({"token": token.trim()}))?);
    }
    let text = serde_json::to_string(&config)?;
    Ok(fleet
        .bed()
        .write_file(format!("{name}-kubeconfig.yaml"), text)?
        .display()
        .to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_of_the_chart_are_enough_to_find_and_to_tell() -> anyhow::Result<()> {
    require!(Fleet::need(), Program::Helm);
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let scene = scene(fleet).await?;
            let kubeconfig = account(fleet, &scene.namespace).await?;
            let mut settings = shortened(&[scene.machine.address]);
            settings.push(format!("--namespace={}", scene.namespace.name()));
            settings.push(format!(
                "--prices-configmap={}/gpu-autoscaler-prices",
                scene.namespace.name()
            ));
            let plane = Plane::with_kubeconfig(kubeconfig, &settings).await?;
            found(&plane, "idle").await?;
            eventually("the idle pod is told", SOON, || async {
                Ok(events(&scene.namespace, "idle", "GPUWasteDetected").await?.pop())
            })
            .await?;
            let status = plane.status().await?;
            assert_eq!(status["leadership"]["role"], "leader", "{status}");
            assert_eq!(status["problems"], json!({}), "{status}");
            Ok(())
        })
        .await
}
