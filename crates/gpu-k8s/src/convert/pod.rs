//! A pod: what it asks for, where it is, and by what it hangs together with other objects.

use std::sync::Arc;

use gpu_model::{
    GpuPod, GpuRequest, HostRequest, Namespace, NodeName, Pod, PodKey, PodName, PodPhase, PodRef, PodUid,
    ResourceName,
};

use super::claims::{ClaimUse, claim_uses};
use super::requests::{gpu_requests, host_request};
use super::settings::{OwnSay, settings};
use super::wire::{ContainerStatus, Metadata, Object, PodSpec, PodStatus};
use super::{Unreadable, rules};
use crate::names::label;
use crate::owners::OwnerLink;

/// A pod as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodObject {
    pub key: PodKey,
    pub state: PodState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
    /// It has succeeded or failed, and holds nothing.
    Ended,
    /// It asks for no GPU. Only its share of the node is kept.
    Other {
        node: Option<NodeName>,
        host: HostRequest,
    },
    /// It asks for GPUs, or has claims that may turn out to be for GPUs.
    Gpu(Box<GpuCandidate>),
}

/// A pod that asks for GPUs, as far as its own object tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuCandidate {
    /// Its owners are empty and its workload is absent until they are climbed, and its requests lack those by claims. While it
    /// has claims alone, `pod.resource` stands for all claims and has no meaning.
    pub pod: GpuPod,
    pub links: PodLinks,
}

/// What other objects have to be asked about a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodLinks {
    /// The object that made it.
    pub owner: Option<OwnerLink>,
    pub claims: Vec<ClaimUse>,
    /// The requests by extended resources, which are known at once.
    pub requests: Vec<GpuRequest>,
    /// What the pod itself says about being optimised; its namespace is asked only when it says nothing.
    pub optimize: OwnSay,
}

/// Reads a pod.
pub fn pod(text: &str) -> Result<PodObject, Unreadable> {
    let object: Object<PodSpec, PodStatus> = serde_json::from_str(text)?;
    let (metadata, spec, status) = (object.metadata, object.spec, object.status);
    let namespace = metadata
        .namespace
        .as_deref()
        .ok_or_else(|| Unreadable::field("namespace", "it has none"))?;
    let key = PodKey {
        namespace: Namespace::new(namespace)?,
        name: PodName::new(&metadata.name)?,
    };
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return Ok(PodObject {
            key,
            state: PodState::Ended,
        });
    }
    let node = match spec.node_name.as_deref() {
        None | Some("") => None,
        Some(name) => Some(NodeName::new(name)?),
    };
    let host = host_request(&spec, &status)?;
    let requests = gpu_requests(&spec)?;
    let state = if requests.is_empty() && spec.resource_claims.is_empty() {
        PodState::Other { node, host }
    } else {
        let claims = claim_uses(&spec, &status)?;
        let candidate = candidate(&key, metadata, &spec, &status, node, host, requests, claims)?;
        PodState::Gpu(Box::new(candidate))
    };
    Ok(PodObject { key, state })
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one pod, put together in one place"
)]
fn candidate(
    key: &PodKey,
    metadata: Metadata,
    spec: &PodSpec,
    status: &PodStatus,
    node: Option<NodeName>,
    host: HostRequest,
    requests: Vec<GpuRequest>,
    claims: Vec<ClaimUse>,
) -> Result<GpuCandidate, Unreadable> {
    let (settings, optimize) = settings(&metadata.annotations, &metadata.labels);
    let owner = rules::controller(&metadata.owner_references).or_else(|| workflow_of(&metadata));
    let resource = match requests.first() {
        Some(first) => first.resource.clone(),
        None => ResourceName::new("resource.k8s.io/claim")?,
    };
    let count = total(&requests, &resource);
    let statuses = || {
        status
            .container_statuses
            .iter()
            .chain(&status.init_container_statuses)
    };
    let phase = match status.phase.as_deref() {
        Some("Running") => PodPhase::Running,
        // A kubelet that cannot be reached leaves its pods unknown; they may still hold their GPUs.
        Some("Unknown") if node.is_some() => PodPhase::Running,
        _ => PodPhase::Pending,
    };
    let pod = Pod {
        reference: PodRef {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: PodUid::new(&metadata.uid).ok(),
        },
        owners: Vec::new(),
        labels: metadata.labels,
        resource,
        count,
        phase,
        created_at: metadata.creation_timestamp,
        started_at: status.start_time,
    };
    Ok(GpuCandidate {
        pod: GpuPod {
            pod: Arc::new(pod),
            node,
            requests: requests.clone(),
            host,
            is_ready: is_true(status, "Ready"),
            is_terminating: metadata.deletion_timestamp.is_some(),
            waiting_reason: waiting_reason(spec, status),
            restarts: statuses().fold(0, |sum: u32, found| sum.saturating_add(found.restart_count)),
            workload: None,
            settings,
        },
        links: PodLinks {
            owner,
            claims,
            requests,
            optimize,
        },
    })
}

/// How many of a resource all containers ask for together.
fn total(requests: &[GpuRequest], resource: &ResourceName) -> u32 {
    requests
        .iter()
        .filter(|request| request.resource == *resource)
        .fold(0, |sum: u32, request| sum.saturating_add(request.count))
}

/// Argo labels its pods with the workflow; the label stays where the reference was taken away.
fn workflow_of(metadata: &Metadata) -> Option<OwnerLink> {
    let name = metadata.labels.get(label::ARGO_WORKFLOW)?;
    Some(OwnerLink {
        api_version: "argoproj.io/v1alpha1".to_owned(),
        kind: "Workflow".to_owned(),
        name: name.clone(),
        uid: String::new(),
    })
}

fn is_true(status: &PodStatus, kind: &str) -> bool {
    status
        .conditions
        .iter()
        .any(|condition| condition.kind == kind && condition.status == "True")
}

/// The first container that waits, in the order in which they start; before a node is found, the scheduler's word.
fn waiting_reason(spec: &PodSpec, status: &PodStatus) -> Option<String> {
    let reason = |found: &ContainerStatus| found.state.waiting.as_ref()?.reason.clone();
    let of_containers = spec
        .init_containers
        .iter()
        .chain(&spec.containers)
        .filter_map(|container| {
            status
                .init_container_statuses
                .iter()
                .chain(&status.container_statuses)
                .find(|found| found.name == container.name)
        })
        .find_map(reason);
    of_containers.or_else(|| {
        status
            .conditions
            .iter()
            .find(|condition| condition.kind == "PodScheduled" && condition.status == "False")
            .and_then(|condition| condition.reason.clone())
    })
}
