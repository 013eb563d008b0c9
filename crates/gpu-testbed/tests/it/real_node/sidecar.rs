//! The exporter as a sidecar of a Job on the real node: whom its page names, and that the pod ends because it does.

use anyhow::{Context, ensure};
use gpu_image::{ImageSpec, build_image};
use gpu_nvml_double::Installed;
use gpu_testbed::real_node::{NODE_NAME, PAUSE_IMAGE, RealNode, until, workspace_program};
use gpu_testbed::require;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use super::exporter_release::Metrics;
use super::exporter_worker::{WHOLE, idle_gpus};
use super::pods::{RUNS_WITHIN, TEST_WITHIN, shared_node};

const IMAGE: &str = "docker.io/gpu-autoscaler/gpu-exporter:sidecar-under-test";

/// How the sidecar learns of the end of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// An init container that is restarted: the kubelet ends it.
    Native,
    /// The step writes a file.
    File,
    /// The pod has one process namespace.
    Processes,
}

impl Ending {
    fn name(self) -> &'static str {
        match self {
            Self::Native => "sidecar-native",
            Self::File => "sidecar-file",
            Self::Processes => "sidecar-processes",
        }
    }
}

/// The exporter's container, as the shipped examples have it, with the double in the driver's place.
fn exporter(ending: Ending, library: &str) -> Value {
    let field =
        |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    let mut env = vec![
        json!({"name": "GPU_EXPORTER_MODE", "value": "sidecar"}),
        field("NODE_NAME", "spec.nodeName"),
        field("POD_NAME", "metadata.name"),
        field("POD_NAMESPACE", "metadata.namespace"),
        field("POD_UID", "metadata.uid"),
        json!({"name": "GPU_EXPORTER_OWN_GPUS", "value": "/gpu/own"}),
        json!({"name": "GPU_EXPORTER_FINAL_REPORT", "value": "/gpu/report.json"}),
        json!({"name": "GPU_EXPORTER_NVML_LIBRARY", "value": library}),
    ];
    env.push(match ending {
        Ending::Native => json!({"name": "GPU_EXPORTER_UNTIL_FILE", "value": "none"}),
        Ending::File => json!({"name": "GPU_EXPORTER_UNTIL_FILE", "value": "/gpu/done"}),
        Ending::Processes => json!({"name": "GPU_EXPORTER_UNTIL_PROCESS", "value": "auto"}),
    });
    let mut container = json!({
        "name": "gpu-metrics",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "env": env,
        "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "shared", "mountPath": "/gpu"},
            {"name": "podinfo", "mountPath": "/etc/podinfo", "readOnly": true},
            {"name": "double", "mountPath": "/double", "readOnly": true},
        ],
    });
    if ending == Ending::Native {
        container["restartPolicy"] = json!("Always");
    }
    container
}

fn job(ending: Ending, double: &Installed) -> anyhow::Result<Job> {
    let library = double.library();
    let library = library
        .file_name()
        .and_then(|name| name.to_str())
        .context("a name")?;
    let exporter = exporter(ending, &format!("/double/{library}"));
    let main = json!({
        "name": "main",
        "image": PAUSE_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["step", "8080", "/gpu"],
        "resources": {"limits": {WHOLE: 1}},
        "volumeMounts": [{"name": "shared", "mountPath": "/gpu"}],
    });
    let (before, beside) = match ending {
        Ending::Native => (json!([exporter]), json!([main])),
        Ending::File | Ending::Processes => (json!([]), json!([main, exporter])),
    };
    let label = |path: &str, field: &str| json!({"path": path, "fieldRef": {"fieldPath": field}});
    Ok(serde_json::from_value(json!({
        "metadata": {"name": ending.name()},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": false,
                    "shareProcessNamespace": ending == Ending::Processes,
                    "terminationGracePeriodSeconds": 30,
                    "initContainers": before,
                    "containers": beside,
                    "volumes": [
                        {"name": "shared", "emptyDir": {}},
                        {"name": "double", "hostPath": {"path": double.directory()}},
                        {"name": "podinfo", "downwardAPI": {"items": [
                            label("labels", "metadata.labels"),
                            label("annotations", "metadata.annotations"),
                        ]}},
                    ],
                },
            },
        },
    }))?)
}

