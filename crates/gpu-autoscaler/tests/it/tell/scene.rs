//! A workload in a real cluster, findings about it, and a replica that tells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gpu_autoscaler::lead::{LeaseTimes, Mode, StoreKind, WriteKind, WriteResult};
use gpu_autoscaler::tell::diary::TellSettings;
use gpu_autoscaler::tell::gpu_health::HealthSettings;
use gpu_autoscaler::tell::notices::Notices;
use gpu_autoscaler::tell::sights::Sights;
use gpu_autoscaler::tell::teller::{Teller, Tracking};
use gpu_model::{
    Celsius, ClusterId, ClusterPicture, Device, FaultCount, FleetView, GpuIndex, GpuPod, GpuReport,
    GpuRequest, GpuSample, GpuView, Harvest, HostRequest, NanoUsd, NodeName, NodeView, Owner, PartUsage,
    PartView, Partition, Permille, PodKey, PodPhase, PodRef, PodSettings, Reading, RequestKind, Source,
    TargetReport, Vendor, Workload,
};
use gpu_runtime::SystemClock;
use gpu_store::{Store, StoreAddress};
use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::{Fleet, eventually};
use gpu_waste::{Cause, Evidence, Finding, FindingId, Fix, FixKind, Signal, Speaks, Subject};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{ListParams, PostParams};
use serde_json::json;
use tempfile::TempDir;

use crate::lead::replica::{self, Plan, Replica};

const SOON: Duration = Duration::from_secs(30);
const DEPLOYMENT_UID: &str = "gpu-autoscaler.io/test-deployment-uid";

