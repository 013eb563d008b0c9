//! The index: what it makes of objects in any order, and what it never forgets.

mod cluster;
mod properties;

use gpu_model::{PodKey, RequestKind};
use serde_json::{Value, json};

use super::{Answer, Index, ObjectKey};
use crate::watch::Kind;
use cluster::{at, gpu_pod, index, later, node, other_pod, owned_by, pod_key, put, remove};

#[track_caller]
fn check_owners(index: &mut Index, pod: &str, expected: &[&str]) {
    let picture = index.picture(later(), later());
    let pod = &picture.gpu_pods[&pod_key("team", pod)];
    let chain: Vec<String> = pod
        .pod
        .owners
        .iter()
        .map(|owner| format!("{}/{}", owner.kind, owner.name))
        .collect();
    assert_eq!(chain, expected);
}

fn replica_set(owner: Option<&str>) -> Value {
    let owner = owner.map(|name| owned_by("apps/v1", "Deployment", name));
    json!({"metadata": {"name": "web-1", "namespace": "team", "uid": "uid-ReplicaSet-web-1",
        "ownerReferences": owner.map_or_else(|| json!([]), |owner| json!([owner]))}})
}

fn deployment(replicas: u32) -> Value {
    json!({"metadata": {"name": "web", "namespace": "team", "uid": "uid-Deployment-web"}, "spec": {"replicas": replicas}})
}

#[test]
fn owners_are_climbed_whatever_arrives_first() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    put(
        &mut index,
        Kind::Pods,
        &gpu_pod("a", Some("n1"), Some(owned_by("apps/v1", "ReplicaSet", "web-1"))),
    );
    check_owners(&mut index, "a", &["ReplicaSet/web-1"]);
    put(&mut index, Kind::ReplicaSets, &replica_set(Some("web")));
    check_owners(&mut index, "a", &["ReplicaSet/web-1", "Deployment/web"]);
    put(&mut index, Kind::Deployments, &deployment(3));
    let workload = |index: &mut Index| {
        let picture = index.picture(later(), later());
        picture.gpu_pods[&pod_key("team", "a")]
            .workload
            .clone()
            .expect("it has owners")
    };
    assert_eq!(
        (workload(&mut index).name.as_str(), workload(&mut index).replicas),
        ("web", Some(3))
    );
    put(&mut index, Kind::Deployments, &deployment(5));
    assert_eq!(workload(&mut index).replicas, Some(5));
    remove(&mut index, Kind::ReplicaSets, "team", "web-1");
    check_owners(&mut index, "a", &["ReplicaSet/web-1"]);
}

#[test]
fn owners_of_other_projects_are_asked_for_once_and_forgotten_with_their_pods() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    let owner = owned_by("kubeflow.org/v1", "PyTorchJob", "train");
    for name in ["a", "b"] {
        put(
            &mut index,
            Kind::Pods,
            &gpu_pod(name, Some("n1"), Some(owner.clone())),
        );
    }
    let questions = index.questions(at(0), 50);
    assert_eq!(questions.len(), 1, "two pods, one owner");
    assert_eq!(questions[0].link.kind, "PyTorchJob");
    let above = gpu_k8s::owners::OwnerLink {
        api_version: "example.com/v1".to_owned(),
        kind: "Experiment".to_owned(),
        name: "sweep".to_owned(),
        uid: "uid-sweep".to_owned(),
    };
    index.answer(&questions[0].id, Answer::Found { owner: Some(above) }, at(0));
    check_owners(&mut index, "b", &["PyTorchJob/train", "Experiment/sweep"]);
    // Now the experiment is asked for; what was answered is not asked again.
    let next = index.questions(at(1), 50);
    assert_eq!(
        next.iter()
            .map(|question| question.link.kind.as_str())
            .collect::<Vec<_>>(),
        ["Experiment"]
    );
    index.answer(&next[0].id, Answer::NotFound, at(1));
    assert_eq!(index.questions(at(2), 50), []);
    assert_eq!(
        index.questions(at(700), 50).len(),
        1,
        "what was not found is looked for again"
    );
    for name in ["a", "b"] {
        remove(&mut index, Kind::Pods, "team", name);
    }
    assert_eq!(index.questions(at(10_000), 50), []);
    assert_eq!(index.load().foreign_owners, 0);
}

#[test]
fn a_pod_waits_for_its_node_for_a_while() {
    let mut index = index();
    put(&mut index, Kind::Pods, &gpu_pod("a", Some("n1"), None));
    let shown = |index: &mut Index, seconds: i64| index.picture(at(seconds), at(seconds)).gpu_pods.len();
    assert_eq!(shown(&mut index, 1), 0);
    assert_eq!(index.load().held_back, 1);
    put(&mut index, Kind::Nodes, &node("n1"));
    assert_eq!(shown(&mut index, 1), 1);
    // The node goes and its pod stays, as it does in the API.
    remove(&mut index, Kind::Nodes, "", "n1");
    put(&mut index, Kind::Pods, &gpu_pod("a", Some("n1"), None));
    assert_eq!(shown(&mut index, 2), 1);
    // A pod whose node never comes is shown in the end.
    put(&mut index, Kind::Pods, &gpu_pod("b", Some("n2"), None));
    assert_eq!(shown(&mut index, 20), 1);
    assert_eq!(shown(&mut index, 31), 2);
    assert_eq!(index.load().held_back, 0);
}

