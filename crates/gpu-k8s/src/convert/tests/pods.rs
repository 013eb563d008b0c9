//! Pods: what they ask for and where they stand.

use gpu_model::{Bytes, PodPhase, RequestKind, Vendor};
use serde_json::{Value, json};

use super::super::{PodState, Unreadable, pod, request_kind};
use crate::convert::GpuCandidate;

fn object(spec: &Value, status: &Value) -> String {
    json!({
        "metadata": {
            "name": "a", "namespace": "team", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "a"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "u8"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a-1", "uid": "u9", "controller": true},
            ],
        },
        "spec": spec,
        "status": status,
    })
    .to_string()
}

fn container(name: &str, resources: &Value) -> Value {
    json!({"name": name, "image": "x", "resources": {"requests": resources}})
}

fn gpu(spec: &Value) -> GpuCandidate {
    let read = pod(&object(spec, &json!({"phase": "Running"}))).expect("a pod");
    match read.state {
        PodState::Gpu(candidate) => *candidate,
        other => panic!("no GPU pod: {other:?}"),
    }
}

#[track_caller]
fn check_requests(spec: &Value, expected: &[(&str, &str, u32)]) {
    let found = gpu(spec);
    let found: Vec<(&str, &str, u32)> = found
        .pod
        .requests
        .iter()
        .map(|request| {
            (
                request.container.as_str(),
                request.resource.as_str(),
                request.count,
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn every_kind_of_gpu_resource_is_understood() {
    let mig = |name: &str| RequestKind::MigSlice(name.parse().expect("a profile"));
    for (name, kind) in [
        ("nvidia.com/gpu", RequestKind::Whole(Vendor::Nvidia)),
        ("amd.com/gpu", RequestKind::Whole(Vendor::Amd)),
        ("gpu.intel.com/i915", RequestKind::Whole(Vendor::Intel)),
        ("gpu.intel.com/xe", RequestKind::Whole(Vendor::Intel)),
        ("nvidia.com/gpu.shared", RequestKind::Shared),
        ("nvidia.com/mig-3g.40gb", mig("3g.40gb")),
        ("nvidia.com/mig-1g.10gb.me", mig("1g.10gb+me")),
        ("nvidia.com/mig-1g.5gb.shared", mig("1g.5gb")),
        (
            "amd.com/cpx_nps4",
            RequestKind::AmdPartition("cpx_nps4".to_owned()),
        ),
        ("nvidia.com/gpumem", RequestKind::HamiMemory),
        ("nvidia.com/gpumem-percentage", RequestKind::HamiMemoryPercent),
        ("nvidia.com/gpucores", RequestKind::HamiCores),
    ] {
        assert_eq!(request_kind(name), Some(kind), "{name}");
    }
    for name in [
        "cpu",
        "memory",
        "gpu.intel.com/millicores",
        "gpu.intel.com/xe_monitoring",
        "amd.com/other",
        "hugepages-2Mi",
    ] {
        assert_eq!(request_kind(name), None, "{name}");
    }
}

#[test]
fn requests_are_listed_by_container() {
    check_requests(
        &json!({"containers": [
            container("trainer", &json!({"nvidia.com/gpu": "2", "nvidia.com/gpumem": "4000"})),
            container("logger", &json!({"cpu": "1"})),
            container("eval", &json!({"nvidia.com/gpu": 1})),
        ]}),
        &[
            ("trainer", "nvidia.com/gpu", 2),
            ("trainer", "nvidia.com/gpumem", 4000),
            ("eval", "nvidia.com/gpu", 1),
        ],
    );
}

#[test]
fn a_limit_alone_is_a_request() {
    check_requests(
        &json!({"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/mig-1g.10gb": "1"}}}]}),
        &[("a", "nvidia.com/mig-1g.10gb", 1)],
    );
}

#[test]
fn initialisation_counts_only_beyond_the_work() {
    let worker = || container("work", &json!({"nvidia.com/gpu": "2"}));
    check_requests(
        &json!({"initContainers": [container("warm", &json!({"nvidia.com/gpu": "1"}))], "containers": [worker()]}),
        &[("work", "nvidia.com/gpu", 2)],
    );
    check_requests(
        &json!({"initContainers": [container("shard", &json!({"nvidia.com/gpu": "5"}))], "containers": [worker()]}),
        &[("work", "nvidia.com/gpu", 2), ("shard", "nvidia.com/gpu", 3)],
    );
    let mut sidecar = container("side", &json!({"nvidia.com/gpu": "1"}));
    sidecar["restartPolicy"] = json!("Always");
    check_requests(
        &json!({"initContainers": [sidecar, container("shard", &json!({"nvidia.com/gpu": "3"}))], "containers": [worker()]}),
        &[
            ("side", "nvidia.com/gpu", 1),
            ("work", "nvidia.com/gpu", 2),
            ("shard", "nvidia.com/gpu", 1),
        ],
    );
}

