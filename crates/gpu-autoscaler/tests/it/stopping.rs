//! How the demo ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::{Demo, Killed, program, wait};

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
    let child = program()
        .args(["--log-level", "info", "demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Killed(child.unwrap());
    drop(child.0.stdout.take());
    // Nobody hears the welcome; the log still says where it serves.
    let log = BufReader::new(child.0.stderr.take().unwrap());
    let served = log.lines().map(Result::unwrap).find_map(|line| {
        let (_, address) = line.split_once("address=")?;
        address.split(' ').next()?.parse::<SocketAddr>().ok()
    });
    let mut stream = TcpStream::connect(served.unwrap()).unwrap();
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nhost: demo\r\n\r\n")
        .unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    kill(Pid::from_raw(child.0.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(wait(&mut child.0).code(), Some(0));
}
