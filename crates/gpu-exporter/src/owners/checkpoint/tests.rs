//! The kubelet's file as it is written, and as it is not.

use proptest::prelude::*;

use super::Checkpoint;

const FILE: &str = r#"{"Data":{"PodDeviceEntries":[
    {"PodUID":"u1","ContainerName":"main","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["GPU-a"],"1":["GPU-b"]},"AllocResp":"CiQ="},
    {"PodUID":"u2","ContainerName":"main","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":["GPU-b"]},"AllocResp":null},
    {"PodUID":"u2","ContainerName":"main","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":null},"AllocResp":null},
    {"PodUID":"u3","ContainerName":"old","ResourceName":"nvidia.com/gpu","DeviceIDs":["GPU-c"],"AllocResp":""}],
    "RegisteredDevices":{"nvidia.com/gpu":["GPU-a","GPU-b","GPU-c"]}},"Checksum":3497331462}"#;

#[track_caller]
fn check(id: &str, container: &str, expected: &[&str]) {
    let checkpoint = Checkpoint::parse(FILE.as_bytes()).unwrap();
    let pods: Vec<&str> = checkpoint
        .pods("nvidia.com/gpu", id, container)
        .iter()
        .map(|uid| uid.as_str())
        .collect();
    assert_eq!(pods, expected);
}

#[test]
fn pods_are_found_by_device_and_container() {
    check("GPU-a", "main", &["u1"]);
    check("GPU-b", "main", &["u1", "u2"]);
    check("GPU-c", "old", &["u3"]);
    check("GPU-c", "main", &[]);
    check("GPU-d", "main", &[]);
}

#[test]
fn a_node_without_devices_has_an_empty_file() {
    for text in [
        "{}",
        r#"{"Data":null,"Checksum":1}"#,
        r#"{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}"#,
    ] {
        assert_eq!(Checkpoint::parse(text.as_bytes()).unwrap(), Checkpoint::default());
    }
    assert!(Checkpoint::parse(b"").is_err());
    assert!(Checkpoint::parse(&FILE.as_bytes()[..200]).is_err());
}

proptest! {
    #[test]
    fn fuzz_no_bytes_break_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Checkpoint::parse(&bytes);
    }

    #[test]
    fn fuzz_a_damaged_file_does_not_break_the_parser(at in 0..FILE.len(), byte in any::<u8>()) {
        let mut bytes = FILE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = Checkpoint::parse(&bytes);
    }
}
