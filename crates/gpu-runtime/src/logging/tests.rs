//! Which levels and formats are understood, and the words for those that are not.

use super::{LogFormat, LogLevel};
use crate::Chain;

#[track_caller]
fn check_level(level: &str, expected: &str) {
    let got = match level.parse::<LogLevel>() {
        Ok(LogLevel(filter)) => format!("ok {filter}"),
        Err(error) => Chain(&error).to_string(),
    };
    assert_eq!(got, expected);
}

#[test]
fn plain_levels_and_directives_are_understood() {
    check_level("info", "ok info");
    check_level("WARN", "ok warn");
    check_level("info,hyper=warn", "ok hyper=warn,info");
}

#[test]
fn a_misspelt_level_is_refused_instead_of_silencing_the_log() {
    check_level(
        "verbose",
        "unknown log level `verbose`: say `error`, `warn`, `info`, `debug`, `trace` or `off`",
    );
    check_level(
        "",
        "unknown log level ``: say `error`, `warn`, `info`, `debug`, `trace` or `off`",
    );
}

#[test]
fn a_misspelt_directive_is_refused() {
    let refused = "info,hyper=loud".parse::<LogLevel>().unwrap_err();
    assert!(
        Chain(&refused)
            .to_string()
            .starts_with("failed to read the log levels `info,hyper=loud`")
    );
}

#[test]
fn formats_are_named_by_a_word() {
    assert_eq!("json".parse::<LogFormat>().unwrap(), LogFormat::Json);
    let refused = "xml".parse::<LogFormat>().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "unknown log format `xml`: say `text` or `json`"
    );
}
