//! One place where work is measured, a whole device or a slice: its containers, its processes, and what each of them gets.

use std::collections::BTreeMap;

use gpu_model::Reading;

use super::settle::{Bucket, Missing, fit, from_billionths, from_bytes};
use super::sharers::{Sharer, Verdict, is_alone, judge, merge};
use super::{Attribution, Held, ProcessOwner, Sight};
use crate::readings::{ProcessReading, SliceId};
use crate::snapshot::{Holder, Unattributed, UnattributedReason};

/// A process with what it used, in whole units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process<'a> {
    pub(super) reading: &'a ProcessReading,
    pub(super) owner: &'a ProcessOwner,
    pub(super) memory: Reading<u64>,
    pub(super) utilization: Reading<u64>,
}

/// A device without slices, a slice, or what a sliced device has beside its slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) slice: Option<SliceId>,
    /// In bytes.
    pub(super) memory: Reading<u64>,
    /// In billionths.
    pub(super) utilization: Reading<u64>,
    pub(super) sight: Sight,
    pub(super) account: Account,
}

/// Whether the totals of a place hold only what its own processes and the driver use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Account {
    Own,
    /// They also hold what slices use that have no figure of their own.
    Mixed,
}

/// One of the two quantities, shared out.
struct Settled {
    sharers: Vec<Reading<u64>>,
    nobody: BTreeMap<UnattributedReason, u64>,
    remainder: Remainder,
    excess: u64,
}

/// Whether anything can be left over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remainder {
    /// The one holder has all that is not others'.
    None,
    Nobodys,
}

impl Place {
    /// Adds the holders of the place and what nobody owns of it.
    pub(super) fn attribute(
        &self,
        held: &[&Held],
        processes: Reading<&Vec<Process<'_>>>,
        to: &mut Attribution,
    ) {
        let mut sharers = merge(held);
        let verdicts = processes.map(|processes| {
            let mut judged = Vec::with_capacity(processes.len());
            for process in processes {
                judged.push((*process, judge(process, &mut sharers)));
            }
            judged
        });
        let memory = self.settle(self.memory, &sharers, &verdicts, |process| process.memory);
        let utilization = self.settle(self.utilization, &sharers, &verdicts, |process| {
            process.utilization
        });
        // What a driver measured in full and no process has is its own memory; of time there is no such use.
        let in_full = self.sight == Sight::Host
            && self.account == Account::Own
            && verdicts
                .as_ref()
                .known()
                .is_some_and(|list| list.iter().all(|(process, _)| process.memory.is_known()));
        let rest = match in_full {
            true => UnattributedReason::Driver,
            false => UnattributedReason::NotMeasured,
        };
        let memory = memory.with_remainder(self.memory, rest);
        let utilization = utilization.with_remainder(self.utilization, UnattributedReason::NotMeasured);
        to.excess.memory_bytes += from_bytes(memory.excess);
        to.excess.utilization += from_billionths(utilization.excess);
        self.write_down(&sharers, &memory, &utilization, to);
    }

