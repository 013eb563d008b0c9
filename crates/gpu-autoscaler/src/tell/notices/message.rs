//! What a notice says: everything that was told of one owner in one cycle.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gpu_model::{ClusterId, NanoUsd};
use jiff::Timestamp;
use serde::Serialize;

use crate::tell::diary::{About, Act, ActKind};
use crate::tell::events::short_digest;
use crate::tell::words;

/// A digest for one owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The same for the same news: receivers that see it twice may drop the second.
    pub id: String,
    pub cluster: String,
    pub at: Timestamp,
    pub namespace: Option<String>,
    /// `namespace/kind/name`.
    pub owner: String,
    pub items: Vec<Item>,
    /// Items that were left out of a long notice.
    pub omitted: usize,
    /// The sum over all that began; absent where a price is not known.
    #[serde(rename = "monthlyNanoUsd")]
    pub monthly: Option<NanoUsd>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub kind: ItemKind,
    pub finding: String,
    pub cause: &'static str,
    /// The pod, or whatever else it is about.
    pub subject: String,
    pub since: Timestamp,
    #[serde(rename = "monthlyNanoUsd")]
    pub monthly: Option<NanoUsd>,
    /// The same words as in the event.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemKind {
    Detected,
    Resolved,
}

/// A mail or a chat message with more is not read; the rest is counted.
const MOST_ITEMS: usize = 20;

/// One notice for each owner of whom something began or ended. A finding that goes on is no news.
pub(super) fn digests(cluster: &ClusterId, acts: &[&Act], now: Timestamp) -> Vec<Notice> {
    let mut owners: BTreeMap<String, Vec<&Act>> = BTreeMap::new();
    for act in acts.iter().filter(|act| act.kind != ActKind::Repeat) {
        owners.entry(act.entry.about.owner()).or_default().push(act);
    }
    owners
        .into_iter()
        .map(|(owner, acts)| digest(cluster, owner, &acts, now))
        .collect()
}

fn digest(cluster: &ClusterId, owner: String, acts: &[&Act], now: Timestamp) -> Notice {
    let all: Vec<Item> = acts.iter().map(|act| item(act, now)).collect();
    let ids: Vec<String> = acts
        .iter()
        .map(|act| {
            let told = act.entry.told_at.map_or(0, Timestamp::as_second);
            format!("{} {told}", act.entry.id)
        })
        .collect();
    let monthly = all
        .iter()
        .filter(|item| item.kind == ItemKind::Detected)
        .map(|item| item.monthly)
        .try_fold(NanoUsd::ZERO, |sum, monthly| sum.checked_add(monthly?));
    Notice {
        id: short_digest(&format!("{cluster} {owner} {}", ids.join(" "))),
        cluster: cluster.to_string(),
        at: now,
        namespace: acts
            .first()
            .and_then(|act| act.entry.about.namespace())
            .map(str::to_owned),
        owner,
        omitted: all.len().saturating_sub(MOST_ITEMS),
        items: all.into_iter().take(MOST_ITEMS).collect(),
        monthly,
    }
}

fn item(act: &Act, now: Timestamp) -> Item {
    let entry = &act.entry;
    let subject = match &entry.about {
        About::Pod { namespace, name, .. } => format!("{namespace}/{name}"),
        About::Gpu { node, uuid } => format!("{node}/{uuid}"),
        About::Node { name } => name.clone(),
    };
    Item {
        kind: match act.kind {
            ActKind::Tell | ActKind::Repeat => ItemKind::Detected,
            ActKind::Resolve(_) => ItemKind::Resolved,
        },
        finding: entry.id.to_string(),
        cause: entry.cause.as_str(),
        subject,
        since: entry.since,
        monthly: entry.monthly,
        text: words::note(act, now),
    }
}

impl Notice {
    /// One line for a subject or a notification.
    pub fn headline(&self) -> String {
        let detected = self
            .items
            .iter()
            .filter(|item| item.kind == ItemKind::Detected)
            .count();
        let resolved = self.items.len() - detected;
        let mut parts = Vec::new();
        if detected > 0 {
            let money = match self.monthly {
                Some(monthly) => format!(", about {} a month", words::dollars(monthly)),
                None => String::new(),
            };
            let plural = if detected == 1 { "" } else { "s" };
            parts.push(format!("{detected} GPU waste finding{plural}{money}"));
        }
        if resolved > 0 {
            parts.push(format!("{resolved} resolved"));
        }
        format!("{}: {} ({})", self.owner, parts.join("; "), self.cluster)
    }

    /// The body of a mail.
    pub fn plain(&self) -> String {
        let mut text = format!("{}\n", self.headline());
        for item in &self.items {
            let kind = match item.kind {
                ItemKind::Detected => "found",
                ItemKind::Resolved => "resolved",
            };
            // Writing to a text cannot fail.
            let _ = write!(text, "\n{kind}: {}\n{}\n", item.subject, item.text);
        }
        if self.omitted > 0 {
            let _ = write!(text, "\n{} more are not listed.\n", self.omitted);
        }
        text
    }
}
