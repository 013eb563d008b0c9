//! The control plane as its users meet it: the real program against a real API server, real exporters and a real Prometheus.

pub(crate) mod machine;
mod plane;
mod rights;

use std::time::Duration;

use gpu_testbed::fleet::TestNamespace;
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::postgres::Postgres;
use gpu_testbed::prometheus::{Prometheus, PrometheusOptions, ScrapeJob};
use gpu_testbed::{Bed, Fleet, eventually, require};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use machine::{Board, Machine};
use plane::{Plane, shortened};

const SOON: Duration = Duration::from_secs(60);
const WHOLE_TEST: Duration = Duration::from_secs(180);

/// Two pods on two GPUs of a node: one idle, one busy.
struct Scene {
    namespace: TestNamespace,
    machine: Machine,
    node: String,
}

async fn scene(fleet: &Fleet) -> anyhow::Result<Scene> {
    let namespace = fleet.namespace("serve").await?;
    let node = namespace.nodes().add(NodeSpec::new("a").gpus(2)).await?;
    let boards = [
        Board {
            pod: "idle",
            busy_percent: 0,
        },
        Board {
            pod: "busy",
            busy_percent: 96,
        },
    ];
    for board in &boards {
        run_pod(&namespace, board.pod).await?;
    }
    let machine = Machine::start(&node, namespace.name(), &boards)?;
    Ok(Scene {
        namespace,
        machine,
        node,
    })
}

async fn run_pod(namespace: &TestNamespace, name: &str) -> anyhow::Result<()> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"containers": [{
            "name": "main",
            "image": "work:1",
            "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "4", "memory": "16Gi"}},
        }]},
    }))?;
    let pods = namespace.api::<Pod>();
    pods.create(&PostParams::default(), &pod).await?;
    eventually(&format!("pod {name} runs"), SOON, || async {
        let phase = pods.get(name).await?.status.and_then(|status| status.phase);
        Ok((phase.as_deref() == Some("Running")).then_some(()))
    })
    .await
}

async fn events(namespace: &TestNamespace, pod: &str, reason: &str) -> anyhow::Result<Vec<Event>> {
    let about = ListParams::default().fields(&format!("involvedObject.name={pod},reason={reason}"));
    Ok(namespace.api::<Event>().list(&about).await?.items)
}

fn finding<'a>(waste: &'a Value, pod: &str) -> Option<&'a Value> {
    waste["findings"]
        .as_array()?
        .iter()
        .find(|finding| finding["pod"] == pod)
}

