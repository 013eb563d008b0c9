//! What share of a GPU each of its holders carries. Shares of one GPU sum to one, the free rest included.

use gpu_model::{AmdComputeMode, GpuModel, MigTable, Partition};
use serde::{Deserialize, Serialize};

use super::cells::milliseconds;
use crate::apportion::apportion;
use crate::books::Piece;
use crate::{Claim, Gpu, ShareBasis, Span};

/// A GPU in units: divisible by a thousandth, by 7 and 8 slices and their halves, by 2 to 8 devices, so that none of these
/// shares is rounded.
pub(super) const UNITS: u64 = 2_352_000;

/// What the size of a hardware slice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigBasis {
    /// Its compute slices: `2g` of seven is two sevenths. Every full layout that leaves no compute slice idle sums to one.
    Compute,
    /// Its memory slices, of eight.
    Memory,
    /// The mean of both.
    Mean,
}

/// A claim that is held, and what was measured of it.
pub(super) struct Active<'a> {
    pub(super) claim: &'a Claim,
    pub(super) used: &'a [Piece],
}

/// A share, in units times milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) weight: u64,
    pub(super) used: u64,
    pub(super) unmeasured: u64,
    pub(super) basis: ShareBasis,
}

/// One share for each claim, and what is left for nobody. Together they are the GPU over the span.
pub(super) fn divide(
    gpu: Option<&Gpu>,
    claims: &[Active<'_>],
    span: Span,
    mig: MigBasis,
) -> (Vec<Share>, u64) {
    let all = milliseconds(span) * UNITS;
    let shared = |claim: &Active<'_>| replicas(&claim.claim.partition).is_some();
    let shares = if !claims.is_empty() && claims.iter().all(shared) {
        time_shares(claims, span, all)
    } else {
        size_shares(gpu, claims, span, mig, all)
    };
    let taken: u64 = shares.iter().map(|share| share.weight).sum();
    (shares, all - taken)
}

/// Holders with a place of their own carry its size.
fn size_shares(gpu: Option<&Gpu>, claims: &[Active<'_>], span: Span, mig: MigBasis, all: u64) -> Vec<Share> {
    let mut wants = Vec::with_capacity(claims.len());
    for active in claims {
        let (units, basis) = size(gpu, &active.claim.partition, mig);
        // The next holder of a place is sometimes bound before the end of the last is known.
        let rivals = claims
            .iter()
            .filter(|other| other.claim.partition == active.claim.partition)
            .count() as u64;
        let basis = if rivals > 1 {
            ShareBasis::ContestedEstimate
        } else {
            basis
        };
        wants.push((units * milliseconds(span) / rivals, basis));
    }
    let sum: u64 = wants.iter().map(|(want, _)| want).sum();
    let contested = sum > all;
    let weights: Vec<u64> = wants.iter().map(|(want, _)| *want).collect();
    let granted = if contested { split(all, &weights) } else { weights };
    let mut shares = Vec::with_capacity(claims.len());
    for ((active, (_, basis)), weight) in claims.iter().zip(&wants).zip(granted) {
        let measured = measure(active.used, span);
        let scale = |thousandths: u64, of: u64| proportion(weight, thousandths, of);
        let unmeasured_ms = milliseconds(span) - measured.milliseconds;
        shares.push(Share {
            weight,
            used: scale(measured.busy, milliseconds(span) * 1000),
            unmeasured: scale(unmeasured_ms, milliseconds(span)),
            basis: if contested {
                ShareBasis::ContestedEstimate
            } else {
                *basis
            },
        });
    }
    shares
}

/// Holders that share the GPU's time carry what they used, and of the rest as much as their replicas reserve.
fn time_shares(claims: &[Active<'_>], span: Span, all: u64) -> Vec<Share> {
    let length = milliseconds(span);
    let measured: Vec<Measured> = claims.iter().map(|active| measure(active.used, span)).collect();
    let mut used: Vec<u64> = measured
        .iter()
        .map(|measured| measured.busy * (UNITS / 1000))
        .collect();
    if used.iter().sum::<u64>() > all {
        // Samples of different holders are not of the same instant; together they can exceed the GPU.
        used = split(all, &used);
    }
    let held = claims.len() as u64;
    let of = claims
        .iter()
        .filter_map(|active| replicas(&active.claim.partition))
        .max()
        .unwrap_or(1)
        .max(held)
        .max(1);
    let wants: Vec<u64> = used.iter().map(|used| (all / of).saturating_sub(*used)).collect();
    let rest = all - used.iter().sum::<u64>();
    let grants = if wants.iter().sum::<u64>() > rest {
        split(rest, &wants)
    } else {
        wants
    };
    let mut shares = Vec::with_capacity(claims.len());
    for (((active, measured), used), grant) in claims.iter().zip(&measured).zip(used).zip(grants) {
        let weight = used + grant;
        let unmeasured_ms = length - measured.milliseconds;
        shares.push(Share {
            weight,
            used,
            unmeasured: proportion(weight, unmeasured_ms, length).min(weight - used),
            basis: shared_basis(&active.claim.partition, measured.milliseconds > 0),
        });
    }
    shares
}

fn shared_basis(partition: &Partition, is_measured: bool) -> ShareBasis {
    match (partition, is_measured) {
        (Partition::Mps { .. }, true) => ShareBasis::MpsMeasured,
        (Partition::Mps { .. }, false) => ShareBasis::MpsEstimate,
        (_, true) => ShareBasis::TimeShareMeasured,
        (_, false) => ShareBasis::TimeShareEstimate,
    }
}

/// How many names the GPU has, where its time is shared.
fn replicas(partition: &Partition) -> Option<u64> {
    match partition {
        Partition::TimeShared { of, .. } | Partition::Mps { of, .. } => Some(u64::from(*of)),
        Partition::Whole | Partition::MigSlice { .. } | Partition::AmdPartition { .. } => None,
    }
}

/// The units of a place of its own.
fn size(gpu: Option<&Gpu>, partition: &Partition, mig: MigBasis) -> (u64, ShareBasis) {
    match partition {
        Partition::Whole => (UNITS, ShareBasis::Exclusive),
        Partition::MigSlice { profile, .. } => slice(gpu, profile.as_str(), mig),
        Partition::AmdPartition { mode, .. } => (UNITS / devices(gpu, *mode), ShareBasis::AmdPartition),
        // Beside a holder of another kind, which a GPU cannot really have: its reservation.
        Partition::TimeShared { of, .. } => (UNITS / u64::from(*of).max(1), ShareBasis::TimeShareEstimate),
        Partition::Mps { of, .. } => (UNITS / u64::from(*of).max(1), ShareBasis::MpsEstimate),
    }
}

fn devices(gpu: Option<&Gpu>, mode: AmdComputeMode) -> u64 {
    match mode {
        AmdComputeMode::Spx => 1,
        AmdComputeMode::Dpx => 2,
        AmdComputeMode::Tpx => 3,
        AmdComputeMode::Qpx => 4,
        // Eight dies on every Instinct that has the mode but the MI300A, which says so.
        AmdComputeMode::Cpx => u64::from(gpu.and_then(|gpu| gpu.compute_dies).unwrap_or(8)).clamp(1, 64),
    }
}

fn slice(gpu: Option<&Gpu>, profile: &str, mig: MigBasis) -> (u64, ShareBasis) {
    let table = gpu
        .and_then(|gpu| gpu.model.as_deref())
        .and_then(GpuModel::find)
        .and_then(GpuModel::mig);
    let (instance, compute_of) = compute_instance(profile);
    let whole = table.and_then(|table| instance_units(table, instance, mig));
    let (units, basis) = match whole {
        Some(units) => (units, ShareBasis::MigSlice),
        // All but two kinds of GPU have seven compute slices, and the name begins with how many these are.
        None => {
            let slices = leading_number(instance).unwrap_or(7).clamp(1, 7);
            (UNITS * slices / 7, ShareBasis::MigSliceEstimate)
        }
    };
    match (compute_of, leading_number(instance)) {
        (Some(part), Some(slices)) if part < slices => (units * part / slices, basis),
        _ => (units, basis),
    }
}

fn instance_units(table: &MigTable, instance: &str, mig: MigBasis) -> Option<u64> {
    let plain = instance.split(['+', '-']).next().unwrap_or(instance);
    let profile = table.profile(plain)?;
    let compute = UNITS * u64::from(profile.compute_slices) / u64::from(table.compute_slices);
    let memory = UNITS * u64::from(profile.memory_slices) / u64::from(table.memory_slices);
    Some(match mig {
        MigBasis::Compute => compute,
        MigBasis::Memory => memory,
        MigBasis::Mean => (compute + memory) / 2,
    })
}

/// `1c.3g.40gb` is one compute slice of the instance `3g.40gb`.
fn compute_instance(profile: &str) -> (&str, Option<u64>) {
    match profile.split_once("c.") {
        Some((part, instance)) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
            (instance, part.parse().ok())
        }
        _ => (profile, None),
    }
}

fn leading_number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok().filter(|number| *number > 0)
}

/// What was measured of a claim in a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Measured {
    milliseconds: u64,
    /// Thousandths times milliseconds.
    busy: u64,
}

/// Sums up what lies in the span. Where pieces overlap the earlier holds, so that no millisecond counts twice.
fn measure(pieces: &[Piece], span: Span) -> Measured {
    let mut measured = Measured {
        milliseconds: 0,
        busy: 0,
    };
    let mut done = span.start;
    let beyond = pieces.partition_point(|piece| piece.start < span.end);
    for piece in &pieces[..beyond] {
        let seen = Span::new(piece.start.max(done), piece.end().min(span.end));
        if seen.is_empty() {
            continue;
        }
        measured.milliseconds += milliseconds(seen);
        measured.busy += milliseconds(seen) * u64::from(piece.permille);
        done = seen.end;
    }
    measured
}

fn proportion(whole: u64, part: u64, of: u64) -> u64 {
    let exact = u128::from(whole) * u128::from(part) / u128::from(of.max(1));
    u64::try_from(exact).unwrap_or(whole).min(whole)
}

/// Divides units among weights; they stay far below an `i64`, a window of a day included.
fn split(total: u64, weights: &[u64]) -> Vec<u64> {
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    apportion(total, weights)
        .into_iter()
        .map(|part| u64::try_from(part).unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests;
