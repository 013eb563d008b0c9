//! Runs one program of a vendor and takes what it prints: fixed arguments, no shell, an environment of three names, no input,
//! bounded output, bounded time. Whatever it does, it is killed with its whole process group and reaped; and no second one runs
//! beside it, because a driver that hangs one tool hangs them all.

mod trust;

pub use trust::{Places, Unfit};

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tracing::{info, warn};

/// What 16 GPUs with all their supported clocks print is one MiB; four is a tool that has lost its way.
pub const MOST_OUTPUT: usize = 4 * 1024 * 1024;
/// A complaint is a line or two; the rest is read and thrown away.
const MOST_WORDS: usize = 1024;
/// A killed process is gone at once, unless the kernel holds it inside a driver.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// How often somebody looks whether a process has ended that could not be killed.
const STUCK_LOOK: Duration = Duration::from_secs(1);
/// Interpreters of the tools that are scripts.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a program printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// As a shell counts: 128 and the signal's number where a signal ended it.
    pub code: i32,
    pub text: String,
    /// The beginning of its standard error.
    pub words: String,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("failed to start it")]
    Start(#[source] std::io::Error),
    #[error("failed to read what it prints")]
    Read(#[source] std::io::Error),
    #[error("it did not end within {} seconds and was killed", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("it printed more than {MOST_OUTPUT} bytes and was killed")]
    TooMuch,
    #[error(
        "a run of it cannot be killed: the kernel holds it inside the driver; no other is started before it ends"
    )]
    Stuck,
    #[error("another tool was running all the time")]
    Busy,
    #[error("the exporter is ending")]
    Ending,
}

impl RunError {
    /// The value of the `class` label.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Start(_) => "not_started",
            Self::Read(_) => "unreadable",
            Self::TimedOut(_) => "timeout",
            Self::TooMuch => "too_much_output",
            Self::Stuck => "stuck",
            Self::Busy => "busy",
            Self::Ending => "ending",
        }
    }
}

/// Runs a program, which [`Places`] has found fit, and waits for its end, at most for `within`.
pub fn run(program: &Path, arguments: &[impl AsRef<OsStr>], within: Duration) -> Result<Output, RunError> {
    let turn = Turn::take(Instant::now() + within)?;
    let deadline = Instant::now() + within;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment(program))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(RunError::Start)?;
    turn.note(&child);
    let read = read(&mut child, deadline, within).and_then(|printed| {
        await_end(&child, deadline, within)?;
        Ok(printed)
    });
    let status = turn.finish(child, kill)?;
    let (text, words) = read?;
    Ok(Output {
        code: status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
        text: String::from_utf8_lossy(&text).into_owned(),
        words: String::from_utf8_lossy(&words).trim().to_owned(),
    })
}

/// Kills what runs and starts nothing any more: the program ends, and nothing of it shall stay behind.
pub fn end_all() {
    let mut state = lock();
    if let State::Running(pid) = &*state {
        kill_group(*pid);
    }
    *state = State::Closed;
    ENDED.notify_all();
}

/// What the tools need: where interpreters are, where the driver's libraries are, and numbers with a point.
fn environment(program: &Path) -> Vec<(&'static str, OsString)> {
    let mut libraries: Vec<OsString> = std::env::var_os("LD_LIBRARY_PATH").into_iter().collect();
    // Some clouds mount the driver as a tree of its own, and its tools find their libraries beside them only by this.
    if let Some(root) = program
        .parent()
        .and_then(Path::parent)
        .filter(|root| *root != Path::new("/usr"))
    {
        libraries.extend(
            ["lib64", "lib"]
                .map(|name| root.join(name))
                .into_iter()
                .filter(|path| path.is_dir())
                .map(Into::into),
        );
    }
    let mut environment = vec![("PATH", PATH.into()), ("LC_ALL", "C".into())];
    if !libraries.is_empty() {
        environment.push(("LD_LIBRARY_PATH", libraries.join(OsStr::new(":"))));
    }
    environment
}

/// Everything on both pipes until they are closed.
fn read(child: &mut Child, deadline: Instant, within: Duration) -> Result<(Vec<u8>, Vec<u8>), RunError> {
    let (mut text, mut words) = (Vec::new(), Vec::new());
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let mut buffer = vec![0; 64 * 1024];
    while out.is_some() || err.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(RunError::TimedOut(within));
        }
        let ready = wait_for_bytes(
            out.as_ref().map(|pipe| pipe.as_fd()),
            err.as_ref().map(|pipe| pipe.as_fd()),
            left,
        )?;
        if ready.0 {
            take(&mut out, &mut buffer, |bytes| text.extend_from_slice(bytes))?;
            if text.len() > MOST_OUTPUT {
                return Err(RunError::TooMuch);
            }
        }
        if ready.1 {
            take(&mut err, &mut buffer, |bytes| {
                let room = MOST_WORDS.saturating_sub(words.len()).min(bytes.len());
                words.extend_from_slice(&bytes[..room]);
            })?;
        }
    }
    Ok((text, words))
}

