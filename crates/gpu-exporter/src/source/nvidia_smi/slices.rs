//! The names of slices: `nvidia-smi -L` has their uuids and profiles, the report has only their numbers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::super::tool::{Answer, Runner};

/// A slice as `-L` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceName {
    pub uuid: String,
    pub profile: String,
}

/// By the uuid of the GPU and the slice's place on it.
pub type SliceTable = BTreeMap<(String, u32), SliceName>;

/// A GPU has at most a few dozen slices, a machine a few dozen GPUs.
const MOST_LINES: usize = 4096;
/// Slices that were removed and made again have the same numbers and other uuids; this long such an exchange may go unseen.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// Understands the list. Lines of another form are passed over.
pub fn slice_names(text: &str) -> SliceTable {
    let mut table = SliceTable::new();
    let mut gpu: Option<String> = None;
    for line in text.lines().take(MOST_LINES) {
        let line = line.trim();
        let Some(uuid) = uuid_of(line) else { continue };
        if line.starts_with("GPU ") {
            gpu = Some(uuid.to_owned());
        } else if let (Some(gpu), Some(rest)) = (&gpu, line.strip_prefix("MIG ")) {
            let Some((profile, rest)) = rest.trim_start().split_once(char::is_whitespace) else {
                continue;
            };
            let index = rest
                .trim_start()
                .strip_prefix("Device")
                .and_then(|rest| rest.split(':').next());
            let Some(index) = index.and_then(|index| index.trim().parse().ok()) else {
                continue;
            };
            let name = SliceName {
                uuid: uuid.to_owned(),
                profile: profile.to_owned(),
            };
            table.insert((gpu.clone(), index), name);
        }
    }
    table
}

/// What stands in `(UUID: ...)`.
fn uuid_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("(UUID:")?;
    let (uuid, _) = rest.split_once(')')?;
    Some(uuid.trim()).filter(|uuid| !uuid.is_empty())
}

/// The list as it was last told, and for which slices.
#[derive(Debug, Default)]
pub(super) struct SliceNames {
    table: SliceTable,
    layout: Vec<(String, Vec<String>)>,
    asked_at: Option<Instant>,
}

impl SliceNames {
    /// Puts uuids and profiles on the slices of an answer. Slices that are not in the list keep the older form of name, which is
    /// made of their numbers.
    pub(super) fn name(&mut self, answer: &mut Answer, runner: &Runner) {
        let layout: Vec<(String, Vec<String>)> = answer
            .devices
            .iter()
            .filter(|told| !told.listed.layout.is_empty())
            .map(|told| (told.listed.identity.uuid.clone(), told.listed.layout.clone()))
            .collect();
        if layout.is_empty() {
            *self = Self::default();
            return;
        }
        let is_old = self.asked_at.is_none_or(|at| at.elapsed() > ASK_AGAIN);
        if (layout != self.layout || is_old)
            && let Ok(output) = runner.run(&["-L"])
        {
            self.table = slice_names(&output.text);
            self.asked_at = Some(Instant::now());
            // A list without a single slice was made while they changed: it is asked for again.
            self.layout = if self.table.is_empty() { Vec::new() } else { layout };
        }
        self.put(answer);
    }

    fn put(&self, answer: &mut Answer) {
        for told in &mut answer.devices {
            let gpu = told.listed.identity.uuid.clone();
            let Ok(readings) = &mut told.outcome else { continue };
            for slice in &mut readings.slices {
                let place = slice.uuid.parse::<u32>().ok();
                let name = place.and_then(|place| self.table.get(&(gpu.clone(), place)));
                if let Some(name) = name {
                    slice.uuid.clone_from(&name.uuid);
                    slice.profile.clone_from(&name.profile);
                } else if !slice.uuid.starts_with("MIG-") {
                    slice.uuid = format!("MIG-{gpu}/{}/{}", slice.id.gi, slice.id.ci);
                }
            }
            // New uuids on the same numbers are new slices.
            told.listed.layout = readings.slices.iter().map(|slice| slice.uuid.clone()).collect();
        }
    }
}

#[cfg(test)]
mod tests;
