//! Whatever a tool prints, reading it ends without a panic, and no number comes out that cannot be true.

use gpu_exporter::readings::{DeviceReadings, Field};
use gpu_exporter::source::amd_smi::{Texts, amd_answer};
use gpu_exporter::source::nvidia_smi::{csv_answer, known_fields, slice_names, xml_answer};
use gpu_exporter::source::rocm_smi::rocm_answer;
use gpu_exporter::source::tool::Answer;
use proptest::prelude::*;

const XML: [&str; 3] = [
    include_str!("../fixtures/tools/h100-mig.xml"),
    include_str!("../fixtures/tools/v100.xml"),
    include_str!("../fixtures/tools/vgpu.xml"),
];
const CSV: [&str; 2] = [
    include_str!("../fixtures/tools/rtx.csv"),
    include_str!("../fixtures/tools/rtx-apps.csv"),
];
const JSON: [&str; 4] = [
    include_str!("../fixtures/tools/mi100.json"),
    include_str!("../fixtures/tools/mi300x-metric.json"),
    include_str!("../fixtures/tools/mi300x-static.json"),
    include_str!("../fixtures/tools/mi300x-process.json"),
];

/// Numbers of a device lie in the range of their fields.
fn is_sound(readings: &DeviceReadings) -> bool {
    let fits = |(field, value): (Field, f64)| {
        let spec = field.spec();
        value.is_finite() && (spec.lowest..=spec.highest).contains(&value)
    };
    readings.values.iter().all(fits) && readings.slices.iter().all(|slice| slice.values.iter().all(fits))
}

fn check(answer: Option<Answer>) -> Result<(), TestCaseError> {
    for told in answer.into_iter().flat_map(|answer| answer.devices) {
        if let Ok(readings) = told.outcome {
            prop_assert!(is_sound(&readings), "{readings:?}");
        }
    }
    Ok(())
}

fn check_all(text: &str) -> Result<(), TestCaseError> {
    check(xml_answer(text).ok())?;
    check(csv_answer(text, Some(text)))?;
    check(rocm_answer(text))?;
    let texts = Texts {
        metric: text,
        fixed: text,
        list: text,
        process: text,
    };
    check(amd_answer(&texts))?;
    let _ = (slice_names(text), known_fields(text));
    Ok(())
}

/// A fixture with some pieces cut out, doubled, or exchanged for other texts.
fn damaged(fixtures: &'static [&'static str]) -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just(String::new()),
        "[-+.0-9eE]{0,30} ?(MiB|W|C|%|MHz|us|GB|x)?",
        "\\PC{0,12}",
        Just("GPU is lost".to_owned()),
        Just("[N/A]".to_owned()),
        Just("<gpu><processes><process_info><pid>1</pid>".to_owned()),
        Just("{\"value\": {\"value\": []}}".to_owned()),
        Just("99999999999999999999999999999999".to_owned()),
    ];
    let damage = (any::<prop::sample::Index>(), 0_usize..40, pieces);
    (
        prop::sample::select(fixtures),
        prop::collection::vec(damage, 0..8),
    )
        .prop_map(|(text, damages)| {
            let mut text: Vec<char> = text.chars().collect();
            for (at, length, piece) in damages {
                let at = at.index(text.len().max(1)).min(text.len());
                let end = (at + length).min(text.len());
                text.splice(at..end, piece.chars());
            }
            text.into_iter().collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_without_a_panic(text in "(?s).{0,400}") {
        check_all(&text)?;
    }

    #[test]
    fn damaged_reports_are_read_without_a_panic(text in damaged(&XML)) {
        check_all(&text)?;
    }

    #[test]
    fn damaged_tables_are_read_without_a_panic(text in damaged(&CSV)) {
        check_all(&text)?;
    }

    #[test]
    fn damaged_json_is_read_without_a_panic(text in damaged(&JSON)) {
        check_all(&text)?;
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    for opening in ["<gpu>", "[", "{\"a\":", "{\"gpu_data\":["] {
        let text = format!("<nvidia_smi_log>{}", opening.repeat(200_000));
        check_all(&text).unwrap();
        check_all(&opening.repeat(200_000)).unwrap();
    }
}
