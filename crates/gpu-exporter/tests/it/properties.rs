//! What holds for every page of every node.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_exporter::page::{Encoding, PageCache, PageRequest, PageSettings, Subset, page_text};
use gpu_exporter::snapshot::NodeSnapshot;
use gpu_exposition::{Format, Page, ParserOptions};
use proptest::prelude::*;

use crate::arbitrary::{node, settings};

fn check(node: &NodeSnapshot, settings: &PageSettings, subset: Subset) -> Result<(), TestCaseError> {
    let mut pages = Vec::new();
    for format in Format::ALL {
        let text = page_text(node, settings, format, subset).unwrap();
        prop_assert_eq!(
            &page_text(node, settings, format, subset).unwrap(),
            &text,
            "the order is stable"
        );
        let page = Page::parse(text.as_bytes(), ParserOptions::new(format))
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        check_page(&page, settings)?;
        pages.push(page);
    }
    let series = |page: &Page| -> Vec<(String, usize)> {
        page.families
            .iter()
            .map(|family| (family.name.clone(), family.samples.len()))
            .collect()
    };
    prop_assert_eq!(series(&pages[0]), series(&pages[1]), "both formats say the same");
    Ok(())
}

fn check_page(page: &Page, settings: &PageSettings) -> Result<(), TestCaseError> {
    let mut names = BTreeSet::new();
    let mut series = BTreeSet::new();
    for family in &page.families {
        prop_assert!(names.insert(&family.name), "{} comes twice", family.name);
        prop_assert!(!family.help.is_empty());
        for sample in &family.samples {
            prop_assert!(sample.value.is_finite(), "{}: {:?}", family.name, sample);
            let mut labels = sample.labels.clone();
            labels.sort();
            prop_assert!(
                series.insert((&family.name, labels)),
                "{}: {:?} comes twice",
                family.name,
                sample
            );
        }
    }
    prop_assert!(series.len() <= settings.series_cap.get());
    let said = page
        .families
        .iter()
        .find(|family| family.name == "gpu_exporter_page_series")
        .unwrap();
    prop_assert_eq!(said.samples[0].value, series.len() as f64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_page_is_sound(node in node(), settings in settings(), core in any::<bool>()) {
        check(&node, &settings, if core { Subset::Core } else { Subset::Full })?;
    }

    #[test]
    fn kept_labels_never_outlive_their_node(one in node(), other in node(), settings in settings()) {
        let cache = PageCache::new(settings.clone());
        let request = PageRequest { format: Format::Text, subset: Subset::Full, encoding: Encoding::Plain };
        let mut dropped = 0;
        for (sequence, node) in [&one, &other, &one].into_iter().enumerate() {
            let node = NodeSnapshot { sequence: sequence as u64, ..node.clone() };
            let expected = page_text(&node, &settings, Format::Text, Subset::Full).unwrap();
            let kept = cache.page(&Arc::new(node), request).unwrap();
            let kept = std::str::from_utf8(kept.as_ref()).unwrap();
            // Only the running total may differ.
            let body = |text: &str| text.lines().filter(|line| !line.starts_with("gpu_exporter_series_dropped_total")).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(body(kept), body(&expected));
            let total: u64 = kept.lines().find(|line| line.starts_with("gpu_exporter_series_dropped_total")).unwrap().rsplit(' ').next().unwrap().parse().unwrap();
            prop_assert!(total >= dropped);
            dropped = total;
        }
    }

    #[test]
    fn every_answer_is_json(node in node()) {
        let answer = gpu_exporter::api::gpu_metrics(&node, None).to_json().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        prop_assert_eq!(answer["gpus"].as_array().unwrap().len(), node.devices.len());
    }
}
