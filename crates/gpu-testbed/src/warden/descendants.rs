//! Finds, ends and reaps every process below the warden, including those that detached themselves from their parents.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::protocol::End;

/// Short enough that an ending bed does not feel slow, long enough that waiting costs nothing.
const POLL: Duration = Duration::from_millis(5);

/// What one call of [`reap_one`] found.
pub(super) enum Reaped {
    /// This child has ended.
    Child(Pid, End),
    /// Children exist, and none has ended.
    NoneEnded,
    /// There is no child at all.
    NoChildren,
}

/// Takes the exit status of one ended child, adopted orphans included.
pub(super) fn reap_one() -> Reaped {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) => return Reaped::Child(pid, End::Code(code)),
            Ok(WaitStatus::Signaled(pid, signal, _)) => {
                return Reaped::Child(pid, End::Signal(signal as i32));
            }
            Ok(WaitStatus::StillAlive) => return Reaped::NoneEnded,
            // Stops and continues are no ends, and an interrupted call is made again.
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return Reaped::NoChildren,
        }
    }
}

/// Kills every descendant until none is left; answers with those that outlived the deadline.
///
/// Each round looks again, because a killed parent hands its children over only when it has ended.
pub(super) fn kill_all(within: Duration) -> Vec<Pid> {
    let deadline = Instant::now() + within;
    loop {
        for pid in descendants_of(nix::unistd::getpid()) {
            // A process that ended in between is what we wanted.
            let _ = kill(pid, Signal::SIGKILL);
        }
        loop {
            match reap_one() {
                Reaped::Child(..) => {}
                Reaped::NoneEnded => break,
                Reaped::NoChildren => return Vec::new(),
            }
        }
        if Instant::now() >= deadline {
            return descendants_of(nix::unistd::getpid());
        }
        std::thread::sleep(POLL);
    }
}

/// Waits until every one of `pids` is gone or the time is over, reaping meanwhile.
pub(super) fn wait_for(mut pids: Vec<Pid>, within: Duration) {
    let deadline = Instant::now() + within;
    while !pids.is_empty() && Instant::now() < deadline {
        match reap_one() {
            Reaped::Child(pid, _) => pids.retain(|waited| *waited != pid),
            Reaped::NoneEnded => std::thread::sleep(POLL),
            Reaped::NoChildren => return,
        }
    }
}

/// Every process below `root`, by the parent fields of `/proc`.
fn descendants_of(root: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        if let Some(parent) = parent_in(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw()];
    while let Some(parent) = open.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            found.push(Pid::from_raw(pid));
            open.push(pid);
        }
    }
    found
}

/// The parent in a line of `/proc/PID/stat`. The command's name may hold spaces and brackets, so the fields are
/// counted from its last closing bracket.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}
