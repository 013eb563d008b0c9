//! How the demo ends.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::{DEADLINE, Demo, Killed, program, wait};

/// One second is the promise; the rest is for a machine that builds something else meanwhile.
const SOON: Duration = Duration::from_secs(4);

#[track_caller]
fn check(demo: Demo, signal: Signal) {
    let (status, words, took) = demo.stop(signal);
    assert_eq!(status.code(), Some(0), "{signal}");
    assert_eq!(words, "stopped\n");
    assert!(took < SOON, "{took:?}");
}

#[test]
fn ctrl_c_and_sigterm_end_it_cleanly() {
    check(Demo::start(&[]).ready(), Signal::SIGINT);
    check(Demo::start(&[]).ready(), Signal::SIGTERM);
}

#[test]
fn a_signal_right_after_the_start_is_heard() {
    check(Demo::start(&["--nodes", "2000"]), Signal::SIGINT);
}

#[test]
fn open_connections_do_not_hold_it_up() {
    let demo = Demo::start(&[]).ready();
    let mut idle = demo.connect();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: demo\r\n\r\n")
        .unwrap();
    idle.read_exact(&mut [0; 12]).unwrap();
    let mut dribbling = demo.connect();
    dribbling.write_all(b"GET / HT").unwrap();
    let silent = demo.connect();
    check(demo, Signal::SIGINT);
    drop((idle, dribbling, silent));
}

#[test]
fn it_serves_on_after_its_standard_output_was_closed() {
    // The port is free a moment before; the fixed address lets the test find a demo that can tell nobody.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let child = program()
        .args(["demo", "--listen", &port.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = Killed(child.unwrap());
    drop(child.0.stdout.take());
    let begun = Instant::now();
    let mut answer = [0; 12];
    loop {
        assert!(begun.elapsed() < DEADLINE, "it never answered");
        let asked = std::net::TcpStream::connect(port).and_then(|mut stream| {
            stream.write_all(b"GET /livez HTTP/1.1\r\nhost: demo\r\n\r\n")?;
            stream.read_exact(&mut answer)
        });
        if asked.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(&answer, b"HTTP/1.1 200");
    kill(Pid::from_raw(child.0.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(wait(&mut child.0).code(), Some(0));
}
