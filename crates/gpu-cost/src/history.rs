//! The use of every workload template in a window, from what is in the books.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{OwnerRef, Permille, PodUid};

use crate::books::Books;
use crate::{Grain, Holder, LedgerRow, Part, Span, Template, UsageRow};

/// What makes a holder's pods the same work. A pod of its own is its own template.
fn template(row: &LedgerRow, holder: &Holder) -> Template {
    let owner = holder.dimensions.owner.clone().unwrap_or_else(|| OwnerRef {
        kind: "Pod".to_owned(),
        name: holder.pod.as_str().to_owned(),
    });
    Template {
        cluster: row.cluster.clone(),
        namespace: holder.namespace.clone(),
        owner,
        step: holder.dimensions.step.clone(),
        container: holder.container.clone(),
    }
}

impl Books {
    /// One row for each template that held a GPU in a window, from the window's settled rows and the samples behind them.
    ///
    /// Memory and energy are not known here; whoever reads them adds them by [`UsageRow::merge`].
    pub fn usage(&self, window: Span, grain: Grain, rows: &[LedgerRow]) -> Vec<UsageRow> {
        let mut found: BTreeMap<Template, (UsageRow, BTreeSet<PodUid>)> = BTreeMap::new();
        let mut owners: BTreeMap<PodUid, Template> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.part == Part::Pod) {
            let Some(holder) = &row.holder else { continue };
            let template = template(row, holder);
            owners.insert(holder.uid.clone(), template.clone());
            let start = grain.bucket(window.start).start;
            let (usage, pods) = found
                .entry(template.clone())
                .or_insert_with(|| (UsageRow::new(template, grain, start), BTreeSet::new()));
            usage.held_ms = usage.held_ms.saturating_add(row.time.held_ms);
            pods.insert(holder.uid.clone());
        }
        for book in self.machines.values() {
            for (id, claim) in &book.claims {
                let usage = owners.get(&id.pod).and_then(|template| found.get_mut(template));
                let Some((usage, _)) = usage else { continue };
                for piece in claim.used.iter().filter(|piece| window.contains(piece.start)) {
                    usage.sample(Permille::clamped(piece.permille));
                }
            }
        }
        let mut rows = Vec::with_capacity(found.len());
        for (mut usage, pods) in found.into_values() {
            usage.pods = u32::try_from(pods.len()).unwrap_or(u32::MAX);
            rows.push(usage);
        }
        rows
    }
}
