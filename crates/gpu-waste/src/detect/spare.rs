//! What owners asked to be left alone.

use crate::case::{Case, Verdict};
use crate::detect::Exempted;
use crate::detect::key::is_of_pod;
use crate::holders::Promise;
use crate::{Bucket, Cause};

/// What is found and not reported.
pub(crate) struct Spared {
    pub(crate) bucket: Bucket,
    pub(crate) exempted: Exempted,
}

pub(crate) fn spare(case: &Case<'_>, verdict: &Verdict) -> Option<Spared> {
    let holder = case.holder?;
    // A broken GPU is nobody's choice, and neither is a dead process.
    if !is_of_pod(verdict.cause) {
        return None;
    }
    let (bucket, until, reason) = match &holder.promise {
        Promise::None => return None,
        Promise::StandBy if verdict.cause == Cause::Zombie => return None,
        Promise::StandBy => (
            Bucket::StandBy,
            None,
            "declared standby by its workload-type".to_owned(),
        ),
        Promise::ExemptUntil(until) => (Bucket::Exempt, Some(*until), format!("exempt until {until}")),
        Promise::OptedOut => (Bucket::Exempt, None, "opted out by its owner".to_owned()),
    };
    Some(Spared {
        bucket,
        exempted: Exempted {
            pod: holder.key(),
            cause: verdict.cause,
            milligpus: 0,
            until,
            reason,
        },
    })
}
