//! Notices against servers on loopback: what they get, what a dead one costs, and what no log says.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use gpu_autoscaler::tell::diary::{About, Act, ActKind, Entry};
use gpu_autoscaler::tell::notices::{
    ChannelKind, ChannelSettings, MailSecurity, Notices, Patience, SIGNATURE_HEADER, sign,
};
use gpu_runtime::Shutdown;
use gpu_testbed::eventually;
use gpu_testbed::pki::Authority;
use gpu_waste::{Cause, FindingId};
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

const SOON: Duration = Duration::from_secs(20);
const PATH_SECRET: &str = "T0000-B0000-pathsecret";
const SIGNING_SECRET: &str = "signing-secret-4711";
const PASSWORD: &str = "mail-password-0815";

/// Header and body.
type Got = (HeaderMap, Vec<u8>);

/// What a server got.
#[derive(Clone, Default)]
struct Inbox {
    got: Arc<Mutex<Vec<Got>>>,
    /// Answers of failure before the first success.
    refuse: Arc<Mutex<u32>>,
}

async fn take(State(inbox): State<Inbox>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut refuse = inbox.refuse.lock().unwrap();
    if *refuse > 0 {
        *refuse -= 1;
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    inbox.got.lock().unwrap().push((headers, body.to_vec()));
    StatusCode::OK
}

async fn web_server(inbox: Inbox) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().fallback(take).with_state(inbox);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(format!("http://{address}/hooks/{PATH_SECRET}"))
}

/// Takes one mail over a connection, as a small mail server would.
async fn take_mail(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    mails: Arc<Mutex<Vec<String>>>,
) -> anyhow::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 sink\r\n").await?;
    stream.flush().await?;
    let mut talk = String::new();
    let mut in_data = false;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            break;
        }
        talk.push_str(&line);
        let word = line.trim_end();
        let answer = if in_data {
            if word != "." {
                continue;
            }
            in_data = false;
            mails.lock().unwrap().push(std::mem::take(&mut talk));
            "250 taken"
        } else if word.starts_with("EHLO") {
            "250-sink\r\n250 AUTH PLAIN"
        } else if word.starts_with("DATA") {
            in_data = true;
            "354 go on"
        } else if word.starts_with("AUTH") {
            "235 welcome"
        } else {
            "250 ok"
        };
        stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
        stream.flush().await?;
        if word.starts_with("QUIT") {
            break;
        }
    }
    Ok(())
}

/// A mail server that speaks TLS from the first byte; answers with its port.
async fn mail_server(authority: &Authority, mails: Arc<Mutex<Vec<String>>>) -> anyhow::Result<u16> {
    let identity = authority.server(&["localhost"])?;
    let certificates =
        CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                let _ = take_mail(stream, Arc::clone(&mails)).await;
            }
        }
    });
    Ok(port)
}

fn act(pod: &str, kind: ActKind) -> Act {
    let since: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    Act {
        kind,
        entry: Entry {
            id: FindingId(format!("held-idle/pod/ml/{pod}")),
            cause: Cause::HeldIdle,
            about: About::Pod {
                namespace: "ml".to_owned(),
                name: pod.to_owned(),
                uid: None,
                workload: None,
            },
            since,
            last_seen_at: since,
            told_at: Some(since),
            last_told_at: Some(since),
            times: 1,
            monthly: Some(gpu_model::NanoUsd(1_500_000_000_000)),
            held: 1,
            after: None,
            held_after: 1,
            well_since: None,
        },
        finding: None,
    }
}

fn channel(name: &str, kind: ChannelKind) -> ChannelSettings {
    ChannelSettings {
        name: name.to_owned(),
        kind,
        namespaces: Vec::new(),
        at_least_monthly: None,
        patience: Patience {
            attempts: 4,
            first_pause_milliseconds: 20,
            attempt_seconds: 5,
            deadline_seconds: 20,
        },
    }
}

/// A writer of logs that keeps them.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The servers, and the channels that lead to them and to nobody.
struct Town {
    web: Inbox,
    chat: Inbox,
    mails: Arc<Mutex<Vec<String>>>,
    directory: TempDir,
    authority: Authority,
}

