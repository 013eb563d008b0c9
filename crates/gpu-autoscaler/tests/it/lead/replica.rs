//! A replica in a process of its own: this test program, started again. It stands for election and writes one object a term.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::Context as _;
use gpu_autoscaler::lead::{
    Change, Election, ElectionSettings, Leadership, LeaseTimes, Mode, PauseWatch, StoreKind, WriteKind,
    WriteLimits, Writer, client_for_writes,
};
use gpu_runtime::{Shutdown, SystemClock};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// The plan of a replica that runs as a child.
const PLAN: &str = "GPU_AUTOSCALER_TEST_REPLICA";
pub(crate) const LEASE: &str = "gpu-autoscaler";

/// What a replica is told.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) namespace: String,
    pub(crate) identity: String,
    pub(crate) store: StoreKind,
    pub(crate) times: LeaseTimes,
    /// `create` makes an object whose name is the term's, `create-once` one of the same name in every term, `patch` changes one that
    /// is there.
    pub(crate) act: &'static str,
}

impl Plan {
    pub(crate) fn settings(&self) -> ElectionSettings {
        ElectionSettings {
            namespace: self.namespace.clone(),
            lease: LEASE.to_owned(),
            identity: self.identity.clone(),
            times: self.times,
            store: self.store,
        }
    }

    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(client_for_writes(config)?)
    }

    fn to_json(&self) -> Value {
        let times = [self.times.lease, self.times.renew_deadline, self.times.retry];
        json!({
            "kubeconfig": self.kubeconfig,
            "namespace": self.namespace,
            "identity": self.identity,
            "store": self.store.as_str(),
            "times": times.map(|time| u64::try_from(time.as_millis()).unwrap_or(0)),
            "act": self.act,
        })
    }

    fn from_json(plan: &Value) -> Option<Self> {
        let time = |index: usize| Some(Duration::from_millis(plan["times"][index].as_u64()?));
        let text = |name: &str| plan[name].as_str().map(str::to_owned);
        Some(Self {
            kubeconfig: text("kubeconfig")?.into(),
            namespace: text("namespace")?,
            identity: text("identity")?,
            store: text("store")?.parse().ok()?,
            times: LeaseTimes {
                lease: time(0)?,
                renew_deadline: time(1)?,
                retry: time(2)?,
            },
            act: ["create", "create-once", "patch"]
                .into_iter()
                .find(|act| plan["act"] == *act)?,
        })
    }
}

/// Replicas that share this process with the test.
pub(crate) struct Replica {
    pub(crate) leadership: Leadership,
    pub(crate) writer: Writer,
    pub(crate) pause: PauseWatch,
    pub(crate) shutdown: Shutdown,
    pub(crate) election: tokio::task::JoinHandle<Result<(), gpu_autoscaler::lead::ElectionError>>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.election.abort();
    }
}

/// Starts a replica on the runtime of the caller.
pub(crate) async fn start(plan: &Plan, mode: Mode) -> anyhow::Result<Replica> {
    let client = plan.client().await?;
    let (election, leadership) = Election::new(client.clone(), plan.settings(), Arc::new(SystemClock))?;
    let pause = PauseWatch::new(Arc::new(SystemClock), Duration::from_millis(500));
    let shutdown = Shutdown::new();
    let writer = Writer::new(
        client.clone(),
        leadership.clone(),
        pause.clone(),
        mode,
        WriteLimits::default(),
    );
    let (stop, watch, namespace) = (shutdown.clone(), pause.clone(), plan.namespace.clone());
    let election = tokio::spawn(async move {
        tokio::select! {
            outcome = election.run(&stop) => outcome,
            () = async { watch.run(&client, &namespace, &stop).await; std::future::pending().await } => Ok(()),
        }
    });
    Ok(Replica {
        leadership,
        writer,
        pause,
        shutdown,
        election,
    })
}

