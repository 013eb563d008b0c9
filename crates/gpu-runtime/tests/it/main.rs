//! Signals, against a real process: this test program started a second time.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a test of the edge: it starts a process and signals it"
)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use gpu_runtime::{Shutdown, run, stop_on_signals};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Tells the second instance of this program that it is the one to be signalled.
const STUBBORN: &str = "GPU_RUNTIME_TEST_STUBBORN";

/// Longer than any machine needs to start a process, so that only a hang reaches it.
const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn the_first_signal_asks_and_the_second_ends_the_process_at_once() {
    if std::env::var_os(STUBBORN).is_some() {
        run(be_stubborn()).unwrap();
        return;
    }
    let name = "the_first_signal_asks_and_the_second_ends_the_process_at_once";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(STUBBORN, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = Killed(child.unwrap());
    let pid = Pid::from_raw(child.0.id().try_into().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let mut wait_for = |word: &str| assert!(lines.any(|line| line.unwrap() == word), "`{word}` never came");

    wait_for("ready");
    kill(pid, Signal::SIGINT).unwrap();
    wait_for("asked to stop");
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().code(), Some(143));
}

/// Hears the first signal and goes on.
async fn be_stubborn() {
    let shutdown = Shutdown::new();
    stop_on_signals(&shutdown).unwrap();
    println!("ready");
    shutdown.triggered().await;
    println!("asked to stop");
    tokio::time::sleep(DEADLINE).await;
}

/// A process that never outlives its test.
struct Killed(Child);

impl Killed {
    fn wait(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail only when the process has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
