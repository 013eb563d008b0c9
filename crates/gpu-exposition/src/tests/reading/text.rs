//! Text pages, and what both formats share.

use super::{read, text};
use crate::{Event, Format, Parser, ParserOptions};

#[test]
fn text_pages_may_have_blanks_comments_and_no_metadata() {
    text("", &[]);
    text(
        "\n \t\n# just a word\n#\n#HELP no\n# HELP\n# EOF\n# UNIT a b\n",
        &[],
    );
    text("a 1", &["a = 1.0"]);
    text(" \ta \t {\t} \t1 \t2 \t\n", &["a = 1.0 at 2"]);
    text(
        "a{b=\"c\",}1\na { b = \"c\" , d = \"\" } 2",
        &["a b=\"c\" = 1.0", "a b=\"c\" d=\"\" = 2.0"],
    );
    text("a{b=\"c\"d=\"e\"} 1", &["a b=\"c\" d=\"e\" = 1.0"]);
    text("a:b_1:c -1 -5\n", &["a:b_1:c = -1.0 at -5"]);
}

#[test]
fn metadata_is_read_as_prometheus_reads_it() {
    text("# HELP a b", &["help \"a\" \"b\""]);
    text(
        " #\tHELP \ta\t b \\\\ \\n \\\" \\x\r\n",
        &["help \"a\" \" b \\\\ \\n \\\\\\\" \\\\x\\r\""],
    );
    text("# HELP a\n# HELP b \n", &["help \"a\" \"\"", "help \"b\" \"\""]);
    text("# TYPE a  gauge \n", &["kind \"a\" Gauge"]);
    text(
        "# TYPE a counter\n# TYPE a histogram\n# TYPE a summary\n# TYPE a untyped",
        &[
            "kind \"a\" Counter",
            "kind \"a\" Histogram",
            "kind \"a\" Summary",
            "kind \"a\" Unknown",
        ],
    );
    text("# TYPE \"my.name\" gauge", &["kind \"my.name\" Gauge"]);
    text(
        "# TYPE a info",
        &["! line 1, column 10: \"info\" is no metric type of this format"],
    );
    text(
        "# TYPE a Gauge",
        &["! line 1, column 10: \"Gauge\" is no metric type of this format"],
    );
    text(
        "# TYPE a",
        &["! line 1, column 9: expected a blank after the metric name, found the end of the line"],
    );
    text(
        "# HELP 1 x",
        &["! line 1, column 8: expected a metric name, found '1'"],
    );
    text(
        "# HELP aé x",
        &["! line 1, column 9: expected a blank after the metric name, found 'é'"],
    );
}

#[test]
fn quoted_names_are_utf8() {
    text(
        "{\"my.näme\",l=\"v\"} 1\n{l=\"v\",\"m \\\"x\\\"\"} 2\n{\"a\"} 3\na{\"l.m\"=\"v\"} 4",
        &[
            "my.näme l=\"v\" = 1.0",
            "m \"x\" l=\"v\" = 2.0",
            "a = 3.0",
            "a l.m=\"v\" = 4.0",
        ],
    );
    text(
        "{} 1",
        &["! line 1, column 1: the braces hold no metric name, and none stands before them"],
    );
    text(
        "a{\"b\"} 1",
        &["! line 1, column 1: the metric name is given twice"],
    );
    text(
        "{\"a\",\"b\"} 1",
        &["! line 1, column 6: the metric name is given twice"],
    );
    text(
        "{\"\"} 1",
        &["! line 1, column 2: expected a name that is not empty, found '\"'"],
    );
    text(
        "{\"a\" b=\"c\"} 1",
        &["! line 1, column 6: expected `=` after the label name, found 'b'"],
    );
}

#[test]
fn label_values_keep_every_byte() {
    text(
        "a{b=\"\\\\ \\\" \\n \\t é } , = # \u{0}\t\"} 1",
        &["a b=\"\\\\ \\\" \\n \\\\t é } , = # \\0\\t\" = 1.0"],
    );
    text("a{b=\"\\\\\"} 1", &["a b=\"\\\\\" = 1.0"]);
    text(
        "a{b=\"\\\"} 1",
        &["! line 1, column 5: a quoted string has no closing quote on its line"],
    );
    text(
        "a{b=\"\\",
        &["! line 1, column 5: a quoted string has no closing quote on its line"],
    );
    text(
        "a{b=\"x\ny\"} 1",
        &["! line 1, column 5: a quoted string has no closing quote on its line"],
    );
}

