//! What sends the notices of one channel: one after the other, each within its patience.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gpu_runtime::Shutdown;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use super::ChannelCounts;
use super::email::{Mail, MailSettings};
use super::message::Notice;
use super::settings::{ChannelError, ChannelKind, ChannelSettings, Patience};
use super::webhook::{Form, Webhook};

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Why a sending failed, in words without secrets.
#[derive(Debug)]
pub(super) struct Failure {
    words: String,
    /// Whether another attempt would fail alike.
    is_lasting: bool,
}

impl Failure {
    pub(super) fn passing(words: String) -> Self {
        Self {
            words,
            is_lasting: false,
        }
    }

    pub(super) fn lasting(words: String) -> Self {
        Self {
            words,
            is_lasting: true,
        }
    }
}

enum Way {
    Webhook(Webhook),
    Mail(Box<Mail>),
}

/// Sends the notices of one channel.
pub struct ChannelRunner {
    name: String,
    way: Way,
    patience: Patience,
    waiting: mpsc::Receiver<Arc<Notice>>,
    counts: Arc<ChannelCounts>,
}

impl ChannelRunner {
    pub(super) fn new(
        settings: &ChannelSettings,
        waiting: mpsc::Receiver<Arc<Notice>>,
        counts: Arc<ChannelCounts>,
    ) -> Result<Self, ChannelError> {
        let name = settings.name.clone();
        let way = match settings.kind.clone() {
            ChannelKind::Webhook {
                url_file,
                secret_file,
                ca_file,
            } => Way::Webhook(Webhook::new(&name, url_file, Form::Own { secret_file }, ca_file)?),
            ChannelKind::Slack { url_file, ca_file } => {
                Way::Webhook(Webhook::new(&name, url_file, Form::Slack, ca_file)?)
            }
            ChannelKind::Email {
                host,
                port,
                security,
                from,
                to,
                user,
                password_file,
                ca_file,
            } => {
                let settings = MailSettings {
                    host,
                    port,
                    security,
                    from,
                    to,
                    user,
                    password_file,
                    ca_file,
                };
                Way::Mail(Box::new(Mail::new(&name, settings)?))
            }
        };
        Ok(Self {
            name,
            way,
            patience: settings.patience,
            waiting,
            counts,
        })
    }

    /// Sends until the shutdown, or until nobody can post any more.
    pub async fn run(&mut self, shutdown: &Shutdown) {
        loop {
            let notice = tokio::select! {
                () = shutdown.triggered() => return,
                notice = self.waiting.recv() => match notice {
                    Some(notice) => notice,
                    None => return,
                },
            };
            tokio::select! {
                () = shutdown.triggered() => return,
                sent = self.deliver(&notice) => self.note(&notice, sent),
            }
        }
    }

    fn note(&self, notice: &Notice, sent: Result<(), Failure>) {
        match sent {
            Ok(()) => {
                self.counts.sent.fetch_add(1, Ordering::Relaxed);
                debug!(channel = self.name, notice = notice.id, "sent a notice");
            }
            Err(failure) => {
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
                warn!(
                    channel = self.name,
                    notice = notice.id,
                    why = failure.words,
                    "gave a notice up"
                );
            }
        }
    }

    async fn deliver(&self, notice: &Notice) -> Result<(), Failure> {
        let deadline = Instant::now() + self.patience.deadline();
        let mut pause = self.patience.first_pause();
        let mut attempt = 1;
        loop {
            let failure = match timeout(self.patience.attempt(), self.send(notice)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::passing("timeout".to_owned()),
            };
            let is_last = attempt >= self.patience.attempts || Instant::now() + pause >= deadline;
            if failure.is_lasting || is_last {
                return Err(failure);
            }
            debug!(
                channel = self.name,
                attempt,
                why = failure.words,
                "a notice failed; it is tried again"
            );
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            attempt += 1;
        }
    }

    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        match &self.way {
            Way::Webhook(webhook) => webhook.send(notice, self.patience).await,
            Way::Mail(mail) => mail.send(notice, self.patience).await,
        }
    }
}
