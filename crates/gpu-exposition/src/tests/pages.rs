//! Pages as values: how lines of foreign exporters become families, and which pages cannot be written.

use crate::{Family, Format, MetricKind, Page, ParserOptions, WriteError};

/// One line per family: name, kind, unit and the suffixes of its samples.
fn outline(page: &Page) -> Vec<String> {
    let of = |family: &Family| {
        let suffixes: Vec<String> = family
            .samples
            .iter()
            .map(|sample| format!("{:?}", sample.suffix))
            .collect();
        let unit = family.unit.as_deref().unwrap_or("-");
        format!(
            "{} {:?} {unit} {:?} [{}]",
            family.name,
            family.kind,
            family.help,
            suffixes.join(" ")
        )
    };
    page.families.iter().map(of).collect()
}

#[track_caller]
fn check(format: Format, page: &str, expected: &[&str]) {
    let read = Page::parse(page.as_bytes(), ParserOptions::new(format)).unwrap();
    assert_eq!(outline(&read), expected, "for {page:?}");
}

#[test]
fn samples_find_their_family() {
    check(
        Format::Text,
        "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\nh 5\nh_created 1\n\
         # HELP s quantiles\n# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_count 1\ns_bucket 1\n",
        &[
            "h Histogram - \"\" [Bucket Sum Count]",
            "h Unknown - \"\" [Plain]",
            "h_created Unknown - \"\" [Plain]",
            "s Summary - \"quantiles\" [Plain Count]",
            "s_bucket Unknown - \"\" [Plain]",
        ],
    );
    check(
        Format::OpenMetrics,
        "# HELP c h\n# TYPE c counter\nc_total 1\nc_created 1\nc 1\n# TYPE i info\ni_info 1\n\
         # TYPE g gaugehistogram\ng_bucket{le=\"1\"} 1\ng_gsum 1\ng_gcount 1\ng_sum 1\n\
         # TYPE p_watts gauge\n# UNIT p_watts watts\np_watts 1\n# EOF\n",
        &[
            "c_total Counter - \"h\" [Plain Created]",
            "c Unknown - \"\" [Plain]",
            "i_info Info - \"\" [Plain]",
            "g GaugeHistogram - \"\" [Bucket Sum Count]",
            "g_sum Unknown - \"\" [Plain]",
            "p_watts Gauge watts \"\" [Plain]",
        ],
    );
}

#[test]
fn families_in_pieces_are_joined() {
    check(
        Format::Text,
        "a 1\nb 1\na 2\n# TYPE h histogram\nh_sum 1\nb 2\nh_count 1\n",
        &[
            "a Unknown - \"\" [Plain Plain]",
            "b Unknown - \"\" [Plain Plain]",
            "h Histogram - \"\" [Sum Count]",
        ],
    );
}

#[test]
fn a_sample_that_only_looks_like_one_of_the_family_stays_apart() {
    check(
        Format::Text,
        "# TYPE h histogram\nh_sum 1\nh 5\nh_count 1\nh 6\n",
        &["h Histogram - \"\" [Sum Count]", "h Unknown - \"\" [Plain Plain]"],
    );
}

#[test]
fn a_type_after_the_samples_is_too_late() {
    check(
        Format::Text,
        "a 1\n# HELP a late help is harmless\n# TYPE a counter\na 2\n",
        &["a Unknown - \"late help is harmless\" [Plain Plain]"],
    );
}

#[test]
fn a_page_names_each_family_once_in_either_format() {
    let family = |name: &str, kind| Family {
        name: name.to_owned(),
        help: String::new(),
        kind,
        unit: None,
        samples: Vec::new(),
    };
    for (one, other) in [
        (("a", MetricKind::Gauge), ("a", MetricKind::Gauge)),
        // Both are `a` in the metadata of OpenMetrics.
        (("a", MetricKind::Gauge), ("a_total", MetricKind::Counter)),
    ] {
        let page = Page {
            families: vec![family(one.0, one.1), family(other.0, other.1)],
        };
        for format in Format::ALL {
            let mut out = "before".to_owned();
            let refused = page.write(&mut out, format).unwrap_err();
            assert_eq!(
                refused,
                WriteError::DuplicateFamily {
                    family: other.0.to_owned()
                }
            );
            assert_eq!(out, "before");
        }
    }
}
