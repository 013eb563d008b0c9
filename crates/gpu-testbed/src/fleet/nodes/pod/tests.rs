//! Which step a fake node takes next, by the pod's state and the group's clock.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{PodLife, RUN_SECONDS_ANNOTATION, Step, TERMINATE_SECONDS_ANNOTATION};

fn pod(phase: &str, annotations: &Value, deleted: &Value) -> PodLife {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "uid": "u", "annotations": annotations, "deletionTimestamp": deleted},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": phase},
    }))
    .expect("the object above is a pod");
    PodLife::of(&pod).expect("the pod is bound")
}

/// Looks at the pod at second 100 and again so many seconds later.
#[track_caller]
fn check(mut pod: PodLife, later: u64, expected: [Option<Step>; 2]) {
    let first = pod.next_step(Duration::from_secs(100));
    let second = pod.next_step(Duration::from_secs(100 + later));
    assert_eq!([first, second], expected);
}

#[test]
fn a_bound_pod_starts_at_once() {
    check(
        pod("Pending", &json!({}), &Value::Null),
        0,
        [Some(Step::Start), Some(Step::Start)],
    );
}

#[test]
fn a_running_pod_runs_on() {
    check(pod("Running", &json!({}), &Value::Null), 1_000_000, [None, None]);
}

#[test]
fn a_pod_with_a_run_time_completes_after_it() {
    let annotations = json!({RUN_SECONDS_ANNOTATION: "60"});
    check(pod("Running", &annotations, &Value::Null), 59, [None, None]);
    check(
        pod("Running", &annotations, &Value::Null),
        60,
        [None, Some(Step::Complete)],
    );
}

#[test]
fn an_ended_pod_rests_until_it_is_deleted() {
    check(pod("Succeeded", &json!({}), &Value::Null), 10, [None, None]);
    let deleted = json!("2026-01-01T00:00:00Z");
    check(
        pod("Failed", &json!({}), &deleted),
        10,
        [Some(Step::Bury), Some(Step::Bury)],
    );
}

#[test]
fn a_deleted_pod_takes_the_time_it_was_given() {
    let annotations = json!({TERMINATE_SECONDS_ANNOTATION: "30"});
    let deleted = json!("2026-01-01T00:00:00Z");
    check(pod("Running", &annotations, &deleted), 29, [None, None]);
    check(
        pod("Running", &annotations, &deleted),
        30,
        [None, Some(Step::Bury)],
    );
}
