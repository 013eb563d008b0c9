//! Answers of kubelets old, new and mad.

use std::collections::BTreeSet;

use gpu_kubelet::podresources as api;
use gpu_model::PodUid;
use proptest::prelude::*;

use super::{Answer, MOST_DEVICES};
use crate::owners::names::PodNames;
use crate::owners::resources::GpuResources;

const A: &str = "GPU-00000000-0000-0000-0000-00000000000a";

fn plugin(resource: &str, ids: &[&str]) -> api::ContainerDevices {
    api::ContainerDevices {
        resource_name: resource.to_owned(),
        device_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        topology: None,
    }
}

fn pod(name: &str, devices: Vec<api::ContainerDevices>) -> api::PodResources {
    api::PodResources {
        name: name.to_owned(),
        namespace: "ml".to_owned(),
        containers: vec![api::ContainerResources {
            name: "main".to_owned(),
            devices,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn read(pods: Vec<api::PodResources>, names: &PodNames) -> Answer {
    let list = api::ListPodResourcesResponse { pod_resources: pods };
    Answer::read(&list, &GpuResources::default(), names)
}

#[track_caller]
fn check(answer: &Answer, expected: &[&str]) {
    let held: Vec<String> = answer
        .held
        .iter()
        .map(|held| {
            let uid = held.uid.as_ref().map_or("-", |uid| uid.as_str());
            format!(
                "{}/{} {uid} {:?} {:?}",
                held.pod, held.container, held.device, held.given
            )
        })
        .collect();
    assert_eq!(held, expected);
}

#[test]
fn gpus_are_picked_out_and_sorted() {
    let shared = format!("{A}::1");
    let pods = vec![
        pod("b", vec![plugin("nvidia.com/gpu.shared", &[&shared])]),
        pod("web", vec![plugin("intel.com/sriov", &["eth0"])]),
        pod(
            "a",
            vec![plugin("nvidia.com/gpu", &[A, A]), plugin("rdma/hca", &["mlx5_0"])],
        ),
    ];
    let answer = read(pods, &PodNames::default());
    check(
        &answer,
        &[
            &format!(r#"a/main - Gpu("{A}") Alone"#),
            &format!(r#"b/main - Gpu("{A}") Replica("1")"#),
        ],
    );
    assert_eq!((answer.pods, answer.dropped, answer.unverified), (3, 0, 3));
}

#[test]
fn claims_carry_their_name_and_share() {
    let device = |device_name: &str, share: Option<&str>| api::ClaimResource {
        driver_name: "gpu.nvidia.com".to_owned(),
        pool_name: "node-1".to_owned(),
        device_name: device_name.to_owned(),
        share_id: share.map(str::to_owned),
        ..Default::default()
    };
    let other = api::ClaimResource {
        driver_name: "dra.cpu".to_owned(),
        ..device("cpu-0", None)
    };
    let mut claiming = pod("a", Vec::new());
    claiming.containers[0].dynamic_resources = vec![api::DynamicResource {
        claim_name: "c".to_owned(),
        claim_namespace: "ml".to_owned(),
        claim_resources: vec![device("gpu-0", None), device("gpu-1", Some("s")), other],
    }];
    check(
        &read(vec![claiming], &PodNames::default()),
        &[
            r#"a/main - Published { minor: 0, mig: None } Claim { claim: "ml/c", share: None }"#,
            r#"a/main - Published { minor: 1, mig: None } Claim { claim: "ml/c", share: Some("s") }"#,
        ],
    );
}

#[test]
fn pods_that_have_ended_hold_nothing() {
    let mut names = PodNames::default();
    names.add_pod_directory("ml_a_u1");
    names.add_pod_directory("ml_b_u2");
    names.set_alive(BTreeSet::from([PodUid::new("u2").unwrap()]));
    let pods = ["a", "b", "c"].map(|name| pod(name, vec![plugin("nvidia.com/gpu", &[A])]));
    let answer = read(pods.to_vec(), &names);
    check(
        &answer,
        &[
            &format!(r#"b/main u2 Gpu("{A}") Alone"#),
            &format!(r#"c/main - Gpu("{A}") Alone"#),
        ],
    );
    assert_eq!((answer.ended, answer.unverified), (1, 1));
}

#[test]
fn what_goes_beyond_the_bounds_is_counted() {
    let ids: Vec<String> = (0..MOST_DEVICES + 10).map(|n| format!("{A}::{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let answer = read(
        vec![pod("a", vec![plugin("nvidia.com/gpu", &ids)])],
        &PodNames::default(),
    );
    assert_eq!((answer.held.len(), answer.dropped), (MOST_DEVICES, 10));
    let nameless = vec![
        pod("", vec![plugin("nvidia.com/gpu", &[A])]),
        pod("a\n", vec![plugin("nvidia.com/gpu", &[A])]),
    ];
    let answer = read(nameless, &PodNames::default());
    assert_eq!((answer.held.len(), answer.dropped), (0, 2));
    let strange = read(
        vec![pod("a", vec![plugin("nvidia.com/gpu", &["tegra"])])],
        &PodNames::default(),
    );
    assert_eq!(strange.unknown_ids, 1);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,8}",
        Just("nvidia.com/gpu".to_owned()),
        Just("gpu.nvidia.com".to_owned()),
        Just(format!("{A}::0")),
        ".{0,20}",
    ]
}

proptest! {
    #[test]
    fn fuzz_no_answer_breaks_the_reader(texts in prop::collection::vec(text(), 12), pods in 0..4_usize) {
        let texts: [String; 12] = texts.try_into().unwrap();
        let [name, namespace, container, resource, id, claim, claim_namespace, driver, pool, device, share, cdi] = texts;
        let resources = api::ContainerResources {
            name: container,
            devices: vec![plugin(&resource, &[&id])],
            dynamic_resources: vec![api::DynamicResource {
                claim_name: claim,
                claim_namespace,
                claim_resources: vec![api::ClaimResource {
                    cdi_devices: vec![api::CdiDevice { name: cdi }],
                    driver_name: driver,
                    pool_name: pool,
                    device_name: device,
                    share_id: Some(share),
                }],
            }],
            ..Default::default()
        };
        let pod = api::PodResources { name, namespace, containers: vec![resources], ..Default::default() };
        read(vec![pod; pods], &PodNames::default());
    }
}
