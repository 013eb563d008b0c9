//! Why the driver gave no value, in a few classes.

use gpu_model::Reading;

/// What came back from one question.
pub type Answer<T> = Result<T, Fault>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Fault {
    #[error("this GPU or driver does not have the value")]
    Unsupported,
    #[error("the GPU has fallen off the bus: reset it or restart the node")]
    Lost,
    #[error(
        "the driver's library and kernel module differ in version: restart the program to load the new library"
    )]
    VersionMismatch,
    #[error("the driver is not loaded any more: load its library again")]
    Uninitialized,
    #[error("the driver refused access: give the program the GPU's device files")]
    NoPermission,
    #[error("the driver does not know that device or instance")]
    NotFound,
    #[error("the driver did not answer in time")]
    Timeout,
    #[error("the GPU has to be reset before it answers")]
    ResetRequired,
    #[error("the driver has no data yet")]
    NoData,
    #[error("the driver answered with a value that cannot be true")]
    Implausible,
    #[error("the driver failed with code {0}")]
    Other(u32),
}

impl Fault {
    /// The value of an `error` label: a closed set.
    pub fn class(self) -> &'static str {
        match self {
            Fault::Unsupported => "unsupported",
            Fault::Lost => "lost",
            Fault::VersionMismatch => "version_mismatch",
            Fault::Uninitialized => "uninitialized",
            Fault::NoPermission => "no_permission",
            Fault::NotFound => "not_found",
            Fault::Timeout => "timeout",
            Fault::ResetRequired => "reset_required",
            Fault::NoData => "no_data",
            Fault::Implausible => "implausible",
            Fault::Other(_) => "other",
        }
    }

    /// What a return code of NVML means.
    pub(crate) fn check(code: u32) -> Answer<()> {
        Err(match code {
            0 => return Ok(()),
            // No data for want of the driver: never initialised, and unloaded under us.
            1 | 9 => Fault::Uninitialized,
            4 => Fault::NoPermission,
            // Not supported; no such function; no such version of a struct; gone since this driver; no ECC in a guest.
            3 | 13 | 22 | 25 | 26 => Fault::Unsupported,
            6 | 28 => Fault::NotFound,
            10 => Fault::Timeout,
            15 => Fault::Lost,
            16 => Fault::ResetRequired,
            18 => Fault::VersionMismatch,
            // No data; not ready.
            21 | 27 => Fault::NoData,
            other => Fault::Other(other),
        })
    }
}

/// The caller's buffer was too small. It never leaves this crate: buffers grow and the question is asked again.
pub(crate) const INSUFFICIENT_SIZE: Fault = Fault::Other(7);
pub(crate) const INVALID_ARGUMENT: Fault = Fault::Other(2);

/// From an answer to a reading.
pub trait AnswerExt<T> {
    /// Only what can never be had is unsupported; everything else failed this time.
    fn reading(self) -> Reading<T>;
}

impl<T> AnswerExt<T> for Answer<T> {
    fn reading(self) -> Reading<T> {
        match self {
            Ok(value) => Reading::Known(value),
            Err(Fault::Unsupported) => Reading::Unsupported,
            Err(
                Fault::Lost
                | Fault::VersionMismatch
                | Fault::Uninitialized
                | Fault::NoPermission
                | Fault::NotFound
                | Fault::Timeout
                | Fault::ResetRequired
                | Fault::NoData
                | Fault::Implausible
                | Fault::Other(_),
            ) => Reading::Failed,
        }
    }
}
