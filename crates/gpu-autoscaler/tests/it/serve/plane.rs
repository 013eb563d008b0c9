//! The running control plane, and the commands that people run against it.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use gpu_testbed::Fleet;
use gpu_testbed::fleet::TestNamespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::program::program;

/// A start with a busy machine, a sync of the watches and a lease that has to run out.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// The settings of a control plane whose times are short enough for a test.
pub(super) fn shortened(targets: &[SocketAddr]) -> Vec<String> {
    let mut settings: Vec<String> = [
        "--analysis-interval=1s",
        "--analysis-window=10s",
        "--waste-after=4s",
        "--warm-up=4s",
        "--event-after=5s",
        "--money-floor=0",
        "--exporter-service=gpu-monitoring/none",
    ]
    .map(str::to_owned)
    .into();
    if !targets.is_empty() {
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        settings.push(format!("--targets={}", targets.join(",")));
    }
    settings
}

pub(super) struct Plane {
    child: Child,
    pub(super) address: SocketAddr,
    kubeconfig: Option<String>,
    _store: tempfile::TempDir,
}

impl Plane {
    /// Starts a replica in a namespace of the fleet.
    pub(super) async fn start(
        fleet: &Fleet,
        namespace: &TestNamespace,
        settings: &[String],
    ) -> anyhow::Result<Self> {
        let mut all = settings.to_vec();
        all.push(format!("--namespace={}", namespace.name()));
        Self::spawn(Some(fleet.kubeconfig().display().to_string()), &all).await
    }

    /// Starts a replica under an account of its own.
    pub(super) async fn with_kubeconfig(kubeconfig: String, settings: &[String]) -> anyhow::Result<Self> {
        Self::spawn(Some(kubeconfig), settings).await
    }

    /// Starts one that knows of no cluster.
    pub(super) async fn alone(settings: &[String]) -> anyhow::Result<Self> {
        Self::spawn(None, settings).await
    }

    async fn spawn(kubeconfig: Option<String>, settings: &[String]) -> anyhow::Result<Self> {
        let store = tempfile::tempdir()?;
        let mut command = Command::from(program());
        command
            .kill_on_drop(true)
            .args(["--log-level=info", "serve", "--listen=127.0.0.1:0"]);
        if !settings.iter().any(|setting| setting.starts_with("--store=")) {
            command.arg(format!(
                "--store=sqlite:{}",
                store.path().join("ledger.db").display()
            ));
        }
        match &kubeconfig {
            Some(path) => command.env("KUBECONFIG", path),
            None => command.env_remove("KUBECONFIG"),
        };
        let mut child = command
            .args(settings)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().context("it is piped")?).lines();
        let (told, mut log) = tokio::sync::mpsc::channel(1_000);
        tokio::spawn(async move {
            while let Ok(Some(line)) = stderr.next_line().await {
                eprintln!("serve: {line}");
                let _ = told.try_send(line);
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().context("it is piped")?).lines();
        let line = tokio::time::timeout(STARTS_WITHIN, stdout.next_line())
            .await
            .context("it did not start")??;
        let Some(line) = line else {
            let mut words = Vec::new();
            while let Ok(Some(line)) = tokio::time::timeout(Duration::from_secs(1), log.recv()).await {
                words.push(line);
            }
            bail!("the control plane ended: {}", words.join("\n"));
        };
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address.context("it says where it serves")?.parse()?;
        tokio::spawn(async move { while let Ok(Some(_)) = stdout.next_line().await {} });
        Ok(Self {
            child,
            address,
            kubeconfig,
            _store: store,
        })
    }

    /// The process dies without a word.
    pub(super) fn kill(&self) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Status and body of a page.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let mut stream = tokio::net::TcpStream::connect(self.address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut answer)).await??;
        let status = answer
            .split(' ')
            .nth(1)
            .context("an answer has a status")?
            .parse()?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a head")?;
        anyhow::ensure!(!head.contains("chunked"), "the test reads no chunks");
        Ok((status, body.to_owned()))
    }

    pub(super) async fn json(&self, path: &str) -> anyhow::Result<Value> {
        let (status, body) = self.get(path).await?;
        if status != 200 {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_str(&body)?)
    }

    pub(super) async fn waste(&self) -> anyhow::Result<Value> {
        self.json("/api/v1/waste").await
    }

    pub(super) async fn status(&self) -> anyhow::Result<Value> {
        self.json("/api/v1/status").await
    }

    /// Runs a command of the program as a person would.
    pub(super) async fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::from(program());
        command.args(args);
        if !["pause", "resume"].contains(&args[0]) {
            command.args(["--server", &self.address.to_string()]);
        }
        if let Some(path) = &self.kubeconfig {
            command.env("KUBECONFIG", path);
        }
        let output = command.output().await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!(
                "{} {}{text}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(text)
    }
}
