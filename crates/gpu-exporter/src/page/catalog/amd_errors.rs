//! AMD's error counts: three families a block of the chip.

use super::{ErrorKind, FamilySpec, Supply, Tier, amd_gauge};
use crate::readings::ErrorBlock;

/// The three families of one block; a name has to be there as a whole to be found by reading the source.
macro_rules! blocks {
    ($($block:ident: $corrected:literal, $uncorrected:literal, $deferred:literal;)*) => {
        &[$(
            amd_gauge(
                Tier::Named,
                $corrected,
                "Errors in the block that were corrected.",
                Supply::OneBlock(ErrorBlock::$block, ErrorKind::Corrected),
            ),
            amd_gauge(
                Tier::Named,
                $uncorrected,
                "Errors in the block that could not be corrected.",
                Supply::OneBlock(ErrorBlock::$block, ErrorKind::Uncorrected),
            ),
            amd_gauge(
                Tier::Named,
                $deferred,
                "Errors in the block that were found and set aside.",
                Supply::OneBlock(ErrorBlock::$block, ErrorKind::Deferred),
            ),
        )*]
    };
}

pub(super) const NAMED: &[FamilySpec] = blocks! {
    Athub: "gpu_ecc_correct_athub", "gpu_ecc_uncorrect_athub", "gpu_ecc_deferred_athub";
    Bif: "gpu_ecc_correct_bif", "gpu_ecc_uncorrect_bif", "gpu_ecc_deferred_bif";
    Df: "gpu_ecc_correct_df", "gpu_ecc_uncorrect_df", "gpu_ecc_deferred_df";
    Fuse: "gpu_ecc_correct_fuse", "gpu_ecc_uncorrect_fuse", "gpu_ecc_deferred_fuse";
    Gfx: "gpu_ecc_correct_gfx", "gpu_ecc_uncorrect_gfx", "gpu_ecc_deferred_gfx";
    Hdp: "gpu_ecc_correct_hdp", "gpu_ecc_uncorrect_hdp", "gpu_ecc_deferred_hdp";
    Ih: "gpu_ecc_correct_ih", "gpu_ecc_uncorrect_ih", "gpu_ecc_deferred_ih";
    Jpeg: "gpu_ecc_correct_jpeg", "gpu_ecc_uncorrect_jpeg", "gpu_ecc_deferred_jpeg";
    Mca: "gpu_ecc_correct_mca", "gpu_ecc_uncorrect_mca", "gpu_ecc_deferred_mca";
    Mmhub: "gpu_ecc_correct_mmhub", "gpu_ecc_uncorrect_mmhub", "gpu_ecc_deferred_mmhub";
    Mp0: "gpu_ecc_correct_mp0", "gpu_ecc_uncorrect_mp0", "gpu_ecc_deferred_mp0";
    Mp1: "gpu_ecc_correct_mp1", "gpu_ecc_uncorrect_mp1", "gpu_ecc_deferred_mp1";
    Mpio: "gpu_ecc_correct_mpio", "gpu_ecc_uncorrect_mpio", "gpu_ecc_deferred_mpio";
    Sdma: "gpu_ecc_correct_sdma", "gpu_ecc_uncorrect_sdma", "gpu_ecc_deferred_sdma";
    Sem: "gpu_ecc_correct_sem", "gpu_ecc_uncorrect_sem", "gpu_ecc_deferred_sem";
    Smn: "gpu_ecc_correct_smn", "gpu_ecc_uncorrect_smn", "gpu_ecc_deferred_smn";
    Umc: "gpu_ecc_correct_umc", "gpu_ecc_uncorrect_umc", "gpu_ecc_deferred_umc";
    Vcn: "gpu_ecc_correct_vcn", "gpu_ecc_uncorrect_vcn", "gpu_ecc_deferred_vcn";
    XgmiWafl: "gpu_ecc_correct_xgmi_wafl", "gpu_ecc_uncorrect_xgmi_wafl", "gpu_ecc_deferred_xgmi_wafl";
};
