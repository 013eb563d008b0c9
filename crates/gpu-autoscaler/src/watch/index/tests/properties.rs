//! Whatever happens in whatever order, the picture is that of a fresh index over the objects that are left.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::cluster::{at, index, key_of, later, node, owned_by};
use crate::watch::Kind;
use crate::watch::index::{Answer, Index, ObjectKey};

/// Names are few, so that objects meet.
#[derive(Debug, Clone)]
enum Step {
    Put(Kind, Value),
    Unreadable(u8),
    Remove(Kind, Value),
    /// A list of what is there, some of which the list no longer has.
    Relist(Kind, u8),
    Answer(bool),
    Look,
}

fn name() -> impl Strategy<Value = String> {
    (0_u8..4).prop_map(|number| format!("x{number}"))
}

fn namespace() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("team"), Just("other")]
}

fn pod() -> impl Strategy<Value = Value> {
    let owner = prop_oneof![
        Just(None),
        name().prop_map(|name| Some(owned_by("apps/v1", "ReplicaSet", &name))),
        name().prop_map(|name| Some(owned_by("batch/v1", "Job", &name))),
        name().prop_map(|name| Some(owned_by("argoproj.io/v1alpha1", "Workflow", &name))),
    ];
    let resources = prop_oneof![
        Just(json!({"limits": {"nvidia.com/gpu": "2"}})),
        Just(json!({"limits": {"nvidia.com/mig-1g.10gb": "1"}, "requests": {"cpu": "2"}})),
        Just(json!({"requests": {"cpu": "1500m", "memory": "1Gi"}})),
    ];
    let claims = prop_oneof![
        3 => Just(json!([])),
        1 => name().prop_map(|name| json!([{"name": "c", "resourceClaimName": name}])),
        1 => name().prop_map(|name| json!([{"name": "c", "resourceClaimTemplateName": name}])),
    ];
    let phase = prop_oneof![4 => Just("Running"), 1 => Just("Pending"), 1 => Just("Succeeded")];
    let node = prop::option::of(name());
    (name(), namespace(), owner, resources, claims, phase, node, name()).prop_map(
        |(name, namespace, owner, resources, claims, phase, node, app)| {
            json!({
                "metadata": {"name": name, "namespace": namespace, "uid": format!("uid-{name}"), "labels": {"app": app},
                    "ownerReferences": owner.map_or_else(|| json!([]), |owner| json!([owner]))},
                "spec": {"nodeName": node, "containers": [{"name": "main", "resources": resources}], "resourceClaims": claims},
                "status": {"phase": phase},
            })
        },
    )
}

fn owner(kind: &'static str, above: &'static str) -> impl Strategy<Value = Value> {
    let owner = prop::option::of(name());
    (name(), namespace(), owner, 0_u32..3, 0_u8..2).prop_map(move |(name, namespace, owner, replicas, life)| {
        // The same name comes back with another uid.
        let uid = if life == 0 { format!("uid-{kind}-{name}") } else { format!("uid-{kind}-{name}-again") };
        // No two objects of a cluster share a uid; pods name those of the first namespace.
        let uid = if namespace == "team" { uid } else { format!("{uid}-{namespace}") };
        let owner = owner.map(|owner| owned_by("apps/v1", above, &owner));
        json!({"metadata": {"name": name, "namespace": namespace, "uid": uid,
            "ownerReferences": owner.map_or_else(|| json!([]), |owner| json!([owner]))}, "spec": {"replicas": replicas}})
    })
}

fn devices(class: &str) -> Value {
    json!({"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": class, "count": 1}}]}})
}

