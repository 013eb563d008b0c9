//! What the file decides, what it asks for in vain, and what is refused with its name.

use proptest::prelude::*;

use super::{AmdConfig, AmdLabel};
use crate::readings::ErrorBlock;

const FULL: &str = r#"{
  "ServerPort": 5000,
  "CommonConfig": {"MetricsFieldPrefix": "amd_", "HealthService": {"Enable": true}},
  "GPUConfig": {
    "Fields": ["GPU_POWER_USAGE", "gpu_clock", "PCIE_NAC_RECEIVED_COUNT", "GPU_PROF_SM_ACTIVE"],
    "Labels": ["GPU_UUID", "CARD_MODEL", "JOB_ID", "KFD_PROCESS_ID"],
    "CustomLabels": {"CLUSTER_NAME": "blue"},
    "HealthThresholds": {"GPU_ECC_UNCORRECT_UMC": 2, "GPU_CPER_MAX_AGE": "1h"},
    "Selector": "0-3"
  },
  "NICConfig": {}
}"#;

#[test]
fn what_has_a_meaning_is_taken() {
    let config = AmdConfig::parse(FULL).unwrap();
    assert_eq!(config.port, Some(5000));
    assert_eq!(config.prefix, "amd_");
    let families: Vec<_> = config
        .families
        .unwrap()
        .iter()
        .map(|spec| spec.meta.name)
        .collect();
    assert_eq!(
        families,
        ["gpu_power_usage", "gpu_clock", "pcie_nack_received_count"]
    );
    assert_eq!(config.labels.into_iter().collect::<Vec<_>>(), [AmdLabel::GpuUuid]);
    assert_eq!(config.custom, [("cluster_name".to_owned(), "blue".to_owned())]);
    assert_eq!(config.health.of(ErrorBlock::Umc), 2.0);
    assert_eq!(config.health.of(ErrorBlock::Gfx), 0.0);
}

#[test]
fn what_has_none_is_told() {
    let notes = AmdConfig::parse(FULL).unwrap().notes.join("\n");
    for name in [
        "GPU_PROF_SM_ACTIVE",
        "KFD_PROCESS_ID",
        "CommonConfig.HealthService",
        "GPUConfig.Selector",
        "GPU_CPER_MAX_AGE",
        "NICConfig",
    ] {
        assert!(notes.contains(name), "{name} is not in\n{notes}");
    }
    assert!(
        !notes.contains("CARD_MODEL") && !notes.contains("JOB_ID"),
        "{notes}"
    );
}

#[test]
fn an_empty_file_or_list_chooses_nothing() {
    for text in ["{}", r#"{"GPUConfig":{"Fields":[]}}"#, r#"{"ServerPort":0}"#] {
        let config = AmdConfig::parse(text).unwrap();
        assert!(config.families.is_none() && config.port.is_none() && config.notes.is_empty());
    }
}

#[track_caller]
fn check(text: &str, field: &str) {
    let error = AmdConfig::parse(text).unwrap_err().to_string();
    assert!(error.contains(field), "{error}");
}

#[test]
fn wrong_values_are_named() {
    check("[", "JSON");
    check("[]", "the file");
    check(r#"{"ServerPort":70000}"#, "ServerPort");
    check(r#"{"GPUConfig":{"Fields":"GPU_CLOCK"}}"#, "GPUConfig.Fields");
    check(r#"{"GPUConfig":{"Fields":[7]}}"#, "GPUConfig.Fields");
    check(r#"{"GPUConfig":{"Labels":{}}}"#, "GPUConfig.Labels");
    check(
        r#"{"GPUConfig":{"CustomLabels":{"a b":"x"}}}"#,
        "GPUConfig.CustomLabels.a b",
    );
    check(
        r#"{"GPUConfig":{"CustomLabels":{"pod":"x"}}}"#,
        "GPUConfig.CustomLabels.pod",
    );
    check(r#"{"GPUConfig":{"CustomLabels":{"A":"x","a":"y"}}}"#, "is taken");
    check(
        r#"{"GPUConfig":{"CustomLabels":{"a":7}}}"#,
        "GPUConfig.CustomLabels.a",
    );
    check(
        r#"{"GPUConfig":{"HealthThresholds":{"GPU_ECC_UNCORRECT_GFX":-1}}}"#,
        "GPU_ECC_UNCORRECT_GFX",
    );
    check(
        r#"{"CommonConfig":{"MetricsFieldPrefix":"1-"}}"#,
        "MetricsFieldPrefix",
    );
    let eleven: Vec<String> = (0..11).map(|number| format!("\"l{number}\":\"x\"")).collect();
    check(
        &format!(r#"{{"GPUConfig":{{"CustomLabels":{{{}}}}}}}"#, eleven.join(",")),
        "more than 10",
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = AmdConfig::parse(&text);
    }

    #[test]
    fn any_json_is_read_or_refused(field in "(Fields|Labels|CustomLabels|HealthThresholds|x)", value in "[\\[\\]{}:,\"a-z0-9]{0,40}") {
        let _ = AmdConfig::parse(&format!(r#"{{"GPUConfig":{{"{field}":{value}}}}}"#));
    }
}
