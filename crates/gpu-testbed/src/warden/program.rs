//! The warden's program: one loop over orders and signals, and the clean-up at its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, getpid};

use super::descendants::{Reaped, kill_all, reap_one, wait_for};
use super::protocol::{Order, Report, Request, SpawnOrder};
use super::{BED_VARIABLE, FINGERPRINT, cleaning, shim};

/// A killed process is gone in milliseconds unless it hangs in the kernel; longer than this is reported.
const KILL_PATIENCE: Duration = Duration::from_secs(15);

/// The verb by which a test process starts the warden, followed by the bed's id and its directory.
pub const SERVE: &str = "serve";

/// Names a directory that receives the logs of an ending bed.
pub const KEEP_LOGS_VARIABLE: &str = "GPU_TESTBED_KEEP_LOGS";

/// The directory below the bed's own that holds the logs.
pub const LOGS: &str = "logs";

/// Runs the warden, or its shim.
pub fn main() -> anyhow::Result<()> {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    if verb == shim::VERB {
        shim::run(words);
    }
    let (Some(bed), Some(directory)) = (words.next(), words.next()) else {
        bail!("usage: testbed-warden {SERVE} BED DIRECTORY (a test process starts this; people do not)");
    };
    Warden::new(bed, PathBuf::from(directory)).serve()
}

/// What the loop waits for.
enum Event {
    Order(Request),
    Unreadable(String),
    ChildEnded,
    End,
}

struct Part {
    name: String,
    order: SpawnOrder,
    /// When the grace after a stop is over.
    kill_at: Option<Instant>,
}

struct Warden {
    bed: OsString,
    directory: PathBuf,
    parts: BTreeMap<Pid, Part>,
    directories: Vec<PathBuf>,
    cgroups: Vec<PathBuf>,
}

impl Warden {
    fn new(bed: OsString, directory: PathBuf) -> Self {
        Self {
            bed,
            directory,
            parts: BTreeMap::new(),
            directories: Vec::new(),
            cgroups: Vec::new(),
        }
    }

    fn serve(mut self) -> anyhow::Result<()> {
        // Before any thread starts, so that all of them leave these signals to the one that waits for them.
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            signals.add(signal);
        }
        signals.thread_block().context("failed to block signals")?;
        prctl::set_child_subreaper(true).context("failed to become the reaper of orphans")?;
        std::fs::create_dir_all(self.directory.join(LOGS))
            .with_context(|| format!("failed to make `{}`", self.directory.display()))?;

