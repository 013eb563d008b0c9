//! The task that plays all fake nodes of a fleet: one watch of pods, one loop of leases, a bounded number of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_pods};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::pod::{PodLife, Step};
use super::registry::Registry;
use super::{LEASE_NAMESPACE, objects};
use crate::fleet::client_of;

/// Calls of the API server at once: enough for hundreds of pods a second, few enough not to starve the tests.
const CALLS_AT_ONCE: usize = 32;

/// A step that failed (a conflict, a restarting API server) is tried again after this.
const RETRY_EVERY: Duration = Duration::from_millis(500);

/// Renewals within the grace after which a node counts as lost.
const RENEWALS_PER_GRACE: u32 = 4;

/// Plays the nodes on a thread and a runtime of its own, because it outlives the runtimes of single tests.
#[derive(Debug)]
pub struct NodeEngine {
    registry: Arc<Registry>,
    stop: watch::Sender<Running>,
    death: watch::Receiver<Option<String>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    Yes,
    No,
}

impl NodeEngine {
    pub(in crate::fleet) fn start(kubeconfig: PathBuf, node_grace: Duration) -> Self {
        let registry = Arc::new(Registry::default());
        let (stop, stopped) = watch::channel(Running::Yes);
        let (dying, death) = watch::channel(None);
        let player = Arc::clone(&registry);
        let thread = std::thread::spawn(move || {
            let renew_every = node_grace / RENEWALS_PER_GRACE;
            let played = std::panic::catch_unwind(|| play(&kubeconfig, renew_every, player, stopped));
            let why = match played {
                Ok(Ok(())) => return,
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => "a panic, whose message is above".to_owned(),
            };
            dying.send_replace(Some(why));
        });
        Self {
            registry,
            stop,
            death,
            thread: Some(thread),
        }
    }

    pub(super) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// Waits until the engine has failed, and says why.
    pub(in crate::fleet) async fn death(&self) -> String {
        let mut death = self.death.clone();
        match death.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            // It ended because it was stopped, and nobody needs to hear of that.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for NodeEngine {
    fn drop(&mut self) {
        self.stop.send_replace(Running::No);
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported as its death.
            let _ = thread.join();
        }
    }
}

fn play(
    kubeconfig: &std::path::Path,
    renew_every: Duration,
    registry: Arc<Registry>,
    mut stopped: watch::Receiver<Running>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = client_of(kubeconfig).await?;
        let leases = renew_leases(client.clone(), Arc::clone(&registry), renew_every);
        let pods = Player::new(client, registry).play();
        tokio::select! {
            () = leases => anyhow::bail!("the loop of leases ended"),
            () = pods => anyhow::bail!("the watch of pods ended"),
            _ = stopped.wait_for(|running| *running == Running::No) => Ok(()),
        }
    })
}

async fn renew_leases(client: Client, registry: Arc<Registry>, every: Duration) {
    let leases: Api<Lease> = Api::namespaced(client, LEASE_NAMESPACE);
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        futures::stream::iter(registry.all_speaking())
            .for_each_concurrent(CALLS_AT_ONCE, |node| {
                let leases = leases.clone();
                async move {
                    let patch = Patch::Merge(objects::lease_renewal());
                    // A failed renewal is followed by the next; a real kubelet does no more either.
                    let _ = leases.patch(&node, &PatchParams::default(), &patch).await;
                }
            })
            .await;
    }
}

type PodKey = (String, String);

struct Player {
    client: Client,
    registry: Arc<Registry>,
    pods: BTreeMap<PodKey, PodLife>,
    calls: JoinSet<Option<PodKey>>,
    in_flight: BTreeSet<PodKey>,
    /// Pods whose step was made and whose watch has not told of it yet; a step that failed stays here until the retry.
    told: BTreeSet<PodKey>,
    /// Keys of the list that is being read; what is not in it at its end is gone.
    listed: BTreeSet<PodKey>,
}

impl Player {
    fn new(client: Client, registry: Arc<Registry>) -> Self {
        Self {
            client,
            registry,
            pods: BTreeMap::new(),
            calls: JoinSet::new(),
            in_flight: BTreeSet::new(),
            told: BTreeSet::new(),
            listed: BTreeSet::new(),
        }
    }

