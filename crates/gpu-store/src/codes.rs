//! The numbers under which closed sets of names are kept in a database. A number is never reused: old rows hold it.

use gpu_cost::{Part, Phase, ShareBasis};

use crate::error::StoreError;

pub(crate) fn part_code(part: Part) -> i16 {
    match part {
        Part::Pod => 1,
        Part::Idle => 2,
        Part::System => 3,
        Part::Boot => 4,
        Part::Drain => 5,
        Part::Unknown => 6,
        Part::UnusedCommitment => 7,
    }
}

pub(crate) fn phase_code(phase: Phase) -> i16 {
    match phase {
        Phase::Starting => 1,
        Phase::Running => 2,
        Phase::None => 3,
    }
}

pub(crate) fn basis_code(basis: ShareBasis) -> i16 {
    match basis {
        ShareBasis::Exclusive => 1,
        ShareBasis::MigSlice => 2,
        ShareBasis::MigSliceEstimate => 3,
        ShareBasis::AmdPartition => 4,
        ShareBasis::TimeShareMeasured => 5,
        ShareBasis::TimeShareEstimate => 6,
        ShareBasis::MpsMeasured => 7,
        ShareBasis::MpsEstimate => 8,
        ShareBasis::ContestedEstimate => 9,
        ShareBasis::HostRequests => 10,
        ShareBasis::HostByGpu => 11,
        ShareBasis::WholeNode => 12,
    }
}

pub(crate) fn part_of(code: i16) -> Result<Part, StoreError> {
    let found = Part::ALL.into_iter().find(|part| part_code(*part) == code);
    found.ok_or_else(|| unknown("part", code))
}

pub(crate) fn phase_of(code: i16) -> Result<Phase, StoreError> {
    let found = Phase::ALL.into_iter().find(|phase| phase_code(*phase) == code);
    found.ok_or_else(|| unknown("phase", code))
}

pub(crate) fn basis_of(code: i16) -> Result<ShareBasis, StoreError> {
    let found = ShareBasis::ALL
        .into_iter()
        .find(|basis| basis_code(*basis) == code);
    found.ok_or_else(|| unknown("share basis", code))
}

/// A number that this program does not know was written by a later one, which the schema's version would have told; or by hand.
pub(crate) fn unknown(what: &str, code: i16) -> StoreError {
    StoreError::failed(
        "read a row",
        format!("{code} is no {what} that this program knows"),
    )
}
