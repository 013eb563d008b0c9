//! Who holds GPUs: what kind of work it is, what its owner told us, and what the other GPUs of the same pod and gang do.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{ClusterPicture, ContainerName, GpuPod, Namespace, Pod, PodKey, PodRef, Workload};
use jiff::Timestamp;

use crate::PatternKey;

/// What kind of work a pod does, as far as its owner or its makers tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Training,
    Serving,
    Notebook,
    Batch,
    WorkflowStep,
    Other,
}

/// One pod with GPUs.
#[derive(Debug, Clone)]
pub(crate) struct Holder<'a> {
    pub(crate) pod: Arc<Pod>,
    pub(crate) container: ContainerName,
    /// As the cluster's API tells of it.
    pub(crate) listed: Option<&'a GpuPod>,
    pub(crate) workload: Option<Workload>,
    pub(crate) class: Class,
    pub(crate) promise: Promise,
    /// All its parts of GPUs, and how many of them worked lately.
    pub(crate) parts: u32,
    pub(crate) active_parts: u32,
    /// Parts of which nothing is known.
    pub(crate) unknown_parts: u32,
    /// Whether another pod of its gang worked lately, or may have.
    pub(crate) gang: Gang,
}

/// What the owner asked us to leave alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Promise {
    None,
    /// `workload-type: standby`.
    StandBy,
    /// `exempt-until`, and not over yet.
    ExemptUntil(Timestamp),
    /// `optimize: "false"`, for the pod or its namespace.
    OptedOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gang {
    /// It works alone, or with others of which none works.
    Quiet,
    OthersWork,
}

/// All holders, by pod.
#[derive(Debug, Default)]
pub(crate) struct Holders<'a> {
    by_pod: BTreeMap<PodRef, Holder<'a>>,
    gangs: BTreeMap<GangKey, (u32, u32)>,
    /// Pods, and those of them that may work, by what made them.
    makers: BTreeMap<PatternKey, (usize, usize)>,
}

/// Namespace and the word that holds a gang together.
type GangKey = (Namespace, String);

/// What a look at one part of a pod says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartState {
    Working,
    Idle,
    Unknown,
}

impl<'a> Holders<'a> {
    pub(crate) fn add(
        &mut self,
        owner: &gpu_model::Owner,
        picture: Option<&'a ClusterPicture>,
        state: PartState,
        now: Timestamp,
    ) {
        let holder = self
            .by_pod
            .entry(owner.pod.reference.clone())
            .or_insert_with(|| Holder::new(owner, picture, now));
        holder.parts += 1;
        match state {
            PartState::Working => holder.active_parts += 1,
            PartState::Idle => {}
            PartState::Unknown => holder.unknown_parts += 1,
        }
    }

    /// Tells every holder what the rest of its gang does.
    pub(crate) fn join_gangs(&mut self) {
        for holder in self.by_pod.values() {
            if let Some(key) = holder.maker() {
                let maker = self.makers.entry(key).or_default();
                maker.0 += 1;
                maker.1 += usize::from(holder.may_work());
            }
            if let Some(key) = holder.gang_key() {
                let gang = self.gangs.entry(key).or_default();
                gang.0 += 1;
                gang.1 += u32::from(holder.may_work());
            }
        }
        for holder in self.by_pod.values_mut() {
            let Some((pods, working)) = holder.gang_key().and_then(|key| self.gangs.get(&key)) else {
                continue;
            };
            if *pods > 1 && *working > u32::from(holder.may_work()) {
                holder.gang = Gang::OthersWork;
            }
        }
    }

    pub(crate) fn get(&self, pod: &PodRef) -> Option<&Holder<'a>> {
        self.by_pod.get(pod)
    }

    /// How many pods with GPUs the maker of this one has, and how many of them work or may.
    pub(crate) fn siblings(&self, holder: &Holder<'_>) -> (usize, usize) {
        let known = holder.maker().and_then(|key| self.makers.get(&key));
        known.copied().unwrap_or((1, usize::from(holder.may_work())))
    }
}

