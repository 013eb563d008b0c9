//! Finds what beds left on the machine, and removes what belongs to beds whose owner is gone.
//!
//! The warden cleans up in every ordinary and most extraordinary cases; this is for a killed warden, and for proof.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bed::BedId;
use crate::bed::id::PREFIX;
use crate::warden::{BED_VARIABLE, mounts_below, remove_cgroup, remove_directory, unmount_below};

/// A warden whose owner has just gone needs this long at most to clean up by itself.
const WARDEN_PATIENCE: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(50);

/// Where control groups live; version 1 has one directory per controller below it.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Where named network namespaces live.
const NETWORK_NAMESPACES: &str = "/run/netns";

/// What was found. Each list is empty on a clean machine.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Leftovers {
    /// Processes, by the bed's mark in their environment or by their control group.
    pub processes: Vec<LeftProcess>,
    /// Temporary directories.
    pub directories: Vec<PathBuf>,
    /// Mount points below those directories.
    pub mounts: Vec<PathBuf>,
    /// Control groups that bear the name of a bed.
    pub cgroups: Vec<PathBuf>,
    /// Named network namespaces that bear the name of a bed.
    pub network_namespaces: Vec<PathBuf>,
}

/// A process of a bed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftProcess {
    /// Its id.
    pub pid: i32,
    /// Its bed.
    pub bed: BedId,
    /// Its command line.
    pub command: String,
}

impl LeftProcess {
    /// Whether it is a warden, which ends by itself after its clean-up.
    pub fn is_warden(&self) -> bool {
        self.command.contains("testbed-warden serve")
    }
}

impl Leftovers {
    /// Everything of one bed, whether its owner lives or not.
    pub fn of(bed: &BedId) -> Self {
        Self::find(|found| found == bed)
    }

    /// Everything of beds whose owner is gone.
    pub fn of_the_dead() -> Self {
        Self::find(|found| !found.owner_lives())
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn find(wanted: impl Fn(&BedId) -> bool) -> Self {
        let named = |parent: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
            let mut found: Vec<PathBuf> = entries
                .filter(|entry| {
                    let name = entry.file_name();
                    name.to_str()
                        .and_then(BedId::from_directory_name)
                        .is_some_and(|id| wanted(&id))
                })
                .map(|entry| entry.path())
                .collect();
            found.sort();
            found
        };
        let directories = named(&std::env::temp_dir());
        let mut cgroups = named(Path::new(CGROUPS));
        for controller in std::fs::read_dir(CGROUPS).into_iter().flatten().flatten() {
            cgroups.extend(named(&controller.path()));
        }
        Self {
            processes: processes()
                .into_iter()
                .filter(|process| wanted(&process.bed))
                .collect(),
            mounts: directories
                .iter()
                .flat_map(|directory| mounts_below(directory))
                .collect(),
            directories,
            cgroups,
            network_namespaces: named(Path::new(NETWORK_NAMESPACES)),
        }
    }
}

impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for process in &self.processes {
            writeln!(
                f,
                "process {} of bed {}: {}",
                process.pid, process.bed, process.command
            )?;
        }
        let kinds = [
            ("directory", &self.directories),
            ("mount", &self.mounts),
            ("control group", &self.cgroups),
            ("network namespace", &self.network_namespaces),
        ];
        for (kind, paths) in kinds {
            for path in paths {
                writeln!(f, "{kind} {}", path.display())?;
            }
        }
        Ok(())
    }
}

/// Removes what beds of dead owners left, and says what it was.
///
/// A warden that is still cleaning up is given the time to do so, and then nothing is left to sweep.
pub fn sweep() -> anyhow::Result<Leftovers> {
    let deadline = Instant::now() + WARDEN_PATIENCE;
    let mut found = Leftovers::of_the_dead();
    while found.processes.iter().any(LeftProcess::is_warden) && Instant::now() < deadline {
        std::thread::sleep(POLL);
        found = Leftovers::of_the_dead();
    }
    for process in &found.processes {
        // It may have ended in between.
        let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
    }
    for directory in &found.directories {
        remove_directory(directory)?;
    }
    for cgroup in &found.cgroups {
        remove_cgroup(cgroup)?;
    }
    for namespace in &found.network_namespaces {
        unmount_below(namespace)?;
        std::fs::remove_file(namespace)?;
    }
    Ok(found)
}

/// All processes of all beds, except this one: a test may itself run below a bed.
fn processes() -> Vec<LeftProcess> {
    let mut found = Vec::new();
    let own = std::process::id();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        if pid == own {
            continue;
        }
        let Some(bed) = mark_of(&entry.path()) else {
            continue;
        };
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&words).replace('\0', " ");
        if let Ok(pid) = i32::try_from(pid) {
            found.push(LeftProcess {
                pid,
                bed,
                command: command.trim_end().to_owned(),
            });
        }
    }
    found
}

/// The bed in a process's environment, or in the name of its control group: containers have an environment of their
/// own, but live in a group that the bed made.
fn mark_of(process: &Path) -> Option<BedId> {
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    let variable = format!("{BED_VARIABLE}=");
    let by_environment = environment
        .split(|byte| *byte == 0)
        .filter_map(|entry| std::str::from_utf8(entry).ok()?.strip_prefix(&variable))
        .find_map(BedId::parse);
    by_environment.or_else(|| {
        let groups = std::fs::read_to_string(process.join("cgroup")).ok()?;
        groups
            .split(['/', '\n'])
            .filter(|name| name.starts_with(PREFIX))
            .find_map(BedId::from_directory_name)
    })
}
