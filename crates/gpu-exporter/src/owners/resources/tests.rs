//! Names of resources and drivers, and whether they are GPUs.

use super::GpuResources;

#[track_caller]
fn check(name: &str, expected: bool) {
    let resources = GpuResources::with_renamed(["example.com/a100".to_owned()]);
    assert_eq!(resources.contains(name), expected, "{name}");
}

#[test]
fn gpus_are_recognised_and_nothing_else() {
    for gpu in [
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-3g.40gb.shared",
        "amd.com/gpu",
        "amd.com/cpx_nps4",
        "example.com/a100",
    ] {
        check(gpu, true);
    }
    for other in [
        "",
        "gpu",
        "cpu",
        "nvidia.com/gpumem",
        "nvidia.com/hostdev",
        "intel.com/sriov",
        "example.com/a100x",
        "rdma/hca",
    ] {
        check(other, false);
    }
}

#[test]
fn claims_are_recognised_by_their_driver() {
    let resources = GpuResources::with_renamed(["gpu.example.com".to_owned()]);
    for (driver, expected) in [
        ("gpu.nvidia.com", true),
        ("gpu.amd.com", true),
        ("gpu.example.com", true),
        ("compute-domain.nvidia.com", false),
        ("dra.cpu", false),
    ] {
        assert_eq!(resources.contains_driver(driver), expected, "{driver}");
    }
}
