//! Names of a pod's cost.

use std::collections::BTreeMap;

use gpu_model::OwnerRef;

use super::{AttributionRules, PodFacts, dimensions};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_retried_step_of_a_workflow_is_known_by_workflow_step_and_attempt() {
    let labels = map(&[("workflows.argoproj.io/workflow", "train-abc")]);
    let annotations = map(&[("workflows.argoproj.io/node-name", "train-abc[0].fit(1)")]);
    let found = dimensions(
        &AttributionRules::default(),
        &PodFacts {
            labels: Some(&labels),
            annotations: Some(&annotations),
            ..PodFacts::default()
        },
    );
    assert_eq!(found.workflow.as_deref(), Some("train-abc"));
    assert_eq!(found.step.as_deref(), Some("train-abc[0].fit"));
    assert_eq!(found.retry, Some(1));
}

#[test]
fn an_argo_cd_application_is_found_above_the_pod() {
    let annotations = [
        BTreeMap::new(),
        map(&[(
            "argocd.argoproj.io/tracking-id",
            "llm:apps/Deployment:serving/vllm",
        )]),
    ];
    let labels = map(&[("app.kubernetes.io/instance", "release-of-helm")]);
    let mut facts = PodFacts {
        labels: Some(&labels),
        owner_annotations: &annotations,
        ..PodFacts::default()
    };
    let rules = AttributionRules::default();
    assert_eq!(dimensions(&rules, &facts).application.as_deref(), Some("llm"));
    facts.owner_annotations = &[];
    assert_eq!(
        dimensions(&rules, &facts).application.as_deref(),
        Some("release-of-helm")
    );
}

#[test]
fn what_nothing_says_is_absent_and_the_first_label_wins() {
    let rules = AttributionRules {
        labels: vec!["tier".to_owned(), "missing".to_owned()],
        ..AttributionRules::default()
    };
    let labels = map(&[
        ("gpu-project", "atlas"),
        ("project", "other"),
        ("team", ""),
        ("tier", "gold"),
    ]);
    let owners = [
        OwnerRef {
            kind: "ReplicaSet".to_owned(),
            name: "web-1".to_owned(),
        },
        OwnerRef {
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
        },
    ];
    let found = dimensions(
        &rules,
        &PodFacts {
            labels: Some(&labels),
            owners: &owners,
            ..PodFacts::default()
        },
    );
    assert_eq!(found.project.as_deref(), Some("atlas"));
    assert_eq!(found.team, None);
    assert_eq!(found.retry, None);
    assert_eq!(found.owner.as_ref(), owners.last());
    assert_eq!(found.labels, map(&[("tier", "gold")]));
}
