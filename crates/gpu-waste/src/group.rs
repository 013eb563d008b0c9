//! The parts that one finding is about, with the words that all findings share.

use std::time::Duration;

use gpu_model::NodeName;
use jiff::Timestamp;

use crate::Cause;
use crate::case::{Detail, Verdict};
use crate::evidence::percent;
use crate::holders::Holder;
use crate::windows::{GpuTrack, PartTrack, since};

/// One finding in the making.
pub(crate) struct Group<'a> {
    pub(crate) cause: Cause,
    pub(crate) detail: Detail,
    pub(crate) now: Timestamp,
    pub(crate) since: Timestamp,
    /// At least one, ordered by GPU.
    pub(crate) members: Vec<Member<'a>>,
    pub(crate) holder: Option<&'a Holder<'a>>,
    /// How many GPUs the holder has in all.
    pub(crate) asked: u32,
    /// Whether every GPU of the node is in it.
    pub(crate) is_whole_node: bool,
}

pub(crate) struct Member<'a> {
    pub(crate) gpu: &'a GpuTrack,
    pub(crate) part: &'a PartTrack,
    pub(crate) share: u16,
    pub(crate) verdict: Verdict,
}

impl<'a> Group<'a> {
    pub(crate) fn first(&self) -> &Member<'a> {
        &self.members[0]
    }

    pub(crate) fn node(&self) -> &NodeName {
        &self.first().gpu.node.name
    }

    /// Thousandths of a GPU that are lost.
    pub(crate) fn wasted(&self) -> u64 {
        let wasted = self
            .members
            .iter()
            .map(|member| member.verdict.wasted.of(u64::from(member.share)));
        wasted.sum()
    }

    /// Thousandths of a GPU that it is about.
    pub(crate) fn held(&self) -> u64 {
        self.members.iter().map(|member| u64::from(member.share)).sum()
    }

    pub(crate) fn holder(&self) -> String {
        match self.holder {
            Some(holder) => match &holder.workload {
                Some(workload) => format!("Pod {} of {} {}", holder.key(), workload.kind, workload.name),
                None => format!("Pod {}", holder.key()),
            },
            None => "Nobody".to_owned(),
        }
    }

    /// `2 GPUs (NVIDIA L4)`, `a 3g.40gb slice of an NVIDIA A100-SXM4-80GB`.
    pub(crate) fn gpus(&self) -> String {
        use gpu_model::Partition;
        let first = self.first();
        let model = &first.gpu.device.model;
        let (one, many) = match &first.part.partition {
            Partition::Whole => (format!("1 GPU ({model})"), "GPUs"),
            Partition::MigSlice { profile, .. } => (format!("1 {profile} slice ({model})"), "slices"),
            Partition::TimeShared { of, .. } | Partition::Mps { of, .. } => {
                (format!("1 of {of} shares of a GPU ({model})"), "shares of GPUs")
            }
            Partition::AmdPartition { mode, .. } => (format!("1 {mode} partition ({model})"), "partitions"),
        };
        match self.members.len() {
            1 => one,
            count => format!("{count} {many} ({model})"),
        }
    }

    pub(crate) fn gpus_are(&self) -> String {
        format!(
            "{} {}",
            self.gpus(),
            if self.members.len() == 1 { "is" } else { "are" }
        )
    }

    pub(crate) fn them(&self) -> &'static str {
        if self.members.len() == 1 { "it" } else { "them" }
    }

    pub(crate) fn lasting(&self) -> String {
        duration_words(since(self.now, self.since))
    }

    pub(crate) fn memory_mib(&self) -> u64 {
        self.members
            .iter()
            .filter_map(|member| member.part.tenancy.peak_memory_mib)
            .map(u64::from)
            .sum()
    }

    pub(crate) fn peak_memory_mib(&self) -> u32 {
        let peaks = self
            .members
            .iter()
            .filter_map(|member| member.part.tenancy.peak_memory_mib);
        peaks.max().unwrap_or(0)
    }

    pub(crate) fn peak_effort_permille(&self) -> Option<u16> {
        let peaks = self
            .members
            .iter()
            .map(|member| member.part.tenancy.peak_effort)
            .collect::<Option<Vec<u16>>>()?;
        peaks.into_iter().max()
    }

    pub(crate) fn peak_effort(&self) -> String {
        percent(self.peak_effort_permille().map_or(1000, u32::from))
    }

    pub(crate) fn memory_total_mib(&self) -> u32 {
        self.first().part.memory_total_mib.unwrap_or(0)
    }

    pub(crate) fn used_share(&self) -> String {
        let held = self.held().max(1);
        let used = held.saturating_sub(self.wasted()) * 1000 / held;
        percent(u32::try_from(used).unwrap_or(1000))
    }
}

/// `40 minutes`, `3 hours`, `2 days`.
pub(crate) fn duration_words(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    let (count, unit) = match minutes {
        0..120 => (minutes, "minute"),
        120..2880 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
