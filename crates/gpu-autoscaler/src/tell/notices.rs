//! Notices outside the cluster: webhooks, chats that take Slack's messages, mail.
//!
//! Every channel has a queue and a task of its own, so that one that is dead or slow holds up nobody. Secrets come from files, are read when
//! something is sent, and are in no log line, error or debug output.

mod channel;
mod email;
mod message;
mod settings;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpu_model::ClusterId;
use gpu_runtime::Shutdown;
use jiff::Timestamp;
use tokio::sync::mpsc::{self, error::TrySendError};
use tracing::warn;

pub use channel::ChannelRunner;
pub use message::{Item, ItemKind, Notice};
pub use settings::{ChannelError, ChannelKind, ChannelSettings, MailSecurity, Patience, read_channels};
pub use webhook::{SIGNATURE_HEADER, sign};

use super::diary::Act;

/// Notices that may wait for a channel. A channel that is dead for so long loses news, and a counter says how many.
const QUEUE: usize = 256;

/// What became of notices of one channel.
#[derive(Debug, Default)]
pub struct ChannelCounts {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

impl ChannelCounts {
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

struct Channel {
    settings: ChannelSettings,
    queue: mpsc::Sender<Arc<Notice>>,
    counts: Arc<ChannelCounts>,
}

/// All channels. Clones share them.
#[derive(Clone, Default)]
pub struct Notices {
    channels: Arc<Vec<Channel>>,
}

impl Notices {
    /// The channels and, for each, what sends its notices. Nothing is sent before the runners run.
    pub fn new(settings: Vec<ChannelSettings>) -> Result<(Self, Vec<ChannelRunner>), ChannelError> {
        let mut channels = Vec::new();
        let mut runners = Vec::new();
        for settings in settings {
            let (queue, waiting) = mpsc::channel(QUEUE);
            let counts = Arc::new(ChannelCounts::default());
            runners.push(ChannelRunner::new(&settings, waiting, Arc::clone(&counts))?);
            channels.push(Channel {
                settings,
                queue,
                counts,
            });
        }
        let notices = Self {
            channels: Arc::new(channels),
        };
        Ok((notices, runners))
    }

    /// Starts every runner as a task that ends with the shutdown.
    pub fn spawn(runners: Vec<ChannelRunner>, shutdown: &Shutdown) -> tokio::task::JoinSet<()> {
        let mut tasks = tokio::task::JoinSet::new();
        for mut runner in runners {
            let shutdown = shutdown.clone();
            tasks.spawn(async move { runner.run(&shutdown).await });
        }
        tasks
    }

    /// Groups what was carried out by owner, and gives it to every channel that wants it. Never waits.
    pub fn post_acts(&self, cluster: &ClusterId, acts: &[&Act], now: Timestamp) {
        if self.channels.is_empty() {
            return;
        }
        for notice in message::digests(cluster, acts, now) {
            self.post(&Arc::new(notice));
        }
    }

    fn post(&self, notice: &Arc<Notice>) {
        for channel in self
            .channels
            .iter()
            .filter(|channel| channel.settings.wants(notice))
        {
            match channel.queue.try_send(Arc::clone(notice)) {
                Ok(()) => {}
                Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {
                    channel.counts.dropped.fetch_add(1, Ordering::Relaxed);
                    warn!(
                        channel = channel.settings.name,
                        "dropped a notice: the channel does not keep up"
                    );
                }
            }
        }
    }

    /// The counts of a channel, by its name.
    pub fn counts(&self, name: &str) -> Option<&ChannelCounts> {
        let channel = self
            .channels
            .iter()
            .find(|channel| channel.settings.name == name)?;
        Some(&channel.counts)
    }

    /// What became of notices, by channel and result, for metrics.
    pub fn totals(&self) -> Vec<((String, &'static str), u64)> {
        let totals = self.channels.iter().flat_map(|channel| {
            let counts = &channel.counts;
            [
                ("sent", counts.sent()),
                ("failed", counts.failed()),
                ("dropped", counts.dropped()),
            ]
            .map(|(result, count)| ((channel.settings.name.clone(), result), count))
        });
        totals.collect()
    }
}
