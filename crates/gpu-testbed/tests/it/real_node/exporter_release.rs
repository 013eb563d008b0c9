//! The exporter on a real node: its image, the chart's release of it, the double of NVIDIA's library that it loads there,
//! and its page as a value. The double is mounted into the pod by the test; the image is the one that is shipped.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use gpu_exposition::{Format, Page, ParserOptions, Sample};
use gpu_image::{ImageSpec, build_image};
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::Scenario;
use gpu_testbed::real_node::{NODE_NAME, RealNode, until, workspace_program};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::chart::chart;
use super::pods::RUNS_WITHIN;

/// The label by which the chart's own choice of nodes finds this one.
const GPU_NODE: &str = "nvidia.com/gpu.present";

/// A release of the exporter, in a namespace of the same name.
pub(super) struct Release<'a> {
    node: &'a RealNode,
    name: &'static str,
    values: PathBuf,
    double: Option<Installed>,
    pods: Api<Pod>,
}

/// The exporter's one pod.
pub(super) struct ExporterPod {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) address: String,
    pub(super) restarts: i32,
}

impl<'a> Release<'a> {
    /// Installs the chart with the exporter's own image, and with the double as the driver where there is to be one, and
    /// waits until its pod is ready.
    pub(super) async fn install(
        node: &'a RealNode,
        name: &'static str,
        scenario: Option<&Scenario>,
        exporter: &Value,
    ) -> anyhow::Result<Self> {
        let program = workspace_program("gpu-exporter", "gpu-exporter")?;
        let image = "docker.io/gpu-autoscaler/gpu-exporter:under-test";
        let archive = node.bed().path(format!("{name}.tar"));
        node.import_image(&build_image(&ImageSpec::new(image, program, archive))?.path)
            .await?;
        let double = match scenario {
            Some(scenario) => {
                let directory = node.bed().make_directory(format!("{name}-double"))?;
                Some(Installed::into(&directory, scenario)?)
            }
            None => None,
        };
        let release = Self {
            node,
            name,
            values: node.bed().path(format!("{name}-values.json")),
            double,
            pods: Api::namespaced(node.client().await?, name),
        };
        release.write_values(exporter)?;
        node.kubectl(&[
            "label",
            "--overwrite",
            "node",
            NODE_NAME,
            &format!("{GPU_NODE}=true"),
        ])
        .await?;
        release.helm(&["install", "--create-namespace"]).await?;
        release.pod().await?;
        Ok(release)
    }

    /// Changes the values of the running release.
    pub(super) async fn upgrade(&self, exporter: &Value) -> anyhow::Result<()> {
        self.write_values(exporter)?;
        self.helm(&["upgrade"]).await
    }

    /// The values that a user would write, and those that put the double in the driver's place.
    fn write_values(&self, exporter: &Value) -> anyhow::Result<()> {
        let mut exporter = exporter.clone();
        exporter["image"] = json!({"tag": "under-test", "pullPolicy": "Never"});
        if let Some(double) = &self.double {
            let library = format!("/double/{}", file_name(&double.library())?);
            exporter["extraVolumes"] = json!([{"name": "double", "hostPath": {"path": double.directory()}}]);
            exporter["extraVolumeMounts"] =
                json!([{"name": "double", "mountPath": "/double", "readOnly": true}]);
            // The node's process namespace is not the machine's first one, by which a real node is known.
            let sight = (exporter["perProcess"]["enabled"] == true).to_string();
            exporter["extraEnv"] = json!([
                {"name": "GPU_EXPORTER_NVML_LIBRARY", "value": library},
                {"name": "GPU_EXPORTER_HOST_PROCESSES", "value": sight},
            ]);
        }
        std::fs::write(&self.values, json!({"exporter": exporter}).to_string())?;
        Ok(())
    }

    async fn helm(&self, words: &[&str]) -> anyhow::Result<()> {
        let (chart, values) = (chart().display().to_string(), self.values.display().to_string());
        let mut all = words.to_vec();
        all.extend([self.name, &chart, "--namespace", self.name, "--values", &values]);
        self.node.helm(&all).await?;
        Ok(())
    }

    /// Changes what the driver says.
    pub(super) fn change(&self, scenario: &Scenario) -> anyhow::Result<()> {
        let double = self.double.as_ref().context("the release has no driver")?;
        Ok(double.change(scenario)?)
    }

    /// The release's pod, once it is ready.
    pub(super) async fn pod(&self) -> anyhow::Result<ExporterPod> {
        until("the exporter's pod is ready", RUNS_WITHIN, async || {
            let found = self.pods.list(&ListParams::default()).await?.items;
            let [pod] = found.as_slice() else {
                anyhow::bail!("{} pods", found.len());
            };
            let status = pod.status.clone().unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            let ready = conditions
                .iter()
                .any(|found| found.type_ == "Ready" && found.status == "True");
            ensure!(ready, "{conditions:?} {:?}", status.container_statuses);
            Ok(ExporterPod {
                name: pod.metadata.name.clone().context("a stored pod has a name")?,
                uid: pod.metadata.uid.clone().context("a stored pod has a uid")?,
                address: status.pod_ip.context("a ready pod has an address")?,
                restarts: status
                    .container_statuses
                    .iter()
                    .flatten()
                    .map(|one| one.restart_count)
                    .sum(),
            })
        })
        .await
    }

