//! Reading the settings again, on a signal and when a file changes. What is invalid is refused with the reason and the old
//! settings stay; what is valid is taken over as a whole. Files are looked at by content, because Kubernetes swaps symbolic
//! links under them and editors replace them. All of it runs on a thread of its own: a slow disk delays no request.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use gpu_runtime::Chain;
use ring::digest::{SHA256, digest};
use tracing::{error, info};

use super::Notes;
use crate::page::PageCache;
use crate::settings::{Flags, Settings};
use crate::web::config::WebConfig;
use crate::web::{Door, Site};

/// A few small reads in this time cost nothing, and nobody waits longer for a change.
const LOOK: Duration = Duration::from_secs(3);
/// Parsing a file takes little; the default of 2 MiB a thread frightens people who look at virtual memory.
const STACK_BYTES: usize = 512 * 1024;
/// The largest file that is looked at, as in reading settings.
const MOST_BYTES: u64 = 1024 * 1024;

/// The names of the two sources in metrics.
const CONFIG: &str = "config";
const WEB_CONFIG: &str = "web_config";

/// Asks for a reload now.
#[derive(Clone)]
pub(super) struct Bell(SyncSender<()>);

impl Bell {
    pub(super) fn ring(&self) {
        // A full channel means that a reload is due anyway.
        let _ = self.0.try_send(());
    }
}

/// Everything that a reload reads and changes.
pub(super) struct Reloader {
    flags: Flags,
    host: String,
    current: Settings,
    pages: Arc<PageCache>,
    door: Arc<Door>,
    notes: Notes,
    settings: Watch,
    web: Watch,
}

/// The files of one part of the settings, as they were last seen.
#[derive(Default)]
struct Watch {
    files: Vec<PathBuf>,
    seen: Vec<Option<Print>>,
    /// Why the newest content was refused. It is tried again at every look: what it misses may appear.
    refused: Option<String>,
}

type Print = [u8; 32];

impl Reloader {
    pub(super) fn new(flags: &Flags, current: Settings, host: &str, site: &Site, notes: Notes) -> Self {
        let mut reloader = Self {
            flags: flags.clone(),
            host: host.to_owned(),
            pages: Arc::clone(&site.pages),
            door: Arc::clone(&site.door),
            notes,
            settings: Watch::default(),
            web: Watch::default(),
            current,
        };
        reloader.settings.watch(reloader.settings_files());
        if let Some(path) = &reloader.current.web_config_file {
            // It was read with success a moment ago; should that have changed, the first look tells.
            let files = WebConfig::load(path).map_or_else(|_| vec![path.clone()], |config| config.files);
            reloader.web.watch(files);
            reloader.notes.good(WEB_CONFIG);
        }
        reloader.notes.good(CONFIG);
        reloader
    }

    /// Starts the thread; it ends with the program.
    pub(super) fn start(self) -> anyhow::Result<Bell> {
        let (bell, rings) = sync_channel(1);
        std::thread::Builder::new()
            .name("reload".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || self.run(&rings))
            .context("failed to start the thread that reads changed settings")?;
        Ok(Bell(bell))
    }

    fn run(mut self, rings: &Receiver<()>) {
        loop {
            let asked = match rings.recv_timeout(LOOK) {
                Ok(()) => Asked::ByPerson,
                Err(RecvTimeoutError::Timeout) => Asked::ByClock,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if self.settings.look(asked) == Due::Now {
                let outcome = self.reload_settings();
                self.settings.watch(self.settings_files());
                self.settings.note(CONFIG, asked, outcome, &self.notes);
            } else {
                self.notes.good(CONFIG);
            }
            let Some(path) = self.current.web_config_file.clone() else {
                continue;
            };
            if self.web.look(asked) == Due::Now {
                let outcome = self.reload_web(&path);
                self.web.note(WEB_CONFIG, asked, outcome, &self.notes);
            } else {
                self.notes.good(WEB_CONFIG);
            }
        }
    }

    fn settings_files(&self) -> Vec<PathBuf> {
        let files = self.flags.config_file.iter().chain(&self.current.collectors);
        files.chain(&self.current.amd_metrics_config).cloned().collect()
    }

    fn reload_settings(&mut self) -> anyhow::Result<()> {
        let next = Settings::resolve(&self.flags, &self.host)?;
        if let Some(name) = self.current.fixed_difference(&next) {
            anyhow::bail!("`{name}` cannot change while the exporter runs; restart it");
        }
        self.pages.set(next.page.clone());
        self.current = next;
        Ok(())
    }

    fn reload_web(&mut self, path: &Path) -> anyhow::Result<()> {
        let config = WebConfig::load(path)?;
        self.web.watch(config.files.clone());
        self.door.exchange(config);
        Ok(())
    }
}

/// Whether the files have to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Now,
    Not,
}

/// Who asked for a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    ByPerson,
    ByClock,
}

impl Watch {
    /// Changes which files are watched; what is known of them stays known.
    fn watch(&mut self, files: Vec<PathBuf>) {
        let known = |file: &PathBuf| {
            let at = self.files.iter().position(|own| own == file);
            at.map_or_else(|| print(file), |at| self.seen[at])
        };
        self.seen = files.iter().map(known).collect();
        self.files = files;
    }

    /// Looks before anything is read, so that a change during the reading shows at the next look.
    fn look(&mut self, asked: Asked) -> Due {
        let now: Vec<Option<Print>> = self.files.iter().map(|file| print(file)).collect();
        let changed = now != self.seen;
        self.seen = now;
        if asked == Asked::ByPerson || self.refused.is_some() || changed {
            Due::Now
        } else {
            Due::Not
        }
    }

    fn note(&mut self, name: &'static str, asked: Asked, outcome: anyhow::Result<()>, notes: &Notes) {
        match outcome {
            Ok(()) => {
                info!(what = name, "took changed settings over");
                self.refused = None;
                notes.good(name);
            }
            Err(error) => {
                let words = Chain(error.as_ref()).to_string();
                if asked == Asked::ByPerson || self.refused.as_deref() != Some(words.as_str()) {
                    error!(what = name, problem = %words, "refused changed settings; the old ones stay");
                    let problem = "the changed settings were refused and the old ones stay; the log says why";
                    notes.bad(name, "refused", problem);
                }
                self.refused = Some(words);
            }
        }
    }
}

/// The content in 32 bytes; none for a file that cannot be read or is too large to be ours.
fn print(path: &Path) -> Option<Print> {
    if std::fs::metadata(path).ok()?.len() > MOST_BYTES {
        return None;
    }
    let content = std::fs::read(path).ok()?;
    let mut print = Print::default();
    print.copy_from_slice(digest(&SHA256, &content).as_ref());
    Some(print)
}
