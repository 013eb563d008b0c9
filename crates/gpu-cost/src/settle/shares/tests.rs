//! Sizes of slices, by hand.

use gpu_model::GpuUuid;

use super::{MigBasis, UNITS, slice};
use crate::{Gpu, ShareBasis};

#[track_caller]
fn check(model: &str, profile: &str, basis: MigBasis, times: u64, over: u64, found_by: ShareBasis) {
    let gpu = Gpu {
        uuid: GpuUuid::new("GPU-1").unwrap(),
        model: Some(model.to_owned()),
        compute_dies: None,
    };
    assert_eq!(
        slice(Some(&gpu), profile, basis),
        (UNITS * times / over, found_by),
        "{profile}"
    );
}

#[test]
fn slices_have_the_size_their_table_says() {
    use ShareBasis::{MigSlice, MigSliceEstimate};
    const A100: &str = "NVIDIA A100-SXM4-80GB";
    check(A100, "1g.10gb", MigBasis::Compute, 1, 7, MigSlice);
    check(A100, "1g.20gb", MigBasis::Compute, 1, 7, MigSlice);
    check(A100, "1g.20gb", MigBasis::Memory, 2, 8, MigSlice);
    check(A100, "3g.40gb", MigBasis::Compute, 3, 7, MigSlice);
    check(A100, "3g.40gb", MigBasis::Memory, 1, 2, MigSlice);
    check(A100, "3g.40gb", MigBasis::Mean, 13, 28, MigSlice);
    check(A100, "7g.80gb", MigBasis::Mean, 1, 1, MigSlice);
    check(A100, "1c.3g.40gb", MigBasis::Compute, 1, 7, MigSlice);
    check(A100, "1g.10gb+me", MigBasis::Compute, 1, 7, MigSlice);
    check("NVIDIA A30", "2g.12gb", MigBasis::Compute, 1, 2, MigSlice);
    check(
        "a GPU of tomorrow",
        "2g.99gb",
        MigBasis::Memory,
        2,
        7,
        MigSliceEstimate,
    );
    check(
        "a GPU of tomorrow",
        "strange",
        MigBasis::Memory,
        1,
        1,
        MigSliceEstimate,
    );
}
