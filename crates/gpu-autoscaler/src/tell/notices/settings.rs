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

/// The document that lists the channels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    channels: Vec<ChannelSettings>,
}

/// Reads a YAML document with a list `channels`. Names of files in it are taken from `base` on, so that one mounted Secret can hold the
/// list and all that it names.
pub fn read_channels(text: &str, base: &Path) -> Result<Vec<ChannelSettings>, serde_saphyr::Error> {
    let mut document: Document = serde_saphyr::from_str(text)?;
    for channel in &mut document.channels {
        for file in channel.kind.files() {
            *file = base.join(&*file);
        }
    }
    Ok(document.channels)
}

impl ChannelKind {
    fn files(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Webhook {
                url_file,
                secret_file,
                ca_file,
            } => {
                let mut files = vec![url_file];
                files.extend(secret_file.iter_mut().chain(ca_file));
                files
            }
            Self::Slack { url_file, ca_file } => {
                let mut files = vec![url_file];
                files.extend(ca_file);
                files
            }
            Self::Email {
                password_file,
                ca_file,
                ..
            } => password_file.iter_mut().chain(ca_file).collect(),
        }
    }
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

#[cfg(test)]
mod tests {
    //! The document of channels.

    use super::*;

    #[test]
    fn a_document_lists_channels_and_the_files_beside_it() {
        let text = "
channels:
  - name: team-chat
    kind: slack
    urlFile: team-chat-url
    namespaces: [ml, research]
  - name: alerts
    kind: webhook
    urlFile: /elsewhere/url
    secretFile: alerts-key
    atLeastMonthly: 100000000000
    patience: { attempts: 2 }
  - name: mail
    kind: email
    host: mail.example.org
    port: 465
    security: start-tls
    from: gpus@example.org
    to: [team@example.org]
    user: gpus
    passwordFile: mail-password
";
        let channels = read_channels(text, Path::new("/etc/notices")).unwrap();
        let chat = ChannelKind::Slack {
            url_file: "/etc/notices/team-chat-url".into(),
            ca_file: None,
        };
        assert_eq!(channels[0].kind, chat);
        assert_eq!(channels[0].namespaces, ["ml", "research"]);
        let alerts = ChannelKind::Webhook {
            url_file: "/elsewhere/url".into(),
            secret_file: Some("/etc/notices/alerts-key".into()),
            ca_file: None,
        };
        assert_eq!(channels[1].kind, alerts);
        assert_eq!(channels[1].at_least_monthly, Some(NanoUsd(100_000_000_000)));
        assert_eq!(
            (
                channels[1].patience.attempts,
                channels[1].patience.attempt_seconds
            ),
            (2, 10)
        );
        assert!(matches!(
            channels[2].kind,
            ChannelKind::Email {
                security: MailSecurity::StartTls,
                port: 465,
                ..
            }
        ));
        assert!(read_channels("channels: [{name: x, kind: pigeon}]", Path::new("/")).is_err());
        assert!(read_channels("chanels: []", Path::new("/")).is_err());
    }
}