/// The change that a replica makes in its term.
pub(crate) async fn change(plan: &Plan, client: Client, term: u32) -> anyhow::Result<Change> {
    let data = [("by".to_owned(), plan.identity.clone())];
    if plan.act == "patch" {
        let objects: Api<ConfigMap> = Api::namespaced(client, &plan.namespace);
        let read = objects.get("target").await?;
        let patch = json!({"data": {"by": plan.identity}});
        return Ok(Change::patch::<ConfigMap>(
            WriteKind::Status,
            Some(&plan.namespace),
            &read.metadata,
            patch,
        )?);
    }
    let mut object = ConfigMap {
        data: Some(data.into()),
        ..ConfigMap::default()
    };
    object.metadata.name = Some(match plan.act {
        "create-once" => "once".to_owned(),
        _ => format!("acted-{term}"),
    });
    Ok(Change::create(WriteKind::Status, Some(&plan.namespace), &object)?)
}

/// Whether this process was started by a test to be a replica.
pub(crate) fn is_child() -> bool {
    std::env::var_os(PLAN).is_some()
}

/// The child's work: acts once in every term and says what became of it; ends with its parent, or cleanly at SIGTERM.
pub(crate) async fn run_as_child() -> anyhow::Result<()> {
    let Ok(text) = std::env::var(PLAN) else {
        return Ok(());
    };
    let plan = serde_json::from_str(&text)
        .ok()
        .and_then(|plan| Plan::from_json(&plan))
        .context("a plan")?;
    std::thread::spawn(|| {
        // The parent holds the other end: when it is gone, so is this process.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(3);
    });
    let replica = start(&plan, Mode::Live).await?;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut changes = replica.leadership.watch();
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            changed = changes.changed() => changed?,
        }
        let Some(term) = *changes.borrow_and_update() else {
            println!("replica follows");
            continue;
        };
        println!("replica leads {term}");
        replica.pause.look(replica.writer.reader(), &plan.namespace).await;
        let permit = replica.writer.permit()?;
        let change = change(&plan, replica.writer.reader().clone(), term.transitions()).await?;
        let outcome = replica.writer.send(&permit, &change).await;
        match outcome {
            Ok(written) => println!(
                "replica wrote {}",
                if written.is_done() { "done" } else { "refused" }
            ),
            Err(error) => println!("replica wrote not: {error}"),
        }
        println!("replica permit {}", permit.is_valid());
    }
    replica.shutdown.trigger();
    let mut replica = replica;
    (&mut replica.election).await??;
    println!("replica ended");
    Ok(())
}

/// A running child. It is killed when it is dropped.
pub(crate) struct ChildReplica {
    process: Child,
    lines: Receiver<String>,
}

impl ChildReplica {
    /// Starts this program again with one test, which does [`run_as_child`].
    pub(crate) fn start(test: &str, plan: &Plan) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(PLAN, plan.to_json().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = process.stdout.take().context("its output")?;
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // The harness writes the name of the test before the first line.
                if let Some(at) = line.find("replica ") {
                    let _ = send.send(line[at..].to_owned());
                }
            }
        });
        Ok(Self { process, lines })
    }

    /// Waits for a line that begins like this.
    pub(crate) async fn says(&self, beginning: &str, within: Duration) -> anyhow::Result<String> {
        let deadline = tokio::time::Instant::now() + within;
        loop {
            match self.lines.try_recv() {
                Ok(line) if line.starts_with(beginning) => return Ok(line),
                Ok(_) => {}
                Err(_) if tokio::time::Instant::now() > deadline => {
                    anyhow::bail!("the replica did not say `{beginning}` within {within:?}")
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) -> anyhow::Result<()> {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.process.id())?);
        Ok(nix::sys::signal::kill(pid, signal)?)
    }

    /// Waits until the kernel has stopped it.
    pub(crate) async fn is_stopped(&self, within: Duration) -> anyhow::Result<()> {
        let stat = format!("/proc/{}/stat", self.process.id());
        gpu_testbed::eventually("the replica is stopped", within, || async {
            let text = std::fs::read_to_string(&stat)?;
            let state = text
                .rsplit(')')
                .next()
                .and_then(|rest| rest.split_whitespace().next());
            Ok((state == Some("T")).then_some(()))
        })
        .await
    }
}

impl Drop for ChildReplica {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
