//! Documents among warnings, keys of any spelling, values of any type.

use gpu_model::Reading;

use super::{Object, amd_uuid, document, number, pcie_generation};
use crate::source::tool::quantity::Unit;

#[test]
fn a_document_is_found_among_warnings() {
    let text =
        "WARNING: a card sleeps\n[warning] this is no list\n\n{\"card0\": {\"a\": 1}}\nWARNING: more\n";
    assert!(document(text).unwrap()["card0"]["a"] == 1);
    assert!(document("[{\"gpu\": 0}]").unwrap().is_array());
    for broken in ["", "no json", "{\"a\": ", "[1, 2]", "{}}{"] {
        let found = document(broken);
        assert!(
            found.is_none() || found == Some(serde_json::json!({})),
            "{broken:?}"
        );
    }
    let deep = "[".repeat(100_000);
    assert_eq!(document(&deep), None);
}

#[test]
fn keys_are_found_in_any_spelling() {
    let value = serde_json::json!({"Card Series": "x", "sclk clock speed:": "(5Mhz)", "a/b": 1, "p": {"q": {"value": 3, "unit": "W"}}});
    let object = Object::of(&value).unwrap();
    assert_eq!(object.word(&["Card series"]).as_deref(), Some("x"));
    assert_eq!(object.word(&["sclk clock speed"]).as_deref(), Some("(5Mhz)"));
    assert_eq!(object.at("a/b"), Some(&serde_json::json!(1)));
    assert_eq!(object.word(&["none", "p/q"]).as_deref(), Some("3 W"));
}

#[test]
fn values_of_the_wrong_type_fail() {
    let known = |value: serde_json::Value| number(&value, Unit::Watts);
    assert_eq!(known(serde_json::json!(5)), Ok(Reading::Known(5.0)));
    assert_eq!(known(serde_json::json!("5.5")), Ok(Reading::Known(5.5)));
    assert_eq!(
        known(serde_json::json!({"value": "N/A", "unit": "W"})),
        Ok(Reading::Unsupported)
    );
    assert_eq!(known(serde_json::json!(null)), Ok(Reading::Unsupported));
    for wrong in [
        serde_json::json!(true),
        serde_json::json!([1]),
        serde_json::json!({"unit": "W"}),
        serde_json::json!({"value": [1]}),
    ] {
        assert_eq!(known(wrong), Err("unreadable"));
    }
}

#[test]
fn ids_and_buses() {
    assert_eq!(amd_uuid(Some("0x4EDFB117A17A07D"), "a"), "04edfb117a17a07d");
    assert_eq!(amd_uuid(Some("N/A"), "0000:07:00.0"), "amd-0000:07:00.0");
    assert_eq!(amd_uuid(Some("0x0"), "x"), "amd-x");
    assert_eq!(pcie_generation(32.0), Some(5.0));
    assert_eq!(pcie_generation(1.0), None);
}
