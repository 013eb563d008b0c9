//! The exporter's part of the chart without a node: what it renders, what it refuses, and what its documents say.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use gpu_testbed::real_node::workspace_program;
use gpu_testbed::{Program, require};

use super::chart::{check_refused, helm};

/// Everything that can be set, except what excludes something else.
const ALL_SETTINGS: &[&str] = &[
    "exporter.name=node-gpus",
    "exporter.image.repository=registry.example/exporter",
    "exporter.image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "exporter.image.pullPolicy=Never",
    "imagePullSecrets[0].name=registry",
    "exporter.attribution.kubeletRoot=/var/lib/k0s/kubelet",
    "exporter.attribution.logRoot=/data/log",
    "exporter.attribution.deviceRecord=false",
    "exporter.attribution.resourceNames={example.com/gpu,example.com/small}",
    "exporter.perProcess.enabled=true",
    "exporter.applications.families={train_*,vllm:*}",
    "exporter.applications.interval=5s",
    "exporter.applications.textfiles.enabled=true",
    "exporter.applications.textfiles.hostPath=/run/metrics",
    "exporter.applications.textfiles.maxAge=1m",
    "exporter.privileged=true",
    "exporter.sampleInterval=500ms",
    "exporter.collectionInterval=10s",
    "exporter.log.level=debug",
    "exporter.log.format=text",
    "exporter.config.vocabulary={gpu,nvidia_smi}",
    "exporter.config.families={default,gpu_ecc_*}",
    "exporter.config.labels={gpu,uuid,pod}",
    "exporter.config.static-labels.team=ml",
    "exporter.config.max-series=5000",
    "exporter.config.lower-case-hostname=true",
    "exporter.config.no-hostname=false",
    "exporter.counters=DCGM_FI_DEV_GPU_UTIL\\, gauge\\, GPU utilization.",
    "exporter.amdConfig=\\{\\}",
    "exporter.webConfig.secretName=web",
    "exporter.webConfig.key=config.yml",
    "exporter.webConfig.tls=server",
    "exporter.service.type=NodePort",
    "exporter.service.port=80",
    "exporter.service.internalTrafficPolicy=Local",
    "exporter.service.annotations.note=s",
    "exporter.serviceMonitor.enabled=true",
    "exporter.serviceMonitor.labels.release=prometheus",
    "exporter.serviceMonitor.interval=30s",
    "exporter.serviceMonitor.scrapeTimeout=25s",
    "exporter.serviceMonitor.honorLabels=false",
    "exporter.serviceMonitor.metricRelabelings[0].action=drop",
    "exporter.serviceMonitor.endpoint.tlsConfig.insecureSkipVerify=true",
    "exporter.serviceAccount.name=reader",
    "exporter.serviceAccount.annotations.note=a",
    "exporter.resources.limits.cpu=1",
    "exporter.nodeSelector.pool=gpu",
    "exporter.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
     matchExpressions[0].key=gpu,exporter.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.\
     nodeSelectorTerms[0].matchExpressions[0].operator=Exists",
    "exporter.tolerations[0].operator=Exists",
    "exporter.priorityClassName=high",
    "exporter.runtimeClassName=nvidia",
    "exporter.updateStrategy.type=OnDelete",
    "exporter.updateStrategy.rollingUpdate=null",
    "exporter.podLabels.team=ml",
    "exporter.podAnnotations.note=n",
    "exporter.terminationGracePeriodSeconds=5",
    "exporter.fallback.tools={nvidia-smi,rocm-smi}",
    "exporter.fallback.interval=8s",
    "exporter.fallback.timeout=20s",
    "exporter.fallback.paths.nvidiaSmi=/driver/nvidia-smi",
    "exporter.fallback.paths.rocmSmi=/driver/rocm-smi",
    "exporter.fallback.paths.amdSmi=/driver/amd-smi",
    "exporter.extraArgs={--debug}",
    "exporter.extraEnv[0].name=GPU_EXPORTER_NVML_LIBRARY",
    "exporter.extraEnv[0].value=/driver/libnvidia-ml.so.1",
    "exporter.extraVolumes[0].name=driver",
    "exporter.extraVolumes[0].hostPath.path=/home/kubernetes/bin/nvidia/lib64",
    "exporter.extraVolumeMounts[0].name=driver",
    "exporter.extraVolumeMounts[0].mountPath=/driver",
    "networkPolicy.enabled=true",
    "networkPolicy.from[0].namespaceSelector.matchLabels.name=monitoring",
];

#[tokio::test]
async fn every_setting_of_the_exporter_reaches_its_objects() -> anyhow::Result<()> {
    require!(Program::Helm);
    let rendered = helm(&["template", "gpus"], ALL_SETTINGS).await?;
    insta::assert_snapshot!("chart_exporter_all_settings", rendered);
    Ok(())
}

#[tokio::test]
async fn without_attribution_nothing_of_the_node_is_mounted() -> anyhow::Result<()> {
    require!(Program::Helm);
    let settings = [
        "exporter.attribution.enabled=false",
        "exporter.webConfig.secretName=web",
        "exporter.webConfig.tls=mutual",
        "exporter.serviceAccount.create=false",
        "exporter.service.scrapeAnnotations=false",
        "exporter.onlyGpuNodes=false",
    ];
    let rendered = helm(&["template", "gpus"], &settings).await?;
    insta::assert_snapshot!("chart_exporter_without_attribution", rendered);
    Ok(())
}

