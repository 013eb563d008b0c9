//! From windows to findings: every part of every GPU is judged once, and what belongs together becomes one finding.

mod key;
mod spare;

use std::collections::BTreeMap;
use std::time::Duration;

use gpu_model::{NanoUsd, NodeName, Permille, PodKey, ResourceName};
use jiff::Timestamp;

use crate::account::Tally;
use crate::case::{Case, Free};
use crate::detect::key::{GroupKey, group_key, is_of_pod};
use crate::detect::spare::spare;
use crate::facts::Facts;
use crate::group::{Group, Member};
use crate::holders::{Holders, PartState};
use crate::rooms::{Room, rooms};
use crate::shares::shares;
use crate::windows::{GpuTrack, PartTrack, Windows, since};
use crate::{
    Bucket, Cause, CauseTotal, Finding, FindingId, HeldPart, Settings, Subject, Surroundings, fix, price,
    rules, score,
};

/// What one detection found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub at: Timestamp,
    /// By money a month, then by GPU-hours, the largest first; then by id.
    pub findings: Vec<Finding>,
    /// Where all watched GPUs go. The sum of `milligpus` is a thousand for every GPU.
    pub account: Vec<CauseTotal>,
    /// A thousand for every GPU that is watched.
    pub watched_milligpus: u64,
    /// How much time the window covers.
    pub window_seconds: u64,
    /// What would be findings, had their owners not asked to be left alone. By pod, then cause.
    pub exempted: Vec<Exempted>,
    /// Findings whose score is too low to be listed; they are in the account.
    pub below_score: usize,
    /// What readers should know: annotations that could not be read, a missing picture.
    pub notes: Vec<String>,
}

/// A finding that is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exempted {
    pub pod: PodKey,
    pub cause: Cause,
    pub milligpus: u64,
    /// When it ends; absent for a pod that opted out for good, or declares standby.
    pub until: Option<Timestamp>,
    /// In words.
    pub reason: String,
}

/// Judges all GPUs of the windows. The same input gives the same report.
pub fn detect(
    windows: &Windows,
    surroundings: &Surroundings<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Report {
    let desk = Desk::new(windows, surroundings, settings, now);
    let mut tally = Tally::default();
    let mut groups: BTreeMap<GroupKey, Vec<Member<'_>>> = BTreeMap::new();
    let mut exempted: BTreeMap<(PodKey, Cause), Exempted> = BTreeMap::new();
    for sheet in &desk.sheets {
        // Slices of a GPU that no part is made of cannot be given to anybody.
        tally.add(Bucket::Waste(Cause::Stranded), u64::from(sheet.rest));
        for line in &sheet.lines {
            let case = desk.case(sheet, line);
            let (bucket, verdict) = rules::judge(&case);
            let share = u64::from(line.share);
            let Some(verdict) = verdict else {
                tally.add(bucket, share);
                continue;
            };
            let wasted = verdict.wasted.of(share);
            if let Some(spared) = spare(&case, &verdict) {
                tally.add(spared.bucket, wasted);
                tally.add(Bucket::Used, share - wasted);
                exempted
                    .entry((spared.exempted.pod.clone(), verdict.cause))
                    .and_modify(|known| known.milligpus += wasted)
                    .or_insert(Exempted {
                        milligpus: wasted,
                        ..spared.exempted
                    });
                continue;
            }
            match bucket {
                Bucket::Waste(_) => {
                    tally.add(bucket, wasted);
                    tally.add(Bucket::Used, share - wasted);
                }
                _ => tally.add(bucket, share),
            }
            let member = Member {
                gpu: sheet.gpu,
                part: line.part,
                share: line.share,
                verdict,
            };
            groups.entry(group_key(&member)).or_default().push(member);
        }
    }
    desk.report(tally, groups, exempted.into_values().collect())
}

/// Everything that is worked out before the first part is judged.
struct Desk<'a> {
    windows: &'a Windows,
    surroundings: &'a Surroundings<'a>,
    settings: &'a Settings,
    now: Timestamp,
    sheets: Vec<Sheet<'a>>,
    holders: Holders<'a>,
    rooms: BTreeMap<NodeName, Room>,
}

/// One GPU.
struct Sheet<'a> {
    gpu: &'a GpuTrack,
    /// Slices that no part is made of.
    rest: u16,
    lines: Vec<Line<'a>>,
}

/// One part of it.
struct Line<'a> {
    part: &'a PartTrack,
    share: u16,
    facts: Facts,
    free: Option<Free>,
}

