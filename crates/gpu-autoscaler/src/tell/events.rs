//! Kubernetes events about findings: on the pod and on the object that made it, as series, within a rate.
//!
//! The name of an event is made from what it tells and of whom. Telling the same again therefore finds the event that is there and counts
//! it up, whoever told it first.

mod bucket;

use gpu_waste::Cause;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use serde_json::json;

pub use bucket::Bucket;

use super::diary::{About, Act, ActKind, Outcome, WorkloadRef};
use super::words;
use crate::lead::{Change, ChangeError, Refusal, WriteError, WriteKind, WritePermit, Writer, Written};

/// Who reports, for the `From` column of `kubectl describe`.
const CONTROLLER: &str = "gpu-autoscaler";
/// Events about things that are in no namespace lie here.
const CLUSTER_NAMESPACE: &str = "default";
/// A series that changed under two looks is being told by somebody else.
const LOOKS: u32 = 2;
/// Names of events: the object's name and a digest. The server takes 253 characters.
const LONGEST_NAME: usize = 200;

/// Which event, of the contract's reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    WasteDetected,
    WasteResolved,
    SignalsContradict,
    Unhealthy,
    /// A GPU that was unhealthy is trusted again.
    Healthy,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WasteDetected => "GPUWasteDetected",
            Self::WasteResolved => "GPUWasteResolved",
            Self::SignalsContradict => "GPUSignalsContradict",
            Self::Unhealthy => "GPUUnhealthy",
            Self::Healthy => "GPUHealthy",
        }
    }

    fn is_warning(self) -> bool {
        !matches!(self, Self::WasteResolved | Self::Healthy)
    }

    fn of(act: &Act) -> Self {
        match (act.kind, act.entry.cause) {
            (ActKind::Resolve(_), _) => Self::WasteResolved,
            (_, Cause::Contradiction) => Self::SignalsContradict,
            (_, Cause::Unhealthy) => Self::Unhealthy,
            (ActKind::Tell | ActKind::Repeat, _) => Self::WasteDetected,
        }
    }
}

/// One event to be told or counted up.
#[derive(Debug, Clone, PartialEq)]
pub struct Telling {
    /// What makes two tellings the same; it becomes part of the event's name.
    pub identity: String,
    pub reason: Reason,
    /// What was done, in one word.
    pub action: &'static str,
    pub note: String,
    pub regarding: ObjectReference,
    pub related: Option<ObjectReference>,
}

/// Why an event could not be told.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error("failed to look at an event that was told before")]
    Look(#[source] Box<kube::Error>),
}

/// The events of an act: one on its subject, one on the object that made it. A pod that is gone gets none any more.
pub fn tellings(act: &Act, now: Timestamp) -> Vec<Telling> {
    let (reason, note) = (Reason::of(act), words::note(act, now));
    let action = if reason == Reason::WasteResolved {
        "Resolved"
    } else {
        "Detected"
    };
    let (about, id) = (&act.entry.about, &act.entry.id);
    let subject = reference(about);
    let owner = about
        .workload()
        .zip(about.namespace())
        .map(|(workload, namespace)| owner(workload, namespace));
    let is_gone = matches!(
        act.kind,
        ActKind::Resolve(Outcome::Released | Outcome::Replaced | Outcome::Ended)
    );
    let mut tellings = Vec::new();
    // Of a workload that made the pod anew or finished it, there is nothing to tell.
    if matches!(act.kind, ActKind::Resolve(Outcome::Replaced | Outcome::Ended)) {
        return tellings;
    }
    if !is_gone {
        tellings.push(Telling {
            identity: id.to_string(),
            reason,
            action,
            note: note.clone(),
            regarding: subject.clone(),
            related: owner.clone(),
        });
    }
    if let Some((owner, workload)) = owner.zip(about.workload()) {
        tellings.push(Telling {
            // One series for all pods of a workload: a hundred replicas are one piece of news to its owner.
            identity: format!("{}/{}", workload.uid, act.entry.cause.as_str()),
            reason,
            action,
            note: words::cut(
                &format!("{}: {note}", subject.name.as_deref().unwrap_or_default()),
                words::LONGEST_NOTE,
            ),
            regarding: owner,
            related: Some(subject),
        });
    }
    tellings
}

