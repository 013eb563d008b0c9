//! The kinds of records as types. Each makes its own key from what it is about, so that whoever writes it twice writes it once.

use gpu_cost::{Moment, Template, UsageRow};
use gpu_model::ClusterId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StoreError;
use crate::record::{Record, RecordKind};

fn body(of: &impl Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(of).map_err(|error| StoreError::failed("write a record", error))
}

fn read<T: serde::de::DeserializeOwned>(record: &Record) -> Result<T, StoreError> {
    serde_json::from_value(record.body.clone()).map_err(|error| StoreError::failed("read a record", error))
}

/// A price with its validity. A new price is a new version; the old one stays to explain the rows that were made with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceVersion {
    pub cluster: ClusterId,
    /// What is priced: an instance type in a region, a commitment, a row of the sheet.
    pub scope: String,
    pub source: String,
    pub valid_from: Moment,
    pub valid_to: Option<Moment>,
    /// The price as the price book writes it.
    pub price: Value,
}

impl PriceVersion {
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Price,
            key: format!("{}/{}/{}", self.scope, self.source, self.valid_from.0),
            at: self.valid_from,
            subject: self.scope.clone(),
            is_open: self.valid_to.is_none(),
            until: self.valid_to,
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}

/// The subject under which the usage of a template is found.
pub fn template_subject(template: &Template) -> String {
    let owner = &template.owner;
    let step = template.step.as_deref().unwrap_or("-");
    let container = template.container.as_ref().map_or("-", |name| name.as_str());
    format!(
        "{}/{}/{}/{step}/{container}",
        template.namespace, owner.kind, owner.name
    )
}

/// How much a template used in one bucket of time.
pub fn usage_record(usage: &UsageRow) -> Result<Record, StoreError> {
    let subject = template_subject(&usage.template);
    Ok(Record {
        cluster: usage.template.cluster.clone(),
        kind: RecordKind::Usage,
        key: short_key(&subject, &format!("{}/{}", usage.grain.as_str(), usage.start.0)),
        at: usage.start,
        subject,
        is_open: false,
        until: None,
        body: body(usage)?,
    })
}

pub fn read_usage(record: &Record) -> Result<UsageRow, StoreError> {
    read(record)
}

/// Subjects may be longer than a key: the key holds a digest of them.
fn short_key(subject: &str, rest: &str) -> String {
    let digest = u128::from_be_bytes(crate::stored::digest(subject));
    format!("{digest:032x}/{rest}")
}

/// What was decided about something, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub cluster: ClusterId,
    /// Given by whoever decides; the same decision has the same id in every run.
    pub id: String,
    pub at: Moment,
    /// `pod/NAMESPACE/NAME`, `node/NAME`, `group/NAME`.
    pub subject: String,
    /// A few words from a closed list, for filters.
    pub verdict: String,
    /// Everything that was weighed.
    pub reasons: Value,
}

impl Decision {
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Decision,
            key: self.id.clone(),
            at: self.at,
            subject: self.subject.clone(),
            is_open: false,
            until: None,
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}

/// Something that is about to be done to a cloud or a cluster, written down before it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    pub cluster: ClusterId,
    pub id: String,
    pub at: Moment,
    pub subject: String,
    /// None while it is under way.
    pub outcome: Option<String>,
    pub act: Value,
}

impl Intent {
    /// Write it as a new record; once it has an outcome, as a replacement.
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Intent,
            key: self.id.clone(),
            at: self.at,
            subject: self.subject.clone(),
            is_open: self.outcome.is_none(),
            until: None,
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}

/// An offering that was refused, and until when nobody should ask again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    pub cluster: ClusterId,
    /// What was asked for: an instance type in a zone, on a market.
    pub offering: String,
    pub at: Moment,
    pub until: Moment,
    /// How often in a row, for the next waiting time.
    pub times: u32,
    pub class: String,
}

impl Refusal {
    /// Write it as a replacement: the last refusal of an offering counts.
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Refusal,
            key: self.offering.clone(),
            at: self.at,
            subject: self.offering.clone(),
            is_open: true,
            until: Some(self.until),
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}

/// Something that is held and not settled to its end: what a restart goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opening {
    pub cluster: ClusterId,
    /// A machine, or a holder on it.
    pub id: String,
    pub machine: String,
    pub since: Moment,
    /// Rows are written up to here. Moves forward in the batch that holds those rows.
    pub settled_until: Moment,
    pub is_closed: bool,
    /// What settlement needs to go on.
    pub holding: Value,
}

impl Opening {
    /// Write it as a replacement, together with the rows that settle it.
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Opening,
            key: self.id.clone(),
            at: self.since,
            subject: self.machine.clone(),
            is_open: !self.is_closed,
            until: Some(self.settled_until),
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}

/// What a loop must know after a restart, and the next leader after this one.
///
/// The term is part of the key: a leader that was replaced and does not know it yet writes beside what counts, not over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    pub cluster: ClusterId,
    /// Which loop remembers.
    pub room: String,
    /// What it remembers something of. Long names are for the body: a key has 400 bytes.
    pub id: String,
    /// The transitions of the lease under which it was written; of two memories of one thing, the later term counts.
    pub term: u64,
    pub at: Moment,
    /// When it may be forgotten. Without it, it would outlive what it is about.
    pub until: Moment,
    pub body: Value,
}

impl Memory {
    /// Write it as a replacement.
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Memory,
            key: format!("{}/{:016x}/{}", self.room, self.term, self.id),
            at: self.at,
            subject: self.room.clone(),
            is_open: true,
            until: Some(self.until),
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}

/// What a change of somebody's saved: the finding that ended, why it ended, and what it cost a month before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saving {
    pub cluster: ClusterId,
    /// The finding and the instant of its first telling, so that it is written once however often it is found out.
    pub id: String,
    pub at: Moment,
    /// The workload, or the pod where it has none, as `namespace/kind/name`.
    pub subject: String,
    pub body: Value,
}

impl Saving {
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record {
            cluster: self.cluster.clone(),
            kind: RecordKind::Saving,
            key: self.id.clone(),
            at: self.at,
            subject: self.subject.clone(),
            is_open: false,
            until: None,
            body: body(self)?,
        })
    }

    pub fn read(record: &Record) -> Result<Self, StoreError> {
        read(record)
    }
}
