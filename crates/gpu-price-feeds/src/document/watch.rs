//! Where the document comes from, and what happens when it changes: a good one is taken at once, a bad one is refused and the
//! one before stays.

#[cfg(feature = "kube")]
mod config_map;
mod file;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpu_cost::Moment;
use gpu_runtime::{Chain, Clock, Shutdown, Tasks};
use jiff::Timestamp;
use tracing::{info, warn};

use super::parse;
use crate::desk::Shared;
use crate::{Problem, SourceStatus};

/// The name among the sources, and of the task.
const SOURCE: &str = "document";

/// Where the document is.
#[derive(Clone)]
pub enum DocumentSource {
    /// A file, as that of a mounted ConfigMap. It is looked at again and again.
    File {
        /// Its path.
        path: PathBuf,
        /// How often it is looked at.
        every: Duration,
    },
    /// A key of a ConfigMap, watched through the API server.
    #[cfg(feature = "kube")]
    ConfigMap {
        /// May get, list and watch it.
        client: kube::Client,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The key that holds the text, usually `prices.yaml`.
        key: String,
    },
}

impl std::fmt::Debug for DocumentSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "File({})", path.display()),
            #[cfg(feature = "kube")]
            Self::ConfigMap {
                namespace, name, key, ..
            } => write!(f, "ConfigMap({namespace}/{name}, {key})"),
        }
    }
}

/// Watches the document as a task.
pub(crate) fn start(
    source: DocumentSource,
    shared: &Arc<Shared>,
    clock: &Arc<dyn Clock>,
    tasks: &mut Tasks,
    shutdown: &Shutdown,
) {
    let inbox = Inbox {
        shared: Arc::clone(shared),
        clock: Arc::clone(clock),
    };
    let shutdown = shutdown.clone();
    tasks.start(SOURCE, move || {
        let (source, inbox, shutdown) = (source.clone(), inbox.clone(), shutdown.clone());
        async move {
            let watching = async {
                match source {
                    DocumentSource::File { path, every } => file::watch(&path, every, &inbox).await,
                    #[cfg(feature = "kube")]
                    DocumentSource::ConfigMap {
                        client,
                        namespace,
                        name,
                        key,
                    } => config_map::watch(client, &namespace, &name, &key, &inbox).await,
                }
            };
            tokio::select! {
                () = watching => {}
                () = shutdown.triggered() => {}
            }
            Ok(())
        }
    });
}

/// Takes what the watch sees.
#[derive(Clone)]
pub(super) struct Inbox {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
}

impl Inbox {
    /// A text, as it was written at an instant.
    pub(super) fn text(&self, text: &str, written_at: Option<Timestamp>) {
        let now = self.clock.now();
        match parse(text, Moment::from(written_at.unwrap_or(now))) {
            Ok(document) => {
                info!(rules = document.len(), "took a document of prices");
                let status = SourceStatus {
                    confirmed_at: Some(now),
                    versions: document.len(),
                    ..SourceStatus::new(SOURCE, None)
                };
                self.shared.put_document(Some(document), status);
            }
            Err(error) => self.refuse("format", Chain(&error).to_string()),
        }
    }

    /// Somebody took the document away on purpose.
    #[cfg_attr(
        not(feature = "kube"),
        expect(
            dead_code,
            reason = "a file that is gone is a fault; only the API server tells of a deletion"
        )
    )]
    pub(super) fn gone(&self) {
        info!("the document of prices was deleted; its rules no longer hold");
        let status = SourceStatus {
            confirmed_at: Some(self.clock.now()),
            ..SourceStatus::new(SOURCE, None)
        };
        self.shared.put_document(None, status);
    }

    /// Nothing usable came; the document before stays in force.
    pub(super) fn refuse(&self, class: &'static str, message: String) {
        let at = self.clock.now();
        warn!(class, error = %message, "refused a document of prices; the one before stands");
        self.shared.refuse_document(|status| {
            status.failures = status.failures.saturating_add(1);
            status.last_error = Some(Problem { class, message, at });
        });
    }

    /// It was looked at, and it is the same.
    pub(super) fn unchanged(&self) {
        self.shared.confirm_document(self.clock.now());
    }
}
