//! What an operator says about channels.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gpu_model::NanoUsd;
use gpu_runtime::http::client::Secret;
use serde::Deserialize;

use super::message::Notice;

/// One channel, as it stands in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSettings {
    /// For logs and metrics.
    pub name: String,
    #[serde(flatten)]
    pub kind: ChannelKind,
    /// Only notices about these namespaces; all where it is empty.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Only notices that waste at least so many billionths of a dollar a month, or whose price is not known.
    #[serde(default)]
    pub at_least_monthly: Option<NanoUsd>,
    #[serde(default)]
    pub patience: Patience,
}

/// Where notices go.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum ChannelKind {
    /// JSON, signed where a secret is given.
    #[serde(rename_all = "camelCase")]
    Webhook {
        /// A file that holds the address: addresses of webhooks are secrets.
        url_file: PathBuf,
        secret_file: Option<PathBuf>,
        /// Certificates to believe, in PEM; those of the machine where it is not given.
        ca_file: Option<PathBuf>,
    },
    /// Slack's incoming webhooks, and what speaks like them.
    #[serde(rename_all = "camelCase")]
    Slack {
        url_file: PathBuf,
        ca_file: Option<PathBuf>,
    },
    #[serde(rename_all = "camelCase")]
    Email {
        host: String,
        port: u16,
        security: MailSecurity,
        from: String,
        to: Vec<String>,
        user: Option<String>,
        password_file: Option<PathBuf>,
        ca_file: Option<PathBuf>,
    },
}

/// How the connection to a mail server is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailSecurity {
    /// TLS from the first byte, usually on port 465.
    Tls,
    /// TLS after `STARTTLS`, usually on port 587. Without it nothing is sent.
    StartTls,
    /// In the clear, for a relay on the same machine. No password is ever sent this way.
    None,
}

/// How long a channel tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Patience {
    pub attempts: u32,
    pub first_pause_milliseconds: u64,
    pub attempt_seconds: u64,
    /// For one notice, all attempts together.
    pub deadline_seconds: u64,
}

impl Default for Patience {
    /// Six attempts over some two minutes: rides out a restart of the other side.
    fn default() -> Self {
        Self {
            attempts: 6,
            first_pause_milliseconds: 2_000,
            attempt_seconds: 10,
            deadline_seconds: 300,
        }
    }
}

impl Patience {
    pub(super) fn first_pause(self) -> Duration {
        Duration::from_millis(self.first_pause_milliseconds)
    }

    pub(super) fn attempt(self) -> Duration {
        Duration::from_secs(self.attempt_seconds)
    }

    pub(super) fn deadline(self) -> Duration {
        Duration::from_secs(self.deadline_seconds)
    }
}

/// Why a channel cannot be used. Nothing secret is in it.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("failed to read `{path}` of the channel `{channel}`")]
    Read {
        channel: String,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "`{path}` of the channel `{channel}` holds no address of a web page: one line that begins with https:// or http://"
    )]
    Address { channel: String, path: PathBuf },
    #[error("the mail address `{address}` of the channel `{channel}` is none")]
    Mailbox { channel: String, address: String },
    #[error("the channel `{channel}` has no one to send to: give `to`")]
    Nobody { channel: String },
    #[error(
        "the channel `{channel}` would send a password in the clear: use `tls` or `start-tls`, or no password"
    )]
    InTheClear { channel: String },
    #[error("the certificates of the channel `{channel}` cannot be used")]
    Certificates {
        channel: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ChannelSettings {
    pub(super) fn wants(&self, notice: &Notice) -> bool {
        let is_named = self.namespaces.is_empty()
            || notice
                .namespace
                .as_ref()
                .is_some_and(|namespace| self.namespaces.contains(namespace));
        let is_enough = match (self.at_least_monthly, notice.monthly) {
            (Some(least), Some(monthly)) => monthly >= least,
            (None, _) | (_, None) => true,
        };
        is_named && is_enough
    }
}

/// A file holds a secret of some hundred bytes; more is the wrong file.
const LONGEST_SECRET: usize = 64 * 1024;

/// Reads a secret. It is read each time it is needed, so that a changed one needs no restart.
pub(super) fn read_secret(channel: &str, path: &Path) -> Result<Secret, ChannelError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|source| ChannelError::Read {
        channel: channel.to_owned(),
        path: path.to_owned(),
        source,
    })?;
    let text = text.trim();
    if text.len() > LONGEST_SECRET {
        return Err(ChannelError::Address {
            channel: channel.to_owned(),
            path: path.to_owned(),
        });
    }
    Ok(Secret::new(text))
}
