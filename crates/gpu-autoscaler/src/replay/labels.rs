//! What really is waste: labels from the simulator's hidden state, by the definitions of `docs/waste.md`.
//!
//! A label never looks at what a detector can see, with one exception: whether there was anything to see at all.

use std::time::Duration;

use gpu_model::{ClusterPicture, GpuUuid, GpuView, Owner, PartView, Partition, PodKey};
use gpu_sim::{Condition, Health, Misreport, PodTruth, Truth, WorkloadKind};
use gpu_waste::{Cause, Settings};
use jiff::Timestamp;

/// The truth about one part of a GPU at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Label {
    /// Wasted, and any of these causes says so rightly.
    Waste(&'static [Cause]),
    /// Not wasted: a finding is wrong.
    Fine,
    /// Neither: too young to be judged, or between the lines that the definitions draw.
    Open,
}

/// Conditions are given this long to show in the samples, beyond the times that the settings ask for.
const SLACK: Duration = Duration::from_secs(90);

/// A workload that needs at most this much of its part's memory and of its multiprocessors has too large a part, in
/// thousandths; one that needs more than the other figure of either has not.
const SMALL: u16 = 300;
const LARGE: u16 = 500;

const IDLE: &[Cause] = &[Cause::HeldIdle, Cause::Zombie];
const ZOMBIE: &[Cause] = &[Cause::Zombie, Cause::HeldIdle];
const NEVER: &[Cause] = &[Cause::NeverUsed, Cause::Zombie];
const LEFT_ASIDE: &[Cause] = &[Cause::IdleGpuOfMany];
const LITTLE: &[Cause] = &[Cause::UnderUsed];
const TOO_LARGE: &[Cause] = &[Cause::UnderUsed, Cause::OversizedModel, Cause::OversizedMemory];
const BROKEN: &[Cause] = &[Cause::Unhealthy];
const FREE: &[Cause] = &[Cause::Unallocated, Cause::Stranded];

/// What is known of the place that is judged.
pub(crate) struct Scene<'a> {
    pub(crate) truth: &'a Truth,
    pub(crate) picture: &'a ClusterPicture,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl Scene<'_> {
    /// The label of a part that was free since the given instant, or is held.
    pub(crate) fn label(&self, gpu: &GpuView, part: &PartView, free_since: Option<Timestamp>) -> Label {
        let Some(gpu_truth) = self.truth.gpu(&gpu.device.uuid) else {
            return Label::Open;
        };
        if let Some(struck) = gpu_truth.struck_at {
            let age = self.now.duration_since(struck);
            if age.as_secs() < 3500 {
                return if age.as_secs() > 120 {
                    Label::Waste(BROKEN)
                } else {
                    Label::Open
                };
            }
            // The memory of a fault ends within the hour; exactly when is not the truth's business.
            if age.as_secs() < 3700 {
                return Label::Open;
            }
        }
        // What a stuck driver hides cannot be judged; whether it is called out is counted apart.
        if gpu_truth.misreport == Some(Misreport::StuckBusy) {
            return Label::Open;
        }
        let Some(owner) = &part.owner else {
            return self.lasted(free_since, self.settings.after, FREE);
        };
        let Some(pod) = self.truth.pod(&owner.pod.reference) else {
            return Label::Open;
        };
        if self.is_left_alone(&key(owner)) {
            return Label::Fine;
        }
        let label = self.of_pod(&gpu.device.uuid, part, pod, owner.pod.started_at);
        match label {
            // How much a hot GPU is held down depends on the load, which the truth does not sum up.
            Label::Fine if gpu_truth.health == Health::Hot => Label::Open,
            // Whoever declares standby is believed, and the declaration of a dead service is a mistake of its owner.
            Label::Waste(_) if self.is_declared_standby(owner) && pod.condition != Condition::Zombie => {
                Label::Open
            }
            label => label,
        }
    }

    fn is_declared_standby(&self, owner: &Owner) -> bool {
        let pod = self.picture.gpu_pods.get(&key(owner));
        pod.is_some_and(|pod| pod.settings.workload_type.as_deref() == Some("standby"))
    }

    fn of_pod(&self, gpu: &GpuUuid, part: &PartView, pod: &PodTruth, started: Option<Timestamp>) -> Label {
        let settings = self.settings;
        let is_exclusive = !matches!(
            part.partition,
            Partition::TimeShared { .. } | Partition::Mps { .. }
        );
        if pod.left_aside.contains(gpu) {
            return match pod.condition {
                Condition::WarmingUp => Label::Open,
                // Frameworks open their contexts while they start, so the idle time counts from the end of that.
                _ => self.lasted(started, settings.after + WARM_UP, LEFT_ASIDE),
            };
        }
        let window = Duration::from_secs(600);
        match pod.condition {
            Condition::WarmingUp | Condition::DataLoading | Condition::Checkpointing | Condition::StandBy => {
                Label::Fine
            }
            Condition::NeverUsed => self.lasted(started, settings.warm_up, NEVER),
            Condition::HeldIdle => self.lasted(Some(pod.since), settings.after, IDLE),
            Condition::Zombie => self.lasted(Some(pod.since), settings.after, ZOMBIE),
            Condition::Stalled => self.lasted(Some(pod.since), window, LITTLE),
            Condition::InputBound if is_exclusive => self.lasted(Some(pod.since), window, LITTLE),
            Condition::Undersized if is_exclusive => {
                self.lasted(Some(pod.since), settings.size_after, TOO_LARGE)
            }
            Condition::InputBound | Condition::Undersized => Label::Open,
            Condition::Busy if is_exclusive && pod.kind != WorkloadKind::Notebook => self.by_size(part, pod),
            Condition::Busy => Label::Fine,
        }
    }

    fn by_size(&self, part: &PartView, pod: &PodTruth) -> Label {
        let need = pod.need;
        let is_smallest = match &part.partition {
            Partition::MigSlice { profile, .. } => profile.as_str().starts_with("1g."),
            Partition::AmdPartition { .. } => true,
            _ => false,
        };
        if is_smallest || need.memory > LARGE || need.compute > LARGE {
            Label::Fine
        } else if need.memory <= SMALL && need.compute <= SMALL {
            self.lasted(Some(pod.since), self.settings.size_after, TOO_LARGE)
        } else {
            Label::Open
        }
    }

    fn lasted(&self, since: Option<Timestamp>, at_least: Duration, causes: &'static [Cause]) -> Label {
        let lasted = since.map(|since| self.now.duration_since(since));
        match lasted.and_then(|lasted| Duration::try_from(lasted).ok()) {
            Some(lasted) if lasted >= at_least + SLACK => Label::Waste(causes),
            _ => Label::Open,
        }
    }

    /// Whether the owner asked for no finding: then none is right.
    fn is_left_alone(&self, pod: &PodKey) -> bool {
        self.picture.gpu_pods.get(pod).is_some_and(|pod| {
            pod.settings.is_opted_out || pod.settings.exempt_until.is_some_and(|until| until > self.now)
        })
    }
}

fn key(owner: &Owner) -> PodKey {
    PodKey {
        namespace: owner.pod.reference.namespace.clone(),
        name: owner.pod.reference.name.clone(),
    }
}

/// The longest start of a simulated training job.
const WARM_UP: Duration = Duration::from_secs(300);
