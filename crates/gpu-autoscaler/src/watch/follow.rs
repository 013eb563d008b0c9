//! Lists and watches one kind, for ever.
//!
//! Pages and events are taken as text and cut into objects, and each object is read by itself: one that cannot be read, or over
//! which reading panics, is set aside with its reason. A broken watch is taken up where it ended; when the server no longer knows
//! that place, everything is listed anew and what is not in the list is gone.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use gpu_k8s::convert;
use gpu_runtime::{Chain, Clock as _, Shutdown, SystemClock};
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::index::{Item, ObjectKey};
use super::kind::Asked;
use super::status::Trouble;
use super::{Kind, Shared, State};

/// Pods take some fifteen kilobytes each as text, so a page of them is some four megabytes.
const PAGE: u32 = 250;
/// A page that takes longer than this comes from a server that is not well.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// The server ends a watch after this time and we take it up again. It is also how long a connection that died in silence is
/// believed, so it is short for what decisions rest on.
const WATCH_MANDATORY: Duration = Duration::from_secs(60);
const WATCH_OPTIONAL: Duration = Duration::from_secs(290);
/// For the server's end of a watch to arrive.
const GRACE: Duration = Duration::from_secs(15);
/// Between attempts, doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);
/// A kind that is not there or not allowed is looked for again this often; definitions get installed, roles get bound.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// Between one kind and the next after a pause, so that a server that comes back is not met by all at once.
const SPREAD: Duration = Duration::from_millis(40);

/// Why the watch of a kind ended.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("failed to {act}")]
    Api { act: &'static str, source: kube::Error },
    #[error("the server did not answer within {} s", ANSWER_WITHIN.as_secs())]
    Silent,
    #[error("failed to read a page of the list")]
    Page { source: serde_json::Error },
    #[error("the server ended the watch: {message}")]
    Ended { code: u16, message: String },
}

/// How a watch went on.
enum Next {
    /// Take it up again at this version.
    Resume(String),
    /// The server no longer knows the version.
    ListAnew,
}

/// Follows a kind until the shutdown.
pub(super) async fn run(
    kind: Kind,
    client: Client,
    shared: Arc<Shared>,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let follower = Follower { kind, client, shared };
    tokio::select! {
        () = shutdown.triggered() => {}
        () = follower.follow() => {}
    }
    Ok(())
}

struct Follower {
    kind: Kind,
    client: Client,
    shared: Arc<Shared>,
}

impl Follower {
    async fn follow(&self) {
        let mut pause = FIRST_PAUSE;
        let mut version: Option<String> = None;
        if self.kind == Kind::Pods {
            self.wait_for_nodes().await;
        }
        loop {
            let outcome = match &version {
                None => self.list().await.map(Next::Resume),
                Some(from) => self.watch(from).await,
            };
            match outcome {
                Ok(Next::Resume(next)) => {
                    version = Some(next);
                    pause = FIRST_PAUSE;
                }
                Ok(Next::ListAnew) => version = None,
                Err(broken) => {
                    let trouble = classify(&broken);
                    if trouble == Trouble::Missing {
                        // Without its definition a kind has no objects.
                        version = None;
                        self.shared.change(|state| clear(state, self.kind));
                    }
                    let wait = match trouble {
                        Trouble::Failing(_) => pause,
                        Trouble::Missing | Trouble::Forbidden(_) => LOOK_AGAIN,
                    };
                    pause = (pause * 2).min(LAST_PAUSE);
                    self.note(trouble, &broken);
                    sleep(wait + SPREAD * u32::from(self.kind as u8)).await;
                }
            }
        }
    }

    /// The first list of pods begins when nodes are known, so that pods find their nodes.
    async fn wait_for_nodes(&self) {
        let mut changes = self.shared.version.subscribe();
        // The sender lives in what is shared, so the channel cannot close while this waits.
        while !self.shared.lock().board.is_synced(Kind::Nodes) {
            let _ = changes.changed().await;
        }
    }

