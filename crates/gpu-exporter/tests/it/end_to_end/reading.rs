//! Pages as tests read them: parsed, looked up, and with what changes from run to run taken out.

use gpu_exposition::{Format, Page, ParserOptions, Sample};

/// Families whose values depend on when one looks. Everything else on a page is exact.
const UNSTABLE: &[&str] = &[
    "gpu_exporter_source_age_seconds",
    "gpu_exporter_source_duration_seconds",
    // Every two seconds the driver is looked for again.
    "gpu_exporter_source_errors_total",
    "gpu_exporter_slow_sample_age_seconds",
    "gpu_last_sample_age_seconds",
    // Summed by the program from its start on.
    "gpu_busy_seconds_total",
    "gpu_pcie_bytes_total",
];

/// The program's version, which every release changes.
const BUILD: &str = "gpu_exporter_build_info";

pub(super) fn parse(text: &str, format: Format) -> Page {
    Page::parse(text.as_bytes(), ParserOptions::new(format)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The page with a `*` for every unstable value.
pub(super) fn normalised(page: &str) -> String {
    let line = |line: &str| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        if name == BUILD {
            return format!("{BUILD}{{version=\"*\"}} 1\n");
        }
        match line.rsplit_once(' ') {
            Some((series, _)) if UNSTABLE.contains(&name) => format!("{series} *\n"),
            _ => format!("{line}\n"),
        }
    };
    page.lines().map(line).collect()
}

/// The answer of the JSON interface with a `*` for the time and for ages.
pub(super) fn normalised_json(answer: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(answer).unwrap();
    let timestamp = value.get_mut("timestamp").unwrap();
    assert!(timestamp.as_str().unwrap().ends_with('Z'), "{timestamp}");
    *timestamp = "*".into();
    for gpu in value["gpus"].as_array_mut().unwrap() {
        assert!(gpu["age_seconds"].as_f64().unwrap() < 30.0, "{gpu}");
        gpu["age_seconds"] = "*".into();
    }
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
}

/// The samples of a family; none where the page does not have it.
pub(super) fn samples<'a>(page: &'a Page, family: &str) -> &'a [Sample] {
    let found = page.families.iter().find(|one| one.name == family);
    found.map_or(&[], |family| &family.samples)
}

pub(super) fn label<'a>(sample: &'a Sample, name: &str) -> Option<&'a str> {
    let found = sample.labels.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.as_str())
}

/// The value of the line of this family that has all of these labels, written as on the page.
pub(super) fn value(page: &str, family: &str, labels: &[&str]) -> Option<f64> {
    let is_it = |line: &&str| {
        line.strip_prefix(family)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    };
    let line = page.lines().find(is_it)?;
    line.rsplit(' ').next()?.parse().ok()
}
