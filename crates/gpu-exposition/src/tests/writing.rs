//! What the writer puts on a page, byte by byte, and what it refuses.

use crate::{
    Exemplar, FamilyMeta, FamilyWriter, Format, LabelBlock, Labels, MetricKind, PageWriter, SampleParts,
    Suffix, TimestampMillis, Value, WriteError,
};

type Fill = fn(&mut FamilyWriter<'_, '_>) -> Result<(), WriteError>;

fn page_of(format: Format, meta: &FamilyMeta<'_>, fill: Fill) -> Result<String, WriteError> {
    let mut page = String::new();
    let mut writer = PageWriter::new(&mut page, format);
    fill(&mut writer.family(meta)?)?;
    writer.finish();
    Ok(page)
}

#[track_caller]
fn check(meta: &FamilyMeta<'_>, fill: Fill, text: &str, open_metrics: &str) {
    assert_eq!(page_of(Format::Text, meta, fill).unwrap(), text);
    assert_eq!(
        page_of(Format::OpenMetrics, meta, fill).unwrap(),
        format!("{open_metrics}# EOF\n")
    );
}

#[track_caller]
fn refuses(meta: &FamilyMeta<'_>, fill: Fill, message: &str) {
    for format in Format::ALL {
        assert_eq!(page_of(format, meta, fill).unwrap_err().to_string(), message);
    }
}

const GAUGE: FamilyMeta<'_> = FamilyMeta::new("g", "h", MetricKind::Gauge);

#[test]
fn a_counter_loses_its_suffix_in_open_metrics_metadata_only() {
    check(
        &FamilyMeta::new("gpu_energy_joules_total", "Energy.", MetricKind::Counter).with_unit("joules"),
        |family| family.sample(&[("gpu", "0")], 3_u64).map(drop),
        "# HELP gpu_energy_joules_total Energy.\n# TYPE gpu_energy_joules_total counter\n\
         gpu_energy_joules_total{gpu=\"0\"} 3\n",
        "# HELP gpu_energy_joules Energy.\n# TYPE gpu_energy_joules counter\n# UNIT gpu_energy_joules joules\n\
         gpu_energy_joules_total{gpu=\"0\"} 3\n",
    );
}

#[test]
fn a_foreign_counter_keeps_its_name_and_becomes_unknown() {
    check(
        &FamilyMeta::new("DCGM_FI_DEV_XID_ERRORS", "Last XID.", MetricKind::Counter),
        |family| family.sample((), 0).map(drop),
        "# HELP DCGM_FI_DEV_XID_ERRORS Last XID.\n# TYPE DCGM_FI_DEV_XID_ERRORS counter\nDCGM_FI_DEV_XID_ERRORS 0\n",
        "# HELP DCGM_FI_DEV_XID_ERRORS Last XID.\n# TYPE DCGM_FI_DEV_XID_ERRORS unknown\nDCGM_FI_DEV_XID_ERRORS 0\n",
    );
}

#[test]
fn info_and_stateset_are_gauges_on_a_text_page() {
    check(
        &FamilyMeta::new("gpu_info", "Identity.", MetricKind::Info),
        |family| family.sample(&[("model", "H100")], 1).map(drop),
        "# HELP gpu_info Identity.\n# TYPE gpu_info gauge\ngpu_info{model=\"H100\"} 1\n",
        "# HELP gpu Identity.\n# TYPE gpu info\ngpu_info{model=\"H100\"} 1\n",
    );
    check(
        &FamilyMeta::new("state", "s", MetricKind::StateSet),
        |family| family.sample(&[("state", "on")], 1).map(drop),
        "# HELP state s\n# TYPE state gauge\nstate{state=\"on\"} 1\n",
        "# HELP state s\n# TYPE state stateset\nstate{state=\"on\"} 1\n",
    );
    check(
        &FamilyMeta::new("identity", "i", MetricKind::Info),
        |family| family.sample((), 1).map(drop),
        "# HELP identity i\n# TYPE identity gauge\nidentity 1\n",
        "# HELP identity i\n# TYPE identity gauge\nidentity 1\n",
    );
    check(
        &FamilyMeta::new("u", "", MetricKind::Unknown),
        |family| family.sample((), 1).map(drop),
        "# TYPE u untyped\nu 1\n",
        "# TYPE u unknown\nu 1\n",
    );
}