    /// Lists all objects, page by page, and answers with the version of the list.
    async fn list(&self) -> Result<String, Broken> {
        let path = self.path().await?;
        self.shared.change(|state| state.index.begin(self.kind));
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let request = Request::new(&path);
            let request = match self.kind.asked() {
                Asked::Whole => request.list(&params),
                Asked::Metadata => request.list_metadata(&params),
            };
            let request = request.map_err(|error| build_error("list", error))?;
            let text = timeout(ANSWER_WITHIN, self.client.request_text(request)).await;
            let text = text
                .map_err(|_| Broken::Silent)?
                .map_err(|source| Broken::Api { act: "list", source })?;
            let page: Page<'_> = serde_json::from_str(&text).map_err(|source| Broken::Page { source })?;
            let objects: Vec<Read> = page
                .items
                .unwrap_or_default()
                .iter()
                .map(|item| read(self.kind, item.get()))
                .collect();
            let now = SystemClock.now();
            let next = page.metadata.continue_token.filter(|token| !token.is_empty());
            self.shared.change(|state| {
                state.board.alive(self.kind, now);
                objects
                    .into_iter()
                    .for_each(|object| put(state, self.kind, object));
                if next.is_none() {
                    done(state, self.kind);
                    state.board.synced(self.kind);
                    state.index.known(self.kind);
                }
            });
            match next {
                Some(token) => params.continue_token = Some(token.into_owned()),
                None => return Ok(page.metadata.resource_version.into_owned()),
            }
        }
    }

    /// Watches from a version on until the server ends it, which it does regularly.
    async fn watch(&self, from: &str) -> Result<Next, Broken> {
        let path = self.path().await?;
        let lasts = if self.kind.is_mandatory() {
            WATCH_MANDATORY
        } else {
            WATCH_OPTIONAL
        };
        let params = WatchParams::default().timeout(u32::try_from(lasts.as_secs()).unwrap_or(u32::MAX));
        let request = Request::new(&path);
        let request = match self.kind.asked() {
            Asked::Whole => request.watch(&params, from),
            Asked::Metadata => request.watch_metadata(&params, from),
        };
        let request = request.map_err(|error| build_error("watch", error))?;
        let events = timeout(
            ANSWER_WITHIN,
            self.client.request_events::<Box<RawValue>>(request),
        )
        .await;
        let events = events
            .map_err(|_| Broken::Silent)?
            .map_err(|source| Broken::Api { act: "watch", source })?;
        self.alive();
        let mut events = std::pin::pin!(events);
        let mut version = from.to_owned();
        loop {
            let Ok(event) = timeout(lasts + GRACE, events.next()).await else {
                debug!(
                    kind = self.kind.name(),
                    "a watch fell silent; it is taken up again"
                );
                return Ok(Next::Resume(version));
            };
            match event {
                None => return Ok(Next::Resume(version)),
                Some(Err(source)) => return Err(Broken::Api { act: "watch", source }),
                Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                    version = bookmark.metadata.resource_version;
                    self.alive();
                }
                Some(Ok(WatchEvent::Error(status))) if status.code == 410 => return Ok(Next::ListAnew),
                Some(Ok(WatchEvent::Error(status))) => {
                    return Err(Broken::Ended {
                        code: status.code,
                        message: status.message,
                    });
                }
                Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                    self.apply(object.get(), &mut version, put);
                }
                Some(Ok(WatchEvent::Deleted(object))) => self.apply(object.get(), &mut version, take),
            }
        }
    }

    fn apply(&self, text: &str, version: &mut String, change: fn(&mut State, Kind, Read)) {
        let object = read(self.kind, text);
        if let Some(next) = &object.version {
            version.clone_from(next);
        }
        let now = SystemClock.now();
        self.shared.change(|state| {
            state.board.alive(self.kind, now);
            change(state, self.kind, object);
        });
    }

    fn alive(&self) {
        let now = SystemClock.now();
        self.shared.change(|state| state.board.alive(self.kind, now));
    }

    /// Where the server has the kind. Where several versions are possible, it is asked which it has.
    async fn path(&self) -> Result<String, Broken> {
        let places = self.kind.places();
        let last = places.len() - 1;
        for (number, place) in places.into_iter().enumerate() {
            let path = format!("{place}/{}", self.kind.name());
            if number == last {
                return Ok(path);
            }
            let version = place.trim_start_matches("/apis/");
            match timeout(ANSWER_WITHIN, self.client.list_api_group_resources(version)).await {
                Err(_) => return Err(Broken::Silent),
                Ok(Err(kube::Error::Api(status))) if status.code == 404 => {}
                Ok(Err(source)) => {
                    return Err(Broken::Api {
                        act: "ask for versions",
                        source,
                    });
                }
                Ok(Ok(list)) if list.resources.iter().any(|found| found.name == self.kind.name()) => {
                    return Ok(path);
                }
                Ok(Ok(_)) => {}
            }
        }
        unreachable!("the last place is returned without a question")
    }

    fn note(&self, trouble: Trouble, broken: &Broken) {
        let kind = self.kind.name();
        let now = SystemClock.now();
        let is_news = self
            .shared
            .change(|state| state.board.trouble(self.kind, trouble.clone(), now));
        if !is_news {
            debug!(kind, error = %Chain(broken), "still no watch");
            return;
        }
        match trouble {
            Trouble::Missing => info!(
                kind,
                "the cluster has no such kind; it is looked for now and then"
            ),
            Trouble::Forbidden(_) => warn!(kind, error = %Chain(broken), "may not watch"),
            Trouble::Failing(_) => {
                warn!(kind, error = %Chain(broken), "the watch broke; it is taken up again")
            }
        }
    }
}

