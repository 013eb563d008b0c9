//! Settings are taken as written or refused with what to do.

use super::{FamilyChoice, LabelChoice, SeriesCap, StaticLabels, Subset, parse_vocabularies};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, super::SettingsError>, expected: &str) {
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn vocabularies() {
    let words = |text| {
        parse_vocabularies(text).map(|set| set.into_iter().map(|one| one.as_str()).collect::<Vec<_>>())
    };
    assert_eq!(words(" dcgm, gpu ,"), Ok(vec!["gpu", "dcgm"]));
    assert_eq!(words(""), Ok(vec![]));
    refused(
        words("gpu,cuda"),
        "no vocabulary is called `cuda`: use gpu, dcgm, nvidia_smi or amd",
    );
}

#[test]
fn families() {
    assert!(FamilyChoice::parse("default, gpu_bar1_bytes, DCGM_FI_PROF_*").is_ok());
    assert_eq!(FamilyChoice::parse(" ,"), Ok(FamilyChoice::default()));
    for text in ["gpu_utilisation_ratio", "nothing_*", "DEFAULT"] {
        assert!(FamilyChoice::parse(text).is_err(), "{text}");
    }
}

#[test]
fn labels() {
    assert_eq!(LabelChoice::parse(" , "), LabelChoice::All);
    assert!(!LabelChoice::parse("node").keeps("vendor"));
}

#[test]
fn static_labels() {
    let parse = |texts: &[&str]| StaticLabels::parse(texts.iter().copied());
    assert!(parse(&["site=fra1", "rack=", "note=a=b"]).is_ok());
    refused(parse(&["site"]), "the label `site` is not of the form name=value");
    refused(
        parse(&["pod=x"]),
        "the label `pod` is one of the exporter's own: use another name",
    );
    refused(
        parse(&["reason=x"]),
        "the label `reason` is one of the exporter's own: use another name",
    );
    refused(parse(&["a=1", "a=2"]), "the label `a` is given twice");
    for text in ["1a=x", "__a=x", "a-b=x", "=x"] {
        assert!(
            matches!(parse(&[text]), Err(super::SettingsError::LabelName { .. })),
            "{text}"
        );
    }
    let long = format!("a={}", "x".repeat(257));
    refused(parse(&[&long]), "the value of the label `a` exceeds 256 bytes");
    let many: Vec<String> = (0..17).map(|at| format!("a{at}=x")).collect();
    refused(
        StaticLabels::parse(many.iter().map(String::as_str)),
        "more than 16 labels were given",
    );
}

#[test]
fn limits_and_subsets() {
    refused(
        SeriesCap::new(99),
        "a limit of 99 series leaves no room for the exporter's own: use at least 100",
    );
    assert_eq!(SeriesCap::new(100).map(SeriesCap::get), Ok(100));
    assert_eq!(Subset::parse("core"), Some(Subset::Core));
    assert_eq!(Subset::parse("most"), None);
}
