//! Looks at a fleet as lines of text, and the bill of five minutes as a line.
//!
//! `60 a:2!cordoned p@0=500 ~q`: at second 60 node `a` shows two GPUs and is cordoned, its page names pod `p` on GPU 0 at half its time,
//! and the API has pod `q` on it, which no page names. `p@0=-` was not read; `!gone` after a pod: a page names it and the API does not.
//! `a/second` is node `a` with another machine behind it. Every pod and every machine but those of the first look began 15 seconds
//! before the look that shows it first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gpu_cost::{
    Books, EndedPod, Grain, LedgerRow, Look, Moment, Part, PriceBook, Settings, WatchSettings, Watcher,
};
use gpu_model::{
    Bytes, CapacityType, Cloud, ClusterId, ClusterNode, ClusterPicture, ContainerName, Device, DeviceId,
    FleetView, GpuIndex, GpuPod, GpuRequest, GpuSample, GpuUuid, GpuView, HostRequest, MachineId, Namespace,
    Node, NodeName, NodeView, Owner, PartUsage, PartView, Partition, Permille, Pod, PodName, PodPhase,
    PodRef, PodSettings, PodUid, Readiness, Reading, RequestKind, ResourceName, Source, Vendor,
};

use crate::fleet::{HOUR, hour, second};

/// Checks the bill of the five minutes that the looks speak of.
#[track_caller]
pub(super) fn check(looks: &str, expected: &str) {
    check_ended(looks, &[], expected);
}

/// The same with pods whose end the API told: name, GPUs, start and end.
#[track_caller]
pub(super) fn check_ended(looks: &str, ended: &[(&str, u32, i64, i64)], expected: &str) {
    let mut scene = Scene::default();
    let mut watcher = Watcher::new(WatchSettings::every(30_000));
    // Looks of these tests are a minute apart at most.
    let mut books = Books::new(cluster());
    for line in looks.lines() {
        let (view, picture) = scene.look(line);
        let look = Look {
            view: &view,
            picture: Some(&picture),
            unhealthy: &BTreeSet::new(),
        };
        for event in watcher.look(&look).events {
            books.record(&event).expect("a sound event");
        }
    }
    for (name, gpus, start, end) in ended {
        let pod = EndedPod {
            pod: Arc::new(asker(name, "a", *gpus, *start)),
            ended_at: second(*end),
        };
        for event in watcher.pod_ended(&pod, None, &books).events {
            books.record(&event).expect("a sound event");
        }
    }
    let window = Grain::FiveMinutes.bucket(hour().start);
    let rows = books.settle(window, &PriceBook::new(), &Settings::default());
    assert_eq!(summary(&rows), expected);
}

fn summary(rows: &[LedgerRow]) -> String {
    let mut sums: BTreeMap<String, (i64, i64, i64)> = BTreeMap::new();
    for row in rows {
        let name = match (&row.holder, row.part) {
            (Some(holder), Part::Pod) => format!("pod {}", holder.pod),
            (_, part) => part.as_str().to_owned(),
        };
        let sum = sums.entry(name).or_default();
        sum.0 += row.time.held_ms / 1000;
        sum.1 += row.time.used_ms / 1000;
        sum.2 += row.time.unmeasured_ms / 1000;
    }
    let words = sums.into_iter().map(|(name, (held, used, unmeasured))| {
        let used = if used > 0 {
            format!(" used {used}")
        } else {
            String::new()
        };
        let unmeasured = match unmeasured {
            0 => String::new(),
            seconds => format!(" unmeasured {seconds}"),
        };
        format!("{name} {held}{used}{unmeasured}")
    });
    words.collect::<Vec<_>>().join(", ")
}

pub(super) fn cluster() -> ClusterId {
    ClusterId::new("test").expect("an id")
}

#[derive(Default)]
struct Scene {
    /// When each pod and each machine began.
    began: BTreeMap<String, i64>,
    looks: usize,
}

impl Scene {
    fn began(&mut self, name: &str, at: i64) -> i64 {
        let before = if self.looks == 0 { 3600 } else { 15 };
        *self.began.entry(name.to_owned()).or_insert(at - before)
    }

    fn look(&mut self, line: &str) -> (FleetView, ClusterPicture) {
        let mut words = line.split_whitespace();
        let at: i64 = words.next().expect("a time").parse().expect("seconds");
        let mut view = FleetView {
            cluster: cluster(),
            at: second(at).timestamp(),
            source: Source::Simulated,
            nodes: Vec::new(),
            pending: Vec::new(),
        };
        let mut picture = ClusterPicture::empty(cluster(), view.at);
        for word in words {
            if let Some(pod) = word.strip_prefix('~') {
                let node = last_node(&picture);
                let pod = asker(pod, &node, 1, self.began(pod, at));
                picture.gpu_pods.insert(pod.key(), Arc::new(pod));
            } else if word.contains('@') {
                self.named(word, at, &mut view, &mut picture);
            } else {
                self.node(word, at, &mut view, &mut picture);
            }
        }
        self.looks += 1;
        (view, picture)
    }