impl<'a> Desk<'a> {
    fn new(
        windows: &'a Windows,
        surroundings: &'a Surroundings<'a>,
        settings: &'a Settings,
        now: Timestamp,
    ) -> Self {
        let mut sheets = Vec::with_capacity(windows.gpu_count());
        let mut holders = Holders::default();
        let interval = windows.settings().interval;
        for gpu in windows.gpus() {
            let (shares, rest) = shares(gpu);
            let mut lines = Vec::with_capacity(gpu.parts.len());
            for (part, share) in gpu.parts.iter().zip(shares) {
                let facts = Facts::of(windows, gpu, part, settings, now);
                if let Some(owner) = &part.owner {
                    let state = if facts.active > 0 {
                        PartState::Working
                    } else if facts.is_told(interval, now) {
                        PartState::Idle
                    } else {
                        PartState::Unknown
                    };
                    holders.add(owner, surroundings.picture, state, now);
                }
                lines.push(Line {
                    part,
                    share,
                    facts,
                    free: None,
                });
            }
            sheets.push(Sheet { gpu, rest, lines });
        }
        holders.join_gangs();
        rank_free_parts(&mut sheets);
        Self {
            windows,
            surroundings,
            settings,
            now,
            sheets,
            holders,
            rooms: surroundings.picture.map(rooms).unwrap_or_default(),
        }
    }

    fn case<'s>(&'s self, sheet: &'s Sheet<'a>, line: &'s Line<'a>) -> Case<'s> {
        let owner = line.part.owner.as_ref();
        Case {
            settings: self.settings,
            surroundings: self.surroundings,
            interval: self.windows.settings().interval,
            now: self.now,
            gpu: sheet.gpu,
            part: line.part,
            facts: &line.facts,
            holder: owner.and_then(|owner| self.holders.get(&owner.pod.reference)),
            room: self.rooms.get(&sheet.gpu.node.name),
            free: line.free,
        }
    }

    fn report(
        &self,
        tally: Tally,
        groups: BTreeMap<GroupKey, Vec<Member<'_>>>,
        exempted: Vec<Exempted>,
    ) -> Report {
        let gpus_of_node = self.gpus_of_nodes();
        let mut findings = Vec::new();
        let mut below_score = 0;
        for (key, members) in groups {
            let node_gpus = gpus_of_node.get(&members[0].gpu.node.name).copied().unwrap_or(0);
            let finding = self.finding(&key, members, node_gpus);
            if finding.score >= self.settings.least_score {
                findings.push(finding);
            } else {
                below_score += 1;
            }
        }
        findings.sort_by(|a, b| {
            (b.monthly, b.wasted_milligpu_hours)
                .cmp(&(a.monthly, a.wasted_milligpu_hours))
                .then_with(|| a.id.cmp(&b.id))
        });
        let window_seconds = self.covered().as_secs();
        let account = tally.finish(window_seconds);
        Report {
            at: self.now,
            findings,
            watched_milligpus: account.iter().map(|total| total.milligpus).sum(),
            account,
            window_seconds,
            exempted,
            below_score,
            notes: self.notes(),
        }
    }

    fn finding(&self, key: &GroupKey, mut members: Vec<Member<'_>>, node_gpus: usize) -> Finding {
        members.sort_by(|a, b| {
            let place = |member: &Member<'_>| (member.gpu.device.index, member.part.device_id.clone());
            place(a).cmp(&place(b))
        });
        let owner = members[0].part.owner.as_ref();
        let holder = owner
            .filter(|_| is_of_pod(key.cause))
            .and_then(|owner| self.holders.get(&owner.pod.reference));
        let oldest = members.iter().map(|member| member.verdict.since).min();
        let group = Group {
            cause: key.cause,
            detail: members[0].verdict.detail,
            now: self.now,
            since: oldest.unwrap_or(self.now).min(self.now),
            is_whole_node: members.len() == node_gpus && members.iter().all(|member| member.share == 1000),
            asked: holder.map_or(0, |holder| holder.parts),
            members,
            holder,
        };
        let first = group.first();
        let confidence = group
            .members
            .iter()
            .map(|member| member.verdict.votes.confidence())
            .min();
        let confidence = confidence.unwrap_or(Permille::ZERO);
        let affected: u64 = group
            .members
            .iter()
            .map(|member| member.verdict.affected.of(u64::from(member.share)))
            .sum();
        let affected = affected * 1000 / group.held().max(1);
        let wasted = group.wasted();
        let rate = self.surroundings.rates.get(group.node());
        let monthly = rate
            .and_then(|rate| rate.per_gpu_hour)
            .map(|rate| price::monthly(rate, wasted));
        let seconds = since(self.now, group.since).as_secs();
        Finding {
            id: FindingId(key.text()),
            cause: group.cause,
            subject: subject(&group),
            node: Some(group.node().clone()),
            gpus: group.members.iter().map(held_part).collect(),
            since: group.since,
            seen_at: self.seen_at(&group),
            score: score(
                Permille::clamped(u16::try_from(affected).unwrap_or(1000)),
                confidence,
            ),
            confidence,
            wasted_milligpus: wasted,
            wasted_milligpu_hours: wasted.saturating_mul(seconds) / 3600,
            monthly,
            price_note: rate.map_or_else(
                || "no price is known for this node".to_owned(),
                |rate| rate.note.clone(),
            ),
            evidence: first.verdict.votes.evidence(self.windows, first.gpu, first.part),
            explanation: rules::explain(&group),
            fix: fix::propose(
                &group,
                &self.holders,
                monthly.filter(|money| *money > NanoUsd::ZERO),
            ),
        }
    }

    fn gpus_of_nodes(&self) -> BTreeMap<NodeName, usize> {
        let mut counts = BTreeMap::new();
        for sheet in &self.sheets {
            *counts.entry(sheet.gpu.node.name.clone()).or_default() += 1;
        }
        counts
    }

    fn covered(&self) -> Duration {
        let (first, last) = (self.windows.cycles().next(), self.windows.cycles().last());
        match (first, last) {
            (Some((_, first)), Some((_, last))) => since(last, first),
            _ => Duration::ZERO,
        }
    }

    fn seen_at(&self, group: &Group<'_>) -> Timestamp {
        let first = group.first();
        let mut seen = group.since;
        for (cycle, at) in self.windows.cycles() {
            if first.gpu.slot(cycle).is_some() {
                seen = seen.max(at);
            }
        }
        seen
    }

    fn notes(&self) -> Vec<String> {
        let Some(picture) = self.surroundings.picture else {
            return vec!["without a picture of the cluster: free GPUs, owners and exemptions are judged by samples alone".to_owned()];
        };
        let problems = picture.gpu_pods.iter().flat_map(|(key, pod)| {
            let problems = pod.settings.problems.iter();
            problems.map(move |problem| format!("pod {key}: {problem}"))
        });
        problems.take(MOST_NOTES).collect()
    }
}

