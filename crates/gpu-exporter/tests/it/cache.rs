//! The kept pages: made once a snapshot, the same bytes for all, gzip included.

use std::io::Read;
use std::sync::Arc;

use flate2::read::GzDecoder;
use gpu_exporter::page::{Encoding, PageCache, PageRequest, PageSettings, SeriesCap, Subset, page_text};
use gpu_exposition::Format;

use crate::nodes;

fn request(format: Format, encoding: Encoding) -> PageRequest {
    PageRequest {
        format,
        subset: Subset::Full,
        encoding,
    }
}

#[test]
fn a_kept_page_is_the_page() {
    let cache = PageCache::new(PageSettings::default());
    let node = Arc::new(nodes::h100s());
    for format in Format::ALL {
        for subset in [Subset::Full, Subset::Core] {
            let expected = page_text(&node, &PageSettings::default(), format, subset).unwrap();
            let plain = cache
                .page(
                    &node,
                    PageRequest {
                        format,
                        subset,
                        encoding: Encoding::Plain,
                    },
                )
                .unwrap();
            assert_eq!(std::str::from_utf8(plain.as_ref()).unwrap(), expected);
            let packed = cache
                .page(
                    &node,
                    PageRequest {
                        format,
                        subset,
                        encoding: Encoding::Gzip,
                    },
                )
                .unwrap();
            let mut unpacked = String::new();
            GzDecoder::new(packed.as_ref())
                .read_to_string(&mut unpacked)
                .unwrap();
            assert_eq!(unpacked, expected);
            assert!(packed.as_ref().len() * 5 < expected.len());
        }
    }
}

#[test]
fn a_new_snapshot_makes_a_new_page_and_a_reader_keeps_the_old() {
    let cache = PageCache::new(PageSettings::default());
    let request = request(Format::Text, Encoding::Plain);
    let old_node = Arc::new(nodes::t4_time_sliced());
    let old = cache.page(&old_node, request).unwrap();
    let mut node = nodes::l40s_mps();
    node.sequence = 2;
    let node = Arc::new(node);
    let new = cache.page(&node, request).unwrap();
    assert!(old.as_ref().windows(9).any(|bytes| bytes == b"t4-node-1"));
    assert!(!new.as_ref().windows(9).any(|bytes| bytes == b"t4-node-1"));
    let again = cache.page(&node, request).unwrap();
    assert_eq!(
        again.as_ref().as_ptr(),
        new.as_ref().as_ptr(),
        "the same copy for everybody"
    );
}

#[test]
fn settings_change_at_once_and_the_drop_counter_goes_on() {
    let tight = PageSettings {
        series_cap: SeriesCap::new(200).unwrap(),
        ..PageSettings::default()
    };
    let cache = PageCache::new(tight.clone());
    let node = Arc::new(nodes::h100s());
    let dropped = || {
        let page = cache.page(&node, request(Format::Text, Encoding::Plain)).unwrap();
        let text = std::str::from_utf8(page.as_ref()).unwrap().to_owned();
        let line = text
            .lines()
            .find(|line| line.starts_with("gpu_exporter_series_dropped_total "))
            .unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let first = dropped();
    assert!(first > 0);
    assert_eq!(dropped(), first, "a kept page is not made again");
    cache.set(tight);
    assert_eq!(dropped(), 2 * first);
    cache.set(PageSettings::default());
    assert_eq!(dropped(), 2 * first, "nothing was dropped this time");
}

#[test]
fn many_readers_at_once_get_the_same_copy() {
    let cache = PageCache::new(PageSettings::default());
    let node = Arc::new(nodes::h100s());
    let copies: Vec<usize> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let page = cache.page(&node, request(Format::Text, Encoding::Gzip)).unwrap();
                    page.as_ref().as_ptr() as usize
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(copies.iter().all(|copy| *copy == copies[0]), "{copies:?}");
}
