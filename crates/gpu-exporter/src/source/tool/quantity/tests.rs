//! Numbers with units, words for their absence, words for failures.

use gpu_model::Reading;

use super::{Said, Unit, reading, said};

#[track_caller]
fn check(text: &str, unit: Unit, expected: Result<Reading<f64>, &'static str>) {
    assert_eq!(reading(text, unit), expected, "{text:?} as {unit:?}");
}

#[test]
fn numbers_come_in_base_units() {
    let known = |value| Ok(Reading::Known(value));
    check(" 38 % ", Unit::Percent, known(0.38));
    check("100", Unit::Percent, known(1.0));
    check("81559 MiB", Unit::Mebibytes, known(81_559.0 * 1_048_576.0));
    check("196592 MB", Unit::Mebibytes, known(196_592.0 * 1_048_576.0));
    check("34342961152", Unit::Bytes, known(34_342_961_152.0));
    check("631.95 W", Unit::Watts, known(631.95));
    check("1980 MHz", Unit::Megahertz, known(1.98e9));
    check("300Mhz", Unit::Megahertz, known(3e8));
    check("-8 C", Unit::Celsius, known(-8.0));
    check("16x", Unit::Count, known(16.0));
    check("15814595384 us", Unit::Microseconds, known(15_814.595_384));
    check("4000 KB/s", Unit::KibibytesPerSecond, known(4_096_000.0));
    check("1.5e3 uJ", Unit::Joules, known(0.0015));
}

#[test]
fn what_is_no_number_of_the_kind_fails() {
    for text in [
        "38 W", "abc", "nan C", "inf", "--5 C", ".", "e5", "1 2 C", "12,5 C", "5 °F",
    ] {
        check(text, Unit::Celsius, Err("unreadable"));
    }
}

#[test]
fn absence_and_failure_are_told_apart() {
    for text in [
        "N/A",
        "[N/A]",
        "[Not Supported]",
        "",
        "[Requested functionality has been deprecated]",
        "Unknown",
        "None",
    ] {
        check(text, Unit::Watts, Ok(Reading::Unsupported));
    }
    check("ERR!", Unit::Watts, Err("other"));
    check("[Unknown Error]", Unit::Watts, Err("other"));
    check("[Insufficient Permissions]", Unit::Watts, Err("no_permission"));
    check("[GPU requires reset]", Unit::Watts, Err("reset_required"));
    check("[GPU is lost]", Unit::Watts, Err("lost"));
    assert_eq!(said("GPU is lost"), Said::Lost);
    assert_eq!(said(" Tesla T4 "), Said::Text("Tesla T4"));
}