/// The rules of the scheduler: sidecars stay, plain initialisation passes, overhead is on top.
#[test]
fn processors_and_memory_are_counted_as_the_scheduler_does() {
    let mut sidecar = container("side", &json!({"cpu": "200m", "memory": "64Mi"}));
    sidecar["restartPolicy"] = json!("Always");
    let spec = json!({
        "nodeName": "n1",
        "initContainers": [
            container("before", &json!({"cpu": "3"})),
            sidecar,
            container("after", &json!({"cpu": "3500m", "memory": "1Gi"})),
        ],
        "containers": [container("a", &json!({"cpu": "1", "memory": "1Gi"})), container("b", &json!({"cpu": "1.5"}))],
        "overhead": {"cpu": "250m", "memory": "120Mi"},
    });
    let read = pod(&object(&spec, &json!({"phase": "Pending"}))).expect("a pod");
    let PodState::Other { node, host } = read.state else {
        panic!("no GPU is asked for")
    };
    assert_eq!(node.expect("it has a node").as_str(), "n1");
    // `after` runs beside the sidecar: 3.7 processors are more than the 2.7 of the work.
    assert_eq!(host.cpu_millicores, 3700 + 250);
    assert_eq!(host.memory, Bytes((1024 + 64 + 120) * 1024 * 1024));
    assert_eq!(host.pods, 1);
}

#[test]
fn a_pod_may_ask_for_all_of_its_containers_together_and_be_resized() {
    let spec = json!({
        "resources": {"requests": {"cpu": "4"}},
        "containers": [container("a", &json!({"cpu": "1", "memory": "1Gi"}))],
    });
    let status = json!({"phase": "Running", "containerStatuses": [
        {"name": "a", "restartCount": 0, "allocatedResources": {"cpu": "1", "memory": "2Gi"}},
    ]});
    let PodState::Other { host, .. } = pod(&object(&spec, &status)).expect("a pod").state else {
        panic!("no GPU is asked for")
    };
    assert_eq!((host.cpu_millicores, host.memory), (4000, Bytes::from_gib(2)));
}

#[test]
fn a_pod_that_has_ended_holds_nothing() {
    let spec = json!({"containers": [container("a", &json!({"nvidia.com/gpu": "1"}))]});
    for phase in ["Succeeded", "Failed"] {
        let read = pod(&object(&spec, &json!({"phase": phase}))).expect("a pod");
        assert_eq!(read.state, PodState::Ended);
    }
}

#[test]
fn its_state_is_read() {
    let spec = json!({"nodeName": "n1", "containers": [container("a", &json!({"nvidia.com/gpu": "1"}))]});
    let status = json!({
        "phase": "Running",
        "startTime": "2026-01-01T00:00:05Z",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{"name": "a", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
    });
    let PodState::Gpu(found) = pod(&object(&spec, &status)).expect("a pod").state else {
        panic!("it asks for a GPU")
    };
    assert_eq!(found.pod.pod.phase, PodPhase::Running);
    assert_eq!(found.pod.restarts, 7);
    assert_eq!(found.pod.waiting_reason.as_deref(), Some("CrashLoopBackOff"));
    assert!(!found.pod.is_ready);
    assert_eq!(
        found.pod.pod.started_at,
        Some("2026-01-01T00:00:05Z".parse().expect("a time"))
    );
    let owner = found.links.owner.expect("it has an owner");
    assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("ReplicaSet", "u9"));
}

#[test]
fn a_pod_without_a_node_says_what_the_scheduler_says() {
    let spec = json!({"containers": [container("a", &json!({"nvidia.com/gpu": "1"}))]});
    let status = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
    ]});
    let PodState::Gpu(found) = pod(&object(&spec, &status)).expect("a pod").state else {
        panic!("it asks for a GPU")
    };
    assert_eq!(found.pod.waiting_reason.as_deref(), Some("Unschedulable"));
}

#[test]
fn argos_label_stands_in_for_a_lost_owner() {
    let text = r#"{"metadata": {"name": "step", "namespace": "a", "labels": {"workflows.argoproj.io/workflow": "train"}},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}"#;
    let PodState::Gpu(found) = pod(text).expect("a pod").state else {
        panic!("it asks for a GPU")
    };
    let owner = found.links.owner.expect("the label names it");
    assert_eq!((owner.kind.as_str(), owner.name.as_str()), ("Workflow", "train"));
}

#[test]
fn what_cannot_be_read_says_which_field() {
    let spec = |amount: &str| json!({"containers": [container("a", &json!({"nvidia.com/gpu": amount}))]});
    let words = |spec: &Value| {
        pod(&object(spec, &json!({})))
            .expect_err("it cannot be read")
            .to_string()
    };
    assert!(
        words(&spec("many")).contains("request of `nvidia.com/gpu`"),
        "{}",
        words(&spec("many"))
    );
    assert!(
        words(&spec("1e15")).contains("more than can be counted"),
        "{}",
        words(&spec("1e15"))
    );
    assert!(matches!(pod("[]"), Err(Unreadable::Form { .. })));
    assert!(matches!(
        pod(r#"{"metadata": {"name": "a"}}"#),
        Err(Unreadable::Field { .. })
    ));
}
