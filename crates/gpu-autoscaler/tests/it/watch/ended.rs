//! Pods that come and go: their end is told to whoever counts their time, though no picture may ever have had them.

use gpu_cost::Moment;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::{Fleet, eventually, require};

use super::objects::{apply, one_gpu, pod};
use super::{SOON, WHOLE, watch};

#[tokio::test]
async fn the_end_of_a_pod_is_told_once_with_its_node_and_times() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    let work = async {
        let namespace = fleet.namespace("ended").await?;
        let name = namespace.name();
        let node = namespace.nodes().add(NodeSpec::new("a").gpus(1)).await?;
        let watched = watch(fleet.client().await?);
        apply(fleet, "short", &[pod(name, "short", &one_gpu())]).await?;
        let seen = watched.pod(name, "short", |pod| pod.is_ready).await?;
        fleet
            .kubectl(&[
                "-n",
                name,
                "delete",
                "pod",
                "short",
                "--grace-period=0",
                "--force",
            ])
            .await?;
        let ended = eventually("its end is told", SOON, || async {
            let ended = watched.watch.take_ended().into_iter();
            Ok(ended
                .into_iter()
                .find(|ended| ended.pod.pod.reference == seen.pod.reference))
        })
        .await?;
        assert_eq!(
            ended.pod.node.as_ref().map(|node| node.as_str()),
            Some(node.as_str())
        );
        let started = ended.pod.pod.started_at.map(Moment::from);
        assert!(started.is_some_and(|started| started <= ended.ended_at));
        let again = watched.watch.take_ended();
        assert!(
            again
                .iter()
                .all(|ended| ended.pod.pod.reference != seen.pod.reference)
        );
        Ok(())
    };
    fleet.guard(WHOLE, work).await
}
