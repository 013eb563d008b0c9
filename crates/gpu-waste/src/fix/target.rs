//! The object that a change has to be made to, in the words of kubectl.

use crate::holders::Holder;

/// What made a pod, as far as we know how to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Has `spec.replicas`: `deployment`, `statefulset`, `replicaset`.
    Replicated {
        resource: &'static str,
        kind: &'static str,
    },
    Job,
    /// A training job of Kubeflow, which can be suspended as a whole.
    TrainingJob(&'static str),
    Notebook,
    InferenceService,
    Workflow,
    BarePod,
    /// A kind that is not known here.
    Other,
}

pub(crate) fn target(holder: &Holder<'_>) -> Target {
    let Some(workload) = &holder.workload else {
        return Target::BarePod;
    };
    let group = workload.api_version.split('/').next().unwrap_or("");
    match workload.kind.as_str() {
        "Deployment" => Target::Replicated {
            resource: "deployment",
            kind: "Deployment",
        },
        "StatefulSet" => Target::Replicated {
            resource: "statefulset",
            kind: "StatefulSet",
        },
        "ReplicaSet" => Target::Replicated {
            resource: "replicaset",
            kind: "ReplicaSet",
        },
        // Volcano has a Job of its own.
        "Job" if matches!(group, "batch" | "") => Target::Job,
        "PyTorchJob" => Target::TrainingJob("pytorchjob"),
        "TFJob" => Target::TrainingJob("tfjob"),
        "MPIJob" => Target::TrainingJob("mpijob"),
        "XGBoostJob" => Target::TrainingJob("xgboostjob"),
        "PaddleJob" => Target::TrainingJob("paddlejob"),
        "Notebook" => Target::Notebook,
        "InferenceService" => Target::InferenceService,
        "Workflow" | "CronWorkflow" => Target::Workflow,
        _ => Target::Other,
    }
}

/// Names of Kubernetes objects are plain, but an exporter's page is not a Kubernetes object: whatever could mean something
/// to a shell or to YAML is quoted.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_' | '/'))
        && !text.starts_with('-');
    if is_plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A text as a YAML scalar.
pub(crate) fn yaml(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
