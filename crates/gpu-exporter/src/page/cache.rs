//! The pages of the newest snapshot, each made when it is first asked for and then copied to everybody who asks. Making
//! one is single-flight, because those who wait would only make the same page again.

use std::sync::{Arc, Mutex, PoisonError};

use gpu_exposition::{Format, WriteError};

use super::applications::Joined;
use super::gzip::Gzip;
use super::labels::{NodeLabels, have_same_labels};
use super::plan::Plan;
use super::render::{KeptLabels, Look, render};
use super::settings::{PageSettings, Subset};
use crate::applications::Applications;
use crate::snapshot::NodeSnapshot;

/// How the bytes of a page are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoding {
    Plain,
    Gzip,
}

/// Which page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    pub format: Format,
    pub subset: Subset,
    pub encoding: Encoding,
}

/// A page that can be sent. It is shared: taking one copies nothing, and it lives until the last reader has read it.
#[derive(Debug, Clone)]
pub struct Page {
    bytes: Arc<Vec<u8>>,
    pub format: Format,
    pub encoding: Encoding,
}

impl AsRef<[u8]> for Page {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The kept pages.
pub struct PageCache {
    applications: Arc<Applications>,
    state: Mutex<State>,
}

struct State {
    settings: PageSettings,
    plan: Plan,
    labels: Option<KeptLabels>,
    joined: Joined,
    text: String,
    gzip: Gzip,
    /// By format, subset and encoding.
    slots: [Slot; 8],
    dropped_total: u64,
}

#[derive(Default)]
struct Slot {
    sequence: Option<u64>,
    bytes: Arc<Vec<u8>>,
}

impl PageCache {
    pub fn new(settings: PageSettings) -> Self {
        Self::with_applications(settings, Arc::default())
    }

    /// Pages that also show what applications say.
    pub fn with_applications(settings: PageSettings, applications: Arc<Applications>) -> Self {
        applications.reserve(settings.static_labels.iter().map(|(name, _)| name));
        Self {
            applications,
            state: Mutex::new(State {
                plan: Plan::new(&settings),
                settings,
                labels: None,
                joined: Joined::default(),
                text: String::new(),
                gzip: Gzip::new(),
                slots: Default::default(),
                dropped_total: 0,
            }),
        }
    }

    /// Takes new settings over; the count of dropped series goes on.
    pub fn set(&self, settings: PageSettings) {
        let names = settings.static_labels.iter().map(|(name, _)| name);
        self.applications.reserve(names);
        let mut state = self.lock();
        state.plan = Plan::new(&settings);
        state.settings = settings;
        state.labels = None;
        state.slots.iter_mut().for_each(|slot| slot.sequence = None);
    }

    /// The page of a snapshot, made now unless somebody asked for it before.
    ///
    /// # Errors
    /// When a label of the settings cannot be written; [`super::StaticLabels`] lets none through.
    pub fn page(&self, snapshot: &Arc<NodeSnapshot>, request: PageRequest) -> Result<Page, WriteError> {
        let mut state = self.lock();
        state.ensure(snapshot, &self.applications, request)?;
        let bytes = Arc::clone(&state.slots[slot_of(request)].bytes);
        Ok(Page {
            bytes,
            format: request.format,
            encoding: request.encoding,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A page that a panic left half made has no sequence yet, so it is made again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ensure(
        &mut self,
        snapshot: &Arc<NodeSnapshot>,
        applications: &Applications,
        request: PageRequest,
    ) -> Result<(), WriteError> {
        let at = slot_of(request);
        if self.slots[at].sequence == Some(snapshot.sequence) {
            return Ok(());
        }
        let mut bytes = reclaimed(&mut self.slots[at]);
        match request.encoding {
            Encoding::Plain => self.render(snapshot, applications, request, &mut bytes)?,
            Encoding::Gzip => {
                let plain = PageRequest {
                    encoding: Encoding::Plain,
                    ..request
                };
                self.ensure(snapshot, applications, plain)?;
                let packed = self.gzip.compress(&self.slots[slot_of(plain)].bytes, &mut bytes);
                packed.expect("deflate in memory has no way to fail");
            }
        }
        // The slot's own reference is the only one: `reclaimed` made sure of it.
        if let Some(own) = Arc::get_mut(&mut self.slots[at].bytes) {
            *own = bytes;
        }
        self.slots[at].sequence = Some(snapshot.sequence);
        Ok(())
    }

    fn render(
        &mut self,
        snapshot: &Arc<NodeSnapshot>,
        applications: &Applications,
        request: PageRequest,
        bytes: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        let (kept, is_new) = match self.labels.take() {
            Some(kept) if have_same_labels(&kept.of, snapshot) => (kept, false),
            _ => {
                let kept = KeptLabels {
                    of: Arc::clone(snapshot),
                    labels: NodeLabels::new(snapshot, &self.settings, &self.plan.dcgm_labels)?,
                };
                (kept, true)
            }
        };
        let shelf = applications.shelf();
        if is_new || !self.joined.is_of(&shelf) {
            self.joined = Joined::new(&shelf, snapshot, &self.settings)?;
        }
        self.text.clear();
        let look = Look {
            plan: &self.plan,
            labels: &kept.labels,
            applications: &self.joined,
            format: request.format,
            subset: request.subset,
            dropped_before: self.dropped_total,
        };
        let tally = render(&mut self.text, snapshot, &look);
        self.dropped_total += tally.series_dropped as u64;
        self.labels = Some(kept);
        bytes.clear();
        bytes.extend_from_slice(self.text.as_bytes());
        Ok(())
    }
}

/// The buffer of a slot's last page, or a new one while somebody still reads it. The slot is left with an empty page of
/// its own.
fn reclaimed(slot: &mut Slot) -> Vec<u8> {
    slot.sequence = None;
    match Arc::get_mut(&mut slot.bytes) {
        Some(bytes) => std::mem::take(bytes),
        None => {
            let size = slot.bytes.len();
            slot.bytes = Arc::default();
            Vec::with_capacity(size)
        }
    }
}

const fn slot_of(request: PageRequest) -> usize {
    let format = match request.format {
        Format::Text => 0,
        Format::OpenMetrics => 1,
    };
    let subset = match request.subset {
        Subset::Full => 0,
        Subset::Core => 2,
    };
    let encoding = match request.encoding {
        Encoding::Plain => 0,
        Encoding::Gzip => 4,
    };
    format + subset + encoding
}