fn object() -> impl Strategy<Value = (Kind, Value)> {
    let named = |spec: fn(String) -> Value| {
        (name(), namespace(), name()).prop_map(move |(name, namespace, other)| {
            json!({"metadata": {"name": name, "namespace": namespace}, "spec": spec(other)})
        })
    };
    prop_oneof![
        6 => pod().prop_map(|pod| (Kind::Pods, pod)),
        2 => name().prop_map(|name| (Kind::Nodes, node(&name))),
        // A circle of owners is possible here, as it is in a cluster.
        2 => owner("ReplicaSet", "Deployment").prop_map(|owner| (Kind::ReplicaSets, owner)),
        1 => owner("Deployment", "ReplicaSet").prop_map(|owner| (Kind::Deployments, owner)),
        1 => owner("Job", "CronJob").prop_map(|owner| (Kind::Jobs, owner)),
        1 => named(|app| json!({"selector": {"app": app}})).prop_map(|service| (Kind::Services, service)),
        1 => named(|class| devices(&class)).prop_map(|claim| (Kind::Claims, claim)),
        1 => named(|class| json!({"spec": devices(&class)})).prop_map(|template| (Kind::ClaimTemplates, template)),
        1 => (name(), any::<bool>()).prop_map(|(name, is_gpu)| {
            let resource = if is_gpu { "nvidia.com/gpu" } else { "nic" };
            (Kind::DeviceClasses, json!({"metadata": {"name": name}, "spec": {"extendedResourceName": resource}}))
        }),
        1 => (namespace(), any::<bool>()).prop_map(|(name, off)| {
            let say = if off { "disabled" } else { "enabled" };
            (Kind::Namespaces, json!({"metadata": {"name": name, "labels": {"gpu-autoscaler.io/optimize": say}}}))
        }),
        1 => named(|app| json!({"selector": {"matchLabels": {"app": app}}})).prop_map(|budget| (Kind::DisruptionBudgets, budget)),
        1 => named(|_| json!({"hard": {"requests.nvidia.com/gpu": "4"}})).prop_map(|quota| (Kind::Quotas, quota)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => object().prop_map(|(kind, object)| Step::Put(kind, object)),
        3 => object().prop_map(|(kind, object)| Step::Remove(kind, object)),
        1 => (0_u8..4).prop_map(Step::Unreadable),
        1 => (object(), any::<u8>()).prop_map(|((kind, _), kept)| Step::Relist(kind, kept)),
        1 => any::<bool>().prop_map(Step::Answer),
        1 => Just(Step::Look),
    ]
}

type Left = BTreeMap<(Kind, ObjectKey), Option<Value>>;

fn feed(index: &mut Index, kind: Kind, key: &ObjectKey, object: Option<&Value>) {
    match object {
        Some(object) => {
            let item = kind.read(&object.to_string()).expect("it can be read");
            index.put(kind, key.clone(), item, at(0));
        }
        None => index.put_unreadable(kind, key.clone(), None),
    }
}

/// Answers all questions about foreign owners in one way.
fn answer(index: &mut Index, has_owner: bool) {
    for question in index.questions(at(0), 1000) {
        let owner = has_owner.then(|| gpu_k8s::owners::OwnerLink {
            api_version: "argoproj.io/v1alpha1".to_owned(),
            kind: "CronWorkflow".to_owned(),
            name: "nightly".to_owned(),
            uid: "uid-nightly".to_owned(),
        });
        let owner = owner.filter(|_| question.link.kind == "Workflow");
        index.answer(&question.id, Answer::Found { owner }, at(0));
    }
}

fn follow(steps: Vec<Step>) -> (Index, Left) {
    let (mut index, mut left) = (index(), Left::new());
    for step in steps {
        match step {
            Step::Put(kind, object) => {
                let key = key_of(&object);
                feed(&mut index, kind, &key, Some(&object));
                left.insert((kind, key), Some(object));
            }
            Step::Unreadable(number) => {
                let key = ObjectKey::new("team", &format!("x{number}"));
                feed(&mut index, Kind::Pods, &key, None);
                left.insert((Kind::Pods, key), None);
            }
            Step::Remove(kind, object) => {
                let key = key_of(&object);
                index.remove(kind, &key);
                left.remove(&(kind, key));
            }
            Step::Relist(kind, kept) => {
                let mut number = 0_u32;
                left.retain(|(found, _), _| {
                    number += 1;
                    *found != kind || (u32::from(kept) >> (number % 8)) & 1 == 1
                });
                index.begin(kind);
                for ((_, key), object) in left.iter().filter(|((found, _), _)| *found == kind) {
                    feed(&mut index, kind, key, object.as_ref());
                }
                index.done(kind);
            }
            Step::Answer(has_owner) => answer(&mut index, has_owner),
            Step::Look => drop(index.picture(later(), later())),
        }
    }
    (index, left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_history_ends_in_the_picture_of_what_is_left(steps in prop::collection::vec(step(), 0..60)) {
        let (mut lived, left) = follow(steps);
        let mut fresh = index();
        for ((kind, key), object) in &left {
            feed(&mut fresh, *kind, key, object.as_ref());
        }
        for index in [&mut lived, &mut fresh] {
            index.known(Kind::Services);
            // Twice: the owner of an owner is asked for once it is known.
            for question in index.questions(at(1_000_000), 1000) {
                index.answer(&question.id, Answer::NotFound, at(1_000_000));
            }
        }
        prop_assert_eq!(lived.picture(later(), later()), fresh.picture(later(), later()));
        prop_assert_eq!(lived.load().held_back, fresh.load().held_back);
        prop_assert_eq!(lived.load().other_pods, fresh.load().other_pods);
    }
}
