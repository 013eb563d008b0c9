//! Keeps a chapter of the book in step with objects of one kind: list, watch, begin again, for as long as it is asked to.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use futures::TryStreamExt as _;
use gpu_runtime::Chain;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tracing::{info, warn};

use super::{Found, TargetBook, chapter};

/// Runs until it is dropped. What the server refuses is tried again, later and later; what was found before stays meanwhile.
pub(super) async fn follow<K>(
    api: Api<K>,
    config: Config,
    finder: String,
    book: Arc<TargetBook>,
    find: impl Fn(&K) -> Vec<Found>,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    K::DynamicType: Default,
{
    let mut listed: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    let mut objects: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    let mut events = std::pin::pin!(watcher::watcher(api, config).default_backoff());
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(error) => {
                let why = reason(&error);
                warn!(%finder, why, error = %Chain(&error), "cannot see which exporters there are");
                continue;
            }
        };
        let key = |object: &K| format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any());
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                listed.insert(key(&object), find(&object));
                continue;
            }
            Event::InitDone => objects = std::mem::take(&mut listed),
            Event::Apply(object) => {
                objects.insert(key(&object), find(&object));
            }
            Event::Delete(object) => {
                objects.remove(&key(&object));
            }
        }
        let targets = chapter(objects.values().flatten());
        if book.write(&finder, targets) {
            info!(%finder, "exporters have come or gone");
        }
    }
}

fn reason(error: &watcher::Error) -> &'static str {
    let source = match error {
        watcher::Error::InitialListFailed(source)
        | watcher::Error::WatchStartFailed(source)
        | watcher::Error::WatchFailed(source) => source,
        _ => return "other",
    };
    match source {
        kube::Error::Api(status) if status.code == 403 => "forbidden",
        kube::Error::Api(_) => "refused",
        _ => "unreachable",
    }
}
