//! Takes the samples of one page and remembers what they say.

use super::cells::{Cell, Tables};
use super::fields::{Field, Metric};
use super::identity::{self, Unusable};
use super::labels::Picked;
use super::values::normalised;
use super::{Dialect, resolve};

/// The samples of one target, in any order.
#[derive(Debug, Default)]
pub(crate) struct PageReader {
    pub(super) tables: Tables,
    pub(super) skipped: u64,
    /// The page is gpu-exporter's.
    pub(super) is_ours: bool,
    /// A GPU was told of in our own words.
    has_our_gpus: bool,
    /// Some value of the page is simulated, by its own word.
    is_simulated: bool,
}

impl PageReader {
    /// Takes a sample of a family that is read.
    pub(crate) fn sample(&mut self, field: &Field, labels: &Picked<'_>, value: f64, at: Option<i64>) {
        if field.metric == Metric::Program {
            self.is_ours = true;
            return;
        }
        if labels.is_simulated {
            // Simulated values never stand among measured ones, where nobody could tell them apart.
            self.is_simulated = true;
            return;
        }
        if self.cell(field, labels, value, at).is_err() {
            self.skipped += 1;
        }
    }

    /// Whether the page, or a part of it, is simulated by its own word. Nothing of such a part is taken.
    pub(crate) fn is_simulated(&self) -> bool {
        self.is_simulated
    }

    /// Counts a line that could not be read.
    pub(crate) fn skip_line(&mut self) {
        self.skipped += 1;
    }

    /// Whether lines of this family can still say something new. gpu-exporter tells the same in several vocabularies, and ours comes
    /// first on its pages; only what it leaves out of ours unless it is asked for is of interest in another.
    pub(super) fn wants(&self, field: &Field) -> bool {
        let is_told = self.is_ours && self.has_our_gpus;
        let is_further = matches!(field.metric, Metric::RowRemapFailed | Metric::RowRemapPending);
        field.dialect == Dialect::Ours || !is_told || is_further
    }

    fn cell(
        &mut self,
        field: &Field,
        labels: &Picked<'_>,
        value: f64,
        at: Option<i64>,
    ) -> Result<(), Unusable> {
        let Some((metric, detail)) = resolve::sort(field, labels) else {
            return Ok(());
        };
        let dialect = dialect_of(field.dialect, labels);
        let value = normalised(field.unit, value).ok_or(Unusable)?;
        let Some(device) = identity::device(&mut self.tables, dialect, labels) else {
            // AMD's words about a GPU of which ours told already are no fault of the page.
            let known = dialect == Dialect::Amd && labels.serial.is_some();
            return if known { Ok(()) } else { Err(Unusable) };
        };
        self.has_our_gpus |= dialect == Dialect::Ours;
        let part = identity::part(&mut self.tables, device, dialect, labels)?;
        let holder = identity::holder(&mut self.tables, labels)?;
        let cell = Cell {
            device,
            part,
            holder,
            dialect,
            metric,
            detail,
            value,
            at,
        };
        if self.tables.push(cell) {
            Ok(())
        } else {
            Err(Unusable)
        }
    }
}

/// Ours and AMD's names share a prefix, and some day a name; ours always carry a vendor.
fn dialect_of(dialect: Dialect, labels: &Picked<'_>) -> Dialect {
    match dialect {
        Dialect::Ours if labels.vendor.is_none() && labels.serial.is_some() => Dialect::Amd,
        other => other,
    }
}
