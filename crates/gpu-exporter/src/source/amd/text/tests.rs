//! Files as kernels write them, in the forms of different cards and versions, and text that is none of them.

mod hostile;
mod processes;

use super::*;

#[track_caller]
fn check_levels(text: &str, expected: Option<(Option<f64>, f64, f64)>) {
    let megahertz = clock_levels(text).map(|levels| {
        (
            levels.current_hertz.map(|hertz| hertz / 1e6),
            levels.lowest_hertz / 1e6,
            levels.highest_hertz / 1e6,
        )
    });
    assert_eq!(megahertz, expected, "{text:?}");
}

#[test]
fn clocks_are_read_in_every_form() {
    check_levels(
        "0: 300Mhz \n1: 600Mhz \n2: 900Mhz *\n3: 1145Mhz \n",
        Some((Some(900.0), 300.0, 1145.0)),
    );
    // No space before the end of a line, and a clock that stands still.
    check_levels(
        "0: 255Mhz\n1: 0Mhz *\n2: 1841Mhz\n",
        Some((Some(0.0), 0.0, 1841.0)),
    );
    // Equal steps have a star each.
    check_levels(
        "0: 800Mhz *\n1: 800Mhz *\n2: 1200Mhz \n",
        Some((Some(800.0), 800.0, 1200.0)),
    );
    // A sleep state is what the clock is now, and no step of it.
    check_levels(
        "S: 19MHz *\n0: 500MHz\n1: 2100MHz\n",
        Some((Some(19.0), 500.0, 2100.0)),
    );
    check_levels(
        "S: 19Mhz\n0: 500Mhz *\n1: 2100Mhz\n\0\0\0",
        Some((Some(500.0), 500.0, 2100.0)),
    );
    check_levels("0: 132Mhz\n1: 2100Mhz\n", Some((None, 132.0, 2100.0)));
}

#[test]
fn what_is_no_clock_is_none() {
    for text in [
        "",
        "\n",
        "0: 2.5GT/s, x8 \n1: 8.0GT/s, x16 *\n",
        "0: 2.5GT/s, x1 310Mhz *",
        "0: Mhz *",
        "0: 99999999999Mhz *",
        "0: -5Mhz *",
        "S: 19Mhz *",
        "OD_SCLK:",
    ] {
        check_levels(text, None);
    }
}

#[test]
fn links_are_read_in_every_form() {
    assert_eq!(link_transfers_per_second("16.0 GT/s PCIe\n"), Some(16e9));
    assert_eq!(link_transfers_per_second("2.5 GT/s PCIe"), Some(2.5e9));
    assert_eq!(link_transfers_per_second("8 GT/s\n\0\0"), Some(8e9));
    for text in [
        "Unknown",
        "Unknown speed",
        "",
        "GT/s",
        "inf GT/s",
        "-8 GT/s",
        "1e9 GT/s",
    ] {
        assert_eq!(link_transfers_per_second(text), None, "{text:?}");
    }
    assert_eq!(link_width("16\n"), Some(16));
    for text in ["0", "255", "x16", ""] {
        assert_eq!(link_width(text), None, "{text:?}");
    }
    let bandwidth = PcieBandwidth {
        received_packets: 11_886,
        sent_packets: 2528,
        max_payload_bytes: 256,
    };
    assert_eq!(pcie_bandwidth("11886 2528 256\n"), Some(bandwidth));
    for text in ["", "1 2", "1 2 3 4", "a b c"] {
        assert_eq!(pcie_bandwidth(text), None, "{text:?}");
    }
}

#[test]
fn errors_are_counted_and_a_missing_count_is_not_zero() {
    let counts = |uncorrectable, correctable, deferred| ErrorCounts {
        uncorrectable,
        correctable,
        deferred,
    };
    assert_eq!(
        error_counts("ue: 1\nce: 20\n"),
        Some(counts(Some(1), Some(20), None))
    );
    assert_eq!(
        error_counts("ue: 0\nce: 0\nde: 3"),
        Some(counts(Some(0), Some(0), Some(3)))
    );
    assert_eq!(error_counts("ce: 7\nue: many"), Some(counts(None, Some(7), None)));
    for text in ["", "Query currently inaccessible\n", "ue 1", "xx: 1"] {
        assert_eq!(error_counts(text), None, "{text:?}");
    }
    assert_eq!(xgmi_error("0\n"), Some(0));
    assert_eq!(xgmi_error("0x2"), Some(2));
    assert_eq!(xgmi_error("none"), None);
}

#[test]
fn bad_pages_are_counted_by_their_state() {
    let pages = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : R\n\
                 0x00000004 : 0x00001000 : F\n0x5 : 0x1000 : ?\nno page\na : b : R : R\n";
    assert_eq!(
        bad_pages(pages),
        BadPages {
            retired: 2,
            pending: 1,
            unreservable: 1
        }
    );
    assert_eq!(bad_pages(""), BadPages::default());
}

