//! Claims of Dynamic Resource Allocation in the three versions that servers have.

use gpu_model::RequestKind;
use serde_json::{Value, json};

use super::super::{ClaimFacts, PodState, claim, class_means_gpu, device_class, pod, template};

fn claim_of(requests: &Value, status: &Value) -> ClaimFacts {
    let object =
        json!({"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}, "status": status});
    claim(&object.to_string()).expect("a claim")
}

#[track_caller]
fn check(facts: &ClaimFacts, class: &str, count: u32) {
    let found: Vec<(&str, u32)> = facts
        .requests
        .iter()
        .map(|request| (request.class.as_str(), request.count))
        .collect();
    assert_eq!(found, [(class, count)]);
}

#[test]
fn all_versions_say_the_same() {
    let flat = json!([{"name": "gpu", "deviceClassName": "gpu.nvidia.com", "count": 2, "allocationMode": "ExactCount"}]);
    check(&claim_of(&flat, &json!({})), "gpu.nvidia.com", 2);
    let exactly = json!([{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]);
    check(&claim_of(&exactly, &json!({})), "gpu.nvidia.com", 2);
    let alternatives = json!([{"name": "gpu", "firstAvailable": [
        {"name": "big", "deviceClassName": "gpu.nvidia.com", "count": 1},
        {"name": "small", "deviceClassName": "mig.nvidia.com", "count": 2},
    ]}]);
    check(&claim_of(&alternatives, &json!({})), "gpu.nvidia.com", 1);
    let in_template =
        json!({"metadata": {"name": "t"}, "spec": {"spec": {"devices": {"requests": exactly}}}});
    check(
        &template(&in_template.to_string()).expect("a template"),
        "gpu.nvidia.com",
        2,
    );
}

#[test]
fn what_was_allocated_is_what_counts() {
    let all = json!([{"name": "gpu", "exactly": {"deviceClassName": "any", "allocationMode": "All"}}]);
    let given = json!({"allocation": {"devices": {"results": [
        {"request": "gpu", "driver": "gpu.amd.com", "pool": "n", "device": "0"},
        {"request": "gpu", "driver": "gpu.amd.com", "pool": "n", "device": "1"},
        {"request": "other", "driver": "nic", "pool": "n", "device": "2"},
    ]}}});
    let facts = claim_of(&all, &given);
    check(&facts, "any", 2);
    assert!(facts.requests[0].is_gpu(|_| false), "its driver says so");
    assert!(!claim_of(&all, &json!({})).requests[0].is_gpu(|_| false));
}

#[test]
fn classes_of_gpus_are_known_by_name_selector_or_resource() {
    for class in [
        "gpu.nvidia.com",
        "mig.nvidia.com",
        "vfio.gpu.nvidia.com",
        "gpu.amd.com",
        "gpu.intel.com",
    ] {
        assert!(class_means_gpu(class), "{class}");
    }
    for class in [
        "compute-domain-daemon.nvidia.com",
        "nic.example.com",
        "notgpu.nvidia.com",
    ] {
        assert!(!class_means_gpu(class), "{class}");
    }
    let class = |spec: Value| {
        device_class(&json!({"metadata": {"name": "c"}, "spec": spec}).to_string()).expect("a class")
    };
    assert!(class(
        json!({"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]})
    ));
    assert!(class(json!({"extendedResourceName": "nvidia.com/gpu"})));
    assert!(!class(
        json!({"selectors": [{"cel": {"expression": "device.driver == \"nic\""}}]})
    ));
}

#[test]
fn a_claim_counts_once_for_the_first_container_that_uses_it() {
    let text = json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {
            "containers": [
                {"name": "first", "resources": {}},
                {"name": "second", "resources": {"claims": [{"name": "gpus", "request": "gpu"}]}},
                {"name": "third", "resources": {"claims": [{"name": "gpus"}]}},
            ],
            "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "two"}],
        },
        "status": {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "a-gpus-x"}]},
    });
    let PodState::Gpu(found) = pod(&text.to_string()).expect("a pod").state else {
        panic!("it has a claim")
    };
    assert_eq!(found.pod.requests, [], "what the claim is for is not known yet");
    let exactly = json!([{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}},
        {"name": "nic", "exactly": {"deviceClassName": "nic.example.com", "count": 1}}]);
    let requests = found.links.claims[0].gpu_requests(&claim_of(&exactly, &json!({})), |_| false);
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].container.as_str(), requests[0].count), ("second", 2));
    assert_eq!(requests[0].kind, RequestKind::Claim("a-gpus-x".to_owned()));
}
