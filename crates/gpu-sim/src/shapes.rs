//! The shapes of node the fleet is made of, and the demand that comes with each.
//!
//! Twelve shapes, 96 GPUs: a fleet repeats them in order, so that any fleet has eight GPUs a node on average. Instance
//! types, their GPUs and their regions are those the clouds really offer.

use gpu_model::{CapacityType, Cloud};

use crate::truth::WorkloadKind::{self, Batch, Inference, Notebook, Training, WorkflowStep};

/// A pool of interchangeable slots: what a workload asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    H100,
    H100Slice3,
    H100Slice2,
    H100Slice1,
    A100Small,
    A100Large,
    A100Slice3,
    A100Slice2,
    A100Slice1,
    L4,
    L4Mps,
    L40s,
    T4Shared,
    Mi300x,
    Mi300xPart,
    Mi210,
}

impl Class {
    /// Whether a workload that needs little could have been given less.
    pub(crate) fn could_be_smaller(self) -> bool {
        match self {
            Class::H100
            | Class::H100Slice3
            | Class::H100Slice2
            | Class::A100Small
            | Class::A100Large
            | Class::A100Slice3
            | Class::A100Slice2
            | Class::L4
            | Class::L40s
            | Class::Mi300x
            | Class::Mi210 => true,
            Class::H100Slice1 | Class::A100Slice1 | Class::L4Mps | Class::T4Shared | Class::Mi300xPart => {
                false
            }
        }
    }
}

/// How the GPUs of a node are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    Whole(Class),
    /// MIG profiles of one GPU, each with the class of its slots.
    Mig(&'static [(&'static str, Class)]),
    TimeShared(Class, u16),
    Mps(Class, u16),
    /// AMD's CPX mode: every compute die is a device of its own.
    Cpx(Class),
}

/// How often one kind of workload is wanted, in pods of so many GPUs that start together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(crate) kind: WorkloadKind,
    pub(crate) class: Class,
    pub(crate) pods: u16,
    pub(crate) gpus_per_pod: u16,
    /// How many such workloads live side by side.
    pub(crate) streams: u16,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The node pool, and the first part of the node's name.
    pub(crate) pool: &'static str,
    pub(crate) model: &'static str,
    pub(crate) cloud: Cloud,
    pub(crate) instance_type: Option<&'static str>,
    pub(crate) region: Option<&'static str>,
    pub(crate) zones: &'static [&'static str],
    pub(crate) capacity: CapacityType,
    /// The division of each run of GPUs, in order of index.
    pub(crate) gpus: &'static [(u16, Division)],
    pub(crate) demands: &'static [Demand],
}

const fn one(kind: WorkloadKind, class: Class, streams: u16) -> Demand {
    Demand {
        kind,
        class,
        pods: 1,
        gpus_per_pod: 1,
        streams,
    }
}

const fn gang(class: Class, pods: u16, gpus_per_pod: u16) -> Demand {
    Demand {
        kind: Training,
        class,
        pods,
        gpus_per_pod,
        streams: 1,
    }
}

const H100_LAYOUT: &[(&str, Class)] = &[
    ("3g.40gb", Class::H100Slice3),
    ("2g.20gb", Class::H100Slice2),
    ("1g.10gb", Class::H100Slice1),
    ("1g.10gb", Class::H100Slice1),
];

const A100_LAYOUT: &[(&str, Class)] = &[
    ("3g.40gb", Class::A100Slice3),
    ("2g.20gb", Class::A100Slice2),
    ("1g.10gb", Class::A100Slice1),
    ("1g.10gb", Class::A100Slice1),
];

const A100_SMALL_SLICES: &[(&str, Class)] = &[("1g.10gb", Class::A100Slice1); 7];

const US_EAST_1: &[&str] = &["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"];
const US_WEST_2: &[&str] = &["us-west-2a", "us-west-2b", "us-west-2c"];
const US_CENTRAL1: &[&str] = &["us-central1-a", "us-central1-c"];

