//! The lines of JSON between the test process and the warden. Types only: no input or output here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One line from the test process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Comes back in the reply.
    pub id: u64,
    /// What to do.
    pub order: Order,
}

/// What a test process may ask for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Start a program.
    Spawn(SpawnOrder),
    /// Ask a part to end by its own stop signal, and kill it after the grace.
    Stop {
        /// The part's name.
        name: String,
        /// How long it may take.
        grace_millis: u64,
    },
    /// Send a signal to a part's process group.
    Signal {
        /// The part's name.
        name: String,
        /// The number of the signal.
        signal: i32,
    },
    /// Remove this directory too when the bed ends, after unmounting what is below it.
    OwnDirectory(PathBuf),
    /// Remove this control group, with those below it, when the bed ends.
    OwnCgroup(PathBuf),
}

/// A program to start as a part of the bed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpawnOrder {
    /// Unique among the running parts of the bed.
    pub name: String,
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, without the program itself.
    pub args: Vec<String>,
    /// Added to the warden's own environment.
    pub env: BTreeMap<String, String>,
    /// Where it starts; the bed's directory when absent.
    pub cwd: Option<PathBuf>,
    /// Whom it runs as; the warden's own user when absent.
    pub user: Option<UserIds>,
    /// Receives standard output and standard error.
    pub log: PathBuf,
    /// The signal that asks it to end.
    pub stop_signal: i32,
    /// How long it may take to end when the bed ends.
    pub grace_millis: u64,
}

/// The user and group that a part runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserIds {
    /// User id.
    pub uid: u32,
    /// Group id; supplementary groups are dropped.
    pub gid: u32,
}

/// One line from the warden.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The warden runs and has made the bed's directory.
    Ready {
        /// Which sources it was built from.
        fingerprint: u64,
        /// Its own process id, as it sees it.
        pid: i32,
    },
    /// An order was carried out.
    Done {
        /// The request's id.
        id: u64,
        /// The process id of a started part, as the warden sees it.
        pid: Option<i32>,
    },
    /// An order was not carried out.
    Refused {
        /// The request's id.
        id: u64,
        /// Why.
        error: String,
    },
    /// A part has ended.
    Exited {
        /// The part's name.
        name: String,
        /// How it ended.
        end: End,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            End::Code(code) => write!(f, "exit code {code}"),
            End::Signal(number) => match nix::sys::signal::Signal::try_from(number) {
                Ok(signal) => write!(f, "signal {signal}"),
                Err(_) => write!(f, "signal {number}"),
            },
        }
    }
}