#[test]
fn a_histogram_writes_its_own_bounds() {
    check(
        &FamilyMeta::new("d_seconds", "Duration.", MetricKind::Histogram).with_unit("seconds"),
        |family| {
            let labels = LabelBlock::new([("loop", "plan")])?;
            family
                .bucket(&labels, 0.5, 1)?
                .bucket(&labels, 1.0, 2)?
                .bucket((), f64::INFINITY, 3)?;
            family.sum(&labels, 1.25)?.count(&labels, 3).map(drop)
        },
        "# HELP d_seconds Duration.\n# TYPE d_seconds histogram\n\
         d_seconds_bucket{loop=\"plan\",le=\"0.5\"} 1\nd_seconds_bucket{loop=\"plan\",le=\"1\"} 2\n\
         d_seconds_bucket{le=\"+Inf\"} 3\nd_seconds_sum{loop=\"plan\"} 1.25\nd_seconds_count{loop=\"plan\"} 3\n",
        "# HELP d_seconds Duration.\n# TYPE d_seconds histogram\n# UNIT d_seconds seconds\n\
         d_seconds_bucket{loop=\"plan\",le=\"0.5\"} 1\nd_seconds_bucket{loop=\"plan\",le=\"1.0\"} 2\n\
         d_seconds_bucket{le=\"+Inf\"} 3\nd_seconds_sum{loop=\"plan\"} 1.25\nd_seconds_count{loop=\"plan\"} 3\n",
    );
    check(
        &FamilyMeta::new("q", "Queue.", MetricKind::GaugeHistogram),
        |family| family.bucket((), 1e21, 1)?.sum((), 1)?.count((), 1).map(drop),
        "# HELP q Queue.\n# TYPE q histogram\nq_bucket{le=\"1e21\"} 1\nq_sum 1\nq_count 1\n",
        "# HELP q Queue.\n# TYPE q gaugehistogram\nq_bucket{le=\"1e21\"} 1\nq_gsum 1\nq_gcount 1\n",
    );
    check(
        &FamilyMeta::new("s", "Summary.", MetricKind::Summary),
        |family| {
            family
                .quantile((), 0.0, 7)?
                .quantile(&[("a", "b")], 0.99, f64::NAN)
                .map(drop)
        },
        "# HELP s Summary.\n# TYPE s summary\ns{quantile=\"0\"} 7\ns{a=\"b\",quantile=\"0.99\"} NaN\n",
        "# HELP s Summary.\n# TYPE s summary\ns{quantile=\"0.0\"} 7\ns{a=\"b\",quantile=\"0.99\"} NaN\n",
    );
}

#[test]
fn each_format_escapes_by_its_own_rules() {
    check(
        &FamilyMeta::new("g", "a\\b\"c\"\nd é", MetricKind::Gauge),
        |family| family.sample(&[("l", "a\\b\"c\"\nd é\r\t")], 1).map(drop),
        "# HELP g a\\\\b\"c\"\\nd é\n# TYPE g gauge\ng{l=\"a\\\\b\\\"c\\\"\\nd é\r\t\"} 1\n",
        "# HELP g a\\\\b\\\"c\\\"\\nd é\n# TYPE g gauge\ng{l=\"a\\\\b\\\"c\\\"\\nd é\r\t\"} 1\n",
    );
}

#[test]
fn timestamps_exemplars_and_creation_follow_the_format() {
    check(
        &FamilyMeta::new("c_total", "c", MetricKind::Counter),
        |family| {
            let trace = [("trace", "é1")];
            let exemplar = Exemplar {
                labels: (&trace).into(),
                value: 0.5.into(),
                timestamp: Some(TimestampMillis(1)),
            };
            let mut parts = SampleParts::new(Suffix::Plain, Labels::NONE, Value::Int(-3));
            parts.timestamp = Some(TimestampMillis(-1_500));
            family.write(&parts)?;
            parts.timestamp = None;
            parts.exemplar = Some(exemplar);
            family.write(&parts)?;
            parts.exemplar = Some(Exemplar {
                labels: Labels::NONE,
                timestamp: None,
                ..exemplar
            });
            family.write(&parts)?;
            family
                .write(&SampleParts::new(Suffix::Created, Labels::NONE, 17.25.into()))
                .map(drop)
        },
        "# HELP c_total c\n# TYPE c_total counter\nc_total -3 -1500\nc_total -3\nc_total -3\n",
        "# HELP c c\n# TYPE c counter\nc_total -3 -1.500\nc_total -3 # {trace=\"é1\"} 0.5 0.001\n\
         c_total -3 # {} 0.5\nc_created 17.25\n",
    );
}

#[test]
fn numbers_are_short_and_exact() {
    let cases: [(Value, &str); 13] = [
        (u64::MAX.into(), "18446744073709551615"),
        (i64::MIN.into(), "-9223372036854775808"),
        (7_u32.into(), "7"),
        (0.1.into(), "0.1"),
        ((0.1 + 0.2).into(), "0.30000000000000004"),
        ((-0.0).into(), "-0"),
        (1e20.into(), "100000000000000000000"),
        (1.5e21.into(), "1.5e21"),
        (1e-7.into(), "0.0000001"),
        (f64::from_bits(1).into(), "5e-324"),
        (f64::NAN.into(), "NaN"),
        (f64::INFINITY.into(), "+Inf"),
        (f64::NEG_INFINITY.into(), "-Inf"),
    ];
    for (value, expected) in cases {
        let mut page = String::new();
        PageWriter::new(&mut page, Format::Text)
            .family(&GAUGE)
            .unwrap()
            .sample((), value)
            .unwrap();
        assert_eq!(page.lines().last(), Some(format!("g {expected}").as_str()));
    }
}