    /// `a/machine:2!flag`
    fn node(&mut self, word: &str, at: i64, view: &mut FleetView, picture: &mut ClusterPicture) {
        let (word, flag) = word.split_once('!').unwrap_or((word, ""));
        let (name, gpus) = word.split_once(':').expect("a count");
        let (name, machine) = name.split_once('/').unwrap_or((name, "first"));
        let gpus: u16 = gpus.parse().expect("a number");
        let machine = format!("{name}-{machine}");
        let created = self.began(&machine, at);
        let node = Arc::new(Node {
            name: NodeName::new(name).expect("a name"),
            cloud: Cloud::OnPremises,
            instance_type: None,
            region: None,
            zone: None,
            capacity_type: CapacityType::Owned,
            labels: [(
                "nvidia.com/gpu.count".to_owned(),
                if name == "a" && gpus < 2 { "1" } else { "2" }.to_owned(),
            )]
            .into(),
        });
        let has_devices = flag != "notready" && gpus > 0;
        let resource = ResourceName::new("nvidia.com/gpu").expect("a name");
        let known = ClusterNode {
            node: node.clone(),
            uid: machine.clone(),
            machine: MachineId::new(&machine).expect("an id"),
            created_at: second(created).timestamp(),
            readiness: if flag == "notready" {
                Readiness::NotReady
            } else {
                Readiness::Ready
            },
            is_cordoned: flag == "cordoned",
            taints: Vec::new(),
            host: HostRequest::default(),
            gpus: BTreeMap::new(),
            gpu_capacity: has_devices.then_some((resource, 2)).into_iter().collect(),
        };
        picture.nodes.insert(node.name.clone(), Arc::new(known));
        let gpus = (0..gpus).map(|index| gpu(&machine, index)).collect();
        view.nodes.push(NodeView { node, gpus });
    }

    /// `p@0=500`
    fn named(&mut self, word: &str, at: i64, view: &mut FleetView, picture: &mut ClusterPicture) {
        let (word, flag) = word.split_once('!').unwrap_or((word, ""));
        let (name, rest) = word.split_once('@').expect("a place");
        let (index, use_) = rest.split_once('=').expect("a use");
        let node = view.nodes.last_mut().expect("a node before its pods");
        let asker = asker(name, node.node.name.as_str(), 1, self.began(name, at));
        let part = &mut node.gpus[index.parse::<usize>().expect("a number")].parts[0];
        part.owner = Some(Owner {
            pod: asker.pod.clone(),
            container: ContainerName::new("main").expect("a name"),
        });
        part.usage.utilization = match use_ {
            "-" => Reading::Failed,
            permille => Reading::Known(Permille::clamped(permille.parse().expect("a number"))),
        };
        if flag != "gone" {
            picture.gpu_pods.insert(asker.key(), Arc::new(asker));
        }
    }
}

fn last_node(picture: &ClusterPicture) -> String {
    picture.nodes.keys().next_back().expect("a node").to_string()
}

fn asker(name: &str, node: &str, gpus: u32, began: i64) -> GpuPod {
    let resource = ResourceName::new("nvidia.com/gpu").expect("a name");
    let pod = Pod {
        reference: PodRef {
            namespace: Namespace::new("research").expect("a name"),
            name: PodName::new(name).expect("a name"),
            uid: Some(PodUid::new(format!("uid-{name}")).expect("an id")),
        },
        owners: Vec::new(),
        labels: BTreeMap::new(),
        resource: resource.clone(),
        count: gpus,
        phase: PodPhase::Running,
        created_at: None,
        started_at: Some(Moment(HOUR + began * 1000).timestamp()),
    };
    GpuPod {
        pod: Arc::new(pod),
        node: Some(NodeName::new(node).expect("a name")),
        requests: vec![GpuRequest {
            container: ContainerName::new("main").expect("a name"),
            resource,
            count: gpus,
            kind: RequestKind::Whole(Vendor::Nvidia),
        }],
        host: HostRequest::default(),
        is_ready: true,
        is_terminating: false,
        waiting_reason: None,
        restarts: 0,
        workload: None,
        settings: PodSettings::default(),
    }
}

fn gpu(machine: &str, index: u16) -> GpuView {
    let uuid = format!("GPU-{machine}-{index}");
    GpuView {
        device: Arc::new(Device {
            uuid: GpuUuid::new(&uuid).expect("an id"),
            index: GpuIndex(index),
            vendor: Vendor::Nvidia,
            model: "NVIDIA A100-SXM4-80GB".to_owned(),
            driver: None,
            pci_address: None,
        }),
        sample: GpuSample::default(),
        parts: vec![PartView {
            partition: Partition::Whole,
            device_id: DeviceId::new(&uuid).expect("an id"),
            resource: ResourceName::new("nvidia.com/gpu").expect("a name"),
            memory_total: Reading::Known(Bytes::from_gib(80)),
            usage: PartUsage::default(),
            owner: None,
        }],
    }
}
