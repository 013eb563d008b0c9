//! Counters files: those of dcgm-exporter are taken, nonsense is refused by line, and no text makes it panic.

use proptest::prelude::*;

use super::{CountersFile, SkipReason};

/// The names that are shown, the labels, and what was left out by line.
type Read = (Vec<String>, Vec<String>, Vec<(usize, SkipReason)>);

fn read(text: &str) -> Result<Read, String> {
    let file = CountersFile::parse(text).map_err(|error| error.to_string())?;
    Ok((
        file.families.into_iter().map(|family| family.name).collect(),
        file.labels.into_iter().map(|label| label.name).collect(),
        file.skipped
            .into_iter()
            .map(|skipped| (skipped.line, skipped.reason))
            .collect(),
    ))
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(
        read(text).unwrap_err(),
        format!("failed to read the counters file at line {expected}")
    );
}

#[test]
fn a_file_as_users_have_it() {
    let text = "# Format\n\
                # DCGM FIELD, Prometheus metric type, help message\n\
                \n\
                DCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n\
                DCGM_FI_DEV_DEC_UTIL ,     gauge, Decoder utilization (in %).\r\n\
                \x20 # DCGM_FI_DEV_POWER_VIOLATION, counter, commented out\n\
                DCGM_FI_DEV_BOARD_POWER_WATTS, gauge, \"Power, as DCGM 4.6 calls it\"\n\
                DCGM_EXP_XID_ERRORS_TOTAL, counter, \"Said \"\"XID\"\"\"\n\
                DCGM_FI_DEV_CPU_UTIL_TOTAL, gauge, Not from NVML.\n\
                DCGM_FI_DEV_SM_CLOCK, gauge, Again.\n\
                DCGM_FI_DRIVER_VERSION, label, Driver Version\n\
                DCGM_FI_DEV_BRAND, label, Brand\n";
    let (families, labels, skipped) = read(text).unwrap();
    assert_eq!(
        families,
        [
            "DCGM_FI_DEV_SM_CLOCK",
            "DCGM_FI_DEV_DEC_UTIL",
            "DCGM_FI_DEV_BOARD_POWER_WATTS",
            "DCGM_EXP_XID_ERRORS_TOTAL"
        ]
    );
    assert_eq!(labels, ["DCGM_FI_DRIVER_VERSION"]);
    assert_eq!(
        skipped,
        [
            (9, SkipReason::NotProvided),
            (10, SkipReason::Repeated),
            (12, SkipReason::NotProvided)
        ]
    );
    let file = CountersFile::parse(text).unwrap();
    assert_eq!(file.families[2].help, "Power, as DCGM 4.6 calls it");
    assert_eq!(file.families[3].help, "Said \"XID\"");
    assert_eq!(
        file.skipped[0].to_string(),
        "line 9: `DCGM_FI_DEV_CPU_UTIL_TOTAL` is left out: this exporter has no such value"
    );
}

#[test]
fn nonsense_is_refused_by_line() {
    let columns = "(field, type, help)";
    let advice = "put a help text with commas in quotes";
    refused(
        "# x\nDCGM_FI_DEV_GPU_TEMP, gauge\n",
        &format!("2: expected 3 columns {columns} and found 2: {advice}"),
    );
    refused(
        "DCGM_FI_DEV_GPU_TEMP, gauge, a, b",
        &format!("1: expected 3 columns {columns} and found 4: {advice}"),
    );
    refused(
        "DCGM_FI_DEV_GPU_TEMP, histogram, x",
        "1: `histogram` is no type: use gauge, counter or label",
    );
    refused(
        "\n\nGPU_TEMP, gauge, x",
        "3: `GPU_TEMP` is not the name of a field",
    );
    refused(
        "DCGM_FI_DEV_GPU TEMP, gauge, x",
        "1: `DCGM_FI_DEV_GPU TEMP` is not the name of a field",
    );
    refused(
        "DCGM_FI_DEV_GPU_TEMP, gauge, \"x",
        "1: a quote is not closed on its line",
    );
    refused(
        "DCGM_FI_DEV_GPU_TEMP, gauge, \"x\" y",
        "1: a quote is not closed on its line",
    );
    let long = format!("DCGM_FI_DEV_GPU_TEMP, gauge, {}", "x".repeat(1025));
    refused(&long, "1: the help text exceeds 1024 bytes");
    let many = "DCGM_FI_DEV_GPU_TEMP, gauge, x\n".repeat(2001);
    refused(&many, "2001: more than 2000 entries");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _: Result<_, _> = read(&text);
    }

    #[test]
    fn any_nearly_right_text_is_read_or_refused(
        text in "((DCGM_FI_DEV_GPU_TEMP|DCGM_FI_X|#|\u{feff})?[ ,\"\\r\\n]{0,3}(gauge|label|counter|é)?[ ,\"\\n]{0,4}){0,8}"
    ) {
        if let Ok(file) = CountersFile::parse(&text) {
            let entries = file.families.len() + file.labels.len() + file.skipped.len();
            prop_assert!(entries <= text.lines().count());
        }
    }
}
