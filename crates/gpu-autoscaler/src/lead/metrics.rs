//! What `/metrics` says of leadership and of writes.

use gpu_exposition::{PageWriter, WriteError};

use super::standing::Leadership;
use super::writes::WriteCounts;
use crate::catalog;

/// Adds the families to a page. A pair of labels is there from its first write on.
pub fn write_metrics(
    page: &mut PageWriter<'_>,
    leadership: &Leadership,
    counts: &WriteCounts,
) -> Result<(), WriteError> {
    page.family(&catalog::LEADER)?
        .sample(&[], u64::from(leadership.is_leader()))?;
    let mut writes = page.family(&catalog::WRITES)?;
    for ((kind, result), count) in counts.all() {
        writes.sample(&[("kind", kind), ("result", result)], count)?;
    }
    Ok(())
}
