//! What people see in a real cluster: events in `kubectl describe`, node conditions, annotations within their policy.

mod notices;
pub(crate) mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpu_autoscaler::lead::{Mode, WriteKind, WriteResult};
use gpu_autoscaler::tell::annotate::{CAUSE, KEYS};
use gpu_autoscaler::tell::gpu_health::NodeFacts;
use gpu_autoscaler::tell::node_condition::CONDITION;
use gpu_autoscaler::tell::sights::Sights;
use gpu_autoscaler::tell::teller::Tracking;
use gpu_model::NodeName;
use gpu_store::{RecordKind, RecordQuery};
use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::postgres::Postgres;
use gpu_testbed::{Bed, Fleet, PartSpec, Program, eventually, require};
use gpu_waste::Cause;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::{Value, json};

use scene::{Scene, finding, harvest, picture, sights, view};

const WHOLE_TEST: Duration = Duration::from_secs(180);
const SOON: Duration = Duration::from_secs(30);

fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

async fn events_of(namespace: &TestNamespace, reason: &str) -> anyhow::Result<Vec<Event>> {
    let about = ListParams::default().fields(&format!("reason={reason}"));
    Ok(namespace.api::<Event>().list(&about).await?.items)
}

async fn describe(
    fleet: &Fleet,
    namespace: &TestNamespace,
    kind: &str,
    name: &str,
) -> anyhow::Result<String> {
    Ok(fleet
        .kubectl(&["describe", kind, name, "-n", namespace.name()])
        .await?)
}

