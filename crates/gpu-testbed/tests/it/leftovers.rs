//! Nothing of a bed stays, however the test that made it ends.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use gpu_testbed::control_plane::Component;
use gpu_testbed::{Bed, BedId, Fleet, Leftovers, PartSpec, require};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// Graces and kills of a bed with such parts are done in two or three seconds; a loaded machine gets more.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// A daemon that leaves its parent and its session, so that only the reaper can find it.
const DAEMON: &str = "setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000";

#[track_caller]
fn check_gone(bed: &BedId) {
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let left = Leftovers::of(bed);
        if left.is_empty() {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "after {GONE_WITHIN:?} this is left:\n{left}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the daemon's three processes run, so that their end means something.
#[track_caller]
fn check_daemon_runs(bed: &BedId) {
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let left = Leftovers::of(bed);
        let sleepers = left
            .processes
            .iter()
            .filter(|process| process.command == "sleep 1000")
            .count();
        if sleepers == 3 && left.directories.len() == 1 {
            return;
        }
        assert!(Instant::now() < deadline, "the daemon does not run:\n{left}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start_daemon() -> anyhow::Result<Bed> {
    let bed = Bed::new()?;
    bed.spawn(PartSpec::new("daemon", "/bin/sh").args(["-c", DAEMON]))?;
    check_daemon_runs(bed.id());
    Ok(bed)
}

#[test]
fn after_a_passed_test() -> anyhow::Result<()> {
    let bed = start_daemon()?;
    let id = bed.id().clone();
    drop(bed);
    let left = Leftovers::of(&id);
    assert!(
        left.is_empty(),
        "the drop waits for the clean-up, yet this is left:\n{left}"
    );
    Ok(())
}

#[test]
fn after_a_failed_test() -> anyhow::Result<()> {
    let bed = start_daemon()?;
    let id = bed.id().clone();
    let failed = std::panic::catch_unwind(AssertUnwindSafe(move || {
        let _bed = bed;
        std::panic::resume_unwind(Box::new("a test fails"))
    }));
    assert!(failed.is_err());
    check_gone(&id);
    Ok(())
}

/// A process of its own, in a process group of its own, that holds a bed.
fn hold_a_bed(words: &[&str]) -> anyhow::Result<(Child, BedId)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testbed-up"));
    hold_a_bed_by(command.args(words))
}

fn hold_a_bed_by(command: &mut Command) -> anyhow::Result<(Child, BedId)> {
    let mut holder = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()?;
    // The pipe stays with the holder, which may have more to say and would fail if nobody listened.
    let lines = BufReader::new(holder.stdout.as_mut().context("the output is piped")?).lines();
    for line in lines {
        if let Some(id) = line?
            .strip_prefix("bed ")
            .and_then(|rest| BedId::parse(rest.split(' ').next()?))
        {
            return Ok((holder, id));
        }
    }
    bail!("the holder ended without a bed")
}

/// The same with the daemon on the bed.
fn hold_a_daemon() -> anyhow::Result<(Child, BedId)> {
    let (holder, id) = hold_a_bed(&["run", "/bin/sh", "-c", DAEMON])?;
    check_daemon_runs(&id);
    Ok((holder, id))
}

#[test]
fn after_an_interrupt_from_the_terminal() -> anyhow::Result<()> {
    let (mut holder, id) = hold_a_daemon()?;
    // Ctrl-C reaches the whole foreground group. The warden is in none, so it lives to clean up.
    let group = Pid::from_raw(i32::try_from(holder.id())?);
    killpg(group, Signal::SIGINT)?;
    holder.wait()?;
    check_gone(&id);
    Ok(())
}

#[test]
fn after_a_killed_test_with_a_whole_cluster() -> anyhow::Result<()> {
    require!(Fleet::need());
    let (mut holder, id) = hold_a_bed(&["fleet"])?;
    let left = Leftovers::of(&id);
    for component in Component::ALL {
        let name = component.program().file_name();
        let log = std::env::temp_dir()
            .join(id.directory_name())
            .join(format!("logs/{name}.log"));
        assert!(
            left.processes
                .iter()
                .any(|process| process.command.contains(name)),
            "no {name} in:\n{left}\nits log:\n{}",
            std::fs::read_to_string(log)?
        );
    }
    holder.kill()?;
    holder.wait()?;
    check_gone(&id);
    Ok(())
}

#[test]
fn after_a_killed_test() -> anyhow::Result<()> {
    let (mut holder, id) = hold_a_daemon()?;
    holder.kill()?;
    holder.wait()?;
    check_gone(&id);
    Ok(())
}

#[test]
fn after_a_killed_test_and_a_killed_warden() -> anyhow::Result<()> {
    let (mut holder, id) = hold_a_daemon()?;
    let left = Leftovers::of(&id);
    let warden = left
        .processes
        .iter()
        .find(|process| process.is_warden())
        .context("a warden runs")?;
    kill(Pid::from_raw(warden.pid), Signal::SIGKILL)?;
    holder.kill()?;
    holder.wait()?;
    let swept = gpu_testbed::sweep()?;
    let directory = std::env::temp_dir().join(id.directory_name());
    assert!(
        swept.directories.contains(&directory),
        "the sweep did not find {}:\n{swept}",
        directory.display()
    );
    check_gone(&id);
    Ok(())
}

#[test]
fn a_bed_in_namespaces_of_its_own_leaves_nothing_either() -> anyhow::Result<()> {
    if !nix::unistd::geteuid().is_root() {
        // Unprivileged users may not make these namespaces; the bed must say so and leave nothing.
        assert!(Bed::with_warden_prefix(&["unshare", "--mount", "--pid", "--fork"]).is_err());
        return Ok(());
    }
    let words = "unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private";
    let prefix: Vec<&str> = words.split(' ').collect();
    let bed = Bed::with_warden_prefix(&prefix)?;
    let id = bed.id().clone();
    let point = bed.make_directory("mounted")?;
    let script = format!(
        "mount -t tmpfs none {} && test -d /proc/$$ && {DAEMON}",
        point.display()
    );
    let part = bed.spawn(PartSpec::new("daemon", "/bin/sh").args(["-c", &script]))?;
    assert!(
        part.pid() < 100,
        "{} is no process id of a new namespace",
        part.pid()
    );
    check_daemon_runs(&id);
    drop(bed);
    let left = Leftovers::of(&id);
    assert!(left.is_empty(), "this is left:\n{left}");
    Ok(())
}

#[test]
fn only_the_logs_stay_when_they_are_asked_for() -> anyhow::Result<()> {
    let keeper = Bed::new()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_testbed-up"));
    command.args(["run", "/bin/sh", "-c", "echo last words; exec sleep 1000"]);
    command.env("GPU_TESTBED_KEEP_LOGS", keeper.directory());
    let (mut holder, id) = hold_a_bed_by(&mut command)?;
    let log = std::env::temp_dir()
        .join(id.directory_name())
        .join("logs/command.log");
    let deadline = Instant::now() + GONE_WITHIN;
    while std::fs::read_to_string(&log)?.is_empty() {
        assert!(Instant::now() < deadline, "the command says nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    holder.kill()?;
    holder.wait()?;
    check_gone(&id);
    let kept = std::fs::read_to_string(keeper.path(id.to_string()).join("command.log"))?;
    assert_eq!(kept, "last words\n");
    Ok(())
}
