//! The exporter serves pages for years, so that neither a scrape nor a new page may allocate with the number of series.

use std::sync::Arc;

use allocation_counter::measure;
use gpu_exporter::page::{Encoding, FamilyChoice, PageCache, PageRequest, PageSettings, Subset};
use gpu_exporter::snapshot::NodeSnapshot;
use gpu_exporter::source::amd::{tables, text};
use gpu_exposition::Format;

use crate::golden::every_vocabulary;
use crate::{amd_nodes, nodes};

const SCRAPES: u64 = 20;

/// Allocations of twenty scrapes in steady state, each of a new snapshot of the same node if `renewed`.
fn allocations(node: NodeSnapshot, encoding: Encoding, renewed: Renewed) -> (u64, u64) {
    with_settings(PageSettings::default(), node, encoding, renewed)
}

fn with_settings(
    settings: PageSettings,
    node: NodeSnapshot,
    encoding: Encoding,
    renewed: Renewed,
) -> (u64, u64) {
    let cache = PageCache::new(settings);
    let request = PageRequest {
        format: Format::Text,
        subset: Subset::Full,
        encoding,
    };
    let snapshots: Vec<Arc<NodeSnapshot>> = (0..=SCRAPES)
        .map(|at| {
            let sequence = if renewed == Renewed::Yes { at } else { 0 };
            Arc::new(NodeSnapshot {
                sequence,
                ..node.clone()
            })
        })
        .collect();
    assert!(cache.page(&snapshots[0], request).unwrap().as_ref().len() > 100);
    let info = measure(|| {
        for snapshot in &snapshots[1..] {
            assert!(cache.page(snapshot, request).unwrap().as_ref().len() > 100);
        }
    });
    (info.count_total, info.bytes_total)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Renewed {
    Yes,
    No,
}

#[test]
fn a_scrape_allocates_nothing_however_many_series_there_are() {
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        for node in [
            nodes::no_gpu(),
            nodes::sized(1, 0),
            nodes::sized(8, 110),
            nodes::sized(16, 250),
        ] {
            assert_eq!(allocations(node, encoding, Renewed::No), (0, 0));
        }
    }
}

#[test]
fn a_new_page_of_the_same_node_allocates_nothing_either() {
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        for node in [
            nodes::no_gpu(),
            nodes::sized(1, 0),
            nodes::sized(8, 110),
            nodes::sized(16, 250),
        ] {
            assert_eq!(allocations(node, encoding, Renewed::Yes), (0, 0));
        }
    }
}

#[test]
fn neither_does_a_page_with_every_family_of_amds_gpus() {
    for (name, node) in amd_nodes::all() {
        for renewed in [Renewed::Yes, Renewed::No] {
            let settings = PageSettings {
                families: FamilyChoice::all(),
                ..every_vocabulary()
            };
            let allocated = with_settings(settings, node.clone(), Encoding::Gzip, renewed);
            assert_eq!(allocated, (0, 0), "{name}");
        }
    }
}

/// Read every second for every GPU, and for every process with one.
#[test]
fn reading_the_files_of_amd_allocates_nothing() {
    for (version, size) in tables::write::forms() {
        let empty = tables::Metrics {
            version,
            ..tables::Metrics::EMPTY
        };
        let bytes = tables::write::write_form(&empty, size).unwrap();
        let reading = measure(|| assert_eq!(tables::parse(&bytes).unwrap().version, version));
        assert_eq!(reading.count_total, 0, "{version}");
    }
    let clocks = "S: 19Mhz *\n0: 500Mhz\n1: 2100Mhz\n";
    let open_file = "drm-driver: amdgpu\ndrm-engine-gfx: 5 ns\ndrm-memory-vram: 3 KiB\n";
    let files = measure(|| {
        assert!(text::clock_levels(clocks).is_some());
        assert!(text::fdinfo(open_file).is_some());
        assert!(text::kfd_node("simd_count 152\nlocation_id 1280\n").is_gpu());
        assert!(text::error_counts("ue: 0\nce: 3\n").is_some());
    });
    assert_eq!(files.count_total, 0);
}

#[test]
fn the_counter_counts() {
    assert!(measure(|| drop(std::hint::black_box(vec![1_u8; 100]))).count_total > 0);
}