    async fn play(mut self) {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let bound = watcher::Config::default().fields("spec.nodeName!=");
        let mut events = watch_pods(pods, bound).default_backoff().boxed();
        let waker = self.registry.waker();
        let mut retries = tokio::time::interval(RETRY_EVERY);
        retries.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => self.note(event),
                    // The stream repairs itself after a pause.
                    Some(Err(_)) => {}
                    None => return,
                },
                Some(done) = self.calls.join_next() => {
                    if let Ok(Some(key)) = done {
                        self.in_flight.remove(&key);
                        self.told.insert(key);
                    }
                }
                () = waker.notified() => {}
                _ = retries.tick() => self.told.clear(),
            }
            self.act();
        }
    }

    fn note(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(pod) => {
                self.listed.insert(key_of(&pod));
                self.note_pod(&pod);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.pods.retain(|key, _| listed.contains(key));
            }
            Event::Apply(pod) => self.note_pod(&pod),
            Event::Delete(pod) => drop(self.pods.remove(&key_of(&pod))),
        }
    }

    fn note_pod(&mut self, pod: &Pod) {
        let key = key_of(pod);
        if let Some(mut life) = PodLife::of(pod) {
            life.remember(self.pods.get(&key));
            self.told.remove(&key);
            self.pods.insert(key, life);
        }
    }

    /// Starts every call that is due.
    fn act(&mut self) {
        for node in self.registry.take_retired() {
            let nodes: Api<Node> = Api::all(self.client.clone());
            self.calls.spawn(async move {
                // It may have been deleted by the test itself.
                let _ = nodes.delete(&node, &DeleteParams::default()).await;
                None
            });
        }
        for (node, late) in self.registry.take_due_devices() {
            let nodes: Api<Node> = Api::all(self.client.clone());
            let registry = Arc::clone(&self.registry);
            self.calls.spawn(async move {
                let patch = Patch::Strategic(objects::devices(&late.resource, late.count));
                if nodes
                    .patch_status(&node, &PatchParams::default(), &patch)
                    .await
                    .is_err()
                {
                    registry.give_back_devices(&node, late);
                }
                None
            });
        }
        for (key, life) in &mut self.pods {
            if self.calls.len() >= CALLS_AT_ONCE {
                // The rest is found again at the next retry or event.
                return;
            }
            if self.in_flight.contains(key) || self.told.contains(key) {
                continue;
            }
            let Some((node_address, now)) = self.registry.speaking(&life.node) else {
                continue;
            };
            if let Some(step) = life.next_step(now) {
                self.in_flight.insert(key.clone());
                let call = Call {
                    key: key.clone(),
                    life: life.clone(),
                    step,
                    node_address,
                };
                self.calls
                    .spawn(call.make(self.client.clone(), Arc::clone(&self.registry)));
            }
        }
    }
}

fn key_of(pod: &Pod) -> PodKey {
    (
        pod.metadata.namespace.clone().unwrap_or_default(),
        pod.metadata.name.clone().unwrap_or_default(),
    )
}

/// One step of one pod.
struct Call {
    key: PodKey,
    life: PodLife,
    step: Step,
    node_address: std::net::Ipv4Addr,
}

impl Call {
    async fn make(self, client: Client, registry: Arc<Registry>) -> Option<PodKey> {
        let (namespace, name) = &self.key;
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        let status = match self.step {
            Step::Start => self.life.started(registry.next_pod_address(), self.node_address),
            Step::Complete => self.life.completed(),
            Step::Bury => {
                let mut now = DeleteParams::default().grace_period(0);
                let uid = Some(self.life.uid.clone());
                now.preconditions = Some(Preconditions {
                    uid,
                    resource_version: None,
                });
                // A pod of the same name that came in between is not ours to delete, so a refusal is right.
                let _ = pods.delete(name, &now).await;
                return Some(self.key);
            }
        };
        // A refusal means that the pod has changed or gone; the watch tells, and the step is judged again.
        let _ = pods
            .patch_status(name, &PatchParams::default(), &Patch::Strategic(status))
            .await;
        Some(self.key)
    }
}

#[cfg(test)]
mod tests;