    /// The page, as Prometheus would get it from the pod.
    pub(super) async fn page(&self, pod: &ExporterPod) -> anyhow::Result<Metrics> {
        let answer = self
            .node
            .get(&format!("http://{}:9400/metrics", pod.address))
            .await?;
        ensure!(answer.status == 200, "{answer:?}");
        Metrics::parse(&answer.body)
    }

    /// Runs the exporter's own program in its pod.
    pub(super) async fn run(&self, pod: &ExporterPod, words: &[&str]) -> anyhow::Result<String> {
        let mut all = vec!["gpu-exporter"];
        all.extend(words);
        self.node.exec(self.name, &pod.name, &all).await
    }

    /// The pod's process as the machine sees it.
    pub(super) fn process(&self, pod: &ExporterPod) -> anyhow::Result<i32> {
        process_named(self.node, &pod.uid, "gpu-exporter")
    }

    /// Takes everything away again.
    pub(super) async fn uninstall(self) -> anyhow::Result<()> {
        self.node
            .helm(&["uninstall", self.name, "--namespace", self.name, "--wait"])
            .await?;
        until("nothing of the release is left", RUNS_WITHIN, async || {
            let left = self.pods.list(&ListParams::default()).await?.items;
            ensure!(left.is_empty(), "{} pods are left", left.len());
            Ok(())
        })
        .await?;
        self.node
            .kubectl(&["label", "node", NODE_NAME, &format!("{GPU_NODE}-")])
            .await?;
        Ok(())
    }
}

fn file_name(path: &std::path::Path) -> anyhow::Result<&str> {
    path.file_name()
        .and_then(|name| name.to_str())
        .context("the double has a name")
}

/// The process of a pod whose program has this word on its command line.
pub(super) fn process_named(node: &RealNode, uid: &str, word: &str) -> anyhow::Result<i32> {
    let mut processes = node.processes_of_pod(uid).into_iter().filter(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(word)
    });
    processes
        .next()
        .with_context(|| format!("pod {uid} has no process `{word}`"))
}

/// A field of what the kernel says of a process.
pub(super) fn status_of(pid: i32, field: &str) -> anyhow::Result<Vec<String>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{field}:")));
    let line = line.with_context(|| format!("the kernel says no {field} of {pid}"))?;
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

/// The number of a process in the node's own namespace, which is what a driver on the node would tell. The machine's is
/// the first, the node's the second.
pub(super) fn number_on_node(pid: i32) -> anyhow::Result<u32> {
    let numbers = status_of(pid, "NSpid")?;
    Ok(numbers
        .get(1)
        .context("the process is not on the node")?
        .parse()?)
}

/// A page to ask questions of.
#[derive(Debug)]
pub(super) struct Metrics(Page);

impl Metrics {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(Self(Page::parse(
            text.as_bytes(),
            ParserOptions::new(Format::Text),
        )?))
    }

    /// All samples of a family that have these labels.
    pub(super) fn samples(&self, family: &str, labels: &[(&str, &str)]) -> Vec<&Sample> {
        let families = self.0.families.iter().filter(|found| found.name == family);
        families
            .flat_map(|family| &family.samples)
            .filter(|sample| {
                labels
                    .iter()
                    .all(|(name, value)| label(sample, name) == Some(*value))
            })
            .collect()
    }

    /// The value of the one sample that has these labels.
    pub(super) fn value(&self, family: &str, labels: &[(&str, &str)]) -> anyhow::Result<f64> {
        match self.samples(family, labels)[..] {
            [one] => Ok(one.value),
            ref found => anyhow::bail!("{} samples of {family} with {labels:?}", found.len()),
        }
    }

    /// The sum of all samples that have these labels.
    pub(super) fn sum(&self, family: &str, labels: &[(&str, &str)]) -> f64 {
        self.samples(family, labels)
            .iter()
            .map(|sample| sample.value)
            .sum()
    }

    /// All samples with this label, whatever its value, and the families they are of.
    pub(super) fn with_label(&self, name: &str, value: Option<&str>) -> Vec<String> {
        let mut found = Vec::new();
        for family in &self.0.families {
            for sample in &family.samples {
                if label(sample, name).is_some_and(|own| value.is_none_or(|value| value == own)) {
                    found.push(format!("{}{:?}", family.name, sample.labels));
                }
            }
        }
        found
    }
}

fn label<'a>(sample: &'a Sample, name: &str) -> Option<&'a str> {
    sample
        .labels
        .iter()
        .find(|(own, _)| own == name)
        .map(|(_, value)| value.as_str())
}
