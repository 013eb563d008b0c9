//! Objects as API servers write them, and what is made of them.

mod claims;
mod nodes;
mod pods;
mod settings;

use proptest::prelude::*;

use super::{claim, device_class, disruption_budget, gpu_quota, node, owner, pod, service, template};

proptest! {
    /// Whatever arrives, reading it ends with a value or with words.
    #[test]
    fn no_text_makes_a_reader_panic(text in "[{}\\[\\]\":,a-z0-9 ]{0,200}") {
        let _ = (pod(&text), node(&text), claim(&text), template(&text), device_class(&text));
        let _ = (owner(&text), service(&text), disruption_budget(&text), gpu_quota(&text));
    }
}

#[test]
fn quotas_are_kept_only_where_they_speak_of_gpus() {
    let quota = gpu_quota(
        r#"{"metadata": {"name": "gpus", "namespace": "a"},
            "spec": {"hard": {"requests.nvidia.com/gpu": "8", "requests.cpu": "100"}},
            "status": {"used": {"requests.nvidia.com/gpu": "3"}}}"#,
    );
    let quota = quota.expect("it can be read").expect("it speaks of GPUs");
    let limit = quota.limits.values().next().expect("one limit");
    assert_eq!((limit.hard, limit.used), (8, Some(3)));
    let other = gpu_quota(r#"{"metadata": {"name": "cpus"}, "spec": {"hard": {"requests.cpu": "lots"}}}"#);
    assert_eq!(other, Ok(None));
}

#[test]
fn a_budget_that_was_not_counted_yet_allows_nothing_known() {
    let read = |status: &str| {
        disruption_budget(&format!(
            r#"{{"metadata": {{"name": "b"}}, "spec": {{"selector": {{"matchLabels": {{"app": "a"}}}}}}, "status": {status}}}"#
        ))
        .expect("it can be read")
    };
    let fresh = read(r#"{"disruptionsAllowed": 0}"#);
    assert_eq!(fresh.disruptions_allowed, None);
    let counted = read(r#"{"disruptionsAllowed": 2, "observedGeneration": 1}"#);
    assert_eq!(counted.disruptions_allowed, Some(2));
    let labels = [("app".to_owned(), "a".to_owned())].into();
    assert!(counted.covers(&labels));
    assert!(!counted.covers(&[].into()));
}
