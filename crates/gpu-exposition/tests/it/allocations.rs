//! The exporter renders a page every few seconds for years, so rendering must not allocate.

use allocation_counter::measure;
use gpu_exposition::{
    Exemplar, FamilyMeta, Format, LabelBlock, MetricKind, PageWriter, Parser, ParserOptions, SampleParts,
    Suffix, TimestampMillis, WriteError,
};

use crate::fleet::{Fleet, page_of};

/// Every kind of line the writer knows, with labels given on the spot.
fn write_odd_lines(page: &mut String, format: Format, block: &LabelBlock) -> Result<(), WriteError> {
    const SECONDS: FamilyMeta<'_> =
        FamilyMeta::new("loop_seconds", "A \"quoted\"\nhelp.", MetricKind::Histogram).with_unit("seconds");
    let mut writer = PageWriter::new(page, format);
    let mut family = writer.family(&SECONDS)?;
    let labels = block.with(&[("path", "C:\\new\n\"x\"")]);
    family
        .bucket(labels, 0.25, 1)?
        .bucket(labels, f64::INFINITY, 2)?
        .sum(labels, 1e-300)?
        .count(labels, 2)?;
    let mut parts = SampleParts::new(Suffix::Bucket, labels, f64::NAN.into());
    parts.timestamp = Some(TimestampMillis(-1));
    let trace = [("trace_id", "KOO5S4vxi0o")];
    parts.exemplar = Some(Exemplar {
        labels: (&trace).into(),
        value: (-1_i64).into(),
        timestamp: parts.timestamp,
    });
    family.write(&parts)?;
    writer.finish();
    Ok(())
}

#[test]
fn writing_into_a_warm_buffer_allocates_nothing() {
    let mut fleet = Fleet::new(2).unwrap();
    let block = LabelBlock::new([("node", "a")]).unwrap();
    let mut page = String::new();
    for format in Format::ALL {
        let mut render = |page: &mut String| {
            page.clear();
            fleet.write(page, format).unwrap();
            write_odd_lines(page, format, &block).unwrap();
        };
        // Values differ from page to page, so the longest page is not the first: leave room as an exporter does.
        let cold = measure(|| {
            render(&mut page);
            page.reserve(4096);
        });
        let warm = measure(|| (0..100).for_each(|_| render(&mut page)));
        assert_eq!(
            (warm.count_total, warm.bytes_total),
            (0, 0),
            "{format:?}: {warm:?}"
        );
        assert!(
            format != Format::Text || cold.count_total > 0,
            "the counter counts"
        );
    }
}

#[test]
fn reading_a_page_allocates_the_same_however_long_it_is() {
    let allocations = |bytes: usize| {
        let page = page_of(bytes, Format::Text).unwrap();
        let mut samples = 0_usize;
        let info = measure(|| {
            let mut parser = Parser::new(page.as_bytes(), ParserOptions::new(Format::Text));
            while let Some(event) = parser.next_event() {
                event.unwrap();
                samples += 1;
            }
        });
        assert!(
            page.len() >= bytes && samples > bytes / 400,
            "{samples} samples in {} bytes",
            page.len()
        );
        info.count_total
    };
    assert_eq!(allocations(10_000), allocations(1_000_000));
}