/// A deployment of one pod with one GPU; answers with its running pod.
pub(crate) async fn deploy(namespace: &TestNamespace) -> anyhow::Result<Pod> {
    let labels = json!({"app": "trainer"});
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "trainer"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"owner.example/note": "mine"}},
                "spec": {"containers": [{
                    "name": "trainer",
                    "image": "trainer:1",
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                }]},
            },
        },
    }))?;
    let made = namespace
        .api::<Deployment>()
        .create(&PostParams::default(), &deployment)
        .await?;
    let pods = namespace.api::<Pod>();
    let mut pod = eventually("the pod runs", SOON, || async {
        let found = pods.list(&ListParams::default()).await?.items;
        Ok(found
            .into_iter()
            .find(|pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")))
    })
    .await?;
    // Carried along for the findings below.
    pod.annotations_mut()
        .insert(DEPLOYMENT_UID.to_owned(), made.uid().unwrap_or_default());
    Ok(pod)
}

fn workload(pod: &Pod) -> Workload {
    Workload {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        name: "trainer".to_owned(),
        uid: pod.annotations()[DEPLOYMENT_UID].clone(),
        replicas: Some(1),
        is_served: None,
    }
}

fn key(pod: &Pod) -> PodKey {
    PodKey {
        namespace: pod.namespace().unwrap().parse().unwrap(),
        name: pod.name_any().parse().unwrap(),
    }
}

pub(super) fn finding(pod: &Pod, cause: Cause, since: Timestamp, monthly_dollars: Option<i64>) -> Finding {
    Finding {
        id: FindingId(format!(
            "{}/pod/{}/{}",
            cause.as_str(),
            key(pod),
            pod.uid().unwrap()
        )),
        cause,
        subject: Subject::Pod {
            pod: key(pod),
            uid: Some(pod.uid().unwrap().parse().unwrap()),
            workload: Some(workload(pod)),
        },
        node: None,
        gpus: Vec::new(),
        since,
        seen_at: since,
        score: 80,
        confidence: Permille::new(900).unwrap(),
        wasted_milligpus: 1000,
        wasted_milligpu_hours: 500,
        monthly: monthly_dollars.map(|dollars| NanoUsd(dollars * 1_000_000_000)),
        price_note: "list price of a test".to_owned(),
        evidence: vec![Evidence {
            signal: Signal::Utilization,
            words: "utilization never above 0.4 % in 10 minutes".to_owned(),
            speaks: Speaks::For,
            series: Vec::new(),
        }],
        explanation: "It does nothing.".to_owned(),
        fix: Some(Fix {
            kind: FixKind::ScaleToZero,
            text: "Scale it to zero.".to_owned(),
            commands: vec!["kubectl scale deployment/trainer --replicas=0".to_owned()],
            manifest: None,
            saves: None,
        }),
    }
}

fn model_pod(pod: &Pod) -> Arc<gpu_model::Pod> {
    Arc::new(gpu_model::Pod {
        reference: PodRef {
            namespace: key(pod).namespace,
            name: key(pod).name,
            uid: Some(pod.uid().unwrap().parse().unwrap()),
        },
        owners: Vec::new(),
        labels: BTreeMap::new(),
        resource: "nvidia.com/gpu".parse().unwrap(),
        count: 1,
        phase: PodPhase::Running,
        created_at: None,
        started_at: None,
    })
}

/// The cluster with this pod alone.
pub(super) fn picture(pod: &Pod) -> ClusterPicture {
    let mut picture = ClusterPicture::empty("test".parse().unwrap(), Timestamp::UNIX_EPOCH);
    let held = GpuPod {
        pod: model_pod(pod),
        node: None,
        requests: vec![GpuRequest {
            container: "trainer".parse().unwrap(),
            resource: "nvidia.com/gpu".parse().unwrap(),
            count: 1,
            kind: RequestKind::Whole(Vendor::Nvidia),
        }],
        host: HostRequest::default(),
        is_ready: true,
        is_terminating: false,
        waiting_reason: None,
        restarts: 0,
        workload: Some(workload(pod)),
        settings: PodSettings::default(),
    };
    picture.gpu_pods.insert(key(pod), Arc::new(held));
    picture
}

fn device(index: u16) -> Arc<Device> {
    Arc::new(Device {
        uuid: format!("GPU-{index}").parse().unwrap(),
        index: GpuIndex(index),
        vendor: Vendor::Nvidia,
        model: "NVIDIA H100".to_owned(),
        driver: None,
        pci_address: None,
    })
}

/// One measured GPU that the pod holds.
pub(super) fn view(pod: &Pod) -> FleetView {
    let gpu = GpuView {
        device: device(0),
        sample: GpuSample {
            utilization: Reading::Known(Permille::new(700).unwrap()),
            ..GpuSample::default()
        },
        parts: vec![PartView {
            partition: Partition::Whole,
            device_id: "GPU-0".parse().unwrap(),
            resource: "nvidia.com/gpu".parse().unwrap(),
            memory_total: Reading::Unsupported,
            usage: PartUsage::default(),
            owner: Some(Owner {
                pod: model_pod(pod),
                container: "trainer".parse().unwrap(),
            }),
        }],
    };
    let node = gpu_model::Node {
        name: "n1".parse().unwrap(),
        cloud: gpu_model::Cloud::OnPremises,
        instance_type: None,
        region: None,
        zone: None,
        capacity_type: gpu_model::CapacityType::Owned,
        labels: BTreeMap::new(),
    };
    FleetView {
        cluster: "test".parse().unwrap(),
        at: Timestamp::UNIX_EPOCH,
        source: Source::Measured,
        nodes: vec![NodeView {
            node: Arc::new(node),
            gpus: vec![gpu],
        }],
        pending: Vec::new(),
    }
}

/// The pod is there and measured.
pub(super) fn sights(pod: &Pod) -> Sights {
    Sights::of(&picture(pod), &view(pod), &BTreeSet::new())
}

/// One GPU of a node with these faults.
pub(super) fn harvest(node: &NodeName, faults: &[(u32, u64)]) -> Harvest {
    let faults = faults
        .iter()
        .map(|(code, count)| FaultCount {
            code: *code,
            count: *count,
        })
        .collect();
    Harvest {
        at: Timestamp::UNIX_EPOCH,
        gpus: vec![GpuReport {
            node: node.clone(),
            device: device(3),
            taken_at: Timestamp::UNIX_EPOCH,
            sample: GpuSample {
                temperature: Reading::Known(Celsius(40)),
                faults,
                ..GpuSample::default()
            },
            parts: Vec::new(),
        }],
        targets: Vec::<TargetReport>::new(),
    }
}

/// A replica that leads, and its teller on a store in a file.
pub(super) struct Scene {
    pub(super) teller: Teller,
    pub(super) replica: Replica,
    pub(super) store: Arc<dyn Store>,
    tracking: Tracking,
    _directory: Option<TempDir>,
}

impl Scene {
    pub(super) async fn start(
        fleet: &Fleet,
        namespace: &TestNamespace,
        identity: &str,
        tracking: Tracking,
    ) -> anyhow::Result<Self> {
        let directory = TempDir::new()?;
        let store = gpu_store::open(&StoreAddress::Sqlite(directory.path().join("told.db"))).await?;
        let mut scene = Self::with_store(fleet, namespace, identity, tracking, Mode::Live, store).await?;
        scene._directory = Some(directory);
        Ok(scene)
    }

    pub(super) async fn with_store(
        fleet: &Fleet,
        namespace: &TestNamespace,
        identity: &str,
        tracking: Tracking,
        mode: Mode,
        store: Arc<dyn Store>,
    ) -> anyhow::Result<Self> {
        let replica = leader(fleet, namespace, identity, mode).await?;
        Ok(Self {
            teller: teller(&replica, &store, tracking),
            replica,
            store,
            tracking,
            _directory: None,
        })
    }

    /// The replica goes, and another with an empty memory of its own takes over.
    pub(super) async fn next_leader(
        &mut self,
        fleet: &Fleet,
        namespace: &TestNamespace,
        identity: &str,
    ) -> anyhow::Result<()> {
        self.stop().await?;
        self.replica = leader(fleet, namespace, identity, Mode::Live).await?;
        self.teller = teller(&self.replica, &self.store, self.tracking);
        Ok(())
    }

    /// Lets the lease go.
    pub(super) async fn stop(&mut self) -> anyhow::Result<()> {
        self.replica.shutdown.trigger();
        Ok((&mut self.replica.election).await??)
    }

    pub(super) fn writes(&self, kind: WriteKind, result: WriteResult) -> u64 {
        self.replica.writer.counts().of(kind, result)
    }
}

async fn leader(
    fleet: &Fleet,
    namespace: &TestNamespace,
    identity: &str,
    mode: Mode,
) -> anyhow::Result<Replica> {
    let plan = Plan {
        kubeconfig: fleet.kubeconfig().to_owned(),
        namespace: namespace.name().to_owned(),
        identity: identity.to_owned(),
        store: StoreKind::Postgres,
        times: LeaseTimes::default(),
        act: "create",
    };
    let replica = replica::start(&plan, mode).await?;
    eventually("it may write", SOON, || async {
        Ok(replica.writer.permit().ok())
    })
    .await?;
    Ok(replica)
}

fn teller(replica: &Replica, store: &Arc<dyn Store>, tracking: Tracking) -> Teller {
    let cluster: ClusterId = "test".parse().unwrap();
    Teller::new(
        replica.writer.clone(),
        Arc::clone(store),
        Arc::new(SystemClock),
        cluster,
        TellSettings::default(),
        HealthSettings::default(),
        tracking,
        Notices::default(),
    )
}
