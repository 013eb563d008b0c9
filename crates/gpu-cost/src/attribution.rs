//! Under which names a pod's cost is asked for: read from its labels, its annotations and the objects above it.

use std::collections::BTreeMap;

use gpu_model::OwnerRef;

use crate::Dimensions;

/// Which labels say what. Each list is looked through in order, and the first that the pod has wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributionRules {
    pub team: Vec<String>,
    pub project: Vec<String>,
    pub cost_center: Vec<String>,
    pub experiment_id: Vec<String>,
    /// Labels that are kept under their own name.
    pub labels: Vec<String>,
}

impl Default for AttributionRules {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            team: names(&["team", "gpu-team", "app.kubernetes.io/part-of"]),
            project: names(&["gpu-project", "project"]),
            cost_center: names(&["gpu-cost-center", "gpu-autoscaler.io/cost-center", "cost-center"]),
            experiment_id: names(&["experiment-id", "experimentID", "mlflow-run-id"]),
            labels: Vec::new(),
        }
    }
}

/// What is known of a pod. Annotations and labels of the objects above it, the nearest first, count where the pod has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct PodFacts<'a> {
    pub labels: Option<&'a BTreeMap<String, String>>,
    pub annotations: Option<&'a BTreeMap<String, String>>,
    /// From the direct owner up.
    pub owners: &'a [OwnerRef],
    pub owner_labels: &'a [BTreeMap<String, String>],
    pub owner_annotations: &'a [BTreeMap<String, String>],
}

/// Values are labels: 63 characters by Kubernetes' rule. Annotations have none, and a report's column should.
const LONGEST_VALUE: usize = 253;
/// Labels kept with each row are the few that somebody asked for.
const MOST_LABELS: usize = 32;

const WORKFLOW: &str = "workflows.argoproj.io/workflow";
const STEP: &str = "workflows.argoproj.io/node-name";
const TRACKING: &str = "argocd.argoproj.io/tracking-id";
const INSTANCE: &str = "app.kubernetes.io/instance";

/// The names of a pod's cost. What nothing says stays absent.
pub fn dimensions(rules: &AttributionRules, pod: &PodFacts<'_>) -> Dimensions {
    let (step, retry) = match pod.annotation(STEP).map(step_and_retry) {
        Some((step, retry)) => (Some(step), retry),
        None => (None, None),
    };
    Dimensions {
        team: pod.first(&rules.team),
        project: pod.first(&rules.project),
        cost_center: pod.first(&rules.cost_center),
        experiment_id: pod.first(&rules.experiment_id),
        owner: pod.owners.last().cloned(),
        workflow: pod.label(WORKFLOW).map(bounded),
        step: step.map(bounded),
        retry,
        application: pod.application(),
        labels: rules
            .labels
            .iter()
            .filter_map(|name| Some((name.clone(), bounded(pod.label(name)?))))
            .take(MOST_LABELS)
            .collect(),
    }
}

impl PodFacts<'_> {
    fn label(&self, name: &str) -> Option<&str> {
        let own = self.labels.into_iter();
        own.chain(self.owner_labels)
            .find_map(|labels| labels.get(name))
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        let own = self.annotations.into_iter();
        own.chain(self.owner_annotations)
            .find_map(|annotations| annotations.get(name))
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The first of several labels, or of the annotations of the same name.
    fn first(&self, names: &[String]) -> Option<String> {
        names
            .iter()
            .find_map(|name| self.label(name).or_else(|| self.annotation(name)))
            .map(bounded)
    }

    /// Argo CD marks what it made by an annotation, `application:group/kind:namespace/name`, in older set-ups by a label that
    /// Helm charts write too: the annotation is believed first, and it sits on the objects above the pod.
    fn application(&self) -> Option<String> {
        let tracked = self
            .annotation(TRACKING)
            .and_then(|id| id.split(':').next())
            .filter(|name| !name.is_empty());
        tracked.or_else(|| self.label(INSTANCE)).map(bounded)
    }
}

/// `train-abc[0].fit(1)` is the second attempt at `train-abc[0].fit`.
fn step_and_retry(node: &str) -> (&str, Option<u32>) {
    let attempt = node
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
        .and_then(|(step, attempt)| Some((step, attempt.parse().ok()?)));
    match attempt {
        Some((step, attempt)) => (step, Some(attempt)),
        None => (node, None),
    }
}

fn bounded(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(LONGEST_VALUE)
        .collect()
}

#[cfg(test)]
mod tests;
