//! What can be known without a server: TimescaleDB's offers and the words we would say to it, names of partitions, parameters of TLS.
//! The extension itself is not at hand where these tests run.

use gpu_cost::Moment;
use tokio_postgres::config::SslMode;

use super::layout::{Layout, day_of, partition_name};
use super::timescale::{self, Offer};
use super::url::{Verify, parse};

#[test]
fn timescaledb_is_used_as_far_as_its_edition_goes() {
    let version = || "2.22.0".to_owned();
    let check = |offer: Offer, expected: Offer, layout: Layout| {
        assert_eq!(Layout::of(&offer), layout);
        assert_eq!(offer, expected);
    };
    check(Offer::of(None, None), Offer::Nothing, Layout::Partitions);
    // The library may be loaded while the extension is not in this database.
    check(
        Offer::of(None, Some("timescale")),
        Offer::Nothing,
        Layout::Partitions,
    );
    check(
        Offer::of(Some("1.7.5"), Some("timescale")),
        Offer::Nothing,
        Layout::Partitions,
    );
    check(Offer::of(Some("dev"), None), Offer::Nothing, Layout::Partitions);
    let chunks = Offer::Chunks { version: version() };
    check(
        Offer::of(Some("2.22.0"), Some("apache")),
        chunks.clone(),
        Layout::Chunks,
    );
    check(Offer::of(Some("2.22.0"), None), chunks, Layout::Chunks);
    let compressed = Offer::CompressedChunks { version: version() };
    check(
        Offer::of(Some("2.22.0"), Some("timescale")),
        compressed,
        Layout::CompressedChunks,
    );
}

#[test]
fn timescaledb_is_spoken_to_in_whole_numbers() {
    assert_eq!(
        timescale::make_hypertable(86_400_000),
        "select public.create_hypertable('gpu_autoscaler.ledger_row', 'start_ms', chunk_time_interval => 86400000::bigint)"
    );
    assert_eq!(
        timescale::drop_before(5),
        "select public.drop_chunks('gpu_autoscaler.ledger_row', older_than => 5::bigint)"
    );
    assert!(
        timescale::compress_before(5)
            .contains("show_chunks('gpu_autoscaler.ledger_row', older_than => 5::bigint)")
    );
    assert!(timescale::allow_compression().contains("timescaledb.compress_segmentby = 'set_id'"));
}

#[test]
fn a_partition_is_named_by_its_day() {
    let day = Moment(1_772_323_200_000);
    assert_eq!(partition_name(day), "ledger_row_20260301");
    assert_eq!(day_of("ledger_row_20260301"), Some(day));
    for other in [
        "ledger_row_key",
        "ledger_row_2026030",
        "ledger_row_20261301",
        "other_20260301",
    ] {
        assert_eq!(day_of(other), None, "{other}");
    }
}

#[test]
fn tls_parameters_mean_what_libpq_means() {
    let check = |query: &str, mode: SslMode, verify: Verify| {
        let parts = parse(&format!("postgres://me:pw@db/costs?{query}")).unwrap();
        assert_eq!(parts.config.get_ssl_mode(), mode, "{query}");
        assert_eq!(parts.tls.verify, verify, "{query}");
    };
    check("", SslMode::Prefer, Verify::Nothing);
    check("sslmode=disable", SslMode::Disable, Verify::Nothing);
    check("sslmode=require", SslMode::Require, Verify::Nothing);
    check(
        "sslmode=require&sslrootcert=/a%20b.pem",
        SslMode::Require,
        Verify::Chain,
    );
    check("sslmode=verify-ca", SslMode::Require, Verify::Chain);
    check(
        "connect_timeout=3&sslmode=verify-full",
        SslMode::Require,
        Verify::Full,
    );
    let parts = parse("postgres://db/costs?sslrootcert=/a%20b.pem&sslcert=c&sslkey=k").unwrap();
    assert_eq!(parts.tls.roots.unwrap().to_str(), Some("/a b.pem"));
    for wrong in ["sslmode=maybe", "sslcert=c", "nonsense=1"] {
        parse(&format!("postgres://db/costs?{wrong}")).unwrap_err();
    }
}
