//! Starts the program and speaks HTTP with it; nothing started here outlives its test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Far beyond what a busy machine needs, so that only a hang reaches it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpu-autoscaler"));
    // Settings of the person who runs the tests must not reach the program under test.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GPU_AUTOSCALER_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    let child = program()
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Killed(child.unwrap());
    wait(&mut child.0);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    child.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    child.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output {
        status: child.0.wait().unwrap(),
        stdout,
        stderr,
    }
}

/// A running demo on a port of its own.
pub(crate) struct Demo {
    child: Killed,
    pub(crate) address: SocketAddr,
    /// What it had printed when it was ready.
    pub(crate) welcome: String,
    stdout: BufReader<ChildStdout>,
    pub(crate) started: Instant,
}

impl Demo {
    pub(crate) fn start(args: &[&str]) -> Self {
        let started = Instant::now();
        let child = program()
            .args(["demo", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let mut child = Killed(child.unwrap());
        let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
        let mut welcome = String::new();
        while !welcome.contains("Ctrl-C stops.\n") {
            let read = stdout.read_line(&mut welcome).unwrap();
            assert!(read > 0, "the demo ended before it was ready: {welcome}");
        }
        let url = welcome
            .split_whitespace()
            .find_map(|word| word.strip_prefix("http://"))
            .unwrap();
        let address = url.trim_end_matches('/').parse().unwrap();
        Self {
            child,
            address,
            welcome,
            stdout,
            started,
        }
    }

    /// Asks until the fleet is there.
    pub(crate) fn ready(self) -> Self {
        while self.get("/readyz").status != 200 {
            assert!(self.started.elapsed() < DEADLINE, "the demo never became ready");
        }
        self
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "")
    }

    /// Sends one request; `headers` are complete lines.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str) -> Answer {
        let mut stream = self.connect();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: demo\r\nconnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&String::from_utf8(bytes).unwrap())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    pub(crate) fn json(&self, path: &str) -> serde_json::Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The memory of the program that is in use now.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.0.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Sends a signal and returns how the program ended, what else it printed and how long that took.
    pub(crate) fn stop(mut self, signal: Signal) -> (ExitStatus, String, Duration) {
        let begun = Instant::now();
        kill(Pid::from_raw(self.child.0.id().try_into().unwrap()), signal).unwrap();
        let status = wait(&mut self.child.0);
        let took = begun.elapsed();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (status, rest, took)
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let headers: Vec<_> = lines.map(header).collect();
        let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
        assert!(!chunked, "answers have a length: a torn one must be noticed");
        Self {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Waits for the end of a process, and kills one that hangs.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > DEADLINE {
            child.kill().unwrap();
            panic!("the program did not end by itself");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A process that never outlives its test.
pub(crate) struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail only when the process has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