fn reference(about: &About) -> ObjectReference {
    match about {
        About::Pod {
            namespace, name, uid, ..
        } => ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(namespace.clone()),
            name: Some(name.clone()),
            uid: uid.clone(),
            ..ObjectReference::default()
        },
        About::Gpu { node, .. } | About::Node { name: node } => node_reference(node, node),
    }
}

/// `kubectl describe node` looks for events whose uid is the node's name, as the kubelet writes them; others look for the real one.
pub fn node_reference(name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

fn owner(workload: &WorkloadRef, namespace: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(workload.api_version.clone()),
        kind: Some(workload.kind.clone()),
        namespace: Some(namespace.to_owned()),
        name: Some(workload.name.clone()),
        uid: Some(workload.uid.clone()),
        ..ObjectReference::default()
    }
}

impl Telling {
    fn namespace(&self) -> &str {
        self.regarding.namespace.as_deref().unwrap_or(CLUSTER_NAMESPACE)
    }

    /// The same for everybody who tells the same.
    pub fn name(&self) -> String {
        let about = self.regarding.name.as_deref().unwrap_or("unknown");
        let kind = self.regarding.kind.as_deref().unwrap_or_default();
        let text = format!("{}\n{kind}\n{}", self.reason.as_str(), self.identity);
        let mut about = words::cut(about, LONGEST_NAME);
        about.retain(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        format!("{}.{}", about.trim_end_matches(['.', '-']), short_digest(&text))
    }

    fn event(&self, instance: &str, now: Timestamp) -> Event {
        let mut event = Event {
            action: Some(self.action.to_owned()),
            event_time: Some(MicroTime(now)),
            note: Some(self.note.clone()),
            reason: Some(self.reason.as_str().to_owned()),
            regarding: Some(self.regarding.clone()),
            related: self.related.clone(),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(words::cut(instance, 128)),
            type_: Some(
                if self.reason.is_warning() {
                    "Warning"
                } else {
                    "Normal"
                }
                .to_owned(),
            ),
            ..Event::default()
        };
        event.metadata.name = Some(self.name());
        event.metadata.namespace = Some(self.namespace().to_owned());
        event
    }

    /// Makes the event, or counts up the one that is there.
    pub async fn tell(
        &self,
        writer: &Writer,
        permit: &WritePermit,
        now: Timestamp,
    ) -> Result<Written, TellError> {
        let event = self.event(writer.leadership().identity(), now);
        let create = Change::create(WriteKind::Event, Some(self.namespace()), &event)?;
        let written = writer.send(permit, &create).await?;
        if written != Written::Refused(Refusal::Exists) {
            return Ok(written);
        }
        let events: Api<Event> = Api::namespaced(writer.reader().clone(), self.namespace());
        let mut outcome = written;
        for _ in 0..LOOKS {
            let found = events
                .get_opt(&self.name())
                .await
                .map_err(|error| TellError::Look(Box::new(error)))?;
            let Some(found) = found else {
                // It was just dropped for its age.
                return Ok(writer.send(permit, &create).await?);
            };
            let count = found.series.as_ref().map_or(1, |series| series.count);
            let series = EventSeries {
                count: count.saturating_add(1),
                last_observed_time: MicroTime(now),
            };
            let patch = json!({"series": series});
            let counted =
                Change::patch::<Event>(WriteKind::Event, Some(self.namespace()), &found.metadata, patch)?;
            outcome = writer.send(permit, &counted).await?;
            if outcome != Written::Refused(Refusal::Conflict) {
                break;
            }
        }
        Ok(outcome)
    }
}

/// Sixteen hexadecimal digits of a digest, enough to tell the events of one object apart.
pub(super) fn short_digest(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest
        .as_ref()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