#[test]
fn other_pods_are_sums_by_node() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    for name in ["a", "b", "c"] {
        put(&mut index, Kind::Pods, &other_pod(name, Some("n1"), "250m"));
    }
    put(&mut index, Kind::Pods, &other_pod("pending", None, "9"));
    put(&mut index, Kind::Pods, &other_pod("a", Some("n1"), "1"));
    remove(&mut index, Kind::Pods, "team", "b");
    let picture = index.picture(later(), later());
    let sum = picture.other_pods["n1"];
    assert_eq!((sum.cpu_millicores, sum.pods), (1250, 2));
    for name in ["a", "c"] {
        remove(&mut index, Kind::Pods, "team", name);
    }
    assert_eq!(index.picture(later(), later()).other_pods.len(), 0);
}

#[test]
fn a_pod_that_becomes_unreadable_is_told_apart_from_one_that_is_gone() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    put(&mut index, Kind::Pods, &gpu_pod("a", Some("n1"), None));
    index.put_unreadable(
        Kind::Pods,
        ObjectKey::new("team", "a"),
        Some("n1".parse().expect("a name")),
    );
    let picture = index.picture(later(), later());
    assert_eq!(picture.gpu_pods.len(), 0);
    assert_eq!(
        picture.unreadable_pods[&pod_key("team", "a")]
            .as_ref()
            .expect("a node")
            .as_str(),
        "n1"
    );
    drop(picture);
    put(&mut index, Kind::Pods, &gpu_pod("a", Some("n1"), None));
    let picture = index.picture(later(), later());
    assert_eq!((picture.gpu_pods.len(), picture.unreadable_pods.len()), (1, 0));
}

#[test]
fn claims_make_a_pod_one_for_gpus() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    let mut pod = other_pod("a", Some("n1"), "1");
    pod["spec"]["resourceClaims"] = json!([{"name": "gpus", "resourceClaimTemplateName": "two"}]);
    put(&mut index, Kind::Pods, &pod);
    let picture = index.picture(later(), later());
    assert_eq!(
        (picture.gpu_pods.len(), picture.other_pods["n1"].pods),
        (0, 1),
        "what it claims is not known"
    );
    drop(picture);
    let devices =
        json!({"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "ours", "count": 2}}]}});
    let template = json!({"metadata": {"name": "two", "namespace": "team"}, "spec": {"spec": devices}});
    put(&mut index, Kind::ClaimTemplates, &template);
    assert_eq!(
        index.picture(later(), later()).gpu_pods.len(),
        0,
        "the class is not known to be of GPUs"
    );
    let class = json!({"metadata": {"name": "ours"}, "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}});
    put(&mut index, Kind::DeviceClasses, &class);
    let picture = index.picture(later(), later());
    let found = &picture.gpu_pods[&pod_key("team", "a")];
    assert_eq!(
        (found.requests[0].count, &found.requests[0].kind),
        (2, &RequestKind::Claim("two".to_owned()))
    );
    assert_eq!((found.pod.resource.as_str(), found.pod.count), ("ours", 2));
    assert!(picture.other_pods.is_empty(), "it counts once");
}

#[test]
fn namespaces_and_services_reach_their_pods() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    put(
        &mut index,
        Kind::Pods,
        &gpu_pod("a", Some("n1"), Some(owned_by("apps/v1", "StatefulSet", "web"))),
    );
    let found = |index: &mut Index| {
        let picture = index.picture(later(), later());
        let pod = &picture.gpu_pods[&pod_key("team", "a")];
        (
            pod.settings.is_opted_out,
            pod.workload.as_ref().expect("an owner").is_served,
        )
    };
    assert_eq!(found(&mut index), (false, None));
    index.known(Kind::Services);
    assert_eq!(found(&mut index), (false, Some(false)));
    put(
        &mut index,
        Kind::Services,
        &json!({"metadata": {"name": "s", "namespace": "team"}, "spec": {"selector": {"app": "a"}}}),
    );
    put(
        &mut index,
        Kind::Namespaces,
        &json!({"metadata": {"name": "team", "labels": {"gpu-autoscaler.io/optimize": "disabled"}}}),
    );
    assert_eq!(found(&mut index), (true, Some(true)));
    remove(&mut index, Kind::Services, "team", "s");
    remove(&mut index, Kind::Namespaces, "", "team");
    assert_eq!(found(&mut index), (false, Some(false)));
}

#[test]
fn an_unchanged_object_changes_nothing() {
    let mut index = index();
    put(&mut index, Kind::Nodes, &node("n1"));
    put(&mut index, Kind::Pods, &gpu_pod("a", Some("n1"), None));
    let before = index.picture(at(0), at(0));
    put(&mut index, Kind::Nodes, &node("n1"));
    put(&mut index, Kind::Pods, &gpu_pod("a", Some("n1"), None));
    let after = index.picture(at(0), at(0));
    assert!(
        std::sync::Arc::ptr_eq(&before, &after),
        "the picture was copied for nothing"
    );
    put(&mut index, Kind::Pods, &gpu_pod("b", Some("n1"), None));
    let next = index.picture(at(0), at(0));
    assert_eq!(
        (before.gpu_pods.len(), next.gpu_pods.len()),
        (1, 2),
        "a reader keeps what it was given"
    );
    let key: PodKey = pod_key("team", "a");
    assert!(
        std::sync::Arc::ptr_eq(&before.gpu_pods[&key], &next.gpu_pods[&key]),
        "what did not change is shared"
    );
}
