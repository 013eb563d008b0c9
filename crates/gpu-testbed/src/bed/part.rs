//! One program of a bed: how it is started, waited for and stopped.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::BedError;
use super::link::{Link, tail_of};
use crate::warden::protocol::{End, Order, SpawnOrder, UserIds};

/// Between two probes: a part that is ready is noticed soon, and a starting one is not disturbed.
const PROBE_EVERY: Duration = Duration::from_millis(40);

/// A probe that hangs (a server that accepts and never answers) is asked again after this.
const PROBE_WITHIN: Duration = Duration::from_secs(5);

/// What to start.
#[derive(Debug, Clone)]
pub struct PartSpec {
    /// Unique among the running parts of the bed; also the name of the log.
    pub name: String,
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Added to the environment.
    pub env: BTreeMap<String, String>,
    /// Where it starts; the bed's directory when absent.
    pub cwd: Option<PathBuf>,
    /// Whom it runs as; the user of the test when absent.
    pub user: Option<UserIds>,
    /// How it is asked to end.
    pub stop_by: StopBy,
}

/// How a part is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopBy {
    /// A signal, and SIGKILL when the grace is over.
    Signal(Signal, Duration),
    /// SIGKILL at once: for parts whose data vanishes with them anyway.
    Kill,
}

impl PartSpec {
    /// A program that is asked to end by SIGTERM with two seconds of grace.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            user: None,
            stop_by: StopBy::Signal(Signal::SIGTERM, Duration::from_secs(2)),
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<Arg: Into<String>>(mut self, args: impl IntoIterator<Item = Arg>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = Some(directory.into());
        self
    }

    /// Runs as another user.
    #[must_use]
    pub fn user(mut self, ids: UserIds) -> Self {
        self.user = Some(ids);
        self
    }

    /// Sets how it is asked to end.
    #[must_use]
    pub fn stop_by(mut self, stop_by: StopBy) -> Self {
        self.stop_by = stop_by;
        self
    }

    fn order(self, log: PathBuf) -> SpawnOrder {
        let (stop_signal, grace) = match self.stop_by {
            StopBy::Signal(signal, grace) => (signal, grace),
            StopBy::Kill => (Signal::SIGKILL, Duration::ZERO),
        };
        SpawnOrder {
            name: self.name,
            program: self.program,
            args: self.args,
            env: self.env,
            cwd: self.cwd,
            user: self.user,
            log,
            stop_signal: stop_signal as i32,
            grace_millis: millis(grace),
        }
    }
}

/// A started program. Dropping it changes nothing: a part lives as long as its bed, unless it is stopped.
#[derive(Debug, Clone)]
pub struct Part {
    name: String,
    pid: i32,
    log: PathBuf,
    link: Arc<Link>,
}

impl Part {
    pub(super) fn spawn(link: &Arc<Link>, spec: PartSpec, log: PathBuf) -> Result<Self, BedError> {
        Self::spawn_as(link, spec, log, Expected::ToStay)
    }

    fn spawn_as(
        link: &Arc<Link>,
        spec: PartSpec,
        log: PathBuf,
        expected: Expected,
    ) -> Result<Self, BedError> {
        let name = spec.name.clone();
        link.register(&name, &log, expected == Expected::ToEnd);
        let act = format!("start `{name}`");
        match link.request(&act, Order::Spawn(spec.order(log.clone()))) {
            Ok(pid) => Ok(Self {
                name,
                pid: pid.unwrap_or_default(),
                log,
                link: Arc::clone(link),
            }),
            Err(error) => {
                link.forget(&name);
                Err(error)
            }
        }
    }

    pub(super) async fn run(
        link: &Arc<Link>,
        spec: PartSpec,
        log: PathBuf,
        within: Duration,
    ) -> Result<String, BedError> {
        let before = std::fs::metadata(&log).map_or(0, |data| data.len());
        let part = Self::spawn_as(link, spec, log, Expected::ToEnd)?;
        let end = match part.wait(within).await {
            Err(overdue @ BedError::NotEnded { .. }) => {
                // It may have ended at last; and whether or not, the caller hears that it was late.
                let _ = part.signal(Signal::SIGKILL);
                return Err(overdue);
            }
            outcome => outcome?,
        };
        match end {
            End::Code(0) => {
                let bytes = std::fs::read(&part.log).unwrap_or_default();
                let from = usize::try_from(before).unwrap_or(usize::MAX).min(bytes.len());
                Ok(String::from_utf8_lossy(&bytes[from..]).into_owned())
            }
            end => Err(BedError::CommandFailed {
                name: part.name.clone(),
                end,
                log_tail: part.log_tail(),
            }),
        }
    }

    /// The part's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id, as the warden sees it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The file with everything the part printed.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        tail_of(&self.log)
    }

    /// Asks `probe` until it answers with success; the death of any part of the bed ends the wait.
    pub async fn ready<Probe, Answer>(&self, within: Duration, mut probe: Probe) -> Result<(), BedError>
    where
        Probe: FnMut() -> Answer,
        Answer: Future<Output = Result<(), String>>,
    {
        let deadline = Instant::now() + within;
        loop {
            if let Some(failure) = self.link.failure_now() {
                return Err(failure);
            }
            let why = match tokio::time::timeout(PROBE_WITHIN, probe()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(why)) => why,
                Err(_) => format!("the probe did not answer within {PROBE_WITHIN:?}"),
            };
            if Instant::now() >= deadline {
                let (name, log_tail) = (self.name.clone(), self.log_tail());
                return Err(BedError::NotReady {
                    name,
                    within,
                    why,
                    log_tail,
                });
            }
            tokio::time::sleep(PROBE_EVERY).await;
        }
    }

    /// Asks the part to end in its own way and waits for it.
    pub async fn stop(&self, grace: Duration) -> Result<End, BedError> {
        self.link.expect_end(&self.name);
        let order = Order::Stop {
            name: self.name.clone(),
            grace_millis: millis(grace),
        };
        self.link.request(&format!("stop `{}`", self.name), order)?;
        self.wait(grace + PROBE_WITHIN).await
    }

    /// Ends the part by a signal of its own choice and waits for it: a restart, a crash that is part of the test.
    pub async fn stop_by(&self, signal: Signal, within: Duration) -> Result<End, BedError> {
        self.link.expect_end(&self.name);
        self.signal(signal)?;
        self.wait(within).await
    }

    /// Sends a signal. An end that follows counts as the death of the part: this is how tests break a bed.
    pub fn signal(&self, signal: Signal) -> Result<(), BedError> {
        let order = Order::Signal {
            name: self.name.clone(),
            signal: signal as i32,
        };
        self.link
            .request(&format!("signal `{}`", self.name), order)
            .map(drop)
    }

    /// Waits for the part's end.
    pub async fn wait(&self, within: Duration) -> Result<End, BedError> {
        match tokio::time::timeout(within, self.link.end_of(&self.name)).await {
            Ok(Some(end)) => Ok(end),
            Ok(None) => Err(BedError::WardenDied),
            Err(_) => {
                let (name, log_tail) = (self.name.clone(), self.log_tail());
                Err(BedError::NotEnded {
                    name,
                    within,
                    log_tail,
                })
            }
        }
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<End> {
        self.link.life(&self.name).and_then(|life| life.end)
    }
}

/// Whether a part's end is an accident.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    ToStay,
    ToEnd,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