fn build_error(act: &'static str, error: kube::core::request::Error) -> Broken {
    Broken::Api {
        act,
        source: kube::Error::BuildRequest(error),
    }
}

fn classify(broken: &Broken) -> Trouble {
    let code = match broken {
        Broken::Api {
            source: kube::Error::Api(status),
            ..
        } => status.code,
        Broken::Ended { code, .. } => *code,
        Broken::Api { .. } | Broken::Silent | Broken::Page { .. } => 0,
    };
    match code {
        403 => Trouble::Forbidden(Chain(broken).to_string()),
        404 => Trouble::Missing,
        _ => Trouble::Failing(Chain(broken).to_string()),
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    metadata: PageMetadata<'a>,
    /// A list of metadata without objects has `null` here.
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata<'a> {
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
    #[serde(borrow, default, rename = "continue")]
    continue_token: Option<Cow<'a, str>>,
}

/// An object on its way into the index.
struct Read {
    key: ObjectKey,
    version: Option<String>,
    item: Result<Item, Unread>,
}

struct Unread {
    why: String,
    node: Option<gpu_model::NodeName>,
}

#[derive(Default, Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    metadata: HeadMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMetadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Option<Cow<'a, str>>,
}

fn read(kind: Kind, text: &str) -> Read {
    let head: Head<'_> = serde_json::from_str(text).unwrap_or_default();
    let key = ObjectKey::new(&head.metadata.namespace, &head.metadata.name);
    // A defect in reading one object must not end the watch of all others.
    let item = match catch_unwind(AssertUnwindSafe(|| kind.read(text))) {
        Ok(Ok(item)) => Ok(item),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("reading it panicked, which is a defect of ours".to_owned()),
    };
    Read {
        key,
        version: head.metadata.resource_version.map(Cow::into_owned),
        item: item.map_err(|why| Unread {
            why,
            node: (kind == Kind::Pods)
                .then(|| convert::node_of_unreadable_pod(text))
                .flatten(),
        }),
    }
}

fn put(state: &mut State, kind: Kind, object: Read) {
    let now = SystemClock.now();
    match object.item {
        Ok(item) => {
            state.board.take_back(kind, &object.key);
            if item == Item::Pod(convert::PodState::Ended) {
                note_end(state, &object.key);
            }
            state.index.put(kind, object.key, item, now);
        }
        Err(unread) => {
            warn!(kind = kind.name(), object = %object.key, reason = %unread.why, "set an object aside");
            state.board.set_aside(kind, object.key.clone(), unread.why);
            state.index.put_unreadable(kind, object.key, unread.node);
        }
    }
}

fn take(state: &mut State, kind: Kind, object: Read) {
    state.board.take_back(kind, &object.key);
    if kind == Kind::Pods {
        note_end(state, &object.key);
    }
    state.index.remove(kind, &object.key);
}

/// Keeps the end of a pod with GPUs for whoever counts its time.
fn note_end(state: &mut State, key: &ObjectKey) {
    if let Some(pod) = state.index.gpu_pod(key) {
        state.endings.note(pod, SystemClock.now());
    }
}

/// The list is complete: what is not in it is gone, and is set aside no longer.
fn done(state: &mut State, kind: Kind) {
    let listed = state.index.done(kind);
    for key in state.board.set_aside_keys(kind) {
        if !listed.contains(&key) {
            state.board.take_back(kind, &key);
        }
    }
}

/// Nothing of the kind is there.
fn clear(state: &mut State, kind: Kind) {
    state.index.begin(kind);
    done(state, kind);
}