impl Town {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            web: Inbox::default(),
            chat: Inbox::default(),
            mails: Arc::default(),
            directory: TempDir::new()?,
            authority: Authority::new("notices")?,
        })
    }

    fn file(&self, name: &str, text: &str) -> anyhow::Result<std::path::PathBuf> {
        let path = self.directory.path().join(name);
        std::fs::write(&path, format!("{text}\n"))?;
        Ok(path)
    }

    async fn channels(&self) -> anyhow::Result<Vec<ChannelSettings>> {
        let port = mail_server(&self.authority, Arc::clone(&self.mails)).await?;
        let dead = {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            format!("http://{}/{PATH_SECRET}", listener.local_addr()?)
        };
        let slack = |url_file| ChannelKind::Slack {
            url_file,
            ca_file: None,
        };
        let web = ChannelKind::Webhook {
            url_file: self.file("web", &web_server(self.web.clone()).await?)?,
            secret_file: Some(self.file("signing", SIGNING_SECRET)?),
            ca_file: None,
        };
        let mail = ChannelKind::Email {
            host: "localhost".to_owned(),
            port,
            security: MailSecurity::Tls,
            from: "GPU autoscaler <gpus@example.org>".to_owned(),
            to: vec!["team@example.org".to_owned()],
            user: Some("gpus".to_owned()),
            password_file: Some(self.file("password", PASSWORD)?),
            ca_file: Some(self.file("ca", &self.authority.certificate())?),
        };
        Ok(vec![
            channel("dead", slack(self.file("dead", &dead)?)),
            channel("web", web),
            channel(
                "chat",
                slack(self.file("chat", &web_server(self.chat.clone()).await?)?),
            ),
            channel("mail", mail),
        ])
    }

    /// Everything that was received is right.
    fn check(&self) -> anyhow::Result<()> {
        for (headers, body) in self.web.got.lock().unwrap().iter() {
            let notice: Value = serde_json::from_slice(body)?;
            let expected = sign(SIGNING_SECRET, body, notice["at"].as_str().unwrap().parse()?);
            assert_eq!(headers[SIGNATURE_HEADER], expected.as_str());
            assert_eq!(notice["cluster"], "blue");
            assert_eq!(notice["items"][0]["monthlyNanoUsd"], 1_500_000_000_000_i64);
        }
        let chats = self.chat.got.lock().unwrap().clone();
        let chats: Vec<Value> = chats
            .iter()
            .map(|(_, body)| serde_json::from_slice(body).unwrap())
            .collect();
        let texts: Vec<&str> = chats.iter().filter_map(|chat| chat["text"].as_str()).collect();
        assert!(texts.iter().any(|text| text.contains("&lt;b&gt;")), "{texts:?}");
        assert!(
            chats
                .iter()
                .all(|chat| chat["blocks"][1]["text"]["type"] == "mrkdwn")
        );
        let mails = self.mails.lock().unwrap();
        let mut to_team = mails
            .iter()
            .filter(|mail| mail.contains("RCPT TO:<team@example.org>"));
        assert!(to_team.any(|mail| mail.contains("held-idle")));
        Ok(())
    }
}

// One thread, so that the log of this test is all that its tasks say.
#[tokio::test]
async fn every_channel_gets_its_notice_a_dead_one_holds_up_nobody_and_no_log_has_a_secret()
-> anyhow::Result<()> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let town = Town::new()?;
    // The first two tries fail, as with a server that restarts.
    *town.web.refuse.lock().unwrap() = 2;
    let (notices, runners) = Notices::new(town.channels().await?)?;
    let shutdown = Shutdown::new();
    let mut tasks = Notices::spawn(runners, &shutdown);
    let acts = [
        act("a", ActKind::Tell),
        act("<b>", ActKind::Tell),
        act("c", ActKind::Repeat),
    ];
    let acts: Vec<&Act> = acts.iter().collect();
    notices.post_acts(&"blue".parse()?, &acts, "2026-03-01T12:40:00Z".parse()?);
    let count = |name: &str| notices.counts(name).unwrap();
    eventually(
        "the living have theirs, and the dead one is given up",
        SOON,
        || async {
            let sent = ["web", "chat", "mail"].iter().all(|name| count(name).sent() == 2);
            Ok((sent && count("dead").failed() == 2).then_some(()))
        },
    )
    .await?;
    town.check()?;

    shutdown.trigger();
    while tasks.join_next().await.is_some() {}
    let log = String::from_utf8(log.0.lock().unwrap().clone())?;
    assert!(log.contains("gave a notice up"), "the log is really read");
    for secret in [PATH_SECRET, SIGNING_SECRET, PASSWORD] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    Ok(())
}

#[test]
fn a_channel_that_cannot_work_is_refused_in_words_without_its_secret() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("url");
    std::fs::write(&path, PATH_SECRET).unwrap();
    let bad = channel(
        "chat",
        ChannelKind::Slack {
            url_file: path,
            ca_file: None,
        },
    );
    let error = Notices::new(vec![bad]).err().unwrap().to_string();
    assert!(
        error.contains("`chat`") && !error.contains(PATH_SECRET),
        "{error}"
    );
    let clear = ChannelKind::Email {
        host: "localhost".to_owned(),
        port: 25,
        security: MailSecurity::None,
        from: "a@example.org".to_owned(),
        to: vec!["b@example.org".to_owned()],
        user: Some("u".to_owned()),
        password_file: Some("/nowhere".into()),
        ca_file: None,
    };
    let error = Notices::new(vec![channel("mail", clear)])
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("in the clear"), "{error}");
}

#[test]
fn a_queue_that_is_full_drops_and_counts_and_never_waits() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("url");
    std::fs::write(&path, "http://127.0.0.1:9/x").unwrap();
    let one = channel(
        "chat",
        ChannelKind::Slack {
            url_file: path,
            ca_file: None,
        },
    );
    // Nobody runs the channel.
    let (notices, _runners) = Notices::new(vec![one]).unwrap();
    let acts: Vec<Act> = (0..300)
        .map(|number| act(&format!("p{number}"), ActKind::Tell))
        .collect();
    let acts: Vec<&Act> = acts.iter().collect();
    notices.post_acts(
        &"blue".parse().unwrap(),
        &acts,
        "2026-03-01T12:40:00Z".parse().unwrap(),
    );
    assert_eq!(notices.counts("chat").unwrap().dropped(), 300 - 256);
}
