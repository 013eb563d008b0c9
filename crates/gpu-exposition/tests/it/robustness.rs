//! Any bytes, in any pieces: the parser neither panics nor changes its mind.

use gpu_exposition::{Format, Limits, OnBadLine, Parser, ParserOptions, Progress, StreamParser};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::arbitrary::pages;

fn whole(page: &[u8], options: ParserOptions) -> Vec<String> {
    let mut parser = Parser::new(page, options);
    let mut events = Vec::new();
    while let Some(event) = parser.next_event() {
        events.push(format!("{event:?}"));
    }
    events
}

fn in_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, options: ParserOptions) -> Vec<String> {
    let mut parser = StreamParser::new(options);
    let mut events = Vec::new();
    for piece in pieces {
        if parser.feed(piece, |event| events.push(format!("{event:?}"))) == Progress::Ended {
            break;
        }
    }
    parser.finish(|event| events.push(format!("{event:?}")));
    events
}

fn all_options() -> Vec<ParserOptions> {
    let tight = Limits {
        max_bytes: 300,
        max_line_bytes: 40,
        max_samples: 5,
        max_labels_per_sample: 2,
        max_bad_lines: 3,
    };
    let mut all = Vec::new();
    for format in Format::ALL {
        for on_bad_line in [OnBadLine::Stop, OnBadLine::Skip] {
            for limits in [
                Limits::DEFAULT,
                tight,
                Limits {
                    max_bytes: 60,
                    ..tight
                },
            ] {
                all.push(ParserOptions {
                    format,
                    limits,
                    on_bad_line,
                });
            }
        }
    }
    all
}

#[track_caller]
fn check(page: &[u8], piece: usize) {
    for options in all_options() {
        let expected = whole(page, options);
        assert_eq!(
            in_pieces(page.chunks(piece.max(1)), options),
            expected,
            "pieces of {piece}, {options:?}"
        );
    }
}

/// Every construct of both formats, and lines that pass each limit.
const NASTY: &str = "# HELP a b \\n \\\\ é\n# TYPE a counter\n# UNIT a_b b\na_total{b=\"c\\\"\\n\",} 1 1.5 # {t=\"é\"} 2 3\n\
    \n  # comment\na 1\n{\"é.x\",l=\"\"} NaN 5\nb{c=\"1\",c=\"2\"} 1\nc{a=\"\",b=\"\",d=\"\"} 1\n\
    long_long_long_long_long_long_long_long_long_long 1\nx\na{b=\"\nd 1 \r\n# EOF\n\ntail";

#[test]
fn every_cut_of_a_page_reads_the_same() {
    for options in all_options() {
        let expected = whole(NASTY.as_bytes(), options);
        for cut in 0..=NASTY.len() {
            let (head, tail) = NASTY.as_bytes().split_at(cut);
            assert_eq!(
                in_pieces([head, tail], options),
                expected,
                "cut at {cut}, {options:?}"
            );
        }
    }
    (1..NASTY.len()).for_each(|piece| check(NASTY.as_bytes(), piece));
}

#[test]
fn a_reader_gives_what_the_slice_gives() {
    let options = ParserOptions {
        on_bad_line: OnBadLine::Skip,
        ..ParserOptions::new(Format::Text)
    };
    let mut events = Vec::new();
    let reader = std::io::BufReader::with_capacity(7, NASTY.as_bytes());
    StreamParser::new(options)
        .read_all(reader, |event| events.push(format!("{event:?}")))
        .unwrap();
    assert_eq!(events, whole(NASTY.as_bytes(), options));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(page in vec(any::<u8>(), 0..400), piece in 1..50_usize) {
        check(&page, piece);
    }

    #[test]
    fn any_line_of_the_alphabet_is_read_without_panic(
        page in "([a:1é]|[ \t#{}=,\"\\\\n.+-]|\n|HELP|TYPE|UNIT|EOF|Inf|NaN|e9|# ){0,60}",
        piece in 1..20_usize,
    ) {
        check(page.as_bytes(), piece);
    }

    #[test]
    fn a_damaged_page_is_read_without_panic(
        page in pages(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..6),
        piece in 1..50_usize,
    ) {
        for format in Format::ALL {
            let mut text = String::new();
            page.write(&mut text, format).unwrap();
            let mut bytes = text.into_bytes();
            for (at, byte, how) in &damage {
                let at = at.index(bytes.len() + 1);
                match how {
                    0 => bytes.insert(at, *byte),
                    1 if at < bytes.len() => bytes[at] = *byte,
                    _ if at < bytes.len() => drop(bytes.remove(at)),
                    _ => {}
                }
            }
            check(&bytes, piece);
        }
    }
}
