//! The choice of a format by an `Accept` header, and back by a `Content-Type`.

use crate::Format::{self, OpenMetrics, Text};

#[track_caller]
fn check(accept: &str, expected: Format) {
    assert_eq!(Format::negotiate(accept), expected, "for `{accept}`");
}

#[test]
fn prometheus_two_and_three_get_open_metrics() {
    check(
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
         text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        OpenMetrics,
    );
    check(
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
         application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
         text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
        OpenMetrics,
    );
}

#[test]
fn people_with_curl_or_a_browser_get_text() {
    check("", Text);
    check("*/*", Text);
    check(
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        Text,
    );
}

#[test]
fn quality_decides_and_order_breaks_ties() {
    check(
        "text/plain;q=0.3, application/openmetrics-text;q=0.31",
        OpenMetrics,
    );
    check("text/plain;q=0.31, application/openmetrics-text;q=0.3", Text);
    check("text/plain, application/openmetrics-text", Text);
    check("application/openmetrics-text, text/plain", OpenMetrics);
    check("application/openmetrics-text;q=0, */*;q=0.001", Text);
    check(
        "APPLICATION/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=1.000",
        OpenMetrics,
    );
}

#[test]
fn what_cannot_be_read_or_written_is_passed_over() {
    check(
        "application/openmetrics-text;version=9.9.9, text/plain;q=0.1",
        Text,
    );
    check("application/openmetrics-text;q=1.5, text/plain;q=0.1", Text);
    check("application/openmetrics-text;q=0.1234, text/plain;q=0.1", Text);
    check("application/openmetrics-text;q=, text/plain;q=0.1", Text);
    check(
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily",
        Text,
    );
    check(",;,=;q=;;,", Text);
}

#[test]
fn a_content_type_names_its_format() {
    for format in Format::ALL {
        assert_eq!(Format::of_content_type(format.content_type()), format);
    }
    assert_eq!(Format::of_content_type("text/plain"), Text);
    assert_eq!(Format::of_content_type(""), Text);
    assert_eq!(
        Format::of_content_type("Application/OpenMetrics-Text"),
        OpenMetrics
    );
}