#[test]
fn a_family_without_samples_leaves_no_trace_unless_asked() {
    check(&GAUGE, |_| Ok(()), "", "");
    let twice: Fill = |family| {
        family.header().header();
        Ok(())
    };
    check(
        &GAUGE,
        twice,
        "# HELP g h\n# TYPE g gauge\n",
        "# HELP g h\n# TYPE g gauge\n",
    );
}

#[test]
fn bad_names_and_repeats_are_refused() {
    for (name, shown) in [("", ""), ("0a", "0a"), ("a-b", "a-b"), ("é", "é")] {
        refuses(
            &FamilyMeta::new(name, "h", MetricKind::Gauge),
            |family| family.sample((), 1).map(drop),
            &format!("failed to write family `{shown}`: a metric name must match [a-zA-Z_:][a-zA-Z0-9_:]*"),
        );
    }
    refuses(
        &GAUGE,
        |family| family.sample(&[("a:b", "")], 1).map(drop),
        "failed to write label `a:b`: a label name must match [a-zA-Z_][a-zA-Z0-9_]*",
    );
    let repeat = "failed to write label `a`: it is given twice on one sample";
    refuses(
        &GAUGE,
        |family| family.sample(&[("a", "1"), ("a", "2")], 1).map(drop),
        repeat,
    );
    refuses(
        &GAUGE,
        |_| LabelBlock::new([("a", "1"), ("a", "2")]).map(drop),
        repeat,
    );
    refuses(
        &GAUGE,
        |family| {
            family
                .sample(LabelBlock::new([("a", "1")])?.with(&[("a", "2")]), 1)
                .map(drop)
        },
        repeat,
    );
    refuses(
        &FamilyMeta::new("h", "h", MetricKind::Histogram),
        |family| family.bucket(&LabelBlock::new([("le", "1")])?, 1.0, 1).map(drop),
        "failed to write label `le`: it is given twice on one sample",
    );
    refuses(
        &FamilyMeta::new("h", "h", MetricKind::Histogram),
        |family| family.sample((), 1).map(drop),
        "failed to write a sample of `h`: a Histogram has no Plain sample",
    );
}

#[test]
fn units_must_end_the_name() {
    let message = "failed to write family `gpu_power`: its name must end in `_watts`, the unit it declares";
    let meta = FamilyMeta::new("gpu_power", "h", MetricKind::Gauge).with_unit("watts");
    refuses(&meta, |family| family.sample((), 1).map(drop), message);
    for (name, unit) in [
        ("watts", "watts"),
        ("_watts", "watts"),
        ("xwatts", "watts"),
        ("x_", ""),
    ] {
        let meta = FamilyMeta::new(name, "h", MetricKind::Gauge).with_unit(unit);
        let error = page_of(Format::Text, &meta, |_| Ok(())).unwrap_err();
        assert_eq!(
            error,
            WriteError::Unit {
                family: name.to_owned(),
                unit: unit.to_owned()
            }
        );
    }
}

#[test]
fn exemplars_have_a_place_and_a_size() {
    refuses(
        &GAUGE,
        |family| {
            let mut parts = SampleParts::new(Suffix::Plain, Labels::NONE, 1.into());
            parts.exemplar = Some(Exemplar {
                labels: Labels::NONE,
                value: 1.into(),
                timestamp: None,
            });
            family.write(&parts).map(drop)
        },
        "failed to write an exemplar of `g`: a Gauge has none on its Plain samples",
    );
    let with_value_of = |chars: usize| {
        let value = "é".repeat(chars);
        let labels = [("ab", value.as_str())];
        let mut parts = SampleParts::new(Suffix::Plain, Labels::NONE, 1.into());
        parts.exemplar = Some(Exemplar {
            labels: (&labels).into(),
            value: 1.into(),
            timestamp: None,
        });
        let meta = FamilyMeta::new("c_total", "h", MetricKind::Counter);
        let mut page = String::new();
        PageWriter::new(&mut page, Format::OpenMetrics)
            .family(&meta)?
            .write(&parts)
            .map(drop)
    };
    assert_eq!(with_value_of(126), Ok(()));
    assert_eq!(
        with_value_of(127),
        Err(WriteError::ExemplarTooLong {
            family: "c_total".to_owned(),
            limit: 128
        })
    );
}

#[test]
fn a_refused_sample_leaves_the_page_as_it_was() {
    let mut page = String::new();
    let mut writer = PageWriter::new(&mut page, Format::Text);
    let mut family = writer.family(&GAUGE).unwrap();
    assert!(family.sample(&[("", "")], 1).is_err());
    family.sample((), 1).unwrap();
    assert!(family.sample(&[("a", "1"), ("a", "1")], 1).is_err());
    assert_eq!(page, "# HELP g h\n# TYPE g gauge\ng 1\n");
}
