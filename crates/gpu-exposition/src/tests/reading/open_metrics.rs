//! OpenMetrics pages.

use super::open_metrics;

#[test]
fn open_metrics_is_read_to_its_letter() {
    open_metrics("# EOF\n", &[]);
    open_metrics("# EOF", &[]);
    open_metrics(
        "# TYPE a counter\n# UNIT a \n# HELP a \\\"x\\\"\na_total{b=\"c\",} 1 1.5 # {t=\"é\"} 0.5 -2\n# EOF\n",
        &[
            "kind \"a\" Counter",
            "unit \"a\" \"\"",
            "help \"a\" \"\\\"x\\\"\"",
            "a_total b=\"c\" = 1.0 at 1500 like t=\"é\" = 0.5 at -2000",
        ],
    );
    open_metrics("a 1 # {} 2\n# EOF", &["a = 1.0 like = 2.0"]);
    open_metrics(
        "# TYPE a_watts gauge\n# UNIT a_watts watts\n# EOF\n",
        &["kind \"a_watts\" Gauge", "unit \"a_watts\" \"watts\""],
    );
    for (keyword, kind) in [
        ("unknown", "Unknown"),
        ("info", "Info"),
        ("stateset", "StateSet"),
        ("gaugehistogram", "GaugeHistogram"),
    ] {
        open_metrics(
            &format!("# TYPE a {keyword}\n# EOF"),
            &[&format!("kind \"a\" {kind}")],
        );
    }
}

#[test]
fn open_metrics_timestamps_are_exact() {
    for (token, millis) in [
        ("1.001", 1001),
        ("-1.0019", -1001),
        ("1520879607.789", 1_520_879_607_789_i64),
        ("1.5e9", 1_500_000_000_000),
        ("0", 0),
    ] {
        open_metrics(&format!("a 1 {token}\n# EOF"), &[&format!("a = 1.0 at {millis}")]);
    }
    for token in ["NaN", "+Inf", "1e300", "9223372036854775807", "x", "1_0", "1.x"] {
        let message = format!("! line 1, column 5: timestamp {token:?} is not a number of seconds");
        open_metrics(&format!("a 1 {token}\n# EOF"), &[&message]);
    }
}

#[test]
fn open_metrics_errors_name_the_place() {
    let torn = "the page ends without `# EOF`, so part of it may be missing";
    open_metrics("", &[&format!("! line 1, column 1: {torn}")]);
    open_metrics("a 1\n", &["a = 1.0", &format!("! line 2, column 1: {torn}")]);
    open_metrics(
        "# EOF\n\n",
        &["! line 2, column 1: the page goes on after its `# EOF`"],
    );
    open_metrics(
        "\n# EOF",
        &["! line 1, column 1: expected a metric name, found the end of the line"],
    );
    let keyword = "expected `# HELP`, `# TYPE`, `# UNIT` or `# EOF`";
    open_metrics("# x\n", &[&format!("! line 1, column 3: {keyword}, found 'x'")]);
    open_metrics("#x\n", &[&format!("! line 1, column 2: {keyword}, found 'x'")]);
    open_metrics("a  1", &["! line 1, column 3: expected a value, found ' '"]);
    open_metrics(
        "a\t1",
        &["! line 1, column 2: expected one space before the value, found '\\t'"],
    );
    open_metrics(
        "a{b=\"c\"}1",
        &["! line 1, column 9: expected one space before the value, found '1'"],
    );
    open_metrics(
        "a{b=\"c\" ,} 1",
        &["! line 1, column 8: expected `,` or `}` after the label, found ' '"],
    );
    open_metrics(
        "a 1 ",
        &["! line 1, column 5: expected one space and a timestamp or exemplar, found the end of the line"],
    );
    open_metrics(
        "a 1 2 3",
        &["! line 1, column 7: expected an exemplar, `# {`, found '3'"],
    );
    open_metrics(
        "a 1 # {\"b\"} 1",
        &["! line 1, column 11: expected `=` after the label name, found '}'"],
    );
    open_metrics(
        "# HELP a",
        &["! line 1, column 9: expected a blank after the metric name, found the end of the line"],
    );
    open_metrics(
        "# UNIT a_watts joules",
        &["! line 1, column 16: unit \"joules\" does not end the metric name"],
    );
    open_metrics(
        "# TYPE a untyped",
        &["! line 1, column 10: \"untyped\" is no metric type of this format"],
    );
}
