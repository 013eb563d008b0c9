//! A key of a ConfigMap, watched through the API server.

use std::time::Duration;

use futures::StreamExt as _;
use gpu_runtime::Chain;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::Inbox;

/// While the watch stands and says nothing, the document is what it was.
const CONFIRM_EVERY: Duration = Duration::from_secs(60);

/// The pause after the first failure; it doubles with every further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest of those pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A watch is cut now and then as a matter of course; only what fails again at once is worth a word.
const QUIET_FAILURES: u32 = 1;

/// Watches until the end of the task. While the watch fails, the document before stays in force; after a failure everything
/// is listed anew, so nothing is missed.
pub(super) async fn watch(client: Client, namespace: &str, name: &str, key: &str, inbox: &Inbox) {
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
    let key = Key { namespace, name, key };
    let mut failures = 0;
    loop {
        let error = follow(&maps, &key, inbox, &mut failures).await;
        failures += 1;
        if failures > QUIET_FAILURES {
            let words = format!("failed to watch the ConfigMap `{namespace}/{name}`: {error}");
            inbox.refuse("kubernetes", words);
        }
        let pause = FIRST_PAUSE * 2u32.saturating_pow(failures.min(16) - 1);
        sleep(pause.min(LONGEST_PAUSE)).await;
    }
}

/// The place of the text.
struct Key<'a> {
    namespace: &'a str,
    name: &'a str,
    key: &'a str,
}

/// Follows the ConfigMap up to a failure, and gives its words.
async fn follow(maps: &Api<ConfigMap>, key: &Key<'_>, inbox: &Inbox, failures: &mut u32) -> String {
    let only = watcher::Config::default().fields(&format!("metadata.name={}", key.name));
    let mut events = Box::pin(kube::runtime::watcher(maps.clone(), only));
    let mut confirm = interval(CONFIRM_EVERY);
    confirm.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut found = false;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = confirm.tick() => {
                if *failures == 0 {
                    inbox.unchanged();
                }
                continue;
            }
        };
        match event {
            None => return "the watch ended".to_owned(),
            Some(Err(error)) => return Chain(&error).to_string(),
            Some(Ok(event)) => match event {
                Event::Init => found = false,
                Event::InitApply(map) => {
                    found = true;
                    key.take(&map, inbox);
                }
                Event::InitDone => {
                    *failures = 0;
                    // A whole list that does not show it: nobody wrote one, or it was deleted while nobody watched.
                    if !found {
                        inbox.gone();
                    }
                }
                Event::Apply(map) => key.take(&map, inbox),
                Event::Delete(_) => inbox.gone(),
            },
        }
    }
}

impl Key<'_> {
    fn take(&self, map: &ConfigMap, inbox: &Inbox) {
        let Self { namespace, name, key } = self;
        match map.data.as_ref().and_then(|data| data.get(*key)) {
            Some(text) => inbox.text(text, written_at(map)),
            None => inbox.refuse(
                "format",
                format!(
                    "the ConfigMap `{namespace}/{name}` has no key `{key}`: add it, or delete the ConfigMap"
                ),
            ),
        }
    }
}

/// When the ConfigMap was last written, as its managers noted; else when it was made.
fn written_at(map: &ConfigMap) -> Option<Timestamp> {
    let managers = map.metadata.managed_fields.iter().flatten();
    let latest = managers
        .filter_map(|manager| manager.time.as_ref())
        .map(|time| time.0)
        .max();
    latest.or_else(|| map.metadata.creation_timestamp.as_ref().map(|time| time.0))
}
