//! Two replicas against a real API server: who leads, how soon another does, and who may not start.

#[allow(dead_code, reason = "the test program `fence` uses the rest of it")]
pub(crate) mod replica;

use std::time::{Duration, Instant};

use gpu_autoscaler::lead::{
    Change, LeaseTimes, Mode, PauseState, Refusal, StoreKind, WriteError, WriteKind, WriteResult, Written,
    check_store_sharing, pause, pause_state, resume,
};
use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::{Fleet, eventually, require};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use nix::sys::signal::Signal;

use replica::{ChildReplica, LEASE, Plan, change, start};

const WHOLE_TEST: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_secs(30);

fn plan(fleet: &Fleet, namespace: &TestNamespace, identity: &str) -> Plan {
    Plan {
        kubeconfig: fleet.kubeconfig().to_owned(),
        namespace: namespace.name().to_owned(),
        identity: identity.to_owned(),
        store: StoreKind::Postgres,
        times: LeaseTimes::default(),
        act: "create",
    }
}

/// Times for tests that are not about times.
fn short() -> LeaseTimes {
    LeaseTimes {
        lease: Duration::from_secs(2),
        renew_deadline: Duration::from_millis(1_400),
        retry: Duration::from_millis(400),
    }
}

/// The child of the tests below; without a plan it is an empty test.
#[tokio::test]
async fn replica_in_a_process_of_its_own() -> anyhow::Result<()> {
    replica::run_as_child().await
}

fn child(plan: &Plan) -> anyhow::Result<ChildReplica> {
    ChildReplica::start("lead::replica_in_a_process_of_its_own", plan)
}

async fn acted(namespace: &TestNamespace, term: u32) -> anyhow::Result<ConfigMap> {
    let objects = namespace.api::<ConfigMap>();
    let name = format!("acted-{term}");
    eventually(&format!("term {term} acts"), SOON, || async {
        Ok(objects.get_opt(&name).await?)
    })
    .await
}

async fn holder(namespace: &TestNamespace) -> anyhow::Result<Option<String>> {
    let lease = namespace.api::<Lease>().get(LEASE).await?;
    Ok(lease.spec.and_then(|spec| spec.holder_identity))
}