    fn settle(
        &self,
        total: Reading<u64>,
        sharers: &[Sharer<'_>],
        verdicts: &Reading<Vec<(Process<'_>, Verdict)>>,
        amount: impl Fn(&Process<'_>) -> Reading<u64>,
    ) -> Settled {
        let mut own = vec![Bucket::default(); sharers.len()];
        let mut nobody: BTreeMap<UnattributedReason, Bucket> = BTreeMap::new();
        for (process, verdict) in verdicts.as_ref().known().into_iter().flatten() {
            let bucket = match verdict {
                Verdict::Sharer(at) => &mut own[*at],
                Verdict::Nobody(reason) => nobody.entry(*reason).or_default(),
            };
            bucket.add(amount(process));
        }
        if let (true, Reading::Known(total)) = (is_alone(sharers), total) {
            return settle_alone(total, own[0], &nobody);
        }
        let absence = match verdicts {
            Reading::Unsupported => Some(Missing::Unsupported),
            Reading::Failed => Some(Missing::Failed),
            Reading::Known(_) => None,
        };
        let shares = own.iter().zip(sharers).map(|(bucket, sharer)| {
            match (absence.or(bucket.missing), bucket.processes) {
                (Some(missing), _) => missing.reading(),
                (None, 0) if sharer.doubt || self.sight == Sight::Own => Reading::Failed,
                // Where the place itself has no figure, nothing says that the driver measures this at all.
                (None, 0) => total.map(|_| 0),
                (None, _) => Reading::Known(bucket.measured),
            }
        });
        settle_shared(total, shares.collect(), &nobody)
    }

    fn write_down(
        &self,
        sharers: &[Sharer<'_>],
        memory: &Settled,
        utilization: &Settled,
        to: &mut Attribution,
    ) {
        for ((sharer, memory), utilization) in sharers.iter().zip(&memory.sharers).zip(&utilization.sharers) {
            to.holders.push(Holder {
                memory_bytes: memory.map(from_bytes),
                utilization: utilization.map(from_billionths),
                ..sharer.holder(self.slice)
            });
        }
        let mut reasons: Vec<UnattributedReason> = memory
            .nobody
            .keys()
            .chain(utilization.nobody.keys())
            .copied()
            .collect();
        reasons.sort_unstable();
        reasons.dedup();
        let reading = |settled: &Settled, reason| match settled.nobody.get(&reason) {
            Some(units) => Reading::Known(*units),
            None => Reading::Unsupported,
        };
        for reason in reasons {
            to.unattributed.push(Unattributed {
                slice: self.slice,
                reason,
                memory_bytes: reading(memory, reason).map(from_bytes),
                utilization: reading(utilization, reason).map(from_billionths),
            });
        }
    }
}

impl Settled {
    /// Gives what nobody was found for its reason. It is there even when it is 0, so that a series does not come and go.
    fn with_remainder(mut self, total: Reading<u64>, reason: UnattributedReason) -> Self {
        let (Reading::Known(total), Remainder::Nobodys) = (total, self.remainder) else {
            return self;
        };
        let shares = self.sharers.iter().filter_map(|share| share.known());
        let given: u64 = shares.chain(self.nobody.values().copied()).sum();
        *self.nobody.entry(reason).or_default() += total.saturating_sub(given);
        self
    }
}

/// The one container has the total, less what others are proven to use.
fn settle_alone(total: u64, own: Bucket, nobody: &BTreeMap<UnattributedReason, Bucket>) -> Settled {
    let unmeasured = nobody.values().find_map(|bucket| bucket.missing);
    let mut parts: Vec<u64> = vec![own.measured];
    parts.extend(nobody.values().map(|bucket| bucket.measured));
    let excess = fit(&mut parts, total);
    let foreign: u64 = parts[1..].iter().sum();
    // Foreigners without a measurement have an unknown part of the total; and where they fill it although the
    // container's own processes were not all measured, its part is unknown too.
    let unmeasured = unmeasured.or_else(|| own.missing.filter(|_| excess > 0));
    let share = match unmeasured {
        Some(missing) => missing.reading(),
        None if excess > 0 && own.processes == 0 => Reading::Failed,
        None => Reading::Known(total - foreign),
    };
    Settled {
        sharers: vec![share],
        nobody: reasons(nobody, &parts[1..]),
        remainder: match share {
            Reading::Known(_) => Remainder::None,
            Reading::Unsupported | Reading::Failed => Remainder::Nobodys,
        },
        excess,
    }
}

/// Every container has what was measured for it.
fn settle_shared(
    total: Reading<u64>,
    mut shares: Vec<Reading<u64>>,
    nobody: &BTreeMap<UnattributedReason, Bucket>,
) -> Settled {
    let mut parts: Vec<u64> = shares.iter().filter_map(|share| share.known()).collect();
    let known = parts.len();
    parts.extend(nobody.values().map(|bucket| bucket.measured));
    let excess = match total {
        Reading::Known(total) => fit(&mut parts, total),
        Reading::Unsupported | Reading::Failed => 0,
    };
    let fitted = parts[..known].iter();
    let known_shares = shares.iter_mut().filter(|share| share.is_known());
    for (share, &part) in known_shares.zip(fitted) {
        *share = Reading::Known(part);
    }
    Settled {
        nobody: reasons(nobody, &parts[known..]),
        sharers: shares,
        remainder: Remainder::Nobodys,
        excess,
    }
}

/// The reasons for which anything was measured.
fn reasons(
    nobody: &BTreeMap<UnattributedReason, Bucket>,
    parts: &[u64],
) -> BTreeMap<UnattributedReason, u64> {
    nobody
        .iter()
        .zip(parts)
        .filter(|((_, bucket), _)| bucket.missing.is_none() || bucket.measured > 0)
        .map(|((reason, _), &part)| (*reason, part))
        .collect()
}
