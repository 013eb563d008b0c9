//! An API server that dies and comes back, and kinds that are installed while the program runs.

use std::time::Duration;

use gpu_autoscaler::watch::{Access, Kind};
use gpu_testbed::control_plane::Component;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::{Fleet, eventually, require};
use jiff::Timestamp;
use serde_json::json;

use super::objects::{apply, install_our_kinds, one_gpu, pod};
use super::{SOON, watch};

#[tokio::test]
async fn the_watch_outlives_the_api_server_and_says_how_old_the_picture_is() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::start().await?;
    let namespace = fleet.namespace("outage").await?;
    let name = namespace.name();
    namespace.nodes().add(NodeSpec::new("a").gpus(8)).await?;
    apply(&fleet, "before", &[pod(name, "before", &one_gpu())]).await?;
    let watched = watch(fleet.client().await?);
    watched.pod(name, "before", |pod| pod.is_ready).await?;
    // Our kinds are not installed yet, which is said and stops nothing.
    assert!(matches!(
        watched.status(Kind::CostBudgets).access,
        Access::Missing { .. }
    ));
    let fresh = watched.picture().expect("it was there before");
    assert!(
        Timestamp::now().duration_since(fresh.at).as_secs() < 5,
        "{}",
        fresh.at
    );

    fleet.kill(Component::ApiServer)?;
    let broke = eventually("the picture stands still", SOON, || async {
        let now = Timestamp::now();
        let at = watched.picture().expect("what was seen stays").at;
        Ok((now.duration_since(at).as_secs() >= 3).then_some(at))
    })
    .await?;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let old = watched.picture().expect("what was seen stays");
    assert_eq!(old.at, broke, "it is as old as the outage");
    assert_eq!(old.gpu_pods.len(), 1);
    assert!(matches!(
        watched.status(Kind::Pods).access,
        Access::Failing { .. }
    ));

    fleet.revive(Component::ApiServer).await?;
    watched
        .until("the picture moves on", |picture| {
            (Timestamp::now().duration_since(picture.at).as_secs() < 2).then_some(())
        })
        .await?;
    apply(&fleet, "after", &[pod(name, "after", &one_gpu())]).await?;
    watched.pod(name, "after", |_| true).await?;
    assert!(watched.status(Kind::Pods).restarts >= 1);

    install_our_kinds(&fleet).await?;
    let budget = json!({"apiVersion": "gpu-autoscaler.io/v1alpha1", "kind": "CostBudget", "metadata": {"name": "late"},
        "spec": {"monthlyLimit": 10}});
    apply(&fleet, "budget", &[budget]).await?;
    eventually("the budget is seen without a restart", SOON, || async {
        Ok(watched
            .watch
            .policies()
            .budgets
            .contains_key("late")
            .then_some(()))
    })
    .await
}