#[test]
fn numbers_are_those_of_go() {
    for (token, value) in [
        ("0", 0.0),
        ("-0", -0.0),
        ("+1", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e3", 1e3),
        ("1E-3", 1e-3),
        ("123456789012345", 123_456_789_012_345.0),
        ("0.30000000000000004", 0.300_000_000_000_000_04),
        ("18446744073709551615", 18_446_744_073_709_551_615.0),
        ("5e-324", f64::from_bits(1)),
        ("1e-999", 0.0),
        ("Inf", f64::INFINITY),
        ("+Inf", f64::INFINITY),
        ("-inf", f64::NEG_INFINITY),
        ("iNfInItY", f64::INFINITY),
        ("NaN", f64::NAN),
        ("nan", f64::NAN),
    ] {
        text(&format!("a {token}\n"), &[&format!("a = {value:?}")]);
    }
    for token in [
        "x", ".", "-", "+", "1_0", "0x10", "0x1p4", "1e", "+NaN", "-nan", "1,5", "--1", "1\r", "é", "infin",
    ] {
        text(
            &format!("a {token}"),
            &[&format!("! line 1, column 3: value {token:?} is not a number")],
        );
    }
    text(
        "a -1e999",
        &["! line 1, column 3: value \"-1e999\" is beyond a 64-bit float"],
    );
}

#[test]
fn short_decimals_are_rounded_like_long_ones() {
    for digits in [
        "0.1",
        "0.7",
        "123456.789012345",
        "99999999999999.9",
        "0.00000000000001",
        "7.25",
    ] {
        let expected: f64 = digits.parse().unwrap();
        text(&format!("a {digits}"), &[&format!("a = {expected:?}")]);
    }
}

#[test]
fn sample_errors_name_the_place_and_what_was_expected() {
    text(
        "\n\n?",
        &["! line 3, column 1: expected a metric name, found '?'"],
    );
    text("é 1", &["! line 1, column 1: expected a metric name, found 'é'"]);
    text("1a 1", &["! line 1, column 1: expected a metric name, found '1'"]);
    text(
        "a",
        &["! line 1, column 2: expected a blank or `{` after the metric name, found the end of the line"],
    );
    text(
        "a-1",
        &["! line 1, column 2: expected a blank or `{` after the metric name, found '-'"],
    );
    text(
        "a\r\n",
        &[
            "! line 1, column 2: expected a blank or `{` after the metric name, \
         found a carriage return (lines must end in a line feed alone)",
        ],
    );
    text(
        "a ",
        &["! line 1, column 3: expected a value, found the end of the line"],
    );
    text(
        "a{",
        &["! line 1, column 3: expected a label name or `}`, found the end of the line"],
    );
    text(
        "a{,} 1",
        &["! line 1, column 3: expected a label name or `}`, found ','"],
    );
    text(
        "a{b:c=\"\"} 1",
        &["! line 1, column 4: expected `=` after the label name, found ':'"],
    );
    text(
        "a{b=c} 1",
        &["! line 1, column 5: expected a quoted label value, found 'c'"],
    );
    text(
        "a{b=\"c\"",
        &["! line 1, column 8: expected `,` or `}` after the label, found the end of the line"],
    );
    text(
        "a{b=\"1\",b=\"2\"} 1",
        &["! line 1, column 9: label \"b\" is given twice"],
    );
    text(
        "a{b=\"1\",\"b\"=\"2\"} 1",
        &["! line 1, column 10: label \"b\" is given twice"],
    );
}

#[test]
fn timestamps_and_encodings_are_checked() {
    text(
        "a 1 x",
        &["! line 1, column 5: timestamp \"x\" is not a number of milliseconds"],
    );
    text(
        "a 1 1.5",
        &["! line 1, column 5: timestamp \"1.5\" is not a number of milliseconds"],
    );
    text(
        "a 1 9223372036854775808",
        &["! line 1, column 5: timestamp \"9223372036854775808\" is not a number of milliseconds"],
    );
    text(
        "a 1 2 3",
        &["! line 1, column 7: expected the end of the line after the timestamp, found '3'"],
    );
    let latin1 = read(b"a{b=\"\xE9\"} 1", ParserOptions::new(Format::Text));
    assert_eq!(latin1, ["! line 1, column 6: the line is not valid UTF-8"]);
    assert_eq!(
        read(b"# \xE9\na 1", ParserOptions::new(Format::Text)),
        ["a = 1.0"]
    );
}

#[test]
fn repeats_are_found_among_many_labels() {
    let names: Vec<String> = (0..100).map(|at| format!("l{at}=\"\"")).collect();
    let fine = format!("a{{{}}} 1", names.join(","));
    assert_eq!(read(fine.as_bytes(), ParserOptions::new(Format::Text)).len(), 1);
    assert!(!read(fine.as_bytes(), ParserOptions::new(Format::Text))[0].starts_with('!'));
    let repeat = format!("a{{{},l40=\"\"}} 1", names.join(","));
    let column = repeat.rfind("l40").unwrap() + 1;
    text(
        &repeat,
        &[&format!(
            "! line 1, column {column}: label \"l40\" is given twice"
        )],
    );
}

#[test]
fn a_label_is_found_by_name() {
    let mut parser = Parser::new(
        b"a{b=\"1\",\"c.d\"=\"x\\ny\"} 1",
        ParserOptions::new(Format::Text),
    );
    let Some(Ok(Event::Sample(sample))) = parser.next_event() else {
        panic!("the page holds one sample")
    };
    assert_eq!(sample.label("c.d").unwrap().unescaped(), "x\ny");
    assert!(sample.label("c.d").unwrap().is("x\ny"));
    assert!(sample.label("e").is_none());
    assert_eq!(sample.labels.len(), 2);
}
