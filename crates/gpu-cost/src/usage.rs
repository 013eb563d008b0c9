//! How much a workload used in the past: what right-sizing and admission look up when the same template comes again.

use gpu_model::{Bytes, ClusterId, ContainerName, Millijoules, Namespace, OwnerRef, Permille};
use serde::{Deserialize, Serialize};

use crate::{Grain, Moment};

/// What makes two pods the same work: the object that made them, and the container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    pub cluster: ClusterId,
    pub namespace: Namespace,
    /// For a pod of its own: kind `Pod` and its name.
    pub owner: OwnerRef,
    /// The step of a workflow, whose owner alone says too little.
    pub step: Option<String>,
    pub container: Option<ContainerName>,
}

/// Buckets of the histogram: 0 %, then one for each started 5 %.
const BUCKETS: usize = 21;

/// The use of one template in one bucket of time. Rows of the same template and time add up, in any order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    pub template: Template,
    pub grain: Grain,
    pub start: Moment,
    /// Pods that were seen; a pod in two buckets counts in both.
    pub pods: u32,
    /// GPU time held, in milliseconds of a whole GPU.
    pub held_ms: i64,
    pub samples: u64,
    /// Sum of the samples in thousandths, for the mean.
    pub utilization_sum: u64,
    pub utilization_max: Option<Permille>,
    /// How many samples fell into each twentieth; what lies below the n-th is read from it.
    pub utilization_histogram: [u32; BUCKETS],
    /// Absent where the memory was never read.
    pub memory_max: Option<Bytes>,
    pub energy: Option<Millijoules>,
}

impl UsageRow {
    pub fn new(template: Template, grain: Grain, start: Moment) -> Self {
        Self {
            template,
            grain,
            start,
            pods: 0,
            held_ms: 0,
            samples: 0,
            utilization_sum: 0,
            utilization_max: None,
            utilization_histogram: [0; BUCKETS],
            memory_max: None,
            energy: None,
        }
    }

    /// Counts one sample.
    pub fn sample(&mut self, utilization: Permille) {
        self.samples += 1;
        self.utilization_sum += u64::from(utilization.get());
        self.utilization_max = self.utilization_max.max(Some(utilization));
        let bucket = usize::from(utilization.get().div_ceil(50)).min(BUCKETS - 1);
        let count = &mut self.utilization_histogram[bucket];
        *count = count.saturating_add(1);
    }

    /// Adds another row of the same template and time.
    pub fn merge(&mut self, other: &Self) {
        self.pods = self.pods.saturating_add(other.pods);
        self.held_ms = self.held_ms.saturating_add(other.held_ms);
        self.samples = self.samples.saturating_add(other.samples);
        self.utilization_sum = self.utilization_sum.saturating_add(other.utilization_sum);
        self.utilization_max = self.utilization_max.max(other.utilization_max);
        for (mine, theirs) in self
            .utilization_histogram
            .iter_mut()
            .zip(other.utilization_histogram)
        {
            *mine = mine.saturating_add(theirs);
        }
        self.memory_max = self.memory_max.max(other.memory_max);
        self.energy = match (self.energy, other.energy) {
            (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// The mean, of samples that there are.
    pub fn utilization_mean(&self) -> Option<Permille> {
        let mean = self.utilization_sum.checked_div(self.samples)?;
        u16::try_from(mean).ok().map(Permille::clamped)
    }

    /// The upper edge of the twentieth under which so many of a hundred samples lie.
    pub fn utilization_percentile(&self, percent: u8) -> Option<Permille> {
        let total: u64 = self
            .utilization_histogram
            .iter()
            .map(|count| u64::from(*count))
            .sum();
        let wanted = (total * u64::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0;
        for (edge, count) in (0u16..).step_by(50).zip(self.utilization_histogram) {
            seen += u64::from(count);
            if seen >= wanted {
                return Some(Permille::clamped(edge));
            }
        }
        None
    }
}
