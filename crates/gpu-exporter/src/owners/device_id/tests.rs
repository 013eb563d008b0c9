//! Every form of an id beside what it means.

use proptest::prelude::*;

use super::{DeviceRef, UnknownForm, parse, parse_claimed};
use crate::readings::SliceId;

const A: &str = "8c6d5e2f-1a2b-3c4d-5e6f-708192a3b4c5";

#[track_caller]
fn check(id: &str, device: DeviceRef, replica: Option<&str>) {
    let parsed = parse(id);
    assert_eq!(
        (parsed.device, parsed.replica.as_deref()),
        (device, replica),
        "{id}"
    );
}

#[track_caller]
fn check_unknown(id: &str, expected: UnknownForm) {
    match parse(id).device {
        DeviceRef::Unknown { why, .. } => assert_eq!(why, expected, "{id}"),
        other => panic!("{id} was taken for {other:?}"),
    }
}

#[test]
fn nvidia_ids() {
    let gpu = DeviceRef::Gpu(format!("GPU-{A}"));
    let mig = DeviceRef::Mig(format!("MIG-{A}"));
    let legacy = DeviceRef::MigOfGpu {
        gpu: format!("GPU-{A}"),
        slice: SliceId { gi: 7, ci: 0 },
    };
    for (base, device) in [
        (format!("GPU-{A}"), gpu),
        (format!("MIG-{A}"), mig),
        (format!("MIG-GPU-{A}/7/0"), legacy),
    ] {
        check(&base, device.clone(), None);
        check(&format!("{base}::0"), device.clone(), Some("0"));
        check(&format!("{base}::13"), device, Some("13"));
    }
}

#[test]
fn gke_ids() {
    let minor = |minor, gi| DeviceRef::Minor { minor, gi };
    check("nvidia0", minor(0, None), None);
    check("nvidia12", minor(12, None), None);
    check("nvidia0/gi1", minor(0, Some(1)), None);
    check("nvidia0/vgpu0", minor(0, None), Some("0"));
    check("nvidia3/gi11/vgpu2", minor(3, Some(11)), Some("2"));
}

#[test]
fn amd_ids() {
    check("0000:19:00.0", DeviceRef::PciAddress("0000:19:00.0".into()), None);
    check("0000:AF:00.0", DeviceRef::PciAddress("0000:af:00.0".into()), None);
    check("amdgpu_xcp_30", DeviceRef::AmdPartition(30), None);
}

#[test]
fn what_resembles_an_id_is_not_taken_for_one() {
    check_unknown(&format!("GPU-{A}-3"), UnknownForm::Hami);
    for id in [
        "",
        "GPU-",
        "tegra",
        "nvidia",
        "nvidia+1",
        "nvidiactl",
        "nvidia0/",
        "nvidia0/gi",
        "nvidia0/vgpu0/gi1",
        "nvidia0/gi1/gi2",
        "nvidia0/vgpu0::1",
        "nvidia4294967296",
        "card0-0",
        "0000:19:00",
        "amdgpu_xcp_",
        "::0",
    ] {
        check_unknown(id, UnknownForm::Unrecognised);
    }
    check_unknown(&format!("GPU-{A}::"), UnknownForm::Unrecognised);
    check_unknown(&format!("GPU-{A}::x"), UnknownForm::Unrecognised);
    check_unknown(&format!("MIG-GPU-{A}/7"), UnknownForm::Unrecognised);
    check_unknown(&format!("MIG-GPU-{A}/7/0/0"), UnknownForm::Unrecognised);
    check_unknown(&"g".repeat(5_000), UnknownForm::Unrecognised);
}

#[track_caller]
fn check_claimed(driver: &str, device: &str, cdi: &[&str], expected: &str) {
    let device = parse_claimed(driver, device, cdi.iter().copied());
    assert_eq!(format!("{device:?}"), expected);
}

#[test]
fn claimed_devices() {
    let nvidia = "gpu.nvidia.com";
    check_claimed(nvidia, "gpu-0", &[], "Published { minor: 0, mig: None }");
    check_claimed(
        nvidia,
        "gpu-1-mig-19-2-1",
        &[],
        "Published { minor: 1, mig: Some(ProfileNumber(19)) }",
    );
    check_claimed(
        nvidia,
        "gpu-1-mig-1g10gb-19-2",
        &[],
        r#"Published { minor: 1, mig: Some(Profile("1g10gb")) }"#,
    );
    check_claimed(
        nvidia,
        "gpu-0-mig-1g10gb-me-20-0",
        &[],
        r#"Published { minor: 0, mig: Some(Profile("1g10gb-me")) }"#,
    );
    check_claimed(
        nvidia,
        "gpu-vfio-0",
        &[],
        r#"Unknown { id: "gpu-vfio-0", why: Passthrough }"#,
    );
    check_claimed(
        "gpu.amd.com",
        "gpu-1-129",
        &[],
        "AmdCard { card: 1, render: 129 }",
    );
    check_claimed(
        "gpu.example.com",
        "gpu-0",
        &[],
        r#"Unknown { id: "gpu-0", why: Unrecognised }"#,
    );
}

#[test]
fn a_uuid_in_a_cdi_name_is_stronger_than_the_device_name() {
    let claim = format!("k8s.gpu.nvidia.com/claim={A}-gpu-0");
    let device = format!("k8s.gpu.nvidia.com/device=MIG-{A}");
    check_claimed(
        "gpu.nvidia.com",
        "gpu-0",
        &[&claim],
        "Published { minor: 0, mig: None }",
    );
    check_claimed(
        "gpu.nvidia.com",
        "gpu-0",
        &[&claim, &device],
        &format!(r#"Mig("MIG-{A}")"#),
    );
}

proptest! {
    #[test]
    fn fuzz_no_text_breaks_the_parser(id in ".{0,200}", driver in "gpu.nvidia.com|gpu.amd.com|x", cdi in ".{0,80}") {
        parse(&id);
        parse_claimed(&driver, &id, [cdi.as_str()].into_iter());
    }

    #[test]
    fn fuzz_what_looks_like_an_id_does_not_break_the_parser(
        id in "(GPU-|MIG-|MIG-GPU-|nvidia|gpu-|amdgpu_xcp_)?[0-9a-f:/é-]{0,48}(::|/gi|/vgpu|-mig-)?[0-9é-]{0,3}",
    ) {
        parse(&id);
        parse_claimed("gpu.nvidia.com", &id, [id.as_str()].into_iter());
        parse_claimed("gpu.amd.com", &id, [id.as_str()].into_iter());
    }
}
