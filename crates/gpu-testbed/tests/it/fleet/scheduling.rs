//! Pods with GPUs, bound by the real scheduler, kept by the real controllers, played by fake nodes.

use std::time::Duration;

use anyhow::Context;
use gpu_testbed::fleet::nodes::{NodeSpec, RUN_SECONDS_ANNOTATION};
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, EvictParams, ListParams, PostParams};
use serde_json::json;

use super::objects::{create, event, gpu_pod, in_phase, node_of, phase_of};
use super::{SOON, WHOLE};

#[tokio::test]
async fn the_real_scheduler_binds_a_gpu_pod_and_the_fake_node_runs_it() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("binds").await?;
            namespace.nodes().add(NodeSpec::new("plain")).await?;
            let node = namespace.nodes().add(NodeSpec::new("gpu").gpus(8)).await?;
            create(&namespace, gpu_pod("trainer", 8)).await?;
            let pod = in_phase(&namespace, "trainer", "Running").await?;
            assert_eq!(node_of(&pod), Some(node.as_str()));
            let status = pod.status.context("a running pod has a status")?;
            assert!(
                status.pod_ip.is_some() && status.start_time.is_some(),
                "{status:?}"
            );
            let scheduled = event(&namespace, "trainer", "Scheduled").await?;
            let source = scheduled
                .source
                .and_then(|source| source.component)
                .or(scheduled.reporting_component);
            assert_eq!(source.as_deref(), Some("default-scheduler"));
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_pod_that_asks_for_too_many_gpus_stays_pending_for_that_reason() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("too-many").await?;
            namespace.nodes().add(NodeSpec::new("gpu").gpus(4)).await?;
            create(&namespace, gpu_pod("giant", 5)).await?;
            let refused = event(&namespace, "giant", "FailedScheduling").await?;
            let message = refused.message.unwrap_or_default();
            eventually("the scheduler names the lacking resource", SOON, || async {
                let refused = event(&namespace, "giant", "FailedScheduling").await?;
                let message = refused.message.unwrap_or_default();
                Ok(message.contains("Insufficient nvidia.com/gpu").then_some(()))
            })
            .await
            .with_context(|| format!("the scheduler said: {message}"))?;
            let pod = namespace.api::<Pod>().get("giant").await?;
            assert_eq!((phase_of(&pod), node_of(&pod)), ("Pending", None));
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_pod_of_another_scheduler_is_left_alone() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("other-scheduler").await?;
            namespace.nodes().add(NodeSpec::new("gpu").gpus(8)).await?;
            let mut foreign = gpu_pod("foreign", 1);
            foreign["spec"]["schedulerName"] = json!("nobody");
            create(&namespace, foreign).await?;
            // A later pod of the default scheduler runs, so the earlier one had its chance.
            create(&namespace, gpu_pod("ours", 1)).await?;
            in_phase(&namespace, "ours", "Running").await?;
            let pod = namespace.api::<Pod>().get("foreign").await?;
            assert_eq!((phase_of(&pod), node_of(&pod)), ("Pending", None));
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_disruption_budget_kept_by_the_real_controller_refuses_an_eviction() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("budget").await?;
            namespace.nodes().add(NodeSpec::new("gpu").gpus(8)).await?;
            create(&namespace, gpu_pod("server", 1)).await?;
            in_phase(&namespace, "server", "Running").await?;
            let budgets = namespace.api::<PodDisruptionBudget>();
            let budget = serde_json::from_value(json!({
                "metadata": {"name": "server"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "server"}}},
            }))?;
            budgets.create(&PostParams::default(), &budget).await?;
            eventually("the controller has counted the healthy pod", SOON, || async {
                let budget = budgets.get("server").await?;
                let counted = budget.status.filter(|status| {
                    status.observed_generation == budget.metadata.generation
                        && status.current_healthy == Some(1)
                });
                Ok(counted.map(|status| assert_eq!(status.disruptions_allowed, Some(0))))
            })
            .await?;
            let pods = namespace.api::<Pod>();
            let refused = pods
                .evict("server", &EvictParams::default())
                .await
                .expect_err("the budget is spent");
            assert!(
                matches!(&refused, kube::Error::Api(status) if status.code == 429),
                "{refused:?}"
            );

            budgets.delete("server", &DeleteParams::default()).await?;
            eventually("without the budget the eviction is granted", SOON, || async {
                Ok(pods.evict("server", &EvictParams::default()).await.ok())
            })
            .await?;
            eventually("the fake node ends the evicted pod", SOON, || async {
                Ok(pods.get_opt("server").await?.is_none().then_some(()))
            })
            .await
        })
        .await
}

#[tokio::test]
async fn gpus_that_appear_late_are_used_when_the_fleets_clock_says_so() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("late").await?;
            let delay = Duration::from_secs(180);
            let node = namespace
                .nodes()
                .add(NodeSpec::new("gpu").gpus(8).devices_after(delay))
                .await?;
            create(&namespace, gpu_pod("early", 8)).await?;
            event(&namespace, "early", "FailedScheduling").await?;
            namespace.nodes().clock().advance(delay - Duration::from_secs(1));
            // A pod without GPUs starts on the same node: node, scheduler and fake kubelet all work meanwhile.
            let mut plain = gpu_pod("plain", 0);
            plain["spec"]["containers"][0]["resources"] = json!({});
            create(&namespace, plain).await?;
            in_phase(&namespace, "plain", "Running").await?;
            let pod = namespace.api::<Pod>().get("early").await?;
            assert_eq!((phase_of(&pod), node_of(&pod)), ("Pending", None));

            namespace.nodes().clock().advance(Duration::from_secs(1));
            let pod = in_phase(&namespace, "early", "Running").await?;
            assert_eq!(node_of(&pod), Some(node.as_str()));
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_job_completes_after_its_run_time_on_the_fleets_clock() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("job").await?;
            namespace.nodes().add(NodeSpec::new("gpu").gpus(8)).await?;
            let mut template = gpu_pod("ignored", 1);
            template["metadata"] = json!({"annotations": {RUN_SECONDS_ANNOTATION: "3600"}});
            template["spec"]["restartPolicy"] = json!("Never");
            let job: Job = serde_json::from_value(json!({
                "metadata": {"name": "training"},
                "spec": {"completions": 2, "parallelism": 2, "template": template},
            }))?;
            let jobs = namespace.api::<Job>();
            jobs.create(&PostParams::default(), &job).await?;
            let pods = namespace.api::<Pod>();
            eventually("both pods run", SOON, || async {
                let list = pods.list(&ListParams::default()).await?;
                let running = list.iter().filter(|pod| phase_of(pod) == "Running").count();
                Ok((running == 2).then_some(()))
            })
            .await?;
            // The fake node notes when it first saw a pod running, so the hour begins no later than now.
            eventually("the job is complete", SOON, || async {
                namespace.nodes().clock().advance(Duration::from_secs(3600));
                let status = jobs.get("training").await?.status.unwrap_or_default();
                Ok((status.succeeded == Some(2)).then_some(()))
            })
            .await
        })
        .await
}
