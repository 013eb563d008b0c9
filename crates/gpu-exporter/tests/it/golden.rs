//! Golden files: what a page or an answer is today, to be looked at when it changes. `UPDATE_GOLDEN=1` writes them anew.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gpu_exporter::api;
use gpu_exporter::page::{FamilyChoice, PageSettings, Subset, Vocabulary, page_text};
use gpu_exposition::Format;

use crate::nodes;

/// The file of that name beside the tests.
pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

#[track_caller]
pub(crate) fn check(name: &str, actual: &str) {
    let path = file(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected
        .lines()
        .zip(actual.lines())
        .find(|(expected, actual)| expected != actual);
    assert!(
        expected == actual,
        "{name} differs: first at {differs:#?}, {} lines became {}; look, then run with UPDATE_GOLDEN=1",
        expected.lines().count(),
        actual.lines().count(),
    );
}

pub(crate) fn every_vocabulary() -> PageSettings {
    PageSettings {
        vocabularies: Vocabulary::ALL.into(),
        ..PageSettings::default()
    }
}

#[test]
fn default_pages() {
    for (name, node) in nodes::all() {
        let page = page_text(&node, &every_vocabulary(), Format::Text, Subset::Full).unwrap();
        check(&format!("{name}.prom"), &page);
    }
}

#[test]
fn open_metrics_page() {
    let page = page_text(
        &nodes::t4_time_sliced(),
        &every_vocabulary(),
        Format::OpenMetrics,
        Subset::Full,
    )
    .unwrap();
    check("t4-time-sliced.openmetrics", &page);
}

#[test]
fn core_page() {
    let settings = PageSettings {
        vocabularies: BTreeSet::new(),
        ..PageSettings::default()
    };
    let page = page_text(&nodes::a100_mig(), &settings, Format::Text, Subset::Core).unwrap();
    check("a100-mixed-mig.core.prom", &page);
}

#[test]
fn page_with_every_family() {
    let settings = PageSettings {
        families: FamilyChoice::all(),
        ..every_vocabulary()
    };
    let page = page_text(&nodes::sized(1, 0), &settings, Format::Text, Subset::Full).unwrap();
    check("every-family.prom", &page);
}

#[test]
fn answers() {
    for (name, node) in nodes::all() {
        let answer = serde_json::to_string_pretty(&api::gpu_metrics(&node, None)).unwrap();
        check(&format!("{name}.json"), &format!("{answer}\n"));
    }
}

#[test]
fn index() {
    check(
        "rtx3080-workstation.html",
        &gpu_exporter::page::index_page(&nodes::rtx3080(), "/metrics"),
    );
}
