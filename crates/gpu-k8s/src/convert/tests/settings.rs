//! What owners say by annotations, and what they are told when it has no meaning.

use gpu_model::SharingMode;

use super::super::{Labels, OwnSay, namespace_says, settings};

fn annotations(pairs: &[(&str, &str)]) -> Labels {
    pairs
        .iter()
        .map(|(name, value)| (format!("gpu-autoscaler.io/{name}"), (*value).to_owned()))
        .collect()
}

#[test]
fn every_annotation_is_read() {
    let all = annotations(&[
        ("optimize", "false"),
        ("exempt-until", "2026-07-01"),
        ("workload-type", "training"),
        ("gang", "run-7"),
        ("movable", "true"),
        ("spot-ok", "false"),
        ("cost-center", "4711"),
        ("sharing", "enabled"),
        ("sharing-mode", "timeslicing"),
        ("mig-profile", "1g.10gb+me"),
        ("priority", "-5"),
        ("optimized", "true"),
        ("original-gpu-request", "nvidia.com/gpu=1"),
        ("explanation", "because"),
        ("audit", "42"),
    ]);
    let (found, say) = settings(&all, &Labels::new());
    assert_eq!(say, OwnSay::OptOut);
    assert!(found.is_opted_out);
    assert_eq!(
        found.exempt_until,
        Some("2026-07-02T00:00:00Z".parse().expect("a time")),
        "to the end of the day"
    );
    assert_eq!(found.workload_type.as_deref(), Some("training"));
    assert_eq!(found.gang.as_deref(), Some("run-7"));
    assert_eq!((found.is_movable, found.is_spot_ok), (Some(true), Some(false)));
    assert_eq!(found.cost_center.as_deref(), Some("4711"));
    assert_eq!(
        (found.may_share, found.sharing_mode),
        (Some(true), Some(SharingMode::TimeSlicing))
    );
    assert_eq!(found.mig_profile.expect("a profile").as_str(), "1g.10gb+me");
    assert_eq!(found.priority, Some(-5));
    assert_eq!(found.problems, Vec::<String>::new());
}

#[test]
fn a_value_without_meaning_changes_nothing_and_is_told() {
    let wrong = annotations(&[
        ("movable", "perhaps"),
        ("exempt-until", "soon"),
        ("mig-profile", "big"),
        ("movabel", "true"),
    ]);
    let (found, say) = settings(&wrong, &Labels::new());
    assert_eq!(say, OwnSay::Nothing);
    assert_eq!(
        (found.is_movable, found.exempt_until, found.mig_profile),
        (None, None, None)
    );
    assert_eq!(found.problems.len(), 4, "{:?}", found.problems);
    let told = found.problems.join("\n");
    for words in [
        "`gpu-autoscaler.io/movable`: \"perhaps\"",
        "a time such as",
        "a MIG profile such as",
        "`gpu-autoscaler.io/movabel` is not known",
    ] {
        assert!(told.contains(words), "{words} is not in:\n{told}");
    }
}

#[test]
fn problems_are_bounded() {
    let many: Vec<(String, String)> = (0..100)
        .map(|n| (format!("gpu-autoscaler.io/x{n}"), "y".repeat(1000)))
        .collect();
    let (found, _) = settings(&many.into_iter().collect(), &Labels::new());
    assert_eq!(found.problems.len(), 8);
    assert!(found.problems.iter().all(|words| words.len() < 200));
}

#[test]
fn the_label_stands_in_for_the_annotation_of_the_cost_center() {
    let label = [("gpu-cost-center".to_owned(), "12".to_owned())].into();
    assert_eq!(
        settings(&Labels::new(), &label).0.cost_center.as_deref(),
        Some("12")
    );
}

#[test]
fn namespaces_speak_for_pods_that_say_nothing() {
    let labels = |value: &str| [("gpu-autoscaler.io/optimize".to_owned(), value.to_owned())].into();
    assert_eq!(namespace_says(&labels("disabled")), OwnSay::OptOut);
    assert_eq!(namespace_says(&labels("enabled")), OwnSay::OptIn);
    assert_eq!(namespace_says(&labels("what")), OwnSay::Nothing);
}