/// What the line of the event holds.
fn check_words(described: &str) {
    let mut lines = described.lines();
    let line = lines
        .find(|line| line.contains("GPUWasteDetected"))
        .expect("the event is shown");
    for words in [
        "Warning",
        "gpu-autoscaler",
        "held-idle since",
        "(35 min)",
        "$2,000.00 a month",
        "list price of a test",
        "Fix: Scale it to zero",
        "kubectl scale",
        "never above 0.4 %",
        "exempt-until",
    ] {
        assert!(line.contains(words), "{words} in {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finding_is_seen_in_kubectl_describe_goes_on_as_a_series_and_its_end_is_told() -> anyhow::Result<()>
{
    require!(Fleet::need(), Program::Kubectl);
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("tell").await?;
            namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let pod = scene::deploy(&namespace).await?;
            let mut scene = Scene::start(fleet, &namespace, "first", Tracking::Off).await?;
            let now: Timestamp = Timestamp::now();
            let found = [finding(&pod, Cause::HeldIdle, now - minutes(35), Some(2_000))];
            let sights = sights(&pod);
            let told = scene.teller.tell(&found, &sights, now).await?;
            assert_eq!((told.told, told.failed), (1, 0));

            let name = pod.name_any();
            let described = describe(fleet, &namespace, "pod", &name).await?;
            check_words(&described);
            let described = describe(fleet, &namespace, "deployment", "trainer").await?;
            assert!(described.contains("GPUWasteDetected"), "{described}");

            // The same again within its time is not told; later it is counted up and not made anew.
            assert_eq!(
                scene.teller.tell(&found, &sights, now + minutes(5)).await?.told,
                0
            );
            let told = scene.teller.tell(&found, &sights, now + minutes(50)).await?;
            assert_eq!(told.repeated, 1);
            let events = events_of(&namespace, "GPUWasteDetected").await?;
            assert_eq!(events.len(), 2, "one on the pod, one on the deployment");
            for event in &events {
                assert_eq!(event.series.as_ref().expect("a series").count, 2);
                assert!(event.note.as_ref().is_some_and(|note| note.len() <= 1024));
            }
            let described = describe(fleet, &namespace, "pod", &name).await?;
            assert!(described.contains("x2 over"), "{described}");

            // The next leader remembers what was told, and says nothing.
            scene.next_leader(fleet, &namespace, "second").await?;
            let told = scene.teller.tell(&found, &sights, now + minutes(51)).await?;
            assert_eq!((told.told, told.repeated), (0, 0));
            assert_eq!(scene.writes(WriteKind::Event, WriteResult::Written), 0);

            // It works again: told after a whole window with data, with what that saves.
            assert_eq!(
                scene.teller.tell(&[], &sights, now + minutes(52)).await?.resolved,
                0
            );
            let told = scene.teller.tell(&[], &sights, now + minutes(63)).await?;
            assert_eq!(told.resolved, 1);
            let described = describe(fleet, &namespace, "pod", &name).await?;
            assert!(described.contains("GPUWasteResolved"), "{described}");
            let savings = scene
                .store
                .records(RecordQuery::of(RecordKind::Saving))
                .await?
                .records;
            assert_eq!(savings.len(), 1);
            assert_eq!(savings[0].body["body"]["outcome"], "used");
            assert_eq!(savings[0].body["body"]["savedMonthly"], 2_000_000_000_000_i64);
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_pods_of_one_owner_are_one_series_to_it_and_the_rate_holds() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("tell").await?;
            namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let pod = scene::deploy(&namespace).await?;
            let scene = Scene::start(fleet, &namespace, "first", Tracking::Off).await?;
            let Scene {
                teller,
                replica,
                store,
                ..
            } = scene;
            let mut teller = teller.with_bucket(gpu_autoscaler::tell::events::Bucket::new(
                Duration::from_secs(3600),
                5,
            ));
            let now = Timestamp::now();
            let found: Vec<_> = (0..8)
                .map(|number| {
                    let mut one = pod.clone();
                    one.metadata.name = Some(format!("trainer-{number}"));
                    one.metadata.uid = Some(format!("uid-{number}"));
                    finding(&one, Cause::NeverUsed, now - minutes(20), Some(100 + number))
                })
                .collect();
            let told = teller.tell(&found, &Sights::default(), now).await?;
            assert_eq!((told.told, told.deferred), (5, 3));
            let events = events_of(&namespace, "GPUWasteDetected").await?;
            let of_owner: Vec<_> = events
                .iter()
                .filter(|event| {
                    event.regarding.as_ref().and_then(|it| it.kind.as_deref()) == Some("Deployment")
                })
                .collect();
            assert_eq!(of_owner.len(), 1);
            assert_eq!(of_owner[0].series.as_ref().map(|series| series.count), Some(5));
            assert_eq!(events.len(), 6);
            drop((replica, store));
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_on_postgres_share_what_was_told_and_a_dry_run_leaves_everything_to_tell()
-> anyhow::Result<()> {
    require!(Fleet::need(), Program::Kubectl, Postgres::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("tell").await?;
            namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let pod = scene::deploy(&namespace).await?;
            let bed = Bed::new()?;
            let postgres = Postgres::start(&bed).await?;
            let address: gpu_store::StoreAddress = postgres.url().parse()?;
            let now = Timestamp::now();
            let found = [finding(&pod, Cause::NeverUsed, now - minutes(15), Some(2_000))];
            let sights = sights(&pod);
            let start = |identity, mode| {
                let (address, namespace) = (address.clone(), &namespace);
                async move {
                    // Each opens the database by itself: nothing else is shared.
                    let store = gpu_store::open(&address).await?;
                    Scene::with_store(fleet, namespace, identity, Tracking::Off, mode, store).await
                }
            };
            let mut dry = start("dry", Mode::DryRun).await?;
            assert_eq!(dry.teller.tell(&found, &sights, now).await?.told, 1);
            assert_eq!(dry.writes(WriteKind::Event, WriteResult::Planned), 2);
            assert_eq!(events_of(&namespace, "GPUWasteDetected").await?.len(), 0);
            dry.stop().await?;
            let mut first = start("first", Mode::Live).await?;
            assert_eq!(first.teller.tell(&found, &sights, now).await?.told, 1);
            first.stop().await?;
            let mut second = start("second", Mode::Live).await?;
            let told = second.teller.tell(&found, &sights, now + minutes(1)).await?;
            assert_eq!((told.told, told.repeated), (0, 0));
            assert_eq!(events_of(&namespace, "GPUWasteDetected").await?.len(), 2);
            Ok(())
        })
        .await
}

fn facts(node: &NodeName, boot: &str) -> BTreeMap<NodeName, NodeFacts> {
    let facts = NodeFacts {
        is_ready: true,
        exporter_answers: true,
        machine: "machine".to_owned(),
        boot: Some(boot.to_owned()),
    };
    [(node.clone(), facts)].into()
}

async fn condition(nodes: &Api<Node>, name: &str) -> anyhow::Result<Option<(String, String)>> {
    let node = nodes.get(name).await?;
    let conditions = node
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default();
    let ours = conditions
        .into_iter()
        .find(|condition| condition.type_ == CONDITION);
    Ok(ours.map(|condition| (condition.status, condition.reason.unwrap_or_default())))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gpu_that_fell_off_the_bus_is_a_node_condition_and_an_event_until_the_reboot() -> anyhow::Result<()>
{
    require!(Fleet::need(), Program::Kubectl);
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("health").await?;
            let name = namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let nodes: Api<Node> = Api::all(namespace.client());
            let mut scene = Scene::start(fleet, &namespace, "first", Tracking::Off).await?;
            let node: NodeName = name.parse()?;
            let now = Timestamp::now();
            let healthy = scene
                .teller
                .tell_health(&harvest(&node, &[]), &facts(&node, "b1"), now)
                .await?;
            assert_eq!((healthy.conditions, healthy.events), (0, 0));
            assert_eq!(
                condition(&nodes, &name).await?,
                None,
                "healthy nodes are not written to"
            );

            let broken = harvest(&node, &[(79, 1)]);
            let noted = scene
                .teller
                .tell_health(&broken, &facts(&node, "b1"), now + minutes(1))
                .await?;
            assert_eq!((noted.conditions, noted.events, noted.failures.len()), (1, 1, 0));
            assert_eq!(
                condition(&nodes, &name).await?,
                Some(("False".to_owned(), "XID79".to_owned()))
            );
            assert_eq!(scene.teller.excluded_gpus().len(), 1);
            let described = fleet.kubectl(&["describe", "node", &name]).await?;
            assert!(described.contains(CONDITION), "{described}");
            assert!(described.contains("fallen off the bus"), "{described}");
            assert!(described.contains("GPUUnhealthy"), "{described}");

            // Nothing new: nothing is written. A next leader knows the same.
            scene.next_leader(fleet, &namespace, "second").await?;
            let noted = scene
                .teller
                .tell_health(&broken, &facts(&node, "b1"), now + minutes(2))
                .await?;
            assert_eq!((noted.conditions, noted.events), (0, 0));
            assert_eq!(scene.writes(WriteKind::NodeCondition, WriteResult::Written), 0);
            assert_eq!(scene.teller.excluded_gpus().len(), 1);

            let noted = scene
                .teller
                .tell_health(&harvest(&node, &[]), &facts(&node, "b2"), now + minutes(3))
                .await?;
            assert_eq!((noted.conditions, noted.events), (1, 1));
            assert_eq!(
                condition(&nodes, &name).await?,
                Some(("True".to_owned(), "NoTrouble".to_owned()))
            );
            assert!(scene.teller.excluded_gpus().is_empty());
            Ok(())
        })
        .await
}

/// The chart's objects for tracking, as helm renders them.
async fn tracking_objects(namespace: &str) -> anyhow::Result<String> {
    let bed = Bed::new()?;
    let chart = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/gpu-autoscaler");
    let spec = PartSpec::new("helm", Program::Helm.path()?)
        .args(["template", "gpus"])
        .arg(chart.display().to_string())
        .args([
            "--namespace",
            namespace,
            "--show-only",
            "templates/control-plane/tracking.yaml",
        ])
        .args([
            "--set",
            "controlPlane.enabled=true,controlPlane.telling.annotations=true",
        ])
        .env("HOME", bed.directory().display().to_string());
    Ok(bed.run(spec, SOON).await?)
}

async fn client_as(fleet: &Fleet, user: &str) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::read_from(fleet.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = Some(user.to_owned());
    Ok(gpu_autoscaler::lead::client_for_writes(config)?)
}

async fn try_patch(pods: &Api<Pod>, name: &str, patch: Value) -> Result<(), String> {
    let patched = pods
        .patch(name, &PatchParams::default(), &Patch::Strategic(patch))
        .await;
    patched.map(|_| ()).map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn our_account_may_change_its_own_annotations_of_pods_and_nothing_else() -> anyhow::Result<()> {
    require!(Fleet::need(), Program::Kubectl, Program::Helm);
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("track").await?;
            namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let pod = scene::deploy(&namespace).await?;
            let name = pod.name_any();
            let objects = tracking_objects(namespace.name()).await?;
            let file = fleet
                .bed()
                .write_file(format!("{}-tracking.yaml", namespace.name()), &objects)?;
            fleet
                .kubectl(&["apply", "-f", &file.display().to_string()])
                .await?;
            let account = format!("system:serviceaccount:{}:gpus-gpu-autoscaler", namespace.name());
            let as_us = client_as(fleet, &account).await?;
            let pods: Api<Pod> = Api::namespaced(as_us, namespace.name());
            // The server takes a moment to learn of a policy, and a change that was let through once is none the next time.
            let tries = std::sync::atomic::AtomicU32::new(0);
            let foreign = || {
                let number = tries
                    .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
                    .to_string();
                json!({"metadata": {"annotations": {"someone.example/key": number}}})
            };
            eventually("the policy holds", SOON, || async {
                let refused = try_patch(&pods, &name, foreign()).await;
                Ok(refused
                    .is_err_and(|words| words.contains("its own waste annotations"))
                    .then_some(()))
            })
            .await?;
            let ours = json!({"metadata": {"annotations": {CAUSE: "held-idle"}}});
            try_patch(&pods, &name, ours).await.map_err(anyhow::Error::msg)?;
            for (patch, words) in [
                (
                    json!({"metadata": {"annotations": {"gpu-autoscaler.io/exempt-until": "x"}}}),
                    "own waste annotations",
                ),
                (
                    json!({"metadata": {"annotations": {"owner.example/note": null}}}),
                    "own waste annotations",
                ),
                (json!({"metadata": {"labels": {"app": "other"}}}), "labels"),
                (json!({"metadata": {"finalizers": ["a.example/b"]}}), "finalizers"),
                (
                    json!({"spec": {"containers": [{"name": "trainer", "image": "other:1"}]}}),
                    "spec",
                ),
            ] {
                let refused = try_patch(&pods, &name, patch.clone())
                    .await
                    .expect_err("it is refused");
                assert!(refused.contains(words), "{patch}: {refused}");
            }
            let clean: BTreeMap<&str, Value> = KEYS.iter().map(|key| (*key, Value::Null)).collect();
            let away = json!({"metadata": {"annotations": clean}});
            try_patch(&pods, &name, away).await.map_err(anyhow::Error::msg)?;
            // Others are not concerned.
            try_patch(&namespace.api::<Pod>(), &name, foreign())
                .await
                .map_err(anyhow::Error::msg)?;
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn tracking_annotations_come_with_a_finding_and_go_with_it() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let namespace = fleet.namespace("track").await?;
            namespace.nodes().add(NodeSpec::new("n1").gpus(8)).await?;
            let pod = scene::deploy(&namespace).await?;
            let pods = namespace.api::<Pod>();
            let mut scene = Scene::start(fleet, &namespace, "first", Tracking::Annotations).await?;
            let now = Timestamp::now();
            let found = [finding(&pod, Cause::HeldIdle, now - minutes(15), Some(2_000))];
            let sights = Sights::of(&picture(&pod), &view(&pod), &BTreeSet::new());
            scene.teller.tell(&found, &sights, now).await?;
            let marked = pods.get(&pod.name_any()).await?;
            assert_eq!(marked.annotations()[CAUSE], "held-idle");
            assert_eq!(
                marked.annotations()["gpu-autoscaler.io/waste-monthly-usd"],
                "2000.00"
            );
            scene.teller.tell(&[], &sights, now + minutes(1)).await?;
            scene.teller.tell(&[], &sights, now + minutes(12)).await?;
            let unmarked = pods.get(&pod.name_any()).await?;
            assert!(KEYS.iter().all(|key| !unmarked.annotations().contains_key(*key)));
            assert_eq!(unmarked.annotations()["owner.example/note"], "mine");
            Ok(())
        })
        .await
}