        let (sender, events) = channel();
        let orders = sender.clone();
        std::thread::spawn(move || read_orders(&orders));
        std::thread::spawn(move || wait_for_signals(signals, &sender));
        say(&Report::Ready {
            fingerprint: FINGERPRINT,
            pid: getpid().as_raw(),
        });
        self.work(&events);
        self.clean_up()
    }

    /// Carries out orders until the test process is gone. Runs on the main thread: the parts' lives are tied to the
    /// thread that started them.
    fn work(&mut self, events: &Receiver<Event>) {
        loop {
            let event = match self.parts.values().filter_map(|part| part.kill_at).min() {
                Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Order(request)) => say(&self.answer(request)),
                Ok(Event::Unreadable(line)) => eprintln!("testbed-warden: not an order: {line}"),
                Ok(Event::ChildEnded) => self.report_ends(),
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.kill_overdue(),
            }
        }
    }

    fn answer(&mut self, request: Request) -> Report {
        let id = request.id;
        match self.carry_out(request.order) {
            Ok(pid) => Report::Done {
                id,
                pid: pid.map(Pid::as_raw),
            },
            Err(error) => Report::Refused {
                id,
                error: format!("{error:#}"),
            },
        }
    }

    fn carry_out(&mut self, order: Order) -> anyhow::Result<Option<Pid>> {
        match order {
            Order::Spawn(order) => return self.spawn(order).map(Some),
            Order::Stop { name, grace_millis } => {
                let (pid, part) = self.find(&name)?;
                part.kill_at = Some(Instant::now() + Duration::from_millis(grace_millis));
                send(pid, part.order.stop_signal)?;
            }
            Order::Signal { name, signal } => {
                let (pid, _) = self.find(&name)?;
                send(pid, signal)?;
            }
            Order::OwnDirectory(path) => self.directories.push(own(path)?),
            Order::OwnCgroup(path) => self.cgroups.push(own(path)?),
        }
        Ok(None)
    }

    fn find(&mut self, name: &str) -> anyhow::Result<(Pid, &mut Part)> {
        self.parts
            .iter_mut()
            .find(|(_, part)| part.name == name)
            .map(|(pid, part)| (*pid, part))
            .with_context(|| format!("no part `{name}` runs"))
    }

    fn spawn(&mut self, order: SpawnOrder) -> anyhow::Result<Pid> {
        if self.find(&order.name).is_ok() {
            bail!("a part `{}` runs already", order.name);
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(&order.log)
            .with_context(|| format!("failed to open log `{}`", order.log.display()))?;
        let errors = log.try_clone().context("failed to share the log")?;
        // Through the link of the kernel, because cargo may have replaced the file under its old name.
        let child = Command::new("/proc/self/exe")
            .args(shim::arguments(getpid(), order.user, &order.program))
            .args(&order.args)
            .envs(&order.env)
            .env(BED_VARIABLE, &self.bed)
            .current_dir(order.cwd.as_deref().unwrap_or(&self.directory))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .with_context(|| format!("failed to start part `{}`", order.name))?;
        let pid = Pid::from_raw(i32::try_from(child.id()).context("a process id beyond 31 bits")?);
        self.parts.insert(
            pid,
            Part {
                name: order.name.clone(),
                order,
                kill_at: None,
            },
        );
        Ok(pid)
    }

    fn report_ends(&mut self) {
        while let Reaped::Child(pid, end) = reap_one() {
            if let Some(part) = self.parts.remove(&pid) {
                say(&Report::Exited { name: part.name, end });
            }
        }
    }

    fn kill_overdue(&mut self) {
        let now = Instant::now();
        for (pid, part) in &mut self.parts {
            if part.kill_at.is_some_and(|at| at <= now) {
                part.kill_at = None;
                // It may have ended in between.
                let _ = killpg(*pid, Signal::SIGKILL);
            }
        }
    }

    /// Ends the bed. Every step is tried, whatever became of the one before.
    fn clean_up(self) -> anyhow::Result<()> {
        let mut problems = Vec::new();
        let grace = self
            .parts
            .values()
            .map(|part| part.order.grace_millis)
            .max()
            .unwrap_or_default();
        for (pid, part) in &self.parts {
            let _ = send(*pid, part.order.stop_signal);
        }
        wait_for(self.parts.keys().copied().collect(), Duration::from_millis(grace));
        for pid in kill_all(KILL_PATIENCE) {
            problems.push(format!("process {pid} does not end"));
        }
        if let Some(keep) = std::env::var_os(KEEP_LOGS_VARIABLE) {
            note(&mut problems, self.keep_logs(Path::new(&keep)));
        }
        for directory in self.directories.iter().rev().chain([&self.directory]) {
            note(&mut problems, cleaning::remove_directory(directory));
        }
        for cgroup in self.cgroups.iter().rev() {
            note(&mut problems, cleaning::remove_cgroup(cgroup));
        }
        if problems.is_empty() {
            Ok(())
        } else {
            bail!("the bed left something behind: {}", problems.join("; "))
        }
    }

    fn keep_logs(&self, keep: &Path) -> anyhow::Result<()> {
        let target = keep.join(&self.bed);
        std::fs::create_dir_all(&target).with_context(|| format!("failed to make `{}`", target.display()))?;
        let logs = self.directory.join(LOGS);
        for entry in std::fs::read_dir(&logs)
            .context("failed to list the logs")?
            .flatten()
        {
            std::fs::copy(entry.path(), target.join(entry.file_name())).context("failed to keep a log")?;
        }
        Ok(())
    }
}

fn note(problems: &mut Vec<String>, outcome: anyhow::Result<()>) {
    if let Err(error) = outcome {
        problems.push(format!("{error:#}"));
    }
}

/// A removal reaches only what the test names fully: a relative path or a root directory is a mistake.
fn own(path: PathBuf) -> anyhow::Result<PathBuf> {
    let depth = path.components().count();
    if !path.is_absolute() || depth < 3 || path.components().any(|part| part.as_os_str() == "..") {
        bail!(
            "`{}` cannot be owned: name a directory below the first level",
            path.display()
        );
    }
    Ok(path)
}

fn send(group: Pid, signal: i32) -> anyhow::Result<()> {
    let signal = Signal::try_from(signal).with_context(|| format!("{signal} is not a signal"))?;
    killpg(group, signal).with_context(|| format!("failed to send {signal} to {group}"))
}

/// Tells the test process. It may be gone already, and then nobody needs to know.
fn say(report: &Report) {
    let mut line = serde_json::to_vec(report).expect("reports hold only strings and numbers");
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

fn read_orders(events: &Sender<Event>) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let event = match serde_json::from_str(&line) {
            Ok(request) => Event::Order(request),
            Err(_) => Event::Unreadable(line),
        };
        if events.send(event).is_err() {
            return;
        }
    }
    let _ = events.send(Event::End);
}

fn wait_for_signals(signals: SigSet, events: &Sender<Event>) {
    loop {
        let event = match signals.wait() {
            Ok(Signal::SIGCHLD) => Event::ChildEnded,
            Ok(_) => Event::End,
            // Nothing but an interruption can make the wait fail.
            Err(_) => continue,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}
