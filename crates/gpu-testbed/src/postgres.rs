//! A real PostgreSQL server with an empty database of its own.

use std::os::unix::fs::{PermissionsExt, chown};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::{User, geteuid};

use crate::programs::ProgramMissing;
use crate::{Bed, BedError, Need, Part, PartSpec, Program, StopBy, UserIds, free_port};

/// Making a data directory takes two seconds on a quiet machine.
const INIT_WITHIN: Duration = Duration::from_secs(120);

/// A start takes less than a second; this is for a machine that compiles beside it.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A fast shutdown takes a blink; without it, the server would leave a segment of shared memory behind.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// What the server prints when clients may come.
const READY_LINE: &str = "database system is ready to accept connections";

/// The superuser of the database, who needs no password from this machine.
const DATABASE_USER: &str = "postgres";

/// Why PostgreSQL could not be started.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// A program is missing.
    #[error(transparent)]
    Program(#[from] ProgramMissing),
    /// It could not be started or died.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// There is nobody to run it as.
    #[error(
        "failed to find a user for PostgreSQL, which refuses to run as root; `postgres` or `nobody` will do"
    )]
    NoUser,
    /// The data directory could not be given to that user.
    #[error("failed to give the data directory to the user of PostgreSQL")]
    Owner(#[source] std::io::Error),
}

/// A running server. It lives as long as its bed.
#[derive(Debug)]
pub struct Postgres {
    part: Part,
    port: u16,
    data: String,
    user: Option<UserIds>,
    settings: Vec<(String, String)>,
    starts: u32,
}

/// How a server ends before it is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Connections are cut and everything is written down.
    Fast,
    /// Nothing is written down: the next start recovers from the log.
    Crash,
}

impl Postgres {
    /// The programs without which none of this works.
    pub fn need() -> Need {
        Need::programs(&[Program::Initdb, Program::Postgres])
    }

    /// Makes a data directory on the bed, starts the server and waits until it accepts connections.
    pub async fn start(bed: &Bed) -> Result<Self, PostgresError> {
        Self::start_with(bed, &[], &[]).await
    }

    /// Starts a server with settings of its own, and with files in its data directory that only it may read.
    pub async fn start_with(
        bed: &Bed,
        settings: &[(&str, &str)],
        files: &[(&str, &str)],
    ) -> Result<Self, PostgresError> {
        let user = unprivileged_user()?;
        let directory = bed.make_directory("postgres")?;
        if let Some(ids) = user {
            chown(&directory, Some(ids.uid), Some(ids.gid)).map_err(PostgresError::Owner)?;
        }
        let data = directory.display().to_string();
        let init = PartSpec::new("initdb", Program::Initdb.path()?).args([
            format!("--pgdata={data}"),
            format!("--username={DATABASE_USER}"),
            "--auth=trust".to_owned(),
            "--encoding=UTF8".to_owned(),
            "--locale=C".to_owned(),
            "--no-sync".to_owned(),
        ]);
        bed.run(as_user(user, init), INIT_WITHIN).await?;
        for (name, text) in files {
            let path = directory.join(name);
            std::fs::write(&path, text).map_err(PostgresError::Owner)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
                .map_err(PostgresError::Owner)?;
            if let Some(ids) = user {
                chown(&path, Some(ids.uid), Some(ids.gid)).map_err(PostgresError::Owner)?;
            }
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings: Vec<(String, String)> = settings.iter().map(owned).collect();
        let port = free_port();
        let part = start_server(bed, "postgres", &data, port, user, &settings).await?;
        Ok(Self {
            part,
            port,
            data,
            user,
            settings,
            starts: 1,
        })
    }

    /// Ends the server and starts it again on the same data and port.
    pub async fn restart(&mut self, bed: &Bed, ending: Ending) -> Result<(), PostgresError> {
        self.stop(ending).await?;
        self.start_again(bed).await
    }

    /// Ends the server; its data and port stay for another start.
    pub async fn stop(&mut self, ending: Ending) -> Result<(), PostgresError> {
        let signal = match ending {
            Ending::Fast => Signal::SIGINT,
            Ending::Crash => Signal::SIGQUIT,
        };
        self.part.stop_by(signal, STOP_GRACE).await?;
        Ok(())
    }

    /// Starts a server that was stopped.
    pub async fn start_again(&mut self, bed: &Bed) -> Result<(), PostgresError> {
        self.starts += 1;
        // Each start has a log of its own, in which the line is looked for that says it is ready.
        let name = format!("postgres-{}", self.starts);
        self.part = start_server(bed, &name, &self.data, self.port, self.user, &self.settings).await?;
        Ok(())
    }

    /// The part, for its log or its death.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The address of the database, as clients take it.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The address of another database of the server.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://{DATABASE_USER}@127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

fn as_user(user: Option<UserIds>, spec: PartSpec) -> PartSpec {
    match user {
        Some(ids) => spec.user(ids),
        None => spec,
    }
}

async fn start_server(
    bed: &Bed,
    name: &str,
    data: &str,
    port: u16,
    user: Option<UserIds>,
    settings: &[(String, String)],
) -> Result<Part, PostgresError> {
    let mut server = PartSpec::new(name, Program::Postgres.path()?)
        .args(["-D", data, "-p", &port.to_string()])
        .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
        .args(["-c", &format!("unix_socket_directories={data}")])
        .stop_by(StopBy::Signal(Signal::SIGINT, STOP_GRACE));
    for (name, value) in settings {
        server = server.args(["-c", &format!("{name}={value}")]);
    }
    let part = bed.spawn(as_user(user, server))?;
    part.ready(READY_WITHIN, || async {
        let printed = std::fs::read_to_string(part.log()).unwrap_or_default();
        if printed.contains(READY_LINE) {
            Ok(())
        } else {
            Err("it has not said that it is ready".to_owned())
        }
    })
    .await?;
    Ok(part)
}

/// Whom the server runs as when the test runs as root; none when the test's own user will do.
fn unprivileged_user() -> Result<Option<UserIds>, PostgresError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .map(|user| {
            Some(UserIds {
                uid: user.uid.as_raw(),
                gid: user.gid.as_raw(),
            })
        })
        .ok_or(PostgresError::NoUser)
}
