//! The end that comes from the workload: a file appears, or the processes of the other containers are gone. Looked for on a
//! thread of its own; what ends the program is the same latch that signals pull.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use gpu_runtime::Shutdown;
use tracing::{info, warn};

use crate::collect::Collector;
use crate::settings::{Until, UntilProcess};

/// Nobody waits for the end of a pod in fractions of a second.
const LOOK: Duration = Duration::from_secs(1);
/// A main container that has not been seen for this long had ended before the exporter began, or never starts; either way a
/// pod must not hold its GPU for an exporter. Pulling a large image takes less.
const UNSEEN: Duration = Duration::from_secs(15 * 60);
/// A process that starts another and ends leaves a moment with neither.
const GONE_LOOKS: u32 = 2;
/// A container has fewer processes; more are not looked at, and then nobody is said to be gone.
const MOST_PROCESSES: usize = 65_536;
/// The last sample is waited for, but not for ever: the pod ends with us.
const LAST_SAMPLE: Duration = Duration::from_secs(10);
const STACK_BYTES: usize = 256 * 1024;

/// Starts to look for the end, if the settings name one.
pub(super) fn watch(
    until: &Until,
    procfs: &Path,
    collector: &Arc<Collector>,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let process = match &until.process {
        Some(wanted) => Some(Others::new(
            wanted.clone(),
            procfs.to_owned(),
            std::process::id(),
        )?),
        None => None,
    };
    if until.file.is_none() && process.is_none() {
        return Ok(());
    }
    let watcher = Watcher {
        file: until.file.clone(),
        process,
    };
    let (collector, shutdown) = (Arc::clone(collector), shutdown.clone());
    std::thread::Builder::new()
        .name("until".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || watcher.run(&collector, &shutdown))
        .context("failed to start the thread that looks for the end")?;
    Ok(())
}

struct Watcher {
    file: Option<PathBuf>,
    process: Option<Others>,
}

impl Watcher {
    fn run(mut self, collector: &Collector, shutdown: &Shutdown) {
        while !shutdown.is_triggered() {
            if let Some(reason) = self.reason(Instant::now()) {
                info!(reason, "the workload has ended; taking a last sample");
                wait_for_sample(collector, shutdown);
                shutdown.trigger();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn reason(&mut self, now: Instant) -> Option<&'static str> {
        if self.file.as_ref().is_some_and(|file| file.exists()) {
            return Some("its file is there");
        }
        self.process.as_mut()?.look(now)
    }
}

fn wait_for_sample(collector: &Collector, shutdown: &Shutdown) {
    let seen = collector.snapshot().sequence;
    let deadline = Instant::now() + LAST_SAMPLE;
    // The turn that is under way may have begun before the end.
    while collector.snapshot().sequence < seen + 2 && Instant::now() < deadline && !shutdown.is_triggered() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The processes whose end is waited for.
struct Others {
    wanted: UntilProcess,
    procfs: PathBuf,
    own: u32,
    begun: Instant,
    seen: bool,
    gone_looks: u32,
}

impl Others {
    fn new(wanted: UntilProcess, procfs: PathBuf, own: u32) -> anyhow::Result<Self> {
        // The first process of a namespace is alone in it: other containers would not be seen.
        anyhow::ensure!(
            own != 1,
            "setting `until-process`: the processes of other containers cannot be seen from here; set `shareProcessNamespace: true` in the pod, or use --until-file"
        );
        Ok(Self {
            wanted,
            procfs,
            own,
            begun: Instant::now(),
            seen: false,
            gone_looks: 0,
        })
    }

    fn look(&mut self, now: Instant) -> Option<&'static str> {
        match self.is_there() {
            Some(true) => {
                (self.seen, self.gone_looks) = (true, 0);
                None
            }
            Some(false) if self.seen => {
                self.gone_looks += 1;
                (self.gone_looks >= GONE_LOOKS).then_some("its processes are gone")
            }
            Some(false) if now.saturating_duration_since(self.begun) > UNSEEN => {
                warn!("no process of the workload was seen for a quarter of an hour");
                Some("it was never seen")
            }
            Some(false) => None,
            // What cannot be looked at is not gone.
            None => None,
        }
    }

    fn is_there(&self) -> Option<bool> {
        let own_group = std::fs::read(self.procfs.join(self.own.to_string()).join("cgroup")).ok()?;
        let entries = std::fs::read_dir(&self.procfs).ok()?;
        for (count, entry) in entries.enumerate() {
            if count == MOST_PROCESSES {
                return None;
            }
            let name = entry.ok()?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // The pod's first process only holds its namespaces.
            if pid != 1 && pid != self.own && self.is_wanted(pid, &own_group) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn is_wanted(&self, pid: u32, own_group: &[u8]) -> bool {
        let directory = self.procfs.join(pid.to_string());
        // Without a command line it is a process that has ended and was not waited for, or one of the kernel.
        let Ok(command) = std::fs::read(directory.join("cmdline")) else {
            return false;
        };
        let program = command.split(|byte| *byte == 0).next().unwrap_or_default();
        if program.is_empty() {
            return false;
        }
        match &self.wanted {
            UntilProcess::Others => {
                std::fs::read(directory.join("cgroup")).is_ok_and(|group| group != own_group)
            }
            UntilProcess::Named(name) => {
                let base = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                let is_called = std::fs::read_to_string(directory.join("comm"))
                    .is_ok_and(|called| called.trim_end() == name.as_str());
                base == name.as_bytes() || is_called
            }
        }
    }
}

#[cfg(test)]
mod tests;
