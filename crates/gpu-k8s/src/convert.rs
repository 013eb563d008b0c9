//! Objects of the API turned into values of the model.
//!
//! Each function takes the text of one object, reads only the fields that matter and forgets the rest, so that what is kept of
//! a pod of fifteen kilobytes is some hundred bytes. An object that cannot be read says why, and harms no other.

mod claims;
mod node;
mod pod;
mod requests;
mod rules;
mod settings;
mod wire;

use std::collections::BTreeMap;

use gpu_model::{IdError, NodeName};

pub use claims::{
    ClaimFacts, ClaimSource, ClaimUse, DeviceRequest, claim, class_means_gpu, device_class, template,
};
pub use node::node;
pub use pod::{GpuCandidate, PodLinks, PodObject, PodState, pod};
pub use requests::request_kind;
pub use rules::{OwnerFacts, ServiceFacts, disruption_budget, gpu_quota, namespace_labels, owner, service};
pub use settings::{OwnSay, namespace_says, settings};

/// Why an object cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it does not have the form of its kind: {why}")]
    Form { why: String },
    #[error("its {what} cannot be read: {why}")]
    Field { what: String, why: String },
}

/// Longer words would only fill pages; the beginning names the field.
const LONGEST_REASON: usize = 300;

impl Unreadable {
    fn field(what: impl Into<String>, why: impl ToString) -> Self {
        Self::Field {
            what: what.into(),
            why: shortened(&why.to_string(), LONGEST_REASON),
        }
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self::Form {
            why: shortened(&error.to_string(), LONGEST_REASON),
        }
    }
}

impl From<IdError> for Unreadable {
    fn from(error: IdError) -> Self {
        Self::field("name", error)
    }
}

/// The beginning of a text, at most so many characters.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The node of a pod that is otherwise unreadable, as far as that can be told.
pub fn node_of_unreadable_pod(text: &str) -> Option<NodeName> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    NodeName::new(value.pointer("/spec/nodeName")?.as_str()?).ok()
}

type Labels = BTreeMap<String, String>;

#[cfg(test)]
mod tests;
