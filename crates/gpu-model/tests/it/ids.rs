//! Ids are checked where they are made, also when they come out of a file or off the wire.

use gpu_model::{GpuUuid, IdError, Namespace, NodeName, PodName, PodRef};

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = NodeName::new(text).expect_err("this text names nothing");
    assert_eq!(error.to_string(), expected);
    let error = serde_json::from_value::<NodeName>(text.into()).expect_err("nor does it off the wire");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_cannot_name_a_thing_is_refused_by_name() {
    check_refused("", "an empty text is no node name: give its name");
    check_refused(
        "a\nb",
        "the node name `a\\nb` holds a control character: remove it",
    );
    check_refused(
        &"x".repeat(254),
        "a node name has at most 253 characters, this text has 254",
    );
}

#[test]
fn the_longest_name_is_taken() {
    assert!(NodeName::new("x".repeat(253)).is_ok());
}

#[test]
fn ids_read_and_write_as_plain_text() {
    let uuid: GpuUuid = serde_json::from_str("\"GPU-1\"").unwrap();
    assert_eq!(uuid.as_str(), "GPU-1");
    assert_eq!(serde_json::to_string(&uuid).unwrap(), "\"GPU-1\"");
    assert_eq!("GPU-1".parse::<GpuUuid>(), Ok(uuid));
    assert_eq!("".parse::<GpuUuid>(), Err(IdError::Empty { kind: "GPU uuid" }));
}

#[test]
fn a_pod_reads_as_its_namespace_and_name() {
    let pod = PodRef {
        namespace: Namespace::new("research").unwrap(),
        name: PodName::new("trainer-0").unwrap(),
        uid: None,
    };
    assert_eq!(pod.to_string(), "research/trainer-0");
    let json = serde_json::to_string(&pod).unwrap();
    assert_eq!(json, r#"{"namespace":"research","name":"trainer-0","uid":null}"#);
    assert_eq!(serde_json::from_str::<PodRef>(&json).unwrap(), pod);
}
