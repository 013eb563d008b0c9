//! Objects that cannot be read are set aside, named and counted, and stop nothing.

use gpu_autoscaler::watch::Kind;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::{Fleet, eventually, require};
use serde_json::json;

use super::objects::{apply, install_our_kinds, one_gpu, pod};
use super::{SOON, WHOLE, Watched, watch};

/// The pod and the budget are named, with their reasons, and what else there is was read.
fn check_set_aside(watched: &Watched, name: &str, node: &str) {
    let aside = watched.status(Kind::Pods).set_aside;
    assert_eq!(aside.count, 1, "{aside:?}");
    assert_eq!(aside.named[0].0, format!("{name}/poison"));
    assert!(
        aside.named[0].1.contains("request of `nvidia.com/gpu`"),
        "{aside:?}"
    );
    let picture = watched.picture().expect("it was there before");
    let (key, holder) = picture
        .unreadable_pods
        .iter()
        .next()
        .expect("the node must not be taken for empty");
    assert_eq!(
        (key.name.as_str(), holder.as_ref().map(AsRef::as_ref)),
        ("poison", Some(node))
    );
    let aside = watched.status(Kind::CostBudgets).set_aside;
    assert_eq!((aside.count, aside.named[0].0.as_str()), (1, "tiny"), "{aside:?}");
    assert_eq!(
        watched.watch.policies().budgets.keys().collect::<Vec<_>>(),
        ["fine"]
    );
}

#[tokio::test]
async fn an_object_that_cannot_be_read_stops_nothing() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    let work = async {
        let namespace = fleet.namespace("poison").await?;
        let name = namespace.name();
        let node = namespace.nodes().add(NodeSpec::new("a").gpus(8)).await?;
        install_our_kinds(fleet).await?;
        // More GPUs than there are numbers for: the API server takes it. It is bound by hand, as a test of schedulers might do.
        let mut poison = pod(
            name,
            "poison",
            &json!({"limits": {"nvidia.com/gpu": "5000000000"}}),
        );
        poison["spec"]["nodeName"] = json!(node);
        let budget = |name: &str, limit: f64| {
            json!({"apiVersion": "gpu-autoscaler.io/v1alpha1", "kind": "CostBudget", "metadata": {"name": name},
                "spec": {"monthlyLimit": limit}})
        };
        apply(
            fleet,
            "poison",
            &[poison, budget("tiny", 1e-12), budget("fine", 12.5)],
        )
        .await?;
        let watched = watch(fleet.client().await?);
        watched.watch.synced().await;
        apply(fleet, "after", &[pod(name, "after", &one_gpu())]).await?;
        // It finds no room beside what the other asks for, and is seen all the same.
        watched.pod(name, "after", |_| true).await?;

        check_set_aside(&watched, name, &node);

        let gone = [
            "-n",
            name,
            "delete",
            "pod",
            "poison",
            "--grace-period=0",
            "--force",
        ];
        fleet.kubectl(&gone).await?;
        fleet.kubectl(&["delete", "costbudget", "tiny", "fine"]).await?;
        eventually("nothing is set aside", SOON, || async {
            let status = watched.watch.status();
            Ok(status
                .iter()
                .all(|status| status.set_aside.count == 0)
                .then_some(()))
        })
        .await?;
        watched
            .until("nothing is unreadable", |picture| {
                picture.unreadable_pods.is_empty().then_some(())
            })
            .await
    };
    fleet.guard(WHOLE, work).await
}
