//! One question to the kubelet, within bounds, over a connection that is kept.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gpu_kubelet::ConnectError;
use gpu_kubelet::podresources::{self, Client, ListPodResourcesRequest, ListPodResourcesResponse};
use tokio::task::JoinHandle;
use tonic::Code;

use super::Settings;
use crate::owners::answer::Answer;
use crate::owners::host::{HostFiles, Unreadable};
use crate::owners::names::PodNames;

/// Why the kubelet gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum PollError {
    #[error(
        "failed to look at the kubelet's socket `{path}`; is its directory mounted, and does the kubelet run?"
    )]
    Socket { path: PathBuf, source: io::Error },
    #[error("failed to connect to the kubelet")]
    Connect { source: ConnectError },
    #[error("the kubelet did not answer within {} s; restart it if it stays so", limit.as_secs_f64())]
    Timeout { limit: Duration },
    #[error("the kubelet refused to list who holds the devices")]
    Refused { source: Box<tonic::Status> },
}

impl PollError {
    /// The class that counts in metrics.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Socket { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "socket_missing",
                io::ErrorKind::PermissionDenied => "permission_denied",
                _ => "socket_unreadable",
            },
            Self::Connect { .. } => "connect",
            Self::Timeout { .. } => "timeout",
            Self::Refused { source } => match source.code() {
                Code::ResourceExhausted if source.message().contains("larger than max") => "too_large",
                Code::OutOfRange => "too_large",
                Code::ResourceExhausted => "rate_limited",
                Code::Unimplemented => "unimplemented",
                Code::Internal | Code::DataLoss => "malformed",
                Code::Unavailable | Code::Cancelled | Code::Unknown => "connection_lost",
                _ => "refused",
            },
        }
    }
}

/// A socket's file. A kubelet that starts again makes a new one under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketId {
    device: u64,
    inode: u64,
    /// File systems in memory give a number out again at once; the time of making tells two files apart.
    made: (i64, i64),
}

impl SocketId {
    fn read(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            made: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// What one question brought.
#[derive(Debug)]
pub(super) struct Polled {
    /// The node's files are read whether the kubelet answers or not: processes need the names, and pods end.
    pub(super) names: Arc<PodNames>,
    pub(super) unreadable: BTreeSet<Unreadable>,
    pub(super) answer: Result<Answer, PollError>,
    /// How many connections were made so far.
    pub(super) connections: u64,
}

/// The connection and the files, kept from question to question.
pub(super) struct Poller {
    settings: Settings,
    client: Option<Client>,
    connections: u64,
    socket: Option<SocketId>,
    files: Files,
    names: Arc<PodNames>,
    unreadable: BTreeSet<Unreadable>,
}

type Reading = (HostFiles, (PodNames, BTreeSet<Unreadable>));

/// The node's files, which are read on a thread that may block; never on two at once.
enum Files {
    Idle(HostFiles),
    Busy(JoinHandle<Reading>),
    /// Between the two.
    Taken,
}

impl Poller {
    pub(super) fn new(settings: Settings) -> Self {
        let files = HostFiles::new(settings.host.clone());
        Self {
            settings,
            client: None,
            connections: 0,
            socket: None,
            files: Files::Idle(files),
            names: Arc::default(),
            unreadable: BTreeSet::new(),
        }
    }

    /// Whether another kubelet serves the socket now than the one that was asked last.
    pub(super) fn socket_was_replaced(&self) -> bool {
        SocketId::read(&self.settings.socket).is_ok_and(|now| self.socket != Some(now))
    }

    pub(super) async fn poll(&mut self) -> Polled {
        let limit = self.settings.timeout;
        let listed = match tokio::time::timeout(limit, self.list()).await {
            Ok(listed) => listed,
            Err(_) => Err(PollError::Timeout { limit }),
        };
        if listed.is_err() {
            // Whatever went wrong, a fresh connection is the cheapest cure.
            self.client = None;
        }
        // After the answer: a pod that is in it and has no control group any more has ended in the meantime at most.
        self.read_files().await;
        let answer = listed.map(|list| Answer::read(&list, &self.settings.resources, &self.names));
        Polled {
            names: Arc::clone(&self.names),
            unreadable: self.unreadable.clone(),
            answer,
            connections: self.connections,
        }
    }

    async fn list(&mut self) -> Result<ListPodResourcesResponse, PollError> {
        let path = &self.settings.socket;
        let socket = SocketId::read(path).map_err(|source| PollError::Socket {
            path: path.clone(),
            source,
        })?;
        if self.socket != Some(socket) {
            self.client = None;
            self.socket = Some(socket);
        }
        let client = match &mut self.client {
            Some(client) => client,
            none => {
                let connected = podresources::client(path).await;
                let client = connected.map_err(|source| PollError::Connect { source })?;
                self.connections += 1;
                none.insert(client)
            }
        };
        match client.list(ListPodResourcesRequest {}).await {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(PollError::Refused {
                source: Box::new(status),
            }),
        }
    }

    /// Reads the node's files. A file system that hangs costs the time limit, and the names stay as they were.
    async fn read_files(&mut self) {
        let mut reading = match std::mem::replace(&mut self.files, Files::Taken) {
            Files::Busy(reading) => reading,
            Files::Idle(files) => start_reading(files),
            Files::Taken => start_reading(HostFiles::new(self.settings.host.clone())),
        };
        match tokio::time::timeout(self.settings.timeout, &mut reading).await {
            Ok(Ok((files, (names, unreadable)))) => {
                self.files = Files::Idle(files);
                self.names = Arc::new(names);
                self.unreadable = unreadable;
            }
            // Only when the program ends: nothing uses the names any more.
            Ok(Err(_)) => {}
            Err(_) => self.files = Files::Busy(reading),
        }
    }
}

fn start_reading(mut files: HostFiles) -> JoinHandle<Reading> {
    tokio::task::spawn_blocking(move || {
        let read = files.read();
        (files, read)
    })
}
