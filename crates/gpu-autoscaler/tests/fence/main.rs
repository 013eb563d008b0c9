//! The proof that a late write has no effect: a leader is stopped by the kernel between its last look at the permit and the first byte
//! of its write, another takes over and acts, and the first is woken.
//!
//! Built with the feature `failpoints`, which nothing that ships has.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a test meets the world outside"
)]

#[allow(dead_code, reason = "the other test program uses all of it")]
#[path = "../it/lead/replica.rs"]
mod replica;

use std::time::Duration;

use gpu_autoscaler::lead::{LeaseTimes, Mode, StoreKind, failpoint};
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use nix::sys::signal::{Signal, raise};

use replica::{ChildReplica, Plan, change, start};

const WHOLE_TEST: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_secs(30);

/// The child: stops itself, with all its threads, at the place.
#[tokio::test]
async fn leader_that_is_stopped_before_it_sends() -> anyhow::Result<()> {
    if replica::is_child() {
        failpoint::set(failpoint::BEFORE_SEND, || {
            raise(Signal::SIGSTOP).expect("a process may stop itself");
        });
    }
    replica::run_as_child().await
}

/// Stops a leader before its write, lets another act, wakes it, and answers with the object as the other left it and as it is at the end.
async fn late_write(act: &'static str, object: &str) -> anyhow::Result<(ConfigMap, ConfigMap)> {
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("fence").await?;
            let objects = namespace.api::<ConfigMap>();
            let mut target = ConfigMap::default();
            target.metadata.name = Some("target".to_owned());
            objects.create(&Default::default(), &target).await?;
            let first = Plan {
                kubeconfig: fleet.kubeconfig().to_owned(),
                namespace: namespace.name().to_owned(),
                identity: "first".to_owned(),
                store: StoreKind::Postgres,
                times: LeaseTimes {
                    lease: Duration::from_secs(2),
                    renew_deadline: Duration::from_millis(1_400),
                    retry: Duration::from_millis(400),
                },
                act,
            };
            let leader = ChildReplica::start("leader_that_is_stopped_before_it_sends", &first)?;
            leader.says("replica leads 1", SOON).await?;
            leader.is_stopped(SOON).await?;

            let mut second = first.clone();
            second.identity = "second".to_owned();
            let next = start(&second, Mode::Live).await?;
            let permit = eventually("the second may write", SOON, || async {
                Ok(next.writer.permit().ok())
            })
            .await?;
            assert_eq!(permit.term().transitions(), 2);
            let its = change(&second, second.client().await?, 2).await?;
            assert!(next.writer.send(&permit, &its).await?.is_done());
            let left = objects.get(object).await?;

            leader.signal(Signal::SIGCONT)?;
            leader.says("replica wrote refused", SOON).await?;
            leader.says("replica permit false", SOON).await?;
            leader.says("replica follows", SOON).await?;
            assert!(next.leadership.is_leader());
            let all = objects.list(&ListParams::default()).await?.items.len();
            assert_eq!(
                all,
                if object == "target" { 2 } else { 3 },
                "with the one that each namespace has"
            );
            Ok((left, objects.get(object).await?))
        })
        .await
}

fn check(left: &ConfigMap, found: &ConfigMap) {
    assert_eq!(left.data.as_ref().unwrap()["by"], "second");
    assert_eq!(left.metadata.resource_version, found.metadata.resource_version);
    assert_eq!(left, found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_change_of_an_object_has_no_effect() -> anyhow::Result<()> {
    require!(Fleet::need());
    let (left, found) = late_write("patch", "target").await?;
    check(&left, &found);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_creation_makes_no_second_object() -> anyhow::Result<()> {
    require!(Fleet::need());
    let (left, found) = late_write("create-once", "once").await?;
    check(&left, &found);
    Ok(())
}