/// Which of two pipes can be read without waiting.
fn wait_for_bytes(
    out: Option<std::os::fd::BorrowedFd<'_>>,
    err: Option<std::os::fd::BorrowedFd<'_>>,
    left: Duration,
) -> Result<(bool, bool), RunError> {
    let mut pipes: Vec<PollFd<'_>> = out
        .into_iter()
        .chain(err)
        .map(|pipe| PollFd::new(pipe, PollFlags::POLLIN))
        .collect();
    // A rest of less than a millisecond would turn this into a loop without a wait.
    let patience = PollTimeout::try_from(left.max(Duration::from_millis(1))).unwrap_or(PollTimeout::MAX);
    match poll(&mut pipes, patience) {
        Ok(_) | Err(nix::Error::EINTR) => {}
        Err(error) => return Err(RunError::Read(error.into())),
    }
    let mut ready = pipes.iter().map(|pipe| pipe.any().unwrap_or(false));
    let of_out = out.is_some() && ready.next().unwrap_or(false);
    let of_err = err.is_some() && ready.next().unwrap_or(false);
    Ok((of_out, of_err))
}

/// Reads once; a pipe that was closed is let go.
fn take<P: Read>(
    pipe: &mut Option<P>,
    buffer: &mut [u8],
    mut keep: impl FnMut(&[u8]),
) -> Result<(), RunError> {
    let Some(open) = pipe else { return Ok(()) };
    match open.read(buffer) {
        Ok(0) => *pipe = None,
        Ok(count) => keep(&buffer[..count]),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
        Err(error) => return Err(RunError::Read(error)),
    }
    Ok(())
}

/// Waits for the end without reaping: as long as the process is not reaped, its group's number is nobody else's.
fn await_end(child: &Child, deadline: Instant, within: Duration) -> Result<(), RunError> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    let mut pause = Duration::from_millis(1);
    loop {
        match waitid(Id::Pid(pid), flags) {
            Ok(WaitStatus::StillAlive) | Err(nix::Error::EINTR) => {}
            // Whatever else there is to say is said when it is reaped.
            Ok(_) | Err(_) => return Ok(()),
        }
        if Instant::now() >= deadline {
            return Err(RunError::TimedOut(within));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Both, because a program may have left its group.
fn kill(child: &mut Child) {
    kill_group(Pid::from_raw(child.id().cast_signed()));
    // It fails when the process has ended, which is what is wanted.
    let _ = child.kill();
}

fn kill_group(pid: Pid) {
    // It fails when all of the group have ended.
    let _ = killpg(pid, Signal::SIGKILL);
}

/// What the one running program does.
enum State {
    Free,
    Running(Pid),
    /// Killed, and still not gone.
    Stuck(Child),
    /// The exporter ends.
    Closed,
}

static STATE: Mutex<State> = Mutex::new(State::Free);
static ENDED: Condvar = Condvar::new();

/// A panic leaves a plain value behind, so a poisoned lock still guards good data.
fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to run a program. Whoever holds it is alone.
struct Turn {
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Turn {
    fn take(deadline: Instant) -> Result<Self, RunError> {
        let alone = loop {
            match ALONE.try_lock() {
                Ok(alone) => break alone,
                Err(std::sync::TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(std::sync::TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(RunError::Busy);
                }
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let mut state = lock();
        reap_stuck(&mut state);
        match &*state {
            State::Closed => Err(RunError::Ending),
            State::Stuck(_) => Err(RunError::Stuck),
            State::Free | State::Running(_) => Ok(Self { _alone: alone }),
        }
    }

    fn note(&self, child: &Child) {
        let pid = Pid::from_raw(child.id().cast_signed());
        let mut state = lock();
        if matches!(*state, State::Closed) {
            kill_group(pid);
        } else {
            *state = State::Running(pid);
        }
    }

    /// Kills what is left of the group and reaps the program; one that does not go is left to a thread that waits for it.
    fn finish(self, mut child: Child, kill: impl Fn(&mut Child)) -> Result<ExitStatus, RunError> {
        kill(&mut child);
        let deadline = Instant::now() + LAST_WAIT;
        loop {
            {
                let mut state = lock();
                match child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) => {
                        if !matches!(*state, State::Closed) {
                            *state = State::Free;
                        }
                        return Ok(status);
                    }
                    Err(error) => {
                        *state = State::Free;
                        return Err(RunError::Read(error));
                    }
                }
                if Instant::now() >= deadline {
                    warn!(
                        pid = child.id(),
                        "cannot kill a tool: the kernel holds it inside the driver"
                    );
                    *state = State::Stuck(child);
                    drop(state);
                    watch_stuck();
                    return Err(RunError::Stuck);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn reap_stuck(state: &mut State) {
    if let State::Stuck(child) = state
        && !matches!(child.try_wait(), Ok(None))
    {
        info!(pid = child.id(), "a tool that could not be killed has ended");
        *state = State::Free;
    }
}

/// Reaps the stuck program when it ends, even when nobody runs a tool any more. Without the thread the next run does it.
fn watch_stuck() {
    let watch = || {
        while matches!(*lock(), State::Stuck(_)) {
            std::thread::sleep(STUCK_LOOK);
            reap_stuck(&mut lock());
        }
    };
    let started = std::thread::Builder::new()
        .name("tool-reaper".to_owned())
        .stack_size(64 * 1024)
        .spawn(watch);
    if let Err(error) = started {
        warn!(%error, "failed to start the thread that waits for a stuck tool");
    }
}

#[cfg(test)]
mod tests;
