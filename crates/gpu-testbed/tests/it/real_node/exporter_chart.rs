//! The exporter's part of the chart without a node: what it renders, what it refuses, and what its documents say.

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
    "exporter.privileged=true",
    "exporter.sampleInterval=500ms",
    "exporter.collectionInterval=10s",
    "exporter.log.level=debug",
    "exporter.log.format=text",
    "exporter.config.vocabulary={gpu,nvidia_smi}",
    "exporter.config.families={+gpu_topology_info}",
    "exporter.config.labels={gpu,uuid,pod}",
    "exporter.config.static-labels.team=ml",
    "exporter.config.max-series=5000",
    "exporter.config.lower-case-hostname=true",
    "exporter.config.no-hostname=false",
    "exporter.counters=DCGM_FI_DEV_GPU_UTIL\\, gauge\\, GPU utilization.",
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
async fn a_wrong_value_of_the_exporter_is_refused_by_name() -> anyhow::Result<()> {
    require!(Program::Helm);
    let alone = "exporter.perProcess.enabled=true,exporter.attribution.enabled=false";
    check_refused(alone, "needs exporter.attribution.enabled=true").await?;
    check_refused(
        "exporter.webConfig.tls=server",
        "needs exporter.webConfig.secretName",
    )
    .await?;
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
    check_refused(
        "exporter.attribution.kubeletRoot=kubelet",
        "'/exporter/attribution/kubeletRoot'",
    )
    .await?;
    check_refused("exporter.name=Exporter", "'/exporter/name'").await?;
    check_refused("exporter.service.port=0", "'/exporter/service/port'").await
}
