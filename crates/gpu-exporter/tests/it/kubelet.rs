//! The exporter and a kubelet that restarts, hangs, talks nonsense or has very much to say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_exporter::owners::host::HostPaths;
use gpu_exporter::owners::kubelet::{Kubelet, Roster, Settings};
use gpu_runtime::{Clock as _, Shutdown, SystemClock};
use tokio::io::AsyncWriteExt as _;
use tonic::{Code, Status};

use crate::fake_kubelet::{Behaviour, FakeKubelet, answer, pod};

const GPU: &str = "GPU-00000000-0000-0000-0000-00000000000";
const DEADLINE: Duration = Duration::from_secs(20);
const AT_MOST_EVERY: Duration = Duration::from_millis(20);

/// A node's directory with the exporter's side of it, which asks far more often than in earnest.
struct Node {
    directory: tempfile::TempDir,
    kubelet: Arc<Kubelet>,
    shutdown: Shutdown,
    asking: tokio::task::JoinHandle<()>,
}

impl Node {
    fn start(change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let host = HostPaths {
            checkpoint: root.join("checkpoint"),
            pod_logs: root.join("pods"),
            container_logs: root.join("containers"),
            cgroups: root.join("cgroup"),
        };
        let mut settings = Settings::new(root.join("kubelet.sock"), host);
        settings.at_most_every = AT_MOST_EVERY;
        settings.interval = AT_MOST_EVERY;
        change(&mut settings);
        let kubelet = Arc::new(Kubelet::new(settings, Arc::new(SystemClock)));
        let shutdown = Shutdown::new();
        let asking = {
            let (kubelet, shutdown) = (Arc::clone(&kubelet), shutdown.clone());
            tokio::spawn(async move { kubelet.run(&shutdown).await })
        };
        Self {
            directory,
            kubelet,
            shutdown,
            asking,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn fake(&self, behaviour: Behaviour) -> FakeKubelet {
        FakeKubelet::start(&self.path("kubelet.sock"), behaviour)
    }

    async fn until(&self, what: &str, mut reached: impl FnMut(&Roster) -> bool) -> Arc<Roster> {
        let started = Instant::now();
        loop {
            let roster = self.kubelet.latest();
            if reached(&roster) {
                return roster;
            }
            assert!(started.elapsed() < DEADLINE, "never {what}: {roster:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn until_error(&self, class: &str) -> Arc<Roster> {
        self.until(class, |roster| {
            roster.last_error().is_some_and(|error| error.class() == class)
        })
        .await
    }

    async fn stop(self) {
        self.shutdown.trigger();
        tokio::time::timeout(DEADLINE, self.asking)
            .await
            .unwrap()
            .unwrap();
    }
}

fn holders(roster: &Roster) -> Vec<&str> {
    roster
        .held(SystemClock.monotonic())
        .iter()
        .map(|held| held.pod.as_str())
        .collect()
}

fn one(name: &str) -> Behaviour {
    answer(vec![pod("ml", name, "nvidia.com/gpu", &[&format!("{GPU}0")])])
}

fn directory(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_serves_many_questions() {
    let node = Node::start(|_| {});
    let fake = node.fake(one("a"));
    let roster = node
        .until("asked ten times", |roster| roster.polls > 10 && roster.is_up())
        .await;
    assert_eq!(holders(&roster), ["a"]);
    assert_eq!((fake.connections(), roster.connections), (1, 1));
    assert!(roster.status(SystemClock.monotonic()).up);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_pods_are_read() {
    let node = Node::start(|_| {});
    let mut pods: Vec<_> = (0..10_000)
        .map(|n| pod("default", &format!("web-{n}"), "", &[]))
        .collect();
    for n in 0..8 {
        let shared = format!("{GPU}{n}::0");
        pods.push(pod(
            "ml",
            &format!("train-{n}"),
            "nvidia.com/gpu.shared",
            &[&shared],
        ));
    }
    let _fake = node.fake(answer(pods));
    let roster = node.until("answered", Roster::is_up).await;
    assert_eq!((holders(&roster).len(), roster.answer().pods), (8, 10_008));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_pods_with_gpus_are_read() {
    let node = Node::start(|_| {});
    let pods = (0..10_000)
        .map(|n| {
            pod(
                "ml",
                &format!("train-{n}"),
                "nvidia.com/gpu",
                &[&format!("{GPU}0::{n}")],
            )
        })
        .collect();
    let _fake = node.fake(answer(pods));
    let roster = node.until("answered", Roster::is_up).await;
    assert_eq!(holders(&roster).len(), 10_000);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_beyond_the_limit_is_refused_and_said() {
    let node = Node::start(|_| {});
    let _fake = node.fake(answer(vec![pod("ml", &"x".repeat(17 << 20), "", &[])]));
    let roster = node.until_error("too_large").await;
    assert!(holders(&roster).is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_that_restarts_is_found_again() {
    let node = Node::start(|_| {});
    let first = node.fake(one("a"));
    node.until("a", |roster| holders(roster) == ["a"]).await;
    drop(first);
    let gone = node.until("noticed", |roster| !roster.is_up()).await;
    assert_eq!(holders(&gone), ["a"], "the last answer stands");
    let second = node.fake(one("b"));
    node.until("b", |roster| holders(roster) == ["b"]).await;
    // Another takes the socket over while the one before still answers its old connections.
    let third = node.fake(one("c"));
    let roster = node.until("c", |roster| holders(roster) == ["c"]).await;
    assert_eq!(roster.connections, 3);
    assert_eq!((second.connections(), third.connections()), (1, 1));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_that_hangs_is_stale_and_then_nobody_holds_anything() {
    let node = Node::start(|settings| {
        settings.timeout = Duration::from_millis(100);
        settings.keep_for = Duration::from_millis(500);
    });
    let fake = node.fake(one("a"));
    node.until("a", |roster| holders(roster) == ["a"]).await;
    fake.behave(Behaviour::Hang);
    let roster = node.until_error("timeout").await;
    let status = roster.status(SystemClock.monotonic());
    assert!(!status.up && status.last_success_age.is_some() && status.errors["timeout"] > 0);
    assert!(status.problem.unwrap().contains("did not answer"));
    let roster = node.until("dropped", |roster| holders(roster).is_empty()).await;
    assert!(roster.age(SystemClock.monotonic()).unwrap() > Duration::from_millis(500));
    fake.behave(one("b"));
    node.until("b", |roster| holders(roster) == ["b"]).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_told_apart() {
    let node = Node::start(|_| {});
    let fake = node.fake(one("a"));
    for (status, class) in [
        (
            Status::new(Code::ResourceExhausted, "rejected by rate limit"),
            "rate_limited",
        ),
        (
            Status::new(Code::ResourceExhausted, "trying to send message larger than max"),
            "too_large",
        ),
        (Status::new(Code::Unimplemented, "no List"), "unimplemented"),
        (Status::new(Code::PermissionDenied, "no"), "refused"),
    ] {
        fake.behave(Behaviour::Refuse(status));
        node.until_error(class).await;
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_is_missing_is_said() {
    let node = Node::start(|_| {});
    let roster = node.until_error("socket_missing").await;
    let problem = roster.status(SystemClock.monotonic()).problem.unwrap();
    assert!(problem.contains("kubelet.sock"), "{problem}");
    let _fake = node.fake(one("a"));
    node.until("a", |roster| holders(roster) == ["a"]).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_on_the_socket_is_an_error_and_no_more() {
    let node = Node::start(|settings| settings.timeout = Duration::from_millis(200));
    let listener = tokio::net::UnixListener::bind(node.path("kubelet.sock")).unwrap();
    let babbling = tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let _ = connection.write_all(&[0xa5; 4096]).await;
        }
    });
    let roster = node
        .until("three errors", |roster| roster.polls > 3 && !roster.is_up())
        .await;
    assert!(holders(&roster).is_empty());
    babbling.abort();
    let _fake = node.fake(one("a"));
    node.until("a", |roster| holders(roster) == ["a"]).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubelet_is_never_asked_more_often_than_allowed() {
    let started = Instant::now();
    let node = Node::start(|settings| settings.interval = Duration::from_secs(3600));
    let fake = node.fake(one("a"));
    node.until("asked twenty times", |roster| {
        node.kubelet.nudge();
        roster.polls > 20
    })
    .await;
    let allowed = started.elapsed().as_millis() / AT_MOST_EVERY.as_millis() + 1;
    assert!(
        u128::from(fake.calls()) <= allowed,
        "{} calls, {allowed} allowed",
        fake.calls()
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_change_it_asks_sooner_and_then_calms_down() {
    let node = Node::start(|settings| settings.interval = Duration::from_secs(3600));
    let fake = node.fake(one("a"));
    // The first answer is a change: five quick questions follow, and the next is an hour away.
    node.until("calm", |roster| roster.is_up() && fake.calls() == 6)
        .await;
    fake.behave(one("b"));
    node.kubelet.nudge();
    node.until("b", |roster| holders(roster) == ["b"]).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_end_release_their_devices_even_while_the_kubelet_is_gone() {
    let node = Node::start(|_| {});
    let uid = |digit: u8| format!("0f4c6a9e-2b1d-4c3e-8f5a-6b7c8d9e0f{digit:02}");
    for (name, digit) in [("a", 1), ("b", 2), ("c", 3)] {
        directory(&node.path(&format!("pods/ml_{name}_{}", uid(digit))));
    }
    // Pod `a` has ended before the kubelet is asked; older kubelets list it on.
    for digit in [2, 3] {
        directory(&node.path(&format!("cgroup/kubepods/pod{}", uid(digit))));
    }
    let pods = ["a", "b", "c"]
        .iter()
        .zip(0..)
        .map(|(name, n)| pod("ml", name, "nvidia.com/gpu", &[&format!("{GPU}0::{n}")]))
        .collect();
    let fake = node.fake(answer(pods));
    let roster = node
        .until("b and c", |roster| holders(roster) == ["b", "c"])
        .await;
    assert_eq!(roster.answer().ended, 1);
    drop(fake);
    node.until("gone", |roster| !roster.is_up()).await;
    std::fs::remove_dir(node.path(&format!("cgroup/kubepods/pod{}", uid(2)))).unwrap();
    node.until("c", |roster| holders(roster) == ["c"]).await;
    node.stop().await;
}
