//! The last step before a part's program runs: drop privileges, tie its life to the warden's, unblock signals,
//! become the program.
//!
//! It is a process of its own because these settings must be made between fork and exec, which the standard
//! library allows only to unsafe code.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Gid, Pid, Uid, getppid, setgid, setgroups, setuid};

use super::protocol::UserIds;

/// The first argument by which the warden's program knows that it is to be the shim.
pub(super) const VERB: &str = "shim";

/// The exit code by which shells, too, say that a program could not be started.
const NOT_STARTED: i32 = 127;

/// The arguments that make [`run`] start `program`.
pub(super) fn arguments(warden: Pid, user: Option<UserIds>, program: &std::path::Path) -> Vec<OsString> {
    let (uid, gid) = match user {
        Some(ids) => (ids.uid.to_string(), ids.gid.to_string()),
        None => ("-".to_owned(), "-".to_owned()),
    };
    let mut words: Vec<OsString> = vec![VERB.into(), warden.to_string().into(), uid.into(), gid.into()];
    words.push(program.into());
    words
}

/// Becomes the program named by the arguments after the verb; returns only when that fails.
pub(super) fn run(words: impl Iterator<Item = OsString>) -> ! {
    let Err(error) = become_program(words);
    // One line, without a backtrace: it is what the test's error message shows.
    eprintln!("testbed-warden: {error:#}");
    std::process::exit(NOT_STARTED)
}

fn become_program(mut words: impl Iterator<Item = OsString>) -> anyhow::Result<Infallible> {
    let mut word = |what: &str| {
        words
            .next()
            .with_context(|| format!("the shim's arguments lack {what}"))
    };
    let warden = word("the warden's process id")?;
    let uid = word("the user id")?;
    let gid = word("the group id")?;
    let program = word("the program")?;

    if uid != "-" {
        become_user(number(&uid)?, number(&gid)?)?;
    }
    // After the change of user, because the kernel forgets this setting when the user changes.
    prctl::set_pdeathsig(Signal::SIGKILL).context("failed to tie the part's life to the warden's")?;
    if getppid().to_string() != warden.to_string_lossy() {
        bail!("the warden ended before the part started");
    }
    // The warden blocks the signals that it waits for, and a new process inherits that.
    SigSet::empty()
        .thread_set_mask()
        .context("failed to unblock signals")?;
    let error = Command::new(&program).args(words).exec();
    Err(error).with_context(|| format!("failed to start `{}`", program.to_string_lossy()))
}

fn number(word: &OsString) -> anyhow::Result<u32> {
    let text = word.to_string_lossy();
    text.parse()
        .with_context(|| format!("`{text}` is not a user or group id"))
}

fn become_user(uid: u32, gid: u32) -> anyhow::Result<()> {
    let group = Gid::from_raw(gid);
    setgroups(&[group]).context("failed to drop supplementary groups")?;
    setgid(group).with_context(|| format!("failed to become group {gid}"))?;
    setuid(Uid::from_raw(uid)).with_context(|| format!("failed to become user {uid}"))
}