/// More problems than this are one problem: a bad template.
const MOST_NOTES: usize = 100;

/// Numbers the free parts of each resource on each node, so that a room for three makes useless what is beyond three.
fn rank_free_parts(sheets: &mut [Sheet<'_>]) {
    let mut counts: BTreeMap<(NodeName, ResourceName), u32> = BTreeMap::new();
    let mut ranks = Vec::new();
    for sheet in sheets.iter() {
        for line in &sheet.lines {
            if line.part.owner.is_none() {
                let key = (sheet.gpu.node.name.clone(), line.part.resource.clone());
                let count = counts.entry(key).or_default();
                ranks.push(Some(*count));
                *count += 1;
            } else {
                ranks.push(None);
            }
        }
    }
    let mut ranks = ranks.into_iter();
    for sheet in sheets {
        for line in &mut sheet.lines {
            if let Some(rank) = ranks.next().flatten() {
                let key = (sheet.gpu.node.name.clone(), line.part.resource.clone());
                let count = counts.get(&key).copied().unwrap_or(0);
                line.free = Some(Free { rank, count });
            }
        }
    }
}

fn subject(group: &Group<'_>) -> Subject {
    let first = group.first();
    match (group.holder, group.cause) {
        (Some(holder), _) => Subject::Pod {
            pod: holder.key(),
            uid: holder.pod.reference.uid.clone(),
            workload: holder.workload.clone(),
        },
        (None, Cause::Unallocated | Cause::Stranded) => Subject::Node {
            name: group.node().clone(),
        },
        (None, _) => Subject::Gpu {
            node: group.node().clone(),
            uuid: first.gpu.device.uuid.clone(),
        },
    }
}

fn held_part(member: &Member<'_>) -> HeldPart {
    HeldPart {
        uuid: member.gpu.device.uuid.clone(),
        device_id: member.part.device_id.clone(),
        model: member.gpu.device.model.clone(),
        share: Permille::clamped(member.share),
    }
}
