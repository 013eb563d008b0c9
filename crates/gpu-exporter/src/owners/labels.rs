//! Labels of this node's pods and of the node itself, from the API server. Only in builds with the feature
//! `kubernetes-labels`: the default build holds no API token.
//!
//! It watches the pods of one node by a field selector, asks for metadata alone, and keeps only the labels that were named.
//! The service account needs `list` and `watch` on pods, and on nodes where labels of the node are named. A pod's figures
//! never wait for its labels.

mod book;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::{Stream, StreamExt as _};
use gpu_runtime::{Chain, Shutdown};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Config};
use tracing::{info, warn};

pub use book::{LabelBook, NAME};

use crate::settings::ApiLabels;

/// The server ends a watch after less than five minutes by itself; silence beyond is a connection that is dead.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
/// A token or a certificate that is missing may be mounted late.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// The classes of errors: to find the server, and to watch each kind.
const CLIENT: &str = "client";
const PODS: &str = "pods";
const NODES: &str = "nodes";

/// The labels as they are known now.
pub struct Labels {
    wanted: ApiLabels,
    book: ArcSwap<LabelBook>,
}

/// Whether what was heard can be shown: a list only as a whole.
#[derive(PartialEq, Eq)]
enum Heard {
    Part,
    Whole,
}

impl Labels {
    /// Nothing is known until [`Labels::run`] has heard from the API server.
    pub fn new(wanted: ApiLabels) -> Self {
        let book = LabelBook::new(&wanted);
        Self {
            wanted,
            book: ArcSwap::from_pointee(book),
        }
    }

    pub fn latest(&self) -> Arc<LabelBook> {
        self.book.load_full()
    }

    /// Finds the API server as every program in a pod does, then watches until the program stops.
    pub async fn find_and_run(&self, shutdown: &Shutdown) {
        loop {
            match client().await {
                Ok(client) => return self.run(client, shutdown).await,
                Err(error) => {
                    let mut book = LabelBook::clone(&self.latest());
                    self.note_failure(&mut book, CLIENT, &*error);
                }
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(TRY_AGAIN) => {}
            }
        }
    }

    /// Watches until the program stops. Errors are retried with back-off, and what is known stands meanwhile.
    pub async fn run(&self, client: Client, shutdown: &Shutdown) {
        let node = &self.wanted.node;
        let pods = watch::<Pod>(client.clone(), &format!("spec.nodeName={node}"));
        let nodes = watch::<Node>(client, &format!("metadata.name={node}"));
        let (mut pods, mut nodes) = (pin!(pods), pin!(nodes));
        let mut book = LabelBook::clone(&self.latest());
        book.recover(CLIENT);
        loop {
            // A stream that is not asked for asks the server for nothing.
            let outcome = tokio::select! {
                event = pods.next(), if !self.wanted.of_pods.is_empty() => {
                    (PODS, event.map(|event| event.map(|event| self.hear_pod(&mut book, event))))
                }
                event = nodes.next(), if !self.wanted.of_node.is_empty() => {
                    (NODES, event.map(|event| event.map(|event| self.hear_node(&mut book, event))))
                }
                () = shutdown.triggered() => return,
            };
            match outcome {
                (_, Some(Ok(Heard::Part))) => {}
                (what, Some(Ok(Heard::Whole))) => {
                    if book.recover(what) {
                        info!(what, "labels come from the API server");
                    }
                    self.book.store(Arc::new(book.clone()));
                }
                (what, Some(Err(error))) => self.note_failure(&mut book, what, &error),
                // The streams of a watcher have no end.
                (_, None) => return,
            }
        }
    }

    /// The log says it once; the metric counts on.
    fn note_failure(
        &self,
        book: &mut LabelBook,
        class: &'static str,
        error: &(dyn std::error::Error + 'static),
    ) {
        if book.fail(class, Instant::now()) {
            warn!(error = %Chain(error), class, "failed to watch labels; those that are known stand");
        }
        self.book.store(Arc::new(book.clone()));
    }

    fn hear_pod(&self, book: &mut LabelBook, event: Event<PartialObjectMeta<Pod>>) -> Heard {
        let allowed = &self.wanted.of_pods;
        match event {
            Event::Init => book.begin_again(),
            Event::InitApply(pod) => book.relist_pod(&pod.metadata, allowed),
            Event::InitDone => {
                book.end_relist();
                return Heard::Whole;
            }
            Event::Apply(pod) => {
                book.put_pod(&pod.metadata, allowed);
                return Heard::Whole;
            }
            Event::Delete(pod) => {
                book.remove_pod(&pod.metadata);
                return Heard::Whole;
            }
        }
        Heard::Part
    }

    fn hear_node(&self, book: &mut LabelBook, event: Event<PartialObjectMeta<Node>>) -> Heard {
        match event {
            Event::InitApply(node) | Event::Apply(node) => {
                book.put_node(&node.metadata, &self.wanted.of_node);
            }
            Event::Delete(_) => book.remove_node(),
            Event::Init => return Heard::Part,
            Event::InitDone => book.end_node_list(),
        }
        Heard::Whole
    }
}

/// A client of the API server that every program in a pod finds.
pub(crate) async fn client() -> Result<Client, Box<dyn std::error::Error + Send + Sync>> {
    let mut config = Config::infer().await?;
    config.read_timeout = Some(READ_TIMEOUT);
    Ok(Client::try_from(config)?)
}

fn watch<K>(
    client: Client,
    fields: &str,
) -> impl Stream<Item = watcher::Result<Event<PartialObjectMeta<K>>>> + Send + use<K>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + Sync + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::all(client);
    watcher(api, watcher::Config::default().fields(fields)).default_backoff()
}