#[tokio::test]
async fn labels_from_the_api_server_bring_a_token_and_a_role() -> anyhow::Result<()> {
    require!(Program::Helm);
    let settings = [
        "exporter.apiLabels.enabled=true",
        "exporter.apiLabels.pods={team,app.kubernetes.io/*}",
        "exporter.apiLabels.nodes={node.kubernetes.io/instance-type}",
    ];
    let rendered = helm(&["template", "gpus"], &settings).await?;
    insta::assert_snapshot!("chart_exporter_api_labels", rendered);
    Ok(())
}

#[tokio::test]
async fn scraping_by_annotations_brings_a_token_and_by_rules_none() -> anyhow::Result<()> {
    require!(Program::Helm);
    let annotated = helm(
        &["template", "gpus"],
        &["exporter.applications.scrape.annotated=true"],
    )
    .await?;
    insta::assert_snapshot!("chart_exporter_scrape_annotated", annotated);
    let rule =
        "exporter.applications.scrape.rules[0]=ml/vllm-*=http://{pod}.vllm.{namespace}.svc:8000/metrics";
    let by_rules = helm(&["template", "gpus"], &[rule]).await?;
    ensure!(by_rules.contains("GPU_EXPORTER_SCRAPE_RULES"), "{by_rules}");
    ensure!(
        by_rules.contains("automountServiceAccountToken: false") && !by_rules.contains("ClusterRole"),
        "{by_rules}"
    );
    Ok(())
}

#[tokio::test]
async fn a_wrong_value_of_the_exporter_is_refused_by_name() -> anyhow::Result<()> {
    require!(Program::Helm);
    let alone = "exporter.perProcess.enabled=true,exporter.attribution.enabled=false";
    check_refused(alone, "needs exporter.attribution.enabled=true").await?;
    check_refused(
        "exporter.webConfig.tls=server",
        "needs exporter.webConfig.secretName",
    )
    .await?;
    check_refused("exporter.apiLabels.enabled=true", "name the labels to show").await?;
    let walled = "exporter.apiLabels.enabled=true,exporter.apiLabels.pods={team},networkPolicy.enabled=true";
    check_refused(walled, "exclude each other").await?;
    let scraped = "exporter.applications.scrape.annotated=true";
    let alone = format!("{scraped},exporter.attribution.enabled=false");
    check_refused(&alone, "only pods that hold a GPU are scraped").await?;
    let walled = format!("{scraped},networkPolicy.enabled=true");
    check_refused(&walled, "exclude each other").await?;
    check_refused(
        "exporter.hostPID=true",
        "additional properties 'hostPID' not allowed",
    )
    .await?;
    check_refused(
        "exporter.config.address=:80",
        "additional properties 'address' not allowed",
    )
    .await?;
    check_refused(
        "exporter.config.vocabulary={cuda}",
        "'/exporter/config/vocabulary/0'",
    )
    .await?;
    check_refused("exporter.sampleInterval=fast", "'/exporter/sampleInterval'").await?;
    check_refused("exporter.fallback.tools={sh}", "'/exporter/fallback/tools/0'").await?;
    check_refused(
        "exporter.attribution.kubeletRoot=kubelet",
        "'/exporter/attribution/kubeletRoot'",
    )
    .await?;
    check_refused("exporter.name=Exporter", "'/exporter/name'").await?;
    check_refused("exporter.service.port=0", "'/exporter/service/port'").await
}

/// The words of a text that begin like this and go on with these characters.
fn words(text: &str, begin: &str, goes_on: impl Fn(char) -> bool) -> BTreeSet<String> {
    text.match_indices(begin)
        .map(|(at, _)| {
            let rest = &text[at..];
            let end = rest[begin.len()..]
                .find(|c| !goes_on(c))
                .map(|end| end + begin.len());
            rest[..end.unwrap_or(rest.len())].to_owned()
        })
        .filter(|word| word.len() > begin.len())
        .collect()
}

fn flags(text: &str) -> BTreeSet<String> {
    let found = words(text, "--", |c| c.is_ascii_lowercase() || "-.".contains(c));
    // A flag may end a sentence, and dashes alone rule a table.
    let found = found.iter().map(|flag| flag.trim_end_matches('.').to_owned());
    found.filter(|flag| !flag.starts_with("---")).collect()
}

/// Names of variables after a mark that stands before them.
fn variables(text: &str, mark: &str) -> BTreeSet<String> {
    let found = words(text, mark, |c| c.is_ascii_uppercase() || c == '_');
    found.iter().map(|word| word[mark.len()..].to_owned()).collect()
}

#[tokio::test]
async fn the_documents_and_the_chart_name_the_settings_that_the_program_has() -> anyhow::Result<()> {
    require!(Program::Helm);
    let program = workspace_program("gpu-exporter", "gpu-exporter")?;
    let help = Command::new(program).arg("--help").env_clear().output()?;
    let help = String::from_utf8(help.stdout)?;
    // clap's own two need no documents.
    let mut real = flags(&help);
    real.retain(|flag| flag != "--help" && flag != "--version");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exporter.md");
    let document = std::fs::read_to_string(file)?;
    let settings = document
        .split("\n## Settings\n")
        .nth(1)
        .context("a part on settings")?;
    let settings = settings.split("\n## ").next().unwrap_or_default();
    assert_eq!(flags(settings), real);
    let real = variables(&help, "[env: ");
    assert_eq!(variables(settings, "| `"), real);

    // What the chart sets is a setting of the program, or one of the runtime's hook.
    let rendered = helm(&["template", "gpus"], ALL_SETTINGS).await?;
    for name in variables(&rendered, "- { name: ") {
        let known =
            real.contains(&name) || name.starts_with("NVIDIA_VISIBLE") || name.starts_with("NVIDIA_DRIVER");
        ensure!(known, "the program knows no `{name}`");
    }
    Ok(())
}