impl<'a> Holder<'a> {
    fn new(owner: &gpu_model::Owner, picture: Option<&'a ClusterPicture>, now: Timestamp) -> Self {
        let reference = &owner.pod.reference;
        let key = PodKey {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        };
        let listed = picture
            .and_then(|picture| picture.gpu_pods.get(&key))
            .map(Arc::as_ref);
        // The name may have come back with another pod behind it.
        let listed = listed.filter(|listed| {
            let uid = &listed.pod.reference.uid;
            *uid == reference.uid || uid.is_none() || reference.uid.is_none()
        });
        let workload = listed
            .and_then(|listed| listed.workload.clone())
            .or_else(|| guess_workload(&owner.pod));
        Self {
            class: class(listed, workload.as_ref()),
            promise: promise(listed, now),
            pod: owner.pod.clone(),
            container: owner.container.clone(),
            listed,
            workload,
            parts: 0,
            active_parts: 0,
            unknown_parts: 0,
            gang: Gang::Quiet,
        }
    }

    pub(crate) fn key(&self) -> PodKey {
        PodKey {
            namespace: self.pod.reference.namespace.clone(),
            name: self.pod.reference.name.clone(),
        }
    }

    fn maker(&self) -> Option<PatternKey> {
        let workload = self.workload.as_ref()?;
        Some(PatternKey {
            namespace: self.pod.reference.namespace.clone(),
            kind: workload.kind.clone(),
            name: workload.name.clone(),
        })
    }

    fn may_work(&self) -> bool {
        self.active_parts > 0 || self.unknown_parts > 0
    }

    /// Pods with the same word, or of the same training job, wait for each other.
    fn gang_key(&self) -> Option<GangKey> {
        let namespace = self.pod.reference.namespace.clone();
        if let Some(word) = self.listed.and_then(|listed| listed.settings.gang.as_ref()) {
            return Some((namespace, format!("word {word}")));
        }
        let workload = self.workload.as_ref().filter(|_| self.class == Class::Training)?;
        Some((namespace, format!("{} {}", workload.kind, workload.name)))
    }
}

fn promise(listed: Option<&GpuPod>, now: Timestamp) -> Promise {
    let Some(settings) = listed.map(|listed| &listed.settings) else {
        return Promise::None;
    };
    if settings.is_opted_out {
        return Promise::OptedOut;
    }
    if let Some(until) = settings.exempt_until.filter(|until| *until > now) {
        return Promise::ExemptUntil(until);
    }
    if settings.workload_type.as_deref() == Some("standby") {
        return Promise::StandBy;
    }
    Promise::None
}

fn class(listed: Option<&GpuPod>, workload: Option<&Workload>) -> Class {
    let declared = listed.and_then(|listed| listed.settings.workload_type.as_deref());
    match declared {
        Some("training") => return Class::Training,
        Some("inference" | "serving" | "standby") => return Class::Serving,
        Some("notebook") => return Class::Notebook,
        Some("batch") => return Class::Batch,
        _ => {}
    }
    let Some(workload) = workload else {
        return Class::Other;
    };
    match workload.kind.as_str() {
        "PyTorchJob" | "TFJob" | "MPIJob" | "XGBoostJob" | "PaddleJob" | "JAXJob" | "TrainJob" | "JobSet"
        | "RayJob" | "AppWrapper" => Class::Training,
        "Notebook" => Class::Notebook,
        "Workflow" | "CronWorkflow" | "PipelineRun" | "TaskRun" => Class::WorkflowStep,
        "Job" | "CronJob" => Class::Batch,
        "Deployment" | "ReplicaSet" | "InferenceService" | "LeaderWorkerSet" | "RayService" => Class::Serving,
        _ if workload.is_served == Some(true) => Class::Serving,
        _ => Class::Other,
    }
}

/// Without the cluster's picture a pod still names its owners, and the usual kinds have a known home.
fn guess_workload(pod: &Pod) -> Option<Workload> {
    let owner = pod.workload()?;
    let api_version = match owner.kind.as_str() {
        "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" => "apps/v1",
        "Job" | "CronJob" => "batch/v1",
        "Workflow" | "CronWorkflow" => "argoproj.io/v1alpha1",
        "Notebook" | "PyTorchJob" | "TFJob" | "MPIJob" | "XGBoostJob" | "PaddleJob" => "kubeflow.org/v1",
        _ => "",
    };
    Some(Workload {
        api_version: api_version.to_owned(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        uid: String::new(),
        replicas: None,
        is_served: None,
    })
}

/// The object whose pods come back under new names: what patterns are learned of.
pub(crate) fn template(pod: &Pod) -> Option<PatternKey> {
    let owner = pod.workload()?;
    Some(PatternKey {
        namespace: pod.reference.namespace.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
    })
}
