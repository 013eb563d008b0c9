//! `--once`: collects, prints the page and ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_exposition::Format;
use gpu_runtime::{Shutdown, Tasks, Terminal};

use super::applications::{applications, read_once};
use super::{Outcome, Parts, start_collector};
use crate::page::{Encoding, PageCache, PageRequest, Subset};
use crate::settings::Settings;
use crate::snapshot::{NodeSnapshot, SourceStatus};
use crate::web::first_collection;

/// A driver that does not answer within this is shown as what it is: not answering.
const PATIENCE: Duration = Duration::from_secs(10);
/// Often enough that nobody feels it.
const LOOK: Duration = Duration::from_millis(20);

pub(super) async fn once(settings: Settings, parts: &Parts) -> anyhow::Result<Outcome> {
    let shutdown = Shutdown::new();
    // They end with this value.
    let mut tasks = Tasks::new(shutdown.clone());
    let owners = (parts.attribution)(&settings, &mut tasks, &shutdown);
    let applications = applications(&settings);
    let collector = start_collector(&settings, parts, owners)?;
    let deadline = Instant::now() + PATIENCE + settings.sample_interval * 2;
    let mut first_complete = None;
    let is_enough = |snapshot: &Arc<NodeSnapshot>, first_complete: &mut Option<u64>| {
        let is_told = |source: &SourceStatus| source.up || source.problem.is_some();
        if first_collection(snapshot).is_err() || !snapshot.sources.iter().all(is_told) {
            return false;
        }
        // What is read slowly comes one turn after the first quick sample.
        let first = *first_complete.get_or_insert(snapshot.sequence);
        snapshot.devices.is_empty() || snapshot.sequence > first
    };
    let snapshot = loop {
        let snapshot = collector.snapshot();
        if is_enough(&snapshot, &mut first_complete) || Instant::now() >= deadline {
            break snapshot;
        }
        tokio::time::sleep(LOOK).await;
    };
    let request = PageRequest {
        format: Format::Text,
        subset: Subset::Full,
        encoding: Encoding::Plain,
    };
    let pages = PageCache::with_applications(settings.page, Arc::clone(&applications));
    read_once(&settings.applications, &applications, &snapshot);
    let page = pages.page(&snapshot, request)?;
    Terminal::Plain.say(String::from_utf8_lossy(page.as_ref()));
    Ok(Outcome::Done)
}
