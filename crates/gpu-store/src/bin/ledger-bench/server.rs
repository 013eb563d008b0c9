//! A PostgreSQL server for one run, with the settings that it comes with: what is written is synchronised.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Outcome;

/// A running server. It ends, and its data go, with this value.
pub(crate) struct Server {
    child: Child,
    data: PathBuf,
    port: u16,
}

impl Server {
    /// Makes a data directory below `place`, which must be on the disk that is to be measured.
    pub(crate) fn start(place: &Path) -> Outcome<Self> {
        let data = place.join(format!("ledger-bench-{}", std::process::id()));
        std::fs::create_dir(&data)?;
        // The server refuses to run as root.
        let user = unprivileged_user()?;
        if let Some((uid, gid)) = user {
            chown(&data, Some(uid), Some(gid))?;
        }
        let command = |program: &str| -> Outcome<Command> {
            let mut command = Command::new(find(program)?);
            command
                .arg("-D")
                .arg(&data)
                .stdin(Stdio::null())
                .current_dir(&data);
            if let Some((uid, gid)) = user {
                command.uid(uid).gid(gid);
            }
            Ok(command)
        };
        let made = command("initdb")?
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
            ])
            .stdout(Stdio::null())
            .status()?;
        if !made.success() {
            return Err(format!("initdb ended with {made}").into());
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut child = command("postgres")?
            .args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""])
            .stderr(Stdio::piped())
            .spawn()?;
        let log = BufReader::new(child.stderr.take().ok_or("the server has no log")?);
        let server = Self { child, data, port };
        let mut lines = log.lines().map_while(Result::ok);
        if !lines.any(|line| line.contains("ready to accept connections")) {
            return Err("the server ended before it was ready".into());
        }
        // A pipe that nobody reads would stop the server once it is full.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Interrupted, it shuts down in order and takes its shared memory along.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// On the path, or where Debian keeps each version.
fn find(program: &str) -> Outcome<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        places.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let mut found = places.into_iter().map(|place| place.join(program));
    found
        .find(|path| path.is_file())
        .ok_or_else(|| format!("`{program}` is not installed").into())
}

/// None for somebody who is not root and can run the server as himself.
fn unprivileged_user() -> Outcome<Option<(u32, u32)>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    if uid.and_then(|line| line.split_whitespace().nth(1)) != Some("0") {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    for name in ["postgres:", "nobody:"] {
        let fields = users.lines().find_map(|line| line.strip_prefix(name));
        if let Some([_, uid, gid, ..]) = fields.map(|line| line.split(':').collect::<Vec<_>>()).as_deref() {
            return Ok(Some((uid.parse()?, gid.parse()?)));
        }
    }
    Err("there is no user to run the server as".into())
}
