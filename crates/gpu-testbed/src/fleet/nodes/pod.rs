//! The life of a pod on a fake node: which step is due, and what it writes. Nothing here talks to the API server.

use std::net::Ipv4Addr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::objects::now;

/// How many seconds of the group's clock a pod runs before it completes; without it, it runs until it is deleted.
pub const RUN_SECONDS_ANNOTATION: &str = "testbed.gpu-autoscaler.io/run-seconds";

/// The exit code of a pod that completes; 0 without it.
pub const EXIT_CODE_ANNOTATION: &str = "testbed.gpu-autoscaler.io/exit-code";

/// How many seconds of the group's clock a deleted pod needs to end; none without it.
pub const TERMINATE_SECONDS_ANNOTATION: &str = "testbed.gpu-autoscaler.io/terminate-seconds";

/// What the engine remembers of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodLife {
    pub(super) uid: String,
    pub(super) node: String,
    phase: Phase,
    deleted: bool,
    containers: Vec<(String, String)>,
    started_at: String,
    run_for: Option<Duration>,
    exit_code: i32,
    terminate_for: Duration,
    /// When it was first seen running, on the clock of its group.
    running_since: Option<Duration>,
    /// When it was first seen deleted, on the clock of its group.
    deleted_since: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Pending,
    Running,
    Ended,
}

/// What a fake node does next with a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Start,
    Complete,
    Bury,
}

impl PodLife {
    /// What matters of a pod that is bound to a node.
    pub(super) fn of(pod: &Pod) -> Option<Self> {
        let spec = pod.spec.as_ref()?;
        let status = pod.status.as_ref();
        let annotation = |name: &str| pod.metadata.annotations.as_ref()?.get(name)?.parse::<u64>().ok();
        let phase = match status.and_then(|status| status.phase.as_deref()) {
            Some("Running") => Phase::Running,
            Some("Succeeded" | "Failed") => Phase::Ended,
            _ => Phase::Pending,
        };
        let image = |image: &Option<String>| image.clone().unwrap_or_default();
        Some(Self {
            uid: pod.metadata.uid.clone()?,
            node: spec.node_name.clone()?,
            phase,
            deleted: pod.metadata.deletion_timestamp.is_some(),
            containers: spec
                .containers
                .iter()
                .map(|found| (found.name.clone(), image(&found.image)))
                .collect(),
            started_at: status
                .and_then(|status| status.start_time.as_ref())
                .map_or_else(now, |time| time.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            run_for: annotation(RUN_SECONDS_ANNOTATION).map(Duration::from_secs),
            exit_code: annotation(EXIT_CODE_ANNOTATION)
                .and_then(|code| i32::try_from(code).ok())
                .unwrap_or(0),
            terminate_for: annotation(TERMINATE_SECONDS_ANNOTATION)
                .map_or(Duration::ZERO, Duration::from_secs),
            running_since: None,
            deleted_since: None,
        })
    }

    /// Takes over what an earlier look at the same pod had noted.
    pub(super) fn remember(&mut self, earlier: Option<&Self>) {
        if let Some(earlier) = earlier.filter(|earlier| earlier.uid == self.uid) {
            self.running_since = earlier.running_since;
            self.deleted_since = earlier.deleted_since;
        }
    }

    /// The step that is due at `now` of the group's clock.
    pub(super) fn next_step(&mut self, now: Duration) -> Option<Step> {
        if self.deleted {
            let since = *self.deleted_since.get_or_insert(now);
            return (now >= since + self.terminate_for).then_some(Step::Bury);
        }
        match self.phase {
            Phase::Pending => Some(Step::Start),
            Phase::Running => {
                let since = *self.running_since.get_or_insert(now);
                self.run_for
                    .is_some_and(|run_for| now >= since + run_for)
                    .then_some(Step::Complete)
            }
            Phase::Ended => None,
        }
    }

    /// The status of a pod whose containers have just started.
    pub(super) fn started(&self, pod_address: Ipv4Addr, node_address: Ipv4Addr) -> Value {
        let started_at = now();
        let state = json!({"running": {"startedAt": started_at}});
        json!({"status": {
            "phase": "Running",
            "startTime": started_at,
            "hostIP": node_address,
            "hostIPs": [{"ip": node_address}],
            "podIP": pod_address,
            "podIPs": [{"ip": pod_address}],
            "conditions": conditions("True", None),
            "containerStatuses": self.container_statuses(&state, true),
        }})
    }

    /// The status of a pod whose containers have ended by themselves.
    pub(super) fn completed(&self) -> Value {
        let (phase, reason) = if self.exit_code == 0 {
            ("Succeeded", "Completed")
        } else {
            ("Failed", "Error")
        };
        let state = json!({"terminated": {
            "exitCode": self.exit_code,
            "reason": reason,
            "startedAt": self.started_at,
            "finishedAt": now(),
        }});
        json!({"status": {
            "phase": phase,
            "conditions": conditions("False", Some(if self.exit_code == 0 { "PodCompleted" } else { "PodFailed" })),
            "containerStatuses": self.container_statuses(&state, false),
        }})
    }

    fn container_statuses(&self, state: &Value, ready: bool) -> Vec<Value> {
        let status = |(name, image): &(String, String)| {
            json!({
                "name": name,
                "image": image,
                "imageID": image,
                "containerID": format!("containerd://{}-{name}", self.uid),
                "ready": ready,
                "started": ready,
                "restartCount": 0,
                "state": state,
            })
        };
        self.containers.iter().map(status).collect()
    }
}

fn conditions(ready: &str, reason: Option<&str>) -> Value {
    let condition = |kind: &str, status: &str, reason: Option<&str>| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": now()});
    json!([
        condition("PodReadyToStartContainers", ready, None),
        condition(
            "Initialized",
            "True",
            reason.filter(|reason| *reason == "PodCompleted")
        ),
        condition("Ready", ready, reason),
        condition("ContainersReady", ready, reason),
    ])
}

#[cfg(test)]
mod tests;
