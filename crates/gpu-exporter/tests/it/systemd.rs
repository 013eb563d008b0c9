//! What systemd is told, by a socket of ours in its place, and what it thinks of the unit.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::exporter::{DEADLINE, Exporter, command};

fn listener(directory: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(directory.join("notify")).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}

fn next(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 512];
    let count = socket.recv(&mut buffer).expect("a word to systemd");
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

fn start(directory: &Path, watchdog: Option<Duration>) -> Exporter {
    let mut command = command(&[
        "--address=127.0.0.1:0",
        "--sample-interval=100ms",
        "--kernel-log=/dev/null",
    ]);
    command.env("NOTIFY_SOCKET", directory.join("notify"));
    if let Some(watchdog) = watchdog {
        command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
    }
    Exporter::spawn(command)
}

#[test]
fn systemd_is_told_of_readiness_life_and_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let socket = listener(directory.path());
    let mut exporter = start(directory.path(), Some(Duration::from_millis(400)));
    let ready = next(&socket);
    assert!(ready.starts_with("READY=1\nSTATUS=serving 0 GPUs"), "{ready}");
    for _ in 0..3 {
        assert_eq!(next(&socket), "WATCHDOG=1\n");
    }
    exporter.signal(Signal::SIGTERM);
    let last = std::iter::repeat_with(|| next(&socket)).find(|words| words != "WATCHDOG=1\n");
    assert_eq!(last.as_deref(), Some("STOPPING=1\n"));
    assert_eq!(exporter.wait().code(), Some(0));
}

#[test]
fn a_socket_that_is_gone_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut exporter = start(directory.path(), Some(Duration::from_millis(400)));
    exporter.wait_for_log("cannot tell systemd");
    assert!(exporter.get("/healthz").text().contains("ok"));
    exporter.signal(Signal::SIGTERM);
    assert_eq!(exporter.wait().code(), Some(0));
}

/// systemd's own judgement, where it is installed.
#[test]
fn systemd_finds_nothing_to_complain_about_in_the_unit() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/gpu-exporter.service");
    let text = std::fs::read_to_string(&unit).unwrap();
    for line in [
        "Type=notify",
        "WatchdogSec=",
        "NoNewPrivileges=yes",
        "RestartForceExitStatus=75",
    ] {
        assert!(text.lines().any(|own| own.starts_with(line)), "no {line}");
    }
    if !Path::new("/usr/bin/systemd-analyze").exists() {
        return;
    }
    // The program is where the test has it, so that only the unit itself is judged.
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("gpu-exporter.service");
    let program = env!("CARGO_BIN_EXE_gpu-exporter");
    std::fs::write(&copy, text.replace("/usr/local/bin/gpu-exporter", program)).unwrap();
    let judged = Command::new("/usr/bin/systemd-analyze")
        .arg("verify")
        .arg(&copy)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&judged.stderr).into_owned();
    let ours: Vec<&str> = words
        .lines()
        .filter(|line| line.contains("gpu-exporter.service"))
        .collect();
    assert!(judged.status.success() && ours.is_empty(), "{words}");
}
