//! Errors by the block of the chip in which they were found.

use gpu_model::Reading;

/// A block that counts its errors. The order is that of the word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorBlock {
    Athub,
    Bif,
    Df,
    Fuse,
    Gfx,
    Hdp,
    Ih,
    Jpeg,
    Mca,
    Mmhub,
    Mp0,
    Mp1,
    Mpio,
    Sdma,
    Sem,
    Smn,
    Umc,
    Vcn,
    XgmiWafl,
}

impl ErrorBlock {
    pub const ALL: [Self; 19] = [
        Self::Athub,
        Self::Bif,
        Self::Df,
        Self::Fuse,
        Self::Gfx,
        Self::Hdp,
        Self::Ih,
        Self::Jpeg,
        Self::Mca,
        Self::Mmhub,
        Self::Mp0,
        Self::Mp1,
        Self::Mpio,
        Self::Sdma,
        Self::Sem,
        Self::Smn,
        Self::Umc,
        Self::Vcn,
        Self::XgmiWafl,
    ];

    /// The value of the `block` label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Athub => "athub",
            Self::Bif => "bif",
            Self::Df => "df",
            Self::Fuse => "fuse",
            Self::Gfx => "gfx",
            Self::Hdp => "hdp",
            Self::Ih => "ih",
            Self::Jpeg => "jpeg",
            Self::Mca => "mca",
            Self::Mmhub => "mmhub",
            Self::Mp0 => "mp0",
            Self::Mp1 => "mp1",
            Self::Mpio => "mpio",
            Self::Sdma => "sdma",
            Self::Sem => "sem",
            Self::Smn => "smn",
            Self::Umc => "umc",
            Self::Vcn => "vcn",
            Self::XgmiWafl => "xgmi_wafl",
        }
    }
}

/// The errors of one block since the driver was loaded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockErrors {
    pub block: ErrorBlock,
    pub corrected: Reading<f64>,
    pub uncorrected: Reading<f64>,
    /// Found bad and set aside, not yet consumed.
    pub deferred: Reading<f64>,
}