async fn found(plane: &Plane, pod: &str) -> anyhow::Result<Value> {
    eventually(&format!("{pod} is found"), SOON, || async {
        let waste = plane.waste().await?;
        Ok(finding(&waste, pod).cloned())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_pod_is_found_and_told_and_a_busy_one_never_is() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let mut scene = scene(fleet).await?;
            let plane = Plane::start(fleet, &scene.namespace, &shortened(&[scene.machine.address])).await?;
            let idle = found(&plane, "idle").await?;
            assert!(
                ["held-idle", "never-used"].contains(&idle["cause"].as_str().unwrap()),
                "{idle}"
            );
            assert_eq!(idle["node"], scene.node.as_str());
            assert!(
                idle["fix"]["commands"]
                    .as_array()
                    .is_some_and(|commands| !commands.is_empty()),
                "{idle}"
            );

            let told = eventually("the idle pod is told", SOON, || async {
                Ok(events(&scene.namespace, "idle", "GPUWasteDetected").await?.pop())
            })
            .await?;
            assert_eq!(told.involved_object.kind.as_deref(), Some("Pod"));
            let description = fleet
                .kubectl(&["describe", "pod", "idle", "--namespace", scene.namespace.name()])
                .await?;
            assert!(description.contains("GPUWasteDetected"), "{description}");

            let explained = plane
                .run(&["explain", "pod/idle", "-n", scene.namespace.name()])
                .await?;
            assert!(explained.contains("Fix:"), "{explained}");
            let listed = plane
                .run(&["optimize", "-n", scene.namespace.name(), "--fail-on", "50"])
                .await;
            assert!(
                listed.is_err(),
                "a finding above --fail-on must end with exit code 3"
            );

            // The user acts: the pod works again, and its finding goes and is told as resolved.
            scene.machine.make_busy(0, 97)?;
            eventually("the finding is gone", SOON, || async {
                Ok(finding(&plane.waste().await?, "idle").is_none().then_some(()))
            })
            .await?;
            eventually("the end is told", SOON, || async {
                Ok(events(&scene.namespace, "idle", "GPUWasteResolved").await?.pop())
            })
            .await?;
            let wrongly = events(&scene.namespace, "busy", "GPUWasteDetected").await?;
            assert!(wrongly.is_empty(), "{wrongly:#?}");
            assert!(finding(&plane.waste().await?, "busy").is_none());
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_its_source_gone_nothing_is_invented_and_the_api_stays() -> anyhow::Result<()> {
    require!(Fleet::need(), Prometheus::need());
    let fleet = Fleet::shared();
    let bed = Bed::new()?;
    fleet
        .guard(WHOLE_TEST, async {
            let scene = scene(fleet).await?;
            let mut options = PrometheusOptions::scraping("", "");
            options.scrape_interval = Duration::from_millis(500);
            options.jobs = vec![ScrapeJob {
                name: "gpu".to_owned(),
                targets: vec![scene.machine.address.to_string()],
                path: "/metrics".to_owned(),
                labels: Default::default(),
            }];
            let prometheus = Prometheus::start(&bed, &options).await?;
            let mut settings = shortened(&[]);
            settings.extend([
                "--metrics-source=prometheus".to_owned(),
                format!("--prometheus-url={}", prometheus.url()),
            ]);
            let plane = Plane::start(fleet, &scene.namespace, &settings).await?;
            let before = found(&plane, "idle").await?;
            assert!(before["data_age_seconds"].as_f64().unwrap() < 10.0, "{before}");

            prometheus
                .part()
                .stop_by(nix::sys::signal::Signal::SIGKILL, SOON)
                .await?;
            let away = eventually("the loss is named", SOON, || async {
                let (status, body) = plane.get("/readyz").await?;
                Ok((status == 503 && body.contains("metrics source")).then_some(body))
            })
            .await?;
            assert!(away.contains("no target answers"), "{away}");
            let (serving, _) = plane.get("/readyz/serving").await?;
            let (alive, _) = plane.get("/livez").await?;
            assert_eq!((serving, alive), (200, 200));
            // What stands is told with its age; nobody who was busy becomes idle by silence.
            let waste = plane.waste().await?;
            assert!(finding(&waste, "busy").is_none(), "{waste}");
            tokio::time::sleep(Duration::from_secs(12)).await;
            let waste = plane.waste().await?;
            assert!(finding(&waste, "busy").is_none(), "{waste}");
            if let Some(old) = finding(&waste, "idle") {
                assert!(old["data_age_seconds"].as_f64().unwrap() > 5.0, "{old}");
            }
            assert!(!waste["problems"].as_array().unwrap().is_empty(), "{waste}");
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_replica_takes_over_and_tells_nothing_twice() -> anyhow::Result<()> {
    require!(Fleet::need(), Postgres::need());
    let fleet = Fleet::shared();
    let bed = Bed::new()?;
    fleet
        .guard(WHOLE_TEST, async {
            let database = Postgres::start(&bed).await?;
            let scene = scene(fleet).await?;
            let mut settings = shortened(&[scene.machine.address]);
            settings.push(format!("--store={}", database.url()));
            let first = Plane::start(fleet, &scene.namespace, &settings).await?;
            found(&first, "idle").await?;
            eventually("the first tells", SOON, || async {
                Ok(events(&scene.namespace, "idle", "GPUWasteDetected").await?.pop())
            })
            .await?;
            let second = Plane::start(fleet, &scene.namespace, &settings).await?;
            found(&second, "idle").await?;
            assert_eq!(second.status().await?["leadership"]["role"], "follower");
            first.kill();
            eventually("the second leads", Duration::from_secs(15), || async {
                Ok((second.status().await?["leadership"]["role"] == "leader").then_some(()))
            })
            .await?;
            // It knows from the store what was told.
            tokio::time::sleep(Duration::from_secs(8)).await;
            let told = events(&scene.namespace, "idle", "GPUWasteDetected").await?;
            assert_eq!(told.len(), 1, "{told:#?}");
            let decisions = second.json("/api/v1/decisions?limit=500").await?;
            let subject = format!("pod/{}/idle", scene.namespace.name());
            let mentioned = decisions["decisions"]
                .as_array()
                .unwrap()
                .iter()
                .any(|line| line["subject"] == subject);
            assert!(mentioned, "{decisions}");
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_replica_with_its_own_file_refuses_to_start_and_says_why() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let scene = scene(fleet).await?;
            let settings = shortened(&[scene.machine.address]);
            let _first = Plane::start(fleet, &scene.namespace, &settings).await?;
            let refused = Plane::start(fleet, &scene.namespace, &settings)
                .await
                .err()
                .map(|error| format!("{error:#}"));
            let words = refused.unwrap_or_default();
            assert!(
                words.contains("another replica") && words.contains("PostgreSQL"),
                "{words}"
            );
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_events_and_a_resume_lets_them_go() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let scene = scene(fleet).await?;
            let plane = Plane::start(fleet, &scene.namespace, &shortened(&[scene.machine.address])).await?;
            let namespace = scene.namespace.name().to_owned();
            plane
                .run(&["pause", "--namespace", &namespace, "--reason", "a test"])
                .await?;
            eventually("the pause shows", SOON, || async {
                Ok((plane.status().await?["paused"]["reason"] == "a test").then_some(()))
            })
            .await?;
            found(&plane, "idle").await?;
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert!(
                events(&scene.namespace, "idle", "GPUWasteDetected")
                    .await?
                    .is_empty()
            );
            plane.run(&["resume", "--namespace", &namespace]).await?;
            eventually("it tells now", SOON, || async {
                Ok(events(&scene.namespace, "idle", "GPUWasteDetected").await?.pop())
            })
            .await?;
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_it_still_knows_who_has_worked() -> anyhow::Result<()> {
    let mut machine = Machine::start(
        "host-b",
        "none",
        &[Board {
            pod: "worker",
            busy_percent: 90,
        }],
    )?;
    let store = tempfile::tempdir()?;
    let mut settings = shortened(&[machine.address]);
    settings.push("--standalone".to_owned());
    settings.push(format!(
        "--store=sqlite:{}",
        store.path().join("ledger.db").display()
    ));
    let first = Plane::alone(&settings).await?;
    eventually("the worker is seen at work", SOON, || async {
        let used = first.waste().await?["totals"]
            .as_array()
            .is_some_and(|totals| totals.iter().any(|total| total["what"] == "used"));
        Ok(used.then_some(()))
    })
    .await?;
    machine.make_busy(0, 0)?;
    first.kill();
    let second = Plane::alone(&settings).await?;
    // Without its past it would be taken for a pod that never used its GPU.
    assert_eq!(found(&second, "worker").await?["cause"], "held-idle");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_kubernetes_it_judges_the_exporters_that_are_named() -> anyhow::Result<()> {
    let machine = Machine::start(
        "host-a",
        "none",
        &[Board {
            pod: "idle",
            busy_percent: 0,
        }],
    )?;
    let mut settings = shortened(&[machine.address]);
    settings.push("--standalone".to_owned());
    let plane = Plane::alone(&settings).await?;
    let waste = eventually("something is found", SOON, || async {
        let waste = plane.waste().await?;
        Ok(waste["findings"]
            .as_array()
            .is_some_and(|found| !found.is_empty())
            .then_some(waste))
    })
    .await?;
    assert_eq!(waste["cluster"], "standalone");
    assert_eq!(plane.status().await?["fleet"]["gpus"], 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_was_deleted_leaves_no_finding_behind() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE_TEST, async {
            let mut scene = scene(fleet).await?;
            let plane = Plane::start(fleet, &scene.namespace, &shortened(&[scene.machine.address])).await?;
            found(&plane, "idle").await?;
            let pods = scene.namespace.api::<Pod>();
            pods.delete("idle", &DeleteParams::default().grace_period(0))
                .await?;
            scene.machine.kill();
            eventually("its finding is gone", SOON, || async {
                Ok(finding(&plane.waste().await?, "idle").is_none().then_some(()))
            })
            .await
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_is_begun_and_answers_from_the_first_round_on() -> anyhow::Result<()> {
    let boards = [Board {
        pod: "idle",
        busy_percent: 0,
    }];
    let machine = Machine::start("host-b", "none", &boards)?;
    let mut settings = shortened(&[machine.address]);
    settings.push("--standalone".to_owned());
    let plane = Plane::alone(&settings).await?;
    let cost = eventually("a ledger is begun", SOON, || async {
        let cost = plane.json("/api/v1/cost?last=1h&by=node,gpu-model").await?;
        Ok(cost["settled_until"].is_string().then_some(cost))
    })
    .await?;
    // No window is closed in the first minutes, and nothing is made up for them.
    assert_eq!(cost["lines"], json!([]));
    assert_eq!(cost["by"], json!(["node", "gpu-model"]));
    assert_eq!(cost["total"]["cost_usd"], 0.0);
    let (status, body) = plane.get("/api/v1/cost?last=soon").await?;
    assert_eq!(status, 400, "{body}");
    let words = plane.run(&["cost", "--last", "24h"]).await?;
    assert!(words.contains("Settled up to"), "{words}");
    let table = plane.run(&["cost", "--last", "24h", "-o", "yaml"]).await?;
    assert!(table.contains("settled_until:"), "{table}");
    let ready = plane.get("/readyz").await?.1;
    assert!(ready.contains("ledger"), "{ready}");
    Ok(())
}