/// The Job's pod, once the exporter in it has an address.
async fn running_pod(pods: &Api<Pod>, ending: Ending) -> anyhow::Result<(String, String)> {
    let selector = ListParams::default().labels(&format!("job-name={}", ending.name()));
    until("the pod of the Job runs", RUNS_WITHIN, async || {
        let found = pods.list(&selector).await?.items;
        let pod = found.first().context("there is no pod yet")?;
        let status = pod.status.clone().unwrap_or_default();
        ensure!(status.phase.as_deref() == Some("Running"), "{status:?}");
        let name = pod.metadata.name.clone().context("a stored pod has a name")?;
        Ok((name, status.pod_ip.context("a running pod has an address")?))
    })
    .await
}

/// The page names this pod as the owner of the one GPU that its step was given, and nothing else.
fn check_page(page: &Metrics, pod: &str, ending: Ending) -> anyhow::Result<()> {
    let owner = [
        ("node", NODE_NAME),
        ("namespace", "default"),
        ("pod", pod),
        ("container", "main"),
    ];
    page.value("gpu_container_memory_bytes", &owner)?;
    ensure!(
        page.samples("gpu_up", &[]).len() == 1,
        "{:?}",
        page.samples("gpu_up", &[])
    );
    let workflow = [("pod", pod), ("workflow", ending.name())];
    page.value("gpu_pod_workflow_info", &workflow)?;
    Ok(())
}

async fn check_ending(node: &RealNode, ending: Ending, double: &Installed) -> anyhow::Result<()> {
    let client = node.client().await?;
    let (jobs, pods): (Api<Job>, Api<Pod>) = (
        Api::default_namespaced(client.clone()),
        Api::default_namespaced(client),
    );
    jobs.create(&PostParams::default(), &job(ending, double)?).await?;
    let (pod, address) = running_pod(&pods, ending).await?;
    until("the sidecar names its pod", RUNS_WITHIN, async || {
        let answer = node.get(&format!("http://{address}:9400/metrics")).await?;
        check_page(&Metrics::parse(&answer.body)?, &pod, ending)
    })
    .await?;
    // The step ends; the pod can only complete when the sidecar does too.
    node.get(&format!("http://{address}:8080/")).await?;
    until("the Job is complete", RUNS_WITHIN, async || {
        let status = jobs.get(ending.name()).await?.status.unwrap_or_default();
        ensure!(status.succeeded == Some(1), "{status:?}");
        Ok(())
    })
    .await?;
    let status = pods.get(&pod).await?.status.unwrap_or_default();
    let before = status.init_container_statuses.unwrap_or_default();
    let mut all = before
        .into_iter()
        .chain(status.container_statuses.unwrap_or_default());
    let exporter = all
        .find(|one| one.name == "gpu-metrics")
        .context("the sidecar has a status")?;
    let ended = exporter
        .state
        .and_then(|state| state.terminated)
        .context("it has ended")?;
    ensure!((ended.exit_code, exporter.restart_count) == (0, 0), "{ended:?}");
    let log = node.kubectl(&["logs", &pod, "-c", "gpu-metrics"]).await?;
    ensure!(log.contains("wrote the final report"), "{log}");
    jobs.delete(ending.name(), &DeleteParams::background()).await?;
    Ok(())
}

#[tokio::test]
async fn a_job_completes_because_its_sidecar_ends_with_it() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let (node, _calm) = shared_node().await?;
    let work = async {
        let program = workspace_program("gpu-exporter", "gpu-exporter")?;
        let archive = node.bed().path("sidecar.tar");
        let image = build_image(&ImageSpec::new(IMAGE, program, archive))?;
        node.import_image(&image.path).await?;
        let directory = node.bed().make_directory("sidecar-double")?;
        let double = Installed::into(&directory, &idle_gpus())?;
        for ending in [Ending::Native, Ending::File, Ending::Processes] {
            check_ending(node, ending, &double)
                .await
                .with_context(|| format!("{ending:?}"))?;
        }
        Ok(())
    };
    node.bed().guard(TEST_WITHIN, work).await
}
