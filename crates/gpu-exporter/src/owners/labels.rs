//! Labels of this node's pods and of the node itself, from the API server. Only in builds with the feature
//! `kubernetes-labels`: the default build holds no API token.
//!
//! It watches the pods of one node by a field selector, asks for metadata alone, and keeps only the labels that were named.
//! The service account needs `list` and `watch` on pods and nodes. A pod's figures never wait for its labels.

mod book;

use std::pin::pin;
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::{Stream, StreamExt as _};
use gpu_model::NodeName;
use gpu_runtime::{Chain, Shutdown};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tracing::warn;

pub use book::{AllowList, LabelBook, TooManyLabels};

/// The labels as they are known now.
pub struct Labels {
    node: NodeName,
    allowed: AllowList,
    book: ArcSwap<LabelBook>,
}

impl Labels {
    /// Nothing is known until [`Labels::run`] has heard from the API server.
    pub fn new(node: NodeName, allowed: AllowList) -> Self {
        Self {
            node,
            allowed,
            book: ArcSwap::from_pointee(LabelBook::default()),
        }
    }

    pub fn latest(&self) -> Arc<LabelBook> {
        self.book.load_full()
    }

    /// Watches until the program stops. Errors are retried with back-off, and what is known stands meanwhile.
    pub async fn run(&self, client: Client, shutdown: &Shutdown) {
        let pods = watch::<Pod>(client.clone(), &format!("spec.nodeName={}", self.node));
        let nodes = watch::<Node>(client, &format!("metadata.name={}", self.node));
        let (mut pods, mut nodes) = (pin!(pods), pin!(nodes));
        let mut book = LabelBook::default();
        while !shutdown.is_triggered() {
            let outcome = tokio::select! {
                event = pods.next() => event.map(|event| event.map(|event| self.hear_pod(&mut book, event))),
                event = nodes.next() => event.map(|event| event.map(|event| self.hear_node(&mut book, event))),
                () = shutdown.triggered() => return,
            };
            match outcome {
                Some(Ok(())) => self.book.store(Arc::new(book.clone())),
                Some(Err(error)) => {
                    book.errors += 1;
                    self.book.store(Arc::new(book.clone()));
                    warn!(error = %Chain(&error), "failed to watch labels; those that are known stand");
                }
                // The streams of a watcher have no end.
                None => return,
            }
        }
    }

    fn hear_pod(&self, book: &mut LabelBook, event: Event<PartialObjectMeta<Pod>>) {
        match event {
            Event::Init => book.begin_again(),
            Event::InitApply(pod) => book.relist_pod(&pod.metadata, &self.allowed),
            Event::InitDone => book.end_relist(),
            Event::Apply(pod) => book.put_pod(&pod.metadata, &self.allowed),
            Event::Delete(pod) => book.remove_pod(&pod.metadata),
        }
    }

    fn hear_node(&self, book: &mut LabelBook, event: Event<PartialObjectMeta<Node>>) {
        match event {
            Event::InitApply(node) | Event::Apply(node) => book.put_node(&node.metadata, &self.allowed),
            Event::Delete(_) => book.remove_node(),
            Event::Init | Event::InitDone => {}
        }
    }
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

#[cfg(test)]
mod tests;