async fn replaced_after(signal: Signal) -> anyhow::Result<Duration> {
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("lead").await?;
            let first = child(&plan(fleet, &namespace, "first"))?;
            first.says("replica wrote done", SOON).await?;
            assert_eq!(acted(&namespace, 1).await?.data.unwrap()["by"], "first");
            let _second = child(&plan(fleet, &namespace, "second"))?;
            // The second has looked at the lease more than once, as it would have in its usual life.
            tokio::time::sleep(Duration::from_secs(3)).await;
            let began = Instant::now();
            first.signal(signal)?;
            let act = acted(&namespace, 2).await?;
            let took = began.elapsed();
            assert_eq!(act.data.unwrap()["by"], "second");
            assert_eq!(holder(&namespace).await?.as_deref(), Some("second"));
            println!("after {signal} the second replica had acted after {took:?}");
            Ok(took)
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_leader_is_replaced_and_the_next_acts_within_ten_seconds() -> anyhow::Result<()> {
    require!(Fleet::need());
    let took = replaced_after(Signal::SIGKILL).await?;
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Sooner would mean that a lease was taken that still held.
    assert!(took > Duration::from_secs(4), "{took:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_leader_is_replaced_and_the_next_acts_within_two_seconds() -> anyhow::Result<()> {
    require!(Fleet::need());
    let took = replaced_after(Signal::SIGTERM).await?;
    assert!(took < Duration::from_secs(2), "{took:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_three_replicas_one_writes_and_the_others_may_not() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("lead").await?;
            let mut replicas = Vec::new();
            for name in ["a", "b", "c"] {
                let mut plan = plan(fleet, &namespace, name);
                plan.times = short();
                replicas.push((start(&plan, Mode::Live).await?, plan));
            }
            let leads = |replicas: &[(replica::Replica, Plan)]| {
                replicas
                    .iter()
                    .filter(|(replica, _)| replica.leadership.is_leader())
                    .count()
            };
            eventually("one leads", SOON, || async {
                Ok((leads(&replicas) == 1).then_some(()))
            })
            .await?;
            // Over several lease durations it stays one and the same.
            let leader = holder(&namespace).await?;
            for _ in 0..50 {
                assert_eq!(leads(&replicas), 1);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            assert_eq!(holder(&namespace).await?, leader);
            for (replica, plan) in &replicas {
                replica.pause.look(replica.writer.reader(), &plan.namespace).await;
                let permit = replica.writer.permit();
                assert_eq!(permit.is_ok(), replica.leadership.is_leader());
                if let Err(error) = permit {
                    assert!(matches!(error, WriteError::NotLeader), "{error}");
                }
            }
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_replica_on_sqlite_refuses_to_start_and_says_why() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("lead").await?;
            let mut first = plan(fleet, &namespace, "first");
            first.store = StoreKind::Sqlite;
            first.times = short();
            let client = first.client().await?;
            check_store_sharing(client.clone(), &first.settings()).await?;
            let running = start(&first, Mode::Live).await?;
            eventually("the first leads", SOON, || async {
                Ok(running.leadership.is_leader().then_some(()))
            })
            .await?;
            let mut second = first.clone();
            second.identity = "second".to_owned();
            let error = check_store_sharing(client.clone(), &second.settings())
                .await
                .unwrap_err();
            let words = error.to_string();
            assert!(
                words.contains("`first`") && words.contains("--store postgres://"),
                "{words}"
            );
            // One that began at the same instant and saw no lease is told by the election.
            let mut also = start(&second, Mode::Live).await?;
            let error = (&mut also.election).await?.unwrap_err().to_string();
            assert!(error.contains("cannot share"), "{error}");
            second.store = StoreKind::Postgres;
            let error = check_store_sharing(client.clone(), &second.settings())
                .await
                .unwrap_err();
            assert!(error.to_string().contains("stop that one"), "{error}");
            // A lease that a dead replica left is waited for.
            drop(running);
            second.store = StoreKind::Sqlite;
            let began = Instant::now();
            check_store_sharing(client, &second.settings()).await?;
            assert!(began.elapsed() >= Duration::from_millis(500));
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_the_writes_of_every_replica_and_outlives_them() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("lead").await?;
            let mut plan = plan(fleet, &namespace, "first");
            plan.times = short();
            let client = plan.client().await?;
            let now: Timestamp = "2026-03-01T12:00:00Z".parse()?;
            let replica = start(&plan, Mode::Live).await?;
            eventually("it may write", SOON, || async {
                Ok(replica.writer.permit().ok())
            })
            .await?;
            let permit = replica.writer.permit()?;
            let set = pause(client.clone(), &plan.namespace, "eve", "the cluster moves", now).await?;
            // The watch of each replica sees it within its interval, here half a second.
            eventually("it is paused", Duration::from_secs(3), || async {
                Ok(matches!(replica.pause.state(), PauseState::Paused(_)).then_some(()))
            })
            .await?;
            let one = change(&plan, client.clone(), 1).await?;
            let error = replica.writer.send(&permit, &one).await.unwrap_err().to_string();
            assert!(
                error.contains("eve") && error.contains("the cluster moves"),
                "{error}"
            );
            assert!(namespace.api::<ConfigMap>().get_opt("acted-1").await?.is_none());
            drop(replica);
            // A replica that starts later knows it before its first write.
            plan.identity = "second".to_owned();
            let replica = start(&plan, Mode::Live).await?;
            eventually("it knows", SOON, || async {
                Ok((replica.pause.state() == PauseState::Paused(set.clone())).then_some(()))
            })
            .await?;
            resume(client.clone(), &plan.namespace).await?;
            resume(client.clone(), &plan.namespace).await?;
            assert_eq!(
                pause_state(client.clone(), &plan.namespace).await?,
                PauseState::Running
            );
            eventually("it may write again", SOON, || async {
                Ok(replica.writer.permit().ok())
            })
            .await?;
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_on_an_old_version_changes_nothing_and_a_dry_run_sends_nothing() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("lead").await?;
            let mut plan = plan(fleet, &namespace, "first");
            plan.times = short();
            let replica = start(&plan, Mode::Live).await?;
            let permit = eventually("it may write", SOON, || async {
                Ok(replica.writer.permit().ok())
            })
            .await?;
            let client = plan.client().await?;
            let objects = namespace.api::<ConfigMap>();
            let mut target = ConfigMap::default();
            target.metadata.name = Some("target".to_owned());
            objects.create(&Default::default(), &target).await?;
            plan.act = "patch";
            let stale = change(&plan, client.clone(), 1).await?;
            assert!(matches!(
                replica.writer.send(&permit, &stale).await?,
                Written::Done(_)
            ));
            let version = objects.get("target").await?.metadata.resource_version;
            let refused = replica.writer.send(&permit, &stale).await?;
            assert!(!refused.is_done());
            assert_eq!(objects.get("target").await?.metadata.resource_version, version);
            let counts = replica.writer.counts();
            assert_eq!(counts.of(WriteKind::Status, WriteResult::Written), 1);
            assert_eq!(counts.of(WriteKind::Status, WriteResult::Conflict), 1);
            let mut page = String::new();
            let mut writer = gpu_exposition::PageWriter::new(&mut page, gpu_exposition::Format::Text);
            gpu_autoscaler::lead::write_metrics(&mut writer, &replica.leadership, counts)?;
            writer.finish();
            assert!(page.contains("gpu_autoscaler_leader 1\n"), "{page}");
            assert!(
                page.contains(r#"gpu_autoscaler_writes_total{kind="status",result="conflict"} 1"#),
                "{page}"
            );
            drop(replica);

            plan.act = "create";
            plan.identity = "dry".to_owned();
            let dry = start(&plan, Mode::DryRun).await?;
            let permit = eventually("it may write", SOON, || async { Ok(dry.writer.permit().ok()) }).await?;
            let one = change(&plan, client, 77).await?;
            assert_eq!(dry.writer.send(&permit, &one).await?, Written::Planned);
            assert!(objects.get_opt("acted-77").await?.is_none());
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_and_evicting_what_has_changed_meanwhile_is_refused() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("lead").await?;
            namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let running = crate::tell::scene::deploy(&namespace).await?;
            let mut plan = plan(fleet, &namespace, "first");
            plan.times = short();
            let replica = start(&plan, Mode::Live).await?;
            let permit = eventually("it may write", SOON, || async {
                Ok(replica.writer.permit().ok())
            })
            .await?;

            let deployments = namespace.api::<Deployment>();
            let path = Deployment::url_path(&(), Some(namespace.name()));
            let read = deployments.get_scale("trainer").await?.metadata;
            let to = |replicas| Change::scale(&path, namespace.name(), &read, replicas);
            assert!(replica.writer.send(&permit, &to(2)?).await?.is_done());
            // The same look at the scale again: it is two now, and not what was seen.
            let late = replica.writer.send(&permit, &to(0)?).await?;
            assert_eq!(late, Written::Refused(Refusal::Conflict));
            let scale = deployments.get_scale("trainer").await?;
            assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(2));

            let pods = namespace.api::<Pod>();
            let name = running.name_any();
            let read = pods.get(&name).await?.metadata;
            let note = serde_json::json!({"metadata": {"annotations": {"somebody.example/was": "here"}}});
            pods.patch(&name, &PatchParams::default(), &Patch::Merge(note))
                .await?;
            let evict = Change::evict(namespace.name(), &read, None)?;
            let late = replica.writer.send(&permit, &evict).await?;
            assert_eq!(late, Written::Refused(Refusal::Conflict));
            assert!(pods.get(&name).await?.metadata.deletion_timestamp.is_none());
            let read = pods.get(&name).await?.metadata;
            let evict = Change::evict(namespace.name(), &read, None)?;
            assert!(replica.writer.send(&permit, &evict).await?.is_done());
            Ok(())
        })
        .await
}
