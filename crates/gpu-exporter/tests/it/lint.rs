//! What promtool says of the pages: nothing of our own names, and of inherited names only what is on the list.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use gpu_exporter::page::{FamilyChoice, PageSettings, Subset, Vocabulary, page_text};
use gpu_exporter::readings::{BlockErrors, ErrorBlock, Field, PartField, ThrottleReason};
use gpu_exporter::snapshot::NodeSnapshot;
use gpu_exposition::Format;
use gpu_model::Reading;
use gpu_testbed::Program;

use crate::golden::{check, every_vocabulary};
use crate::{amd_nodes, nodes};

/// The findings of `promtool check metrics`, in order, each once.
pub(crate) fn findings(page: &str) -> String {
    let program = Program::Promtool.find().unwrap();
    let mut promtool = Command::new(program)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let mut lines: Vec<String> = [output.stdout, output.stderr]
        .iter()
        .flat_map(|text| {
            String::from_utf8_lossy(text)
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn our_own_names_are_clean() {
    gpu_testbed::require!(Program::Promtool);
    for (name, node) in nodes::all() {
        let settings = PageSettings {
            vocabularies: [Vocabulary::Gpu].into(),
            families: FamilyChoice::all(),
            ..PageSettings::default()
        };
        let page = page_text(&node, &settings, Format::Text, Subset::Full).unwrap();
        assert_eq!(findings(&page), "", "{name}");
    }
}

/// A node whose GPU has every value there is, whatever it means.
fn with_every_value() -> NodeSnapshot {
    let mut node = nodes::sized(1, 0);
    let device = &mut node.devices[0];
    let readings = Arc::make_mut(&mut device.readings);
    for &field in Field::ALL {
        if readings.values.known(field).is_none() {
            readings.set(field, Reading::Known(1.0));
        }
    }
    readings.throttle_seconds = [Reading::Known(1.0); ThrottleReason::ALL.len()];
    device.faults = vec![(79, 1)];
    node
}

/// The same of AMD, with every part and block.
fn with_every_value_of_amd() -> NodeSnapshot {
    let mut node = amd_nodes::mi300x_spx();
    let readings = Arc::make_mut(&mut node.devices[0].readings);
    for &field in Field::ALL {
        if readings.values.known(field).is_none() {
            readings.set(field, Reading::Known(1.0));
        }
    }
    for &field in PartField::ALL {
        readings.push(field, 9, Reading::Known(1.0));
    }
    readings.blocks = ErrorBlock::ALL
        .map(|block| BlockErrors {
            block,
            corrected: Reading::Known(1.0),
            uncorrected: Reading::Known(1.0),
            deferred: Reading::Known(1.0),
        })
        .to_vec();
    node
}

#[test]
fn inherited_names_have_only_known_findings() {
    gpu_testbed::require!(Program::Promtool);
    let settings = PageSettings {
        families: FamilyChoice::all(),
        ..every_vocabulary()
    };
    let mut found = String::new();
    let all = nodes::all().into_iter().map(|(_, node)| node);
    let of_amd = amd_nodes::all().into_iter().map(|(_, node)| node);
    for node in all
        .chain(of_amd)
        .chain([with_every_value(), with_every_value_of_amd()])
    {
        found.push_str(&findings(
            &page_text(&node, &settings, Format::Text, Subset::Full).unwrap(),
        ));
    }
    let mut lines: Vec<&str> = found.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    check(
        "inherited-findings.txt",
        &lines.iter().map(|line| format!("{line}\n")).collect::<String>(),
    );
}
