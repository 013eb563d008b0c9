//! Tracking annotations on pods: off unless asked for. What they say is in events and in the API too; they are for people whose tools
//! read annotations.
//!
//! The chart ships a ValidatingAdmissionPolicy with them, which refuses our own account every other change of a pod.

use gpu_model::NanoUsd;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::diary::{About, Act, ActKind};
use super::events::TellError;
use crate::lead::{Change, WriteKind, WritePermit, Writer, Written};

pub const CAUSE: &str = "gpu-autoscaler.io/waste-cause";
pub const SINCE: &str = "gpu-autoscaler.io/waste-since";
pub const SCORE: &str = "gpu-autoscaler.io/waste-score";
pub const MONTHLY: &str = "gpu-autoscaler.io/waste-monthly-usd";

/// The keys that are ours, and that the policy knows.
pub const KEYS: [&str; 4] = [CAUSE, SINCE, SCORE, MONTHLY];

/// Writes the annotations of an act, or takes them away when its finding is over. `None` where there is nothing to write.
pub async fn annotate(
    writer: &Writer,
    permit: &WritePermit,
    act: &Act,
) -> Result<Option<Written>, TellError> {
    let About::Pod {
        namespace, name, uid, ..
    } = &act.entry.about
    else {
        return Ok(None);
    };
    let pods: Api<Pod> = Api::namespaced(writer.reader().clone(), namespace);
    let found = pods
        .get_opt(name)
        .await
        .map_err(|error| TellError::Look(Box::new(error)))?;
    // A name comes back with another pod behind it.
    let Some(pod) = found.filter(|pod| uid.is_none() || pod.uid() == *uid) else {
        return Ok(None);
    };
    let annotations = annotations(act);
    let current = pod.annotations();
    let is_same = KEYS
        .iter()
        .all(|key| current.get(*key).map(String::as_str) == annotations[*key].as_str());
    if is_same {
        return Ok(None);
    }
    let patch = json!({"metadata": {"annotations": annotations}});
    let change = Change::patch::<Pod>(WriteKind::Annotation, Some(namespace), &pod.metadata, patch)?;
    Ok(Some(writer.send(permit, &change).await?))
}

/// The value of every key; `null` takes it away.
fn annotations(act: &Act) -> Value {
    match (&act.kind, &act.finding) {
        (ActKind::Tell | ActKind::Repeat, Some(finding)) => json!({
            CAUSE: finding.cause.as_str(),
            SINCE: finding.since.to_string(),
            SCORE: finding.score.to_string(),
            MONTHLY: finding.monthly.map(plain),
        }),
        _ => json!({CAUSE: null, SINCE: null, SCORE: null, MONTHLY: null}),
    }
}

/// An amount for programs: no sign of a currency, no groups.
fn plain(amount: NanoUsd) -> String {
    super::dollars(amount).replace(['$', ','], "")
}