#[test]
fn errors_of_the_link_are_totalled_once() {
    let correctable =
        "RxErr 3\nBadTLP 1\nBadDLLP 0\nRollover 2\nTimeout 1\nNonFatalErr 5\nTOTAL_ERR_COR 12\n";
    assert_eq!(
        aer_counts(correctable),
        Some(AerCounts {
            total: 12,
            replays: Some(3),
            damaged: Some(4)
        })
    );
    let fatal = AerCounts {
        total: 2,
        replays: None,
        damaged: None,
    };
    assert_eq!(aer_counts("Undefined 0\nDLP 2\nTOTAL_ERR_FATAL 2\n"), Some(fatal));
    assert_eq!(aer_counts("Undefined 0\nDLP 2\n"), Some(fatal));
    assert_eq!(
        aer_counts("TLP 18446744073709551615\nDLP 2").unwrap().total,
        u64::MAX
    );
    assert_eq!(aer_counts(""), None);
    assert_eq!(aer_counts("DLP two"), None);
}

#[test]
fn sensors_are_read_in_base_units() {
    assert_eq!(celsius("44000\n"), Some(44.0));
    assert_eq!(celsius("-5000"), Some(-5.0));
    assert_eq!(watts("3405000\n"), Some(3.405));
    assert_eq!(watts("-1"), None);
    assert_eq!(hertz("798080000\n\0"), Some(798_080_000.0));
    assert_eq!(volts("975"), Some(0.975));
    assert_eq!(celsius(""), None);
    assert_eq!(celsius("44.0"), None);
    let labels = ["edge\n", "junction\n", "mem\n\0\0", "water"].map(TemperatureSensor::from_label);
    assert_eq!(
        labels,
        [
            Some(TemperatureSensor::Edge),
            Some(TemperatureSensor::Junction),
            Some(TemperatureSensor::Memory),
            None
        ]
    );
}

#[test]
fn plain_numbers_are_read_with_and_without_padding() {
    assert_eq!(number("17163091968\n"), Some(17_163_091_968));
    assert_eq!(number("3\n\0\0\0"), Some(3));
    assert_eq!(number(""), None);
    assert_eq!(number("-1"), None);
    assert_eq!(percent("11\n"), Some(0.11));
    assert_eq!(percent("101"), None);
    assert_eq!(hexadecimal("946d7e1ef9b172dd\n"), Some(0x946d_7e1e_f9b1_72dd));
    assert_eq!(hexadecimal("0x10"), Some(16));
    assert_eq!(hexadecimal("+10"), None);
    assert_eq!(hexadecimal(""), None);
    assert_eq!(text(b"946d7e1ef9b172dd\n\0\0\0"), Some("946d7e1ef9b172dd"));
    assert_eq!(text(b"\xff\xfe"), None);
    assert_eq!(text(b""), Some(""));
}

#[test]
fn modes_of_partitions_are_known_by_their_words() {
    for mode in ComputePartition::ALL {
        assert_eq!(ComputePartition::from_text(mode.as_str()), Some(mode));
    }
    assert_eq!(ComputePartition::from_text("CPX\n"), Some(ComputePartition::Cpx));
    assert_eq!(ComputePartition::from_text("UNKNOWN"), None);
    let available: Vec<_> = compute_partitions("SPX, DPX, QPX, CPX\n").collect();
    assert_eq!(available.len(), 4);
    assert_eq!(ComputePartition::Cpx.partitions(8), 8);
    assert_eq!(ComputePartition::Dpx.partitions(8), 2);
    let memory = MemoryPartition::from_text("NPS4\n").unwrap();
    assert_eq!((memory.ranges, memory.to_string().as_str()), (4, "NPS4"));
    for text in ["NPS", "NPS0", "NPS9", "NPS+4x", "4", ""] {
        assert_eq!(MemoryPartition::from_text(text), None, "{text:?}");
    }
}

#[test]
fn addresses_are_read_and_written_alike() {
    for text in ["0000:09:00.0", "0000:c4:00.7", "10000:01:1f.3"] {
        assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "0000:09:00",
        "09:00.0",
        "0000:09:20.0",
        "0000:09:00.8",
        "0000:+9:00.0",
        "zz:09:00.0",
    ] {
        assert_eq!(text.parse::<PciAddress>(), Err(NotAnAddress), "{text:?}");
    }
    let file = "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:09:00.0\n";
    assert_eq!(uevent(file, "PCI_SLOT_NAME"), Some("0000:09:00.0"));
    assert_eq!(uevent(file, "DRIVER"), Some("amdgpu"));
    assert_eq!(uevent(file, "PCI"), None);
}
