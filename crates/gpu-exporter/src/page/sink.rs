//! Where lines go: a page with a limit. A family that does not fit is left out as a whole and counted, because half of a
//! family looks like a fleet that shrank.

use gpu_exposition::{FamilyMeta, FamilyWriter, Format, Labels, PageWriter, Value, WriteError};

/// A page that is being written.
pub(super) struct Sink<'p> {
    page: &'p mut String,
    format: Format,
    room: usize,
    tally: Tally,
}

/// What became of the series of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) series: usize,
    pub(super) series_dropped: usize,
    pub(super) families_dropped: usize,
}

impl<'p> Sink<'p> {
    pub(super) fn new(page: &'p mut String, format: Format, room: usize) -> Self {
        Self {
            page,
            format,
            room,
            tally: Tally::default(),
        }
    }

    /// Writes one family, or nothing of it.
    pub(super) fn family(&mut self, meta: &FamilyMeta<'_>, write: impl FnOnce(&mut Lines<'_, '_>)) {
        let start = self.page.len();
        let mut writer = PageWriter::new(self.page, self.format);
        let (written, refused, error) = match writer.family(meta) {
            Ok(family) => {
                let mut lines = Lines {
                    family,
                    room: self.room,
                    written: 0,
                    refused: 0,
                    error: None,
                };
                write(&mut lines);
                (lines.written, lines.refused, lines.error)
            }
            Err(error) => (0, 0, Some(error)),
        };
        if let Some(error) = &error {
            // Names and labels are checked when settings are read, so this is a mistake in the catalogue.
            tracing::error!(family = meta.name, error = %error, "left out a family that cannot be written");
        }
        if refused > 0 || error.is_some() {
            self.page.truncate(start);
            self.tally.series_dropped += written + refused;
            self.tally.families_dropped += 1;
        } else {
            self.room -= written;
            self.tally.series += written;
        }
    }

    /// Writes one family whose lines are rendered already, or nothing of it.
    pub(super) fn rendered(&mut self, meta: &FamilyMeta<'_>, series: usize, write: impl FnOnce(&mut String)) {
        if series > self.room {
            self.tally.series_dropped += series;
            self.tally.families_dropped += 1;
            return;
        }
        match PageWriter::new(self.page, self.format).family(meta) {
            Ok(mut family) => {
                family.header();
            }
            Err(error) => {
                tracing::error!(family = meta.name, %error, "left out a family that cannot be written");
                return;
            }
        }
        write(self.page);
        self.room -= series;
        self.tally.series += series;
    }

    /// Gives back room that was kept for families which must be there.
    pub(super) fn release(&mut self, reserved: usize) {
        self.room += reserved;
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn finish(self) -> Tally {
        PageWriter::new(self.page, self.format).finish();
        self.tally
    }
}

/// The lines of one family.
pub(super) struct Lines<'w, 'p> {
    family: FamilyWriter<'w, 'p>,
    room: usize,
    written: usize,
    refused: usize,
    error: Option<WriteError>,
}

impl Lines<'_, '_> {
    pub(super) fn sample<'a>(&mut self, labels: impl Into<Labels<'a>>, value: impl Into<Value>) {
        if self.written == self.room || self.error.is_some() {
            self.refused += 1;
            return;
        }
        match self.family.sample(labels, value) {
            Ok(_) => self.written += 1,
            Err(error) => {
                self.refused += 1;
                self.error = Some(error);
            }
        }
    }

    /// A float, if there is one. What is not finite is no measurement, and zero has no sign.
    pub(super) fn float<'a>(&mut self, labels: impl Into<Labels<'a>>, value: f64) {
        if value.is_finite() {
            self.sample(labels, value + 0.0);
        }
    }
}
