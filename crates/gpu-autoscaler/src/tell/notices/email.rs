//! Mail over SMTP.

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::channel::Failure;
use super::message::Notice;
use super::settings::{ChannelError, MailSecurity, Patience, read_secret};

pub(super) struct Mail {
    channel: String,
    host: String,
    port: u16,
    tls: Option<(MailSecurity, TlsParameters)>,
    from: Mailbox,
    to: Vec<Mailbox>,
    credentials: Option<(String, PathBuf)>,
}

/// What the settings say of a mail channel.
pub(super) struct MailSettings {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: MailSecurity,
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) ca_file: Option<PathBuf>,
}

impl Mail {
    pub(super) fn new(channel: &str, settings: MailSettings) -> Result<Self, ChannelError> {
        let mailbox = |address: &String| {
            address.parse::<Mailbox>().map_err(|_| ChannelError::Mailbox {
                channel: channel.to_owned(),
                address: address.clone(),
            })
        };
        if settings.to.is_empty() {
            return Err(ChannelError::Nobody {
                channel: channel.to_owned(),
            });
        }
        let credentials = settings.user.zip(settings.password_file);
        if settings.security == MailSecurity::None && credentials.is_some() {
            return Err(ChannelError::InTheClear {
                channel: channel.to_owned(),
            });
        }
        if let Some((_, file)) = &credentials {
            read_secret(channel, file)?;
        }
        let tls = match settings.security {
            MailSecurity::None => None,
            security => Some((security, tls(channel, &settings.host, settings.ca_file)?)),
        };
        Ok(Self {
            channel: channel.to_owned(),
            port: settings.port,
            tls,
            from: mailbox(&settings.from)?,
            to: settings.to.iter().map(mailbox).collect::<Result<_, _>>()?,
            credentials,
            host: settings.host,
        })
    }

    pub(super) async fn send(&self, notice: &Notice, patience: Patience) -> Result<(), Failure> {
        let message = self.message(notice)?;
        let transport = self.transport(patience.attempt())?;
        let sent = transport.send(message).await;
        sent.map(|_| ()).map_err(|error| {
            // The library's words hold the server's answer, and a server may say back what it was sent.
            let word = match error.status() {
                Some(code) => format!("SMTP status {code}"),
                None if error.is_timeout() => "timeout".to_owned(),
                None if error.is_tls() => "tls".to_owned(),
                None => "connection".to_owned(),
            };
            if error.is_permanent() {
                Failure::lasting(word)
            } else {
                Failure::passing(word)
            }
        })
    }

    fn message(&self, notice: &Notice) -> Result<Message, Failure> {
        let mut builder = Message::builder()
            .from(self.from.clone())
            .subject(notice.headline())
            .header(ContentType::TEXT_PLAIN)
            .message_id(Some(format!("<{}@gpu-autoscaler>", notice.id)));
        for to in &self.to {
            builder = builder.to(to.clone());
        }
        builder
            .body(notice.plain())
            .map_err(|_| Failure::lasting("the message cannot be written".to_owned()))
    }

    fn transport(&self, within: Duration) -> Result<AsyncSmtpTransport<Tokio1Executor>, Failure> {
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&self.host)
            .port(self.port)
            .timeout(Some(within));
        builder = match &self.tls {
            None => builder.tls(Tls::None),
            Some((MailSecurity::Tls, parameters)) => builder.tls(Tls::Wrapper(parameters.clone())),
            // Required, not opportunistic: somebody on the way could take the offer of TLS away.
            Some((_, parameters)) => builder.tls(Tls::Required(parameters.clone())),
        };
        if let Some((user, file)) = &self.credentials {
            let password =
                read_secret(&self.channel, file).map_err(|error| Failure::passing(error.to_string()))?;
            builder = builder.credentials(Credentials::new(user.clone(), password.expose().to_owned()));
        }
        Ok(builder.build())
    }
}

fn tls(channel: &str, host: &str, ca_file: Option<PathBuf>) -> Result<TlsParameters, ChannelError> {
    let wrong = |source: Box<dyn std::error::Error + Send + Sync>| ChannelError::Certificates {
        channel: channel.to_owned(),
        source,
    };
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(path) = ca_file {
        let pem = read_secret(channel, &path)?;
        let certificate =
            Certificate::from_pem(pem.expose().as_bytes()).map_err(|error| wrong(Box::new(error)))?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().map_err(|error| wrong(Box::new(error)))
}
