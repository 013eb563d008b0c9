//! `docs/exporter-metrics.md` lists every family and is made from the catalogue; `UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use gpu_exporter::page::{FamilySpec, SELF, Tier, Vocabulary};
use gpu_exposition::Format;

const HEAD: &str = "\
# Metrics of gpu-exporter

Made from the catalogue in the source; a test fails when it is out of date. *core* families are on every page and on \
`/metrics?families=core`, *default* ones on every page, *by name* ones when `--families` or a counters file names them.

";

fn reference() -> String {
    let mut text = HEAD.to_owned();
    for vocabulary in Vocabulary::ALL {
        table(
            &mut text,
            &format!("Vocabulary `{}`", vocabulary.as_str()),
            vocabulary.families(),
        );
    }
    text.push_str(
        "## The exporter's own\n\nAlways on the page.\n\n| family | type | help |\n| --- | --- | --- |\n",
    );
    for meta in SELF {
        writeln!(
            text,
            "| `{}` | {} | {} |",
            meta.name,
            meta.kind.keyword(Format::Text),
            meta.help
        )
        .unwrap();
    }
    text
}

fn table<'a>(text: &mut String, title: &str, families: impl Iterator<Item = &'a FamilySpec>) {
    write!(
        text,
        "## {title}\n\n| family | type | when | further labels | help |\n| --- | --- | --- | --- | --- |\n"
    )
    .unwrap();
    for spec in families {
        let tier = match spec.tier {
            Tier::Core => "core",
            Tier::Default => "default",
            Tier::Named => "by name",
        };
        let labels: Vec<String> = spec.labels.iter().map(|label| format!("`{label}`")).collect();
        let (meta, kind) = (&spec.meta, spec.meta.kind.keyword(Format::Text));
        writeln!(
            text,
            "| `{}` | {kind} | {tier} | {} | {} |",
            meta.name,
            labels.join(", "),
            meta.help
        )
        .unwrap();
    }
    text.push('\n');
}

#[test]
fn the_reference_lists_every_family() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exporter-metrics.md");
    let reference = reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == reference,
        "docs/exporter-metrics.md is out of date; run with UPDATE_GOLDEN=1"
    );
    assert!(reference.contains("`gpu_utilization_ratio`") && reference.contains("`DCGM_FI_DEV_GPU_UTIL`"));
}