pub(crate) static SHAPES: &[Shape] = &[
    Shape {
        pool: "h100",
        model: "NVIDIA H100 80GB HBM3",
        cloud: Cloud::Aws,
        instance_type: Some("p5.48xlarge"),
        region: Some("us-east-1"),
        zones: US_EAST_1,
        capacity: CapacityType::Reserved,
        gpus: &[(8, Division::Whole(Class::H100))],
        demands: &[
            gang(Class::H100, 1, 4),
            one(Inference, Class::H100, 2),
            one(Batch, Class::H100, 1),
            one(Notebook, Class::H100, 1),
        ],
    },
    Shape {
        pool: "l4",
        model: "NVIDIA L4",
        cloud: Cloud::Aws,
        instance_type: Some("g6.48xlarge"),
        region: Some("us-east-1"),
        zones: US_EAST_1,
        capacity: CapacityType::OnDemand,
        gpus: &[(8, Division::Whole(Class::L4))],
        demands: &[one(Inference, Class::L4, 6), one(Batch, Class::L4, 1)],
    },
    Shape {
        pool: "a100-mig",
        model: "NVIDIA A100-SXM4-80GB",
        cloud: Cloud::Gcp,
        instance_type: Some("a2-ultragpu-8g"),
        region: Some("us-central1"),
        zones: US_CENTRAL1,
        capacity: CapacityType::OnDemand,
        gpus: &[
            (4, Division::Mig(A100_LAYOUT)),
            (2, Division::Mig(A100_SMALL_SLICES)),
            (2, Division::Whole(Class::A100Large)),
        ],
        demands: &[
            one(Inference, Class::A100Slice3, 3),
            one(Inference, Class::A100Slice2, 2),
            one(Notebook, Class::A100Slice2, 2),
            one(Notebook, Class::A100Slice1, 10),
            one(Inference, Class::A100Slice1, 6),
            one(WorkflowStep, Class::A100Slice1, 2),
            gang(Class::A100Large, 1, 2),
        ],
    },
    Shape {
        pool: "mi300x",
        model: "AMD Instinct MI300X",
        cloud: Cloud::Azure,
        instance_type: Some("Standard_ND96isr_MI300X_v5"),
        region: Some("westus"),
        zones: &["westus-1"],
        capacity: CapacityType::OnDemand,
        gpus: &[
            (6, Division::Whole(Class::Mi300x)),
            (2, Division::Cpx(Class::Mi300xPart)),
        ],
        demands: &[
            gang(Class::Mi300x, 1, 4),
            one(Inference, Class::Mi300x, 2),
            one(Notebook, Class::Mi300xPart, 6),
            one(Batch, Class::Mi300xPart, 4),
            one(Inference, Class::Mi300xPart, 3),
        ],
    },
    Shape {
        pool: "t4-shared",
        model: "Tesla T4",
        cloud: Cloud::Aws,
        instance_type: Some("g4dn.12xlarge"),
        region: Some("us-east-1"),
        zones: US_EAST_1,
        capacity: CapacityType::OnDemand,
        gpus: &[(4, Division::TimeShared(Class::T4Shared, 4))],
        demands: &[
            one(Notebook, Class::T4Shared, 9),
            one(WorkflowStep, Class::T4Shared, 3),
            one(Batch, Class::T4Shared, 2),
        ],
    },
    Shape {
        pool: "a100-spot",
        model: "NVIDIA A100-SXM4-40GB",
        cloud: Cloud::Aws,
        instance_type: Some("p4d.24xlarge"),
        region: Some("us-west-2"),
        zones: US_WEST_2,
        capacity: CapacityType::Spot,
        gpus: &[(8, Division::Whole(Class::A100Small))],
        demands: &[
            one(Batch, Class::A100Small, 4),
            one(WorkflowStep, Class::A100Small, 3),
        ],
    },
    Shape {
        pool: "l40s",
        model: "NVIDIA L40S",
        cloud: Cloud::Aws,
        instance_type: Some("g6e.48xlarge"),
        region: Some("us-west-2"),
        zones: US_WEST_2,
        capacity: CapacityType::OnDemand,
        gpus: &[(8, Division::Whole(Class::L40s))],
        demands: &[
            one(Inference, Class::L40s, 5),
            one(Batch, Class::L40s, 1),
            one(WorkflowStep, Class::L40s, 1),
            one(Notebook, Class::L40s, 1),
        ],
    },
    Shape {
        pool: "a100-mega",
        model: "NVIDIA A100-SXM4-40GB",
        cloud: Cloud::Gcp,
        instance_type: Some("a2-megagpu-16g"),
        region: Some("us-central1"),
        zones: US_CENTRAL1,
        capacity: CapacityType::OnDemand,
        gpus: &[(16, Division::Whole(Class::A100Small))],
        demands: &[gang(Class::A100Small, 1, 8), gang(Class::A100Small, 2, 4)],
    },
    Shape {
        pool: "mi210",
        model: "AMD Instinct MI210",
        cloud: Cloud::OnPremises,
        instance_type: None,
        region: None,
        zones: &[],
        capacity: CapacityType::Owned,
        gpus: &[(8, Division::Whole(Class::Mi210))],
        demands: &[
            one(Batch, Class::Mi210, 3),
            one(Notebook, Class::Mi210, 3),
            one(WorkflowStep, Class::Mi210, 1),
        ],
    },
    Shape {
        pool: "l4-mps",
        model: "NVIDIA L4",
        cloud: Cloud::Gcp,
        instance_type: Some("g2-standard-96"),
        region: Some("us-central1"),
        zones: US_CENTRAL1,
        capacity: CapacityType::Spot,
        gpus: &[(8, Division::Mps(Class::L4Mps, 2))],
        demands: &[one(Inference, Class::L4Mps, 12), one(Batch, Class::L4Mps, 1)],
    },
    Shape {
        pool: "h100-mixed",
        model: "NVIDIA H100 80GB HBM3",
        cloud: Cloud::Gcp,
        instance_type: Some("a3-highgpu-8g"),
        region: Some("us-central1"),
        zones: US_CENTRAL1,
        capacity: CapacityType::OnDemand,
        gpus: &[(6, Division::Whole(Class::H100)), (2, Division::Mig(H100_LAYOUT))],
        // One gang more than fits beside the rest: somebody is usually waiting for an H100.
        demands: &[
            gang(Class::H100, 1, 4),
            gang(Class::H100, 1, 2),
            one(Inference, Class::H100, 2),
            one(Inference, Class::H100Slice3, 2),
            one(Notebook, Class::H100Slice2, 1),
            one(Notebook, Class::H100Slice1, 3),
        ],
    },
    Shape {
        pool: "l40s-spot",
        model: "NVIDIA L40S",
        cloud: Cloud::Aws,
        instance_type: Some("g6e.12xlarge"),
        region: Some("us-east-1"),
        zones: US_EAST_1,
        capacity: CapacityType::Spot,
        gpus: &[(4, Division::Whole(Class::L40s))],
        demands: &[
            one(Inference, Class::L40s, 2),
            one(Batch, Class::L40s, 1),
            one(WorkflowStep, Class::L40s, 1),
        ],
    },
];
