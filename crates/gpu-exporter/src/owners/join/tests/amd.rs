//! AMD's names: the place on the bus, the platform device of a partition, and the dynamic resource by its render node.

use gpu_model::Vendor;

use super::scene::{self, Scene};
use crate::owners::Given;
use crate::owners::device_id::{DeviceRef, parse, parse_claimed};

/// A GPU at `0000:1b:00.0`, `card2` and `renderD136`; its partitions have the render nodes that follow.
fn gpu(text: &str) -> Scene {
    let mut scene = Scene::parse(text);
    scene.identity.vendor = Vendor::Amd;
    scene.identity.board.card = Some(2);
    scene.identity.board.render = Some(136);
    for slice in &mut scene.readings.slices {
        slice.render = Some(136 + slice.id.gi);
        slice.uuid = match slice.id.gi {
            0 => scene.identity.pci_bus_id.clone(),
            index => format!("amdgpu_xcp_{}", 20 + index),
        };
    }
    scene
}

#[track_caller]
fn check(text: &str, device: DeviceRef, expected: &[&str]) {
    let mut scene = gpu(text);
    scene
        .held
        .push(scene::held("ml", "a", "main", device, Given::Alone));
    assert_eq!(scene.attribution_text(), expected);
}

const WHOLE: &str = "gpu memory=1000 util=0.5";
const PARTITIONED: &str = "gpu memory=1000
    slice 0/0 cpx_nps4 memory=100 util=0.1
    slice 1/0 cpx_nps4 memory=200 util=0.2";
/// What is left of the partitioned GPU when somebody holds its first, or its second partition.
const FIRST: &[&str] = &[
    "ml/a/main 0/0 Slice 100 0.1",
    "- Driver 700 absent",
    "- 1/0 NotMeasured absent 0.2",
    "- 1/0 Driver 200 absent",
];
const SECOND: &[&str] = &[
    "ml/a/main 1/0 Slice 200 0.2",
    "- Driver 700 absent",
    "- 0/0 NotMeasured absent 0.1",
    "- 0/0 Driver 100 absent",
];

fn claimed(name: &str) -> DeviceRef {
    parse_claimed("gpu.amd.com", name, std::iter::empty())
}

#[test]
fn the_place_on_the_bus_is_the_whole_gpu_or_its_first_partition() {
    check(WHOLE, parse("0000:1b:00.0").device, &["ml/a/main Whole 1000 0.5"]);
    check(WHOLE, parse("0000:1B:00.0").device, &["ml/a/main Whole 1000 0.5"]);
    check(PARTITIONED, parse("0000:1b:00.0").device, FIRST);
}

#[test]
fn a_platform_device_is_its_partition() {
    check(PARTITIONED, parse("amdgpu_xcp_21").device, SECOND);
}

#[test]
fn a_dynamic_resource_is_found_by_its_render_node() {
    check(WHOLE, claimed("gpu-2-136"), &["ml/a/main Whole 1000 0.5"]);
    check(PARTITIONED, claimed("gpu-2-136"), FIRST);
    check(PARTITIONED, claimed("gpu-3-137"), SECOND);
}

#[test]
fn names_of_other_devices_are_not_matched_by_resemblance() {
    for device in [
        parse("0000:1b:00.1").device,
        parse("amdgpu_xcp_2").device,
        parse("amdgpu_xcp_211").device,
        claimed("gpu-2-135"),
    ] {
        let mut scene = gpu(PARTITIONED);
        scene
            .held
            .push(scene::held("ml", "a", "main", device.clone(), Given::Alone));
        assert_eq!(scene.join().unmatched, 1, "{device:?}");
        // The same names on a node of another vendor are nobody's either.
        scene.identity.vendor = Vendor::Nvidia;
        assert_eq!(scene.join().unmatched, 1, "{device:?}");
    }
}

#[test]
fn the_name_of_a_partition_that_is_missing_is_not_taken_for_another() {
    let mut scene = gpu("gpu memory=1000
        slice 3/0 cpx_nps4 memory=100 util=0.1");
    let device = parse("0000:1b:00.0").device;
    scene
        .held
        .push(scene::held("ml", "a", "main", device, Given::Alone));
    let text = scene.attribution_text();
    assert!(
        !text.iter().any(|line| line.starts_with("ml/a/main 3/0")),
        "{text:?}"
    );
}
