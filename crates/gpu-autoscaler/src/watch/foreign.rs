//! Owners of kinds that are not watched, such as Argo's Workflow or Kubeflow's PyTorchJob: the metadata of each is asked for
//! once, when a GPU pod names it, and again after a long while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_k8s::convert;
use gpu_runtime::{Chain, Clock as _, Shutdown, SystemClock};
use kube::Client;
use kube::api::GetParams;
use kube::core::Request;
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::Shared;
use super::index::{Answer, ForeignOwner};

/// A burst of new workloads is asked for in rounds of this many, one after the other: no more than some dozens of calls a second.
const ROUND: usize = 50;
/// Between rounds in which nothing changed.
const IDLE: Duration = Duration::from_secs(15);
/// Lets changes gather before the next round.
const GATHER: Duration = Duration::from_millis(500);
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// After a call that failed for no reason of its own, such as a server that is away.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// How long it is believed what kinds a group has; definitions get installed.
const KEEP_KINDS: Duration = Duration::from_secs(600);

/// Asks until the shutdown.
pub(super) async fn run(client: Client, shared: Arc<Shared>, shutdown: Shutdown) -> anyhow::Result<()> {
    tokio::select! {
        () = shutdown.triggered() => {}
        () = Asker { client, shared, kinds: BTreeMap::new() }.ask() => {}
    }
    Ok(())
}

struct Asker {
    client: Client,
    shared: Arc<Shared>,
    /// By `apiVersion` and kind: where it is, or that it is nowhere.
    kinds: BTreeMap<(String, String), (Option<Place>, std::time::Instant)>,
}

#[derive(Debug, Clone)]
struct Place {
    plural: String,
    is_namespaced: bool,
}

impl Asker {
    async fn ask(mut self) {
        let mut changes = self.shared.version.subscribe();
        loop {
            let questions = self.shared.lock().index.questions(SystemClock.now(), ROUND);
            if questions.is_empty() {
                let _ = timeout(IDLE, changes.changed()).await;
                sleep(GATHER).await;
                continue;
            }
            for question in questions {
                match self.answer(&question).await {
                    Ok(answer) => {
                        let now = SystemClock.now();
                        self.shared
                            .change(|state| state.index.answer(&question.id, answer, now));
                    }
                    Err(error) => {
                        debug!(kind = question.link.kind, name = question.link.name, error = %Chain(&error), "failed to ask for an owner");
                        sleep(AFTER_FAILURE).await;
                        break;
                    }
                }
            }
        }
    }

    /// An error is one of the server's, and the question stays open.
    async fn answer(&mut self, question: &ForeignOwner) -> Result<Answer, kube::Error> {
        let link = &question.link;
        let Some(place) = self.place(&link.api_version, &link.kind).await? else {
            return Ok(Answer::NotFound);
        };
        let root = root(&link.api_version);
        let path = match place.is_namespaced {
            true => format!("{root}/namespaces/{}/{}", question.namespace, place.plural),
            false => format!("{root}/{}", place.plural),
        };
        let request = Request::new(path)
            .get_metadata(&link.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        let text = match within(self.client.request_text(request)).await {
            Ok(text) => text,
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 406) => {
                return Ok(Answer::NotFound);
            }
            Err(error) => return Err(error),
        };
        Ok(match convert::owner(&text) {
            // Another object under the same name is not the owner.
            Ok(facts) if link.uid.is_empty() || facts.uid == link.uid => Answer::Found { owner: facts.owner },
            Ok(_) | Err(_) => Answer::NotFound,
        })
    }

    async fn place(&mut self, api_version: &str, kind: &str) -> Result<Option<Place>, kube::Error> {
        let key = (api_version.to_owned(), kind.to_owned());
        let now = SystemClock.monotonic();
        if let Some((place, at)) = self.kinds.get(&key)
            && now.saturating_duration_since(*at) < KEEP_KINDS
        {
            return Ok(place.clone());
        }
        let list = match api_version.contains('/') {
            true => within(self.client.list_api_group_resources(api_version)).await,
            false => within(self.client.list_core_api_resources(api_version)).await,
        };
        let place = match list {
            Ok(list) => list
                .resources
                .into_iter()
                .find(|found| found.kind == kind && !found.name.contains('/'))
                .map(|found| Place {
                    plural: found.name,
                    is_namespaced: found.namespaced,
                }),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => None,
            Err(error) => return Err(error),
        };
        // Names of kinds come from pods, so their number is nobody's promise.
        if self.kinds.len() >= 1000 {
            self.kinds.clear();
        }
        self.kinds.insert(key, (place.clone(), now));
        Ok(place)
    }
}

fn root(api_version: &str) -> String {
    match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    }
}

async fn within<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
    match timeout(ANSWER_WITHIN, call).await {
        Ok(outcome) => outcome,
        Err(_) => Err(kube::Error::Service("the server did not answer in time".into())),
    }
}
