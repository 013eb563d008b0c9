//! Small objects as an API server would send them.

use gpu_model::{ClusterId, PodKey};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::watch::Kind;
use crate::watch::index::{Index, ObjectKey};

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_800_000_000 + seconds)
}

/// So late that no pod is held back any more.
pub(super) fn later() -> Timestamp {
    at(100_000)
}

pub(super) fn index() -> Index {
    Index::new(ClusterId::new("test").expect("an id"), at(0))
}

pub(super) fn put(index: &mut Index, kind: Kind, object: &Value) {
    let key = key_of(object);
    let item = kind.read(&object.to_string()).expect("it can be read");
    index.put(kind, key, item, at(0));
}

pub(super) fn remove(index: &mut Index, kind: Kind, namespace: &str, name: &str) {
    index.remove(kind, &ObjectKey::new(namespace, name));
}

pub(super) fn key_of(object: &Value) -> ObjectKey {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

pub(super) fn pod_key(namespace: &str, name: &str) -> PodKey {
    PodKey {
        namespace: namespace.parse().expect("a namespace"),
        name: name.parse().expect("a name"),
    }
}

pub(super) fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}")},
        "status": {"allocatable": {"cpu": "64", "nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(super) fn owned_by(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": format!("uid-{kind}-{name}"), "controller": true})
}

pub(super) fn gpu_pod(name: &str, node: Option<&str>, owner: Option<Value>) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}"), "labels": {"app": name},
            "ownerReferences": owner.map_or_else(|| json!([]), |owner| json!([owner]))},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Running"},
    })
}

pub(super) fn other_pod(name: &str, node: Option<&str>, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}")},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"},
    })
}
