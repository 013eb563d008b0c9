//! What is written is what is read.

use gpu_exposition::{Format, MetricKind, Page, ParserOptions, Suffix};
use proptest::prelude::*;

use crate::arbitrary::{allows_exemplar, pages};

/// What a format can carry of a page, stated without the writer's own rules.
fn carried(mut page: Page, format: Format) -> Page {
    for family in &mut page.families {
        let text = format == Format::Text;
        family.kind = match family.kind {
            MetricKind::Info | MetricKind::StateSet if text => MetricKind::Gauge,
            MetricKind::GaugeHistogram if text => MetricKind::Histogram,
            MetricKind::Counter if !text && !family.name.ends_with("_total") => MetricKind::Unknown,
            MetricKind::Info if !text && !family.name.ends_with("_info") => MetricKind::Gauge,
            kind => kind,
        };
        let kind = family.kind;
        if text || matches!(kind, MetricKind::Info | MetricKind::StateSet) {
            family.unit = None;
        }
        let no_created = text || kind == MetricKind::Unknown;
        family
            .samples
            .retain(|sample| !(no_created && sample.suffix == Suffix::Created));
        for sample in &mut family.samples {
            sample.exemplar = sample
                .exemplar
                .take()
                .filter(|_| !text && allows_exemplar(kind, sample.suffix));
        }
    }
    page
}

fn written(page: &Page, format: Format) -> String {
    let mut out = String::new();
    page.write(&mut out, format)
        .expect("the strategy makes pages that can be written");
    out
}

proptest! {
    #[test]
    fn a_page_reads_back_as_what_its_format_carries(page in pages()) {
        for format in Format::ALL {
            let bytes = written(&page, format);
            let read = Page::parse(bytes.as_bytes(), ParserOptions::new(format)).unwrap();
            prop_assert_eq!(&read, &carried(page.clone(), format), "{:?}:\n{}", format, bytes);
        }
    }

    #[test]
    fn a_page_that_was_read_is_written_byte_for_byte(page in pages()) {
        for format in Format::ALL {
            let bytes = written(&page, format);
            let read = Page::parse(bytes.as_bytes(), ParserOptions::new(format)).unwrap();
            prop_assert_eq!(written(&read, format), bytes);
        }
    }
}
