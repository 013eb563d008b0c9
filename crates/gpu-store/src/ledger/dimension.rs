//! What costs are asked by.

use std::borrow::Cow;

use gpu_cost::{Grain, Slot, Subject};

use super::charged::Dimensions;

/// A question's dimension. The numbers are what a database holds: they are never reused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    Cluster,
    Namespace,
    Team,
    Project,
    CostCenter,
    /// The top owner, `Kind/name`.
    Owner,
    Workflow,
    Step,
    /// The attempt at a step, from 0.
    Retry,
    /// The Argo CD application.
    Application,
    Experiment,
    Pod,
    PodUid,
    Container,
    /// The machine, or the commitment whose unused part a row is.
    Machine,
    Node,
    NodePool,
    GpuModel,
    CapacityType,
    InstanceType,
    Region,
    GpuUuid,
    Partition,
    /// The value of one label.
    Label(String),
}

impl Dimension {
    /// Every dimension but the labels, which have no end.
    pub const FIXED: [Self; 23] = [
        Self::Cluster,
        Self::Namespace,
        Self::Team,
        Self::Project,
        Self::CostCenter,
        Self::Owner,
        Self::Workflow,
        Self::Step,
        Self::Retry,
        Self::Application,
        Self::Experiment,
        Self::Pod,
        Self::PodUid,
        Self::Container,
        Self::Machine,
        Self::Node,
        Self::NodePool,
        Self::GpuModel,
        Self::CapacityType,
        Self::InstanceType,
        Self::Region,
        Self::GpuUuid,
        Self::Partition,
    ];

    /// The numbers of all of them, labels included.
    pub(crate) fn codes() -> impl Iterator<Item = i16> {
        let label = Self::Label(String::new()).code();
        Self::FIXED.iter().map(Self::code).chain([label])
    }

    pub fn code(&self) -> i16 {
        match self {
            Self::Cluster => 0,
            Self::Namespace => 1,
            Self::Team => 2,
            Self::Project => 3,
            Self::CostCenter => 4,
            Self::Owner => 5,
            Self::Workflow => 6,
            Self::Step => 7,
            Self::Retry => 8,
            Self::Application => 9,
            Self::Experiment => 10,
            Self::Pod => 11,
            Self::PodUid => 12,
            Self::Container => 13,
            Self::Machine => 14,
            Self::Node => 15,
            Self::NodePool => 16,
            Self::GpuModel => 17,
            Self::CapacityType => 18,
            Self::InstanceType => 19,
            Self::Region => 20,
            Self::GpuUuid => 21,
            Self::Partition => 22,
            Self::Label(_) => 100,
        }
    }

    /// Its name in queries and files; a label is `label:KEY`.
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Cluster => "cluster",
            Self::Namespace => "namespace",
            Self::Team => "team",
            Self::Project => "project",
            Self::CostCenter => "cost-center",
            Self::Owner => "owner",
            Self::Workflow => "workflow",
            Self::Step => "step",
            Self::Retry => "retry",
            Self::Application => "application",
            Self::Experiment => "experiment",
            Self::Pod => "pod",
            Self::PodUid => "pod-uid",
            Self::Container => "container",
            Self::Machine => "machine",
            Self::Node => "node",
            Self::NodePool => "node-pool",
            Self::GpuModel => "gpu-model",
            Self::CapacityType => "capacity-type",
            Self::InstanceType => "instance-type",
            Self::Region => "region",
            Self::GpuUuid => "gpu-uuid",
            Self::Partition => "partition",
            Self::Label(key) => return Cow::Owned(format!("label:{key}")),
        })
    }

    pub fn parse(text: &str) -> Option<Self> {
        if let Some(key) = text.strip_prefix("label:") {
            return (!key.is_empty()).then(|| Self::Label(key.to_owned()));
        }
        Self::FIXED.into_iter().find(|dimension| dimension.name() == text)
    }

    /// The value that dimensions have for it; none where it is not known.
    pub fn of<'a>(&self, of: &'a Dimensions) -> Option<Cow<'a, str>> {
        let holder = of.holder.as_deref();
        let names = holder.map(|holder| &holder.dimensions);
        let machine = of.subject.machine();
        let text = match self {
            Self::Cluster => Some(of.cluster.as_str()),
            Self::Namespace => holder.map(|holder| holder.namespace.as_str()),
            Self::Team => names?.team.as_deref(),
            Self::Project => names?.project.as_deref(),
            Self::CostCenter => names?.cost_center.as_deref(),
            Self::Owner => {
                let owner = names?.owner.as_ref()?;
                return Some(Cow::Owned(format!("{}/{}", owner.kind, owner.name)));
            }
            Self::Workflow => names?.workflow.as_deref(),
            Self::Step => names?.step.as_deref(),
            Self::Retry => return names?.retry.map(|retry| Cow::Owned(retry.to_string())),
            Self::Application => names?.application.as_deref(),
            Self::Experiment => names?.experiment_id.as_deref(),
            Self::Pod => holder.map(|holder| holder.pod.as_str()),
            Self::PodUid => holder.map(|holder| holder.uid.as_str()),
            Self::Container => holder?.container.as_ref().map(|name| name.as_str()),
            Self::Machine => Some(of.subject.id()),
            Self::Node => machine.map(|machine| machine.node.as_str()),
            Self::NodePool => machine?.pool.as_deref(),
            Self::GpuModel => machine?.gpu_model.as_deref(),
            Self::CapacityType => machine.map(|machine| machine.capacity.as_str()),
            Self::InstanceType => match &of.subject {
                Subject::Machine(machine) => machine.instance_type.as_deref(),
                Subject::Commitment(commitment) => commitment.instance_type.as_deref(),
            },
            Self::Region => match &of.subject {
                Subject::Machine(machine) => machine.region.as_deref(),
                Subject::Commitment(commitment) => commitment.region.as_deref(),
            },
            Self::GpuUuid => match &of.slot {
                Slot::Gpu { gpu, .. } => Some(gpu.as_str()),
                Slot::UnseenGpus { .. } | Slot::Host | Slot::Whole => None,
            },
            Self::Partition => match &of.slot {
                Slot::Gpu {
                    partition: Some(partition),
                    ..
                } => return Some(Cow::Owned(partition.to_string())),
                Slot::Gpu { partition: None, .. } | Slot::UnseenGpus { .. } | Slot::Host | Slot::Whole => {
                    None
                }
            },
            Self::Label(key) => names?.labels.get(key).map(String::as_str),
        };
        // An empty name is no name: nobody could ask for it.
        text.filter(|text| !text.is_empty() || matches!(self, Self::Label(_)))
            .map(Cow::Borrowed)
    }

    /// Whether the dimension has sums of its own at a grain. What is asked often and has few values has them everywhere; single pods,
    /// GPUs and steps have none, and are answered from whole sets of dimensions.
    pub fn is_summed_at(&self, grain: Grain) -> bool {
        match self {
            Self::Cluster | Self::Namespace | Self::Team | Self::GpuModel => true,
            Self::Project
            | Self::CostCenter
            | Self::Owner
            | Self::Workflow
            | Self::Application
            | Self::Experiment
            | Self::Node
            | Self::NodePool
            | Self::CapacityType
            | Self::InstanceType
            | Self::Region
            | Self::Label(_) => grain != Grain::FiveMinutes,
            Self::Step
            | Self::Retry
            | Self::Pod
            | Self::PodUid
            | Self::Container
            | Self::Machine
            | Self::GpuUuid
            | Self::Partition => false,
        }
    }
}
