//! Telling systemd how the program fares, where it asked to be told: ready after the first collection, alive while the
//! collection turns, stopping when it stops. One small datagram each, to the socket that systemd names.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tracing::warn;

use crate::snapshot::NodeSnapshot;

/// The one who is told.
pub(super) struct Systemd {
    socket: UnixDatagram,
    address: SocketAddr,
    /// How often a sign of life is expected; it is given twice as often.
    watchdog: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ready: bool,
    beat_at: Option<Instant>,
    failed: bool,
}

impl Systemd {
    /// What systemd put into the environment; `None` where it did not start us, or does not want to know.
    pub(super) fn from_environment() -> anyhow::Result<Option<Self>> {
        let Some(path) = std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()) else {
            return Ok(None);
        };
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_for_us = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|micros| is_for_us && *micros > 0);
        let address = match path.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
            _ => SocketAddr::from_pathname(&path),
        };
        Ok(Some(Self {
            socket: UnixDatagram::unbound().context("failed to make a socket for systemd")?,
            address: address.context("`NOTIFY_SOCKET` names no socket")?,
            watchdog: watchdog.map(Duration::from_micros),
            state: Mutex::default(),
        }))
    }

    /// Says what a snapshot allows to say; `quiet` is how long ago one was new.
    pub(super) fn tell(&self, snapshot: &NodeSnapshot, quiet: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Not only when the driver has answered: one that hangs is told on the page, which a restart would only take away.
        if !state.ready && snapshot.sequence > 0 {
            let gpus = snapshot.devices.len();
            state.ready = true;
            self.send(&mut state, &format!("READY=1\nSTATUS=serving {gpus} GPUs\n"));
        }
        let Some(watchdog) = self.watchdog else {
            return;
        };
        let is_due = state.beat_at.is_none_or(|at| at.elapsed() >= watchdog / 2);
        // A collection that does not turn gives no sign of life, and systemd starts a new process.
        if is_due && quiet < watchdog {
            state.beat_at = Some(Instant::now());
            self.send(&mut state, "WATCHDOG=1\n");
        }
    }

    pub(super) fn stopping(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.send(&mut state, "STOPPING=1\n");
    }

    fn send(&self, state: &mut State, words: &str) {
        if let Err(error) = self.socket.send_to_addr(words.as_bytes(), &self.address) {
            if !state.failed {
                warn!(%error, "cannot tell systemd how the exporter fares");
            }
            state.failed = true;
        }
    }
}
