//! The real program as a process of its own, and a client that shows every byte of an answer. Nothing outlives its test.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longer than any machine needs, so that only a hang reaches it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The program with its arguments and nothing of this environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpu-exporter"));
    command.env_clear().args(arguments);
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// A running exporter on a free port of the loopback.
pub(crate) struct Exporter {
    child: Child,
    log: Arc<Mutex<String>>,
    pub(crate) address: SocketAddr,
}

impl Exporter {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = command(arguments);
        command.args(["--address", "127.0.0.1:0", "--kernel-log", "/dev/null"]);
        Self::spawn(command)
    }

    /// Starts a command that ends up as the program, and waits until it serves.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut log = written.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut exporter = Self {
            child,
            log,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let line = exporter.wait_for_log("serving address=");
        let address = line.split("address=").nth(1).unwrap();
        exporter.address = address.split_whitespace().next().unwrap().parse().unwrap();
        exporter
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The first line of the log that has these words.
    #[track_caller]
    pub(crate) fn wait_for_log(&self, words: &str) -> String {
        let find = || {
            let log = self.log();
            log.lines().find(|line| line.contains(words)).map(str::to_owned)
        };
        wait(&format!("the log says {words:?}"), find, || self.log())
    }

    /// Asks for a page until it is as expected.
    #[track_caller]
    pub(crate) fn wait_for_page(&self, path: &str, fits: impl Fn(&Answer) -> bool) -> Answer {
        let find = || Some(self.get(path)).filter(|answer| fits(answer));
        wait(&format!("{path} is as expected"), find, || {
            format!("{}\n{}", self.get(path).text(), self.log())
        })
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        ask(stream, method, path, headers).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for the end of the process.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let log = Arc::clone(&self.log);
        let ended = || self.child.try_wait().unwrap();
        wait("the program ends", ended, || log.lock().unwrap().clone())
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes * 1024
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Both fail only when the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until something is found; `otherwise` are the words for when it never is.
#[track_caller]
pub(crate) fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>, otherwise: impl Fn() -> String) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not so: {what}\n{}", otherwise());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An answer, taken apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no header in {:?}", String::from_utf8_lossy(bytes)));
        let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = header.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let pair = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        };
        Self {
            status,
            headers: lines.map(pair).collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One request over any stream, and everything until the other side closes.
pub(crate) fn ask(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> std::io::Result<Answer> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // TLS ends without a farewell where the peer simply closes.
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof || answer.is_empty() => Err(error),
        _ => Ok(Answer::parse(&answer)),
    }
}

/// Writes a file as a whole, as Kubernetes and careful editors do.
pub(crate) fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, path).unwrap();
}
