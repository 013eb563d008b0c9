//! The bytes of single messages. A changed field number still compiles and still talks to itself, so only bytes
//! written down here can notice it.

use gpu_kubelet::{deviceplugin, podresources};
use prost::Message;

#[track_caller]
fn check(message: &impl Message, expected: &[u8]) {
    assert_eq!(message.encode_to_vec(), expected);
}

#[test]
fn a_device_of_a_container() {
    let devices = podresources::ContainerDevices {
        resource_name: "r".into(),
        device_ids: vec!["a".into(), "b".into()],
        topology: Some(podresources::TopologyInfo {
            nodes: vec![podresources::NumaNode { id: 1 }],
        }),
    };
    check(
        &devices,
        &[
            0x0a, 1, b'r', 0x12, 1, b'a', 0x12, 1, b'b', 0x1a, 4, 0x0a, 2, 0x08, 1,
        ],
    );
}

#[test]
fn a_share_of_a_claimed_device() {
    let claim = podresources::ClaimResource {
        cdi_devices: vec![podresources::CdiDevice { name: "c".into() }],
        driver_name: "d".into(),
        pool_name: "p".into(),
        device_name: "g".into(),
        share_id: Some("s".into()),
    };
    check(
        &claim,
        &[
            0x0a, 3, 0x0a, 1, b'c', 0x12, 1, b'd', 0x1a, 1, b'p', 0x22, 1, b'g', 0x2a, 1, b's',
        ],
    );
}

#[test]
fn a_claim_starts_at_field_two() {
    let claim = podresources::DynamicResource {
        claim_name: "c".into(),
        claim_namespace: "n".into(),
        claim_resources: vec![podresources::ClaimResource::default()],
    };
    check(&claim, &[0x12, 1, b'c', 0x1a, 1, b'n', 0x22, 0]);
}

#[test]
fn a_container_and_its_pod() {
    let container = podresources::ContainerResources {
        name: "c".into(),
        devices: vec![podresources::ContainerDevices::default()],
        cpu_ids: vec![2, 3],
        memory: vec![podresources::ContainerMemory {
            memory_type: "m".into(),
            size: 4,
            topology: None,
        }],
        dynamic_resources: vec![podresources::DynamicResource::default()],
    };
    check(
        &container,
        &[
            0x0a, 1, b'c', 0x12, 0, 0x1a, 2, 2, 3, 0x22, 5, 0x0a, 1, b'm', 0x10, 4, 0x2a, 0,
        ],
    );
    let pod = podresources::PodResources {
        name: "p".into(),
        namespace: "n".into(),
        containers: vec![podresources::ContainerResources::default()],
        cpu_ids: vec![1],
        memory: vec![podresources::ContainerMemory::default()],
    };
    check(
        &pod,
        &[0x0a, 1, b'p', 0x12, 1, b'n', 0x1a, 0, 0x22, 1, 1, 0x2a, 0],
    );
}

#[test]
fn a_registration() {
    let request = deviceplugin::RegisterRequest {
        version: "v".into(),
        endpoint: "e".into(),
        resource_name: "r".into(),
        options: Some(deviceplugin::DevicePluginOptions {
            pre_start_required: true,
            get_preferred_allocation_available: true,
        }),
    };
    check(
        &request,
        &[
            0x0a, 1, b'v', 0x12, 1, b'e', 0x1a, 1, b'r', 0x22, 4, 0x08, 1, 0x10, 1,
        ],
    );
}

#[test]
fn an_allocation() {
    let answer = deviceplugin::ContainerAllocateResponse {
        envs: [("k".to_owned(), "v".to_owned())].into(),
        mounts: vec![deviceplugin::Mount {
            container_path: "c".into(),
            host_path: "h".into(),
            read_only: true,
        }],
        devices: vec![deviceplugin::DeviceSpec {
            container_path: "c".into(),
            host_path: "h".into(),
            permissions: "r".into(),
        }],
        annotations: [("a".to_owned(), "b".to_owned())].into(),
        cdi_devices: vec![deviceplugin::CdiDevice { name: "x".into() }],
    };
    #[rustfmt::skip]
    let expected = [
        0x0a, 6, 0x0a, 1, b'k', 0x12, 1, b'v',
        0x12, 8, 0x0a, 1, b'c', 0x12, 1, b'h', 0x18, 1,
        0x1a, 9, 0x0a, 1, b'c', 0x12, 1, b'h', 0x1a, 1, b'r',
        0x22, 6, 0x0a, 1, b'a', 0x12, 1, b'b',
        0x2a, 3, 0x0a, 1, b'x',
    ];
    check(&answer, &expected);
}
