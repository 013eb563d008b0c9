//! What is really going on, which only the simulator knows.
//!
//! Detectors are judged against this; it must never be given to them.

use std::collections::BTreeMap;

use gpu_model::{GpuUuid, PodRef};
use jiff::Timestamp;

/// What a workload is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    Training,
    Inference,
    Notebook,
    Batch,
    WorkflowStep,
}

/// What a workload is really doing with its GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// Doing what it was started for.
    Busy,
    /// Loading a model or a program: memory rises, nothing is computed yet.
    WarmingUp,
    /// Waiting for input data for a moment.
    DataLoading,
    /// Writing its state out.
    Checkpointing,
    /// Busy, but most of the time its input is too slow for the GPU.
    InputBound,
    /// Memory and GPU held between bursts of use.
    HeldIdle,
    /// The GPU was given and never touched.
    NeverUsed,
    /// The work is over or dead and the memory is still held.
    Zombie,
    /// Members wait for each other for ever: kernels spin, nothing gets done.
    Stalled,
    /// Kept warm on purpose, without traffic.
    StandBy,
    /// Useful work, but far too little of it for this GPU.
    Undersized,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodTruth {
    pub kind: WorkloadKind,
    pub condition: Condition,
    pub since: Timestamp,
    pub gpus: Vec<GpuUuid>,
    /// Those of its GPUs that it never touches while the others work.
    pub left_aside: Vec<GpuUuid>,
    pub need: Need,
}

/// The most that a workload ever asks of its part of a GPU, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub memory: u16,
    /// Of the multiprocessors.
    pub compute: u16,
}

/// How a driver lies about a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Misreport {
    /// With nothing on it, the GPU reads as fully used.
    StuckBusy,
    /// The profiling counters say 0, whatever happens.
    DeadProfiling,
}

/// What is wrong with a GPU, if anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    Sound,
    /// Throws driver faults now and then.
    Faulty,
    /// Badly cooled: throttles under load.
    Hot,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuTruth {
    pub health: Health,
    pub misreport: Option<Misreport>,
    /// Its last fault that was the hardware's own.
    pub struck_at: Option<Timestamp>,
    /// The pods on it, in the order of its parts; empty when nobody has any of it.
    pub pods: Vec<PodRef>,
}

/// The hidden state of the whole fleet at one instant. Only running pods are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    pub at: Timestamp,
    pub pods: BTreeMap<PodRef, PodTruth>,
    pub gpus: BTreeMap<GpuUuid, GpuTruth>,
}

impl Truth {
    pub fn pod(&self, pod: &PodRef) -> Option<&PodTruth> {
        self.pods.get(pod)
    }

    pub fn gpu(&self, gpu: &GpuUuid) -> Option<&GpuTruth> {
        self.gpus.get(gpu)
    }
}
