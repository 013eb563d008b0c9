//! Webhooks: JSON of ours with a signature, and the form of Slack.

use std::path::PathBuf;

use gpu_runtime::http::client::{
    Client, ClientSettings, FetchError, HeaderName, HeaderValue, Limits, Request, Trust, Url,
};
use jiff::Timestamp;
use ring::hmac;
use serde_json::{Value, json};

use super::channel::Failure;
use super::message::{ItemKind, Notice};
use super::settings::{ChannelError, Patience, read_secret};
use crate::tell::words::cut;

/// Carries `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<t>.<body>">`.
pub const SIGNATURE_HEADER: &str = "x-gpu-autoscaler-signature";
/// The same for the same notice, so that a receiver can drop a repetition.
const ID_HEADER: &str = "x-gpu-autoscaler-notice";
/// Nobody reads the answer; the bound is for servers that send pages.
const LONGEST_ANSWER: u64 = 64 * 1024;
/// Slack refuses a longer text in a section.
const SECTION: usize = 2_900;

/// Which words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    Own { secret_file: Option<PathBuf> },
    Slack,
}

pub(super) struct Webhook {
    channel: String,
    client: Client,
    url_file: PathBuf,
    form: Form,
}

/// The value of the signature's header.
pub fn sign(secret: &str, body: &[u8], at: Timestamp) -> String {
    let second = at.as_second();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(second.to_string().as_bytes());
    context.update(b".");
    context.update(body);
    let tag: String = context
        .sign()
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("t={second},v1={tag}")
}

impl Webhook {
    pub(super) fn new(
        channel: &str,
        url_file: PathBuf,
        form: Form,
        ca_file: Option<PathBuf>,
    ) -> Result<Self, ChannelError> {
        let settings = ClientSettings {
            trust: ca_file.map_or(Trust::System, Trust::CaFile),
            ..ClientSettings::default()
        };
        let client = Client::new(settings).map_err(|error| ChannelError::Certificates {
            channel: channel.to_owned(),
            source: Box::new(error),
        })?;
        let webhook = Self {
            channel: channel.to_owned(),
            client,
            url_file,
            form,
        };
        // A wrong file is said at the start, not when the first notice fails.
        webhook.url()?;
        if let Form::Own {
            secret_file: Some(file),
        } = &webhook.form
        {
            read_secret(channel, file)?;
        }
        Ok(webhook)
    }

    fn url(&self) -> Result<Url, ChannelError> {
        let text = read_secret(&self.channel, &self.url_file)?;
        let url = Url::parse(text.expose()).ok();
        url.filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| ChannelError::Address {
                channel: self.channel.clone(),
                path: self.url_file.clone(),
            })
    }

    pub(super) async fn send(&self, notice: &Notice, patience: Patience) -> Result<(), Failure> {
        let url = self.url().map_err(|error| Failure::passing(error.to_string()))?;
        let request = self.request(url, notice)?;
        let limits = Limits::new(patience.attempt(), LONGEST_ANSWER);
        let answer = self.client.fetch(request, limits).await;
        let answer = answer.and_then(|answer| answer.success());
        answer.map(|_| ()).map_err(|error| failure(&error))
    }

    fn request(&self, url: Url, notice: &Notice) -> Result<Request, Failure> {
        let body = match &self.form {
            Form::Own { .. } => {
                serde_json::to_value(notice).map_err(|error| Failure::lasting(error.to_string()))?
            }
            Form::Slack => slack(notice),
        };
        let body = body.to_string().into_bytes();
        // The path is the secret of most webhooks.
        let mut request = Request::post(url, "application/json", body.clone()).hide_path();
        if let Ok(id) = HeaderValue::from_str(&notice.id) {
            request = request.header(HeaderName::from_static(ID_HEADER), id);
        }
        if let Form::Own {
            secret_file: Some(file),
        } = &self.form
        {
            let secret =
                read_secret(&self.channel, file).map_err(|error| Failure::passing(error.to_string()))?;
            if let Ok(value) = HeaderValue::from_str(&sign(secret.expose(), &body, notice.at)) {
                request = request.header(HeaderName::from_static(SIGNATURE_HEADER), value);
            }
        }
        Ok(request)
    }
}

/// What an error means, in words without addresses.
fn failure(error: &FetchError) -> Failure {
    match error.status_code() {
        // Asking again would get the same answer: the address or the body is wrong.
        Some(status) if status.is_client_error() && !matches!(status.as_u16(), 408 | 425 | 429) => {
            Failure::lasting(format!("status {}", status.as_u16()))
        }
        Some(status) => Failure::passing(format!("status {}", status.as_u16())),
        None => Failure::passing(error.class().to_owned()),
    }
}

/// Slack's form: a text for notifications, and blocks for the eye.
fn slack(notice: &Notice) -> Value {
    let headline = escaped(&notice.headline());
    let mut blocks = vec![json!({
        "type": "section",
        "text": {"type": "mrkdwn", "text": cut(&format!("*{headline}*"), SECTION)},
    })];
    for item in &notice.items {
        let sign = match item.kind {
            ItemKind::Detected => ":warning:",
            ItemKind::Resolved => ":white_check_mark:",
        };
        let text = format!("{sign} `{}`\n{}", escaped(&item.subject), escaped(&item.text));
        blocks.push(json!({"type": "section", "text": {"type": "mrkdwn", "text": cut(&text, SECTION)}}));
    }
    if notice.omitted > 0 {
        let more = format!("{} more are not listed.", notice.omitted);
        blocks.push(json!({"type": "context", "elements": [{"type": "mrkdwn", "text": more}]}));
    }
    json!({"text": headline, "blocks": blocks})
}

/// The three characters with a meaning in Slack's text: unescaped, a pod's name could mention everybody.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    //! Signatures and escapes.

    use super::*;

    #[test]
    fn a_signature_is_over_the_time_and_the_body() {
        let at: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        // As another program has it: printf '1772323200.{}' | openssl dgst -sha256 -hmac key
        let expected = "9a232b96f1d8662613e323603742a10b9ec8dbd823fcddfb742d8efbe983fcdb";
        assert_eq!(sign("key", b"{}", at), format!("t=1772323200,v1={expected}"));
        assert_ne!(sign("key", b"{}", at), sign("other", b"{}", at));
        assert_ne!(sign("key", b"{}", at), sign("key", b"{ }", at));
    }

    #[test]
    fn nobody_is_mentioned_by_a_name() {
        assert_eq!(escaped("<!channel> & co"), "&lt;!channel&gt; &amp; co");
    }
}
