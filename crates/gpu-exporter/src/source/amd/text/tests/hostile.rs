//! No text makes any of the parsers panic.

use proptest::prelude::*;

use super::super::*;

fn read_as_everything(input: &str) {
    let _ = clock_levels(input);
    let _ = link_transfers_per_second(input);
    let _ = link_width(input);
    let _ = pcie_bandwidth(input);
    let _ = error_counts(input);
    let _ = bad_pages(input);
    let _ = aer_counts(input);
    let _ = xgmi_error(input);
    let _ = celsius(input);
    let _ = watts(input);
    let _ = hertz(input);
    let _ = volts(input);
    let _ = TemperatureSensor::from_label(input);
    let _ = ComputePartition::from_text(input);
    let _ = compute_partitions(input).count();
    let _ = MemoryPartition::from_text(input);
    let _ = input.parse::<PciAddress>();
    let _ = uevent(input, "DRIVER");
    let _ = (number(input), percent(input), hexadecimal(input));
    let node = kfd_node(input);
    let _ = (
        node.is_gpu(),
        node.compute_units(),
        node.pci_address(),
        node.partition(),
    );
    let _ = node.gfx_target.map(|target| target.to_string());
    if let Some(info) = fdinfo(input) {
        for region in info.regions() {
            let _ = info.occupied_bytes(region.name);
        }
    }
}

/// Words of real files in any order, between characters of any kind.
fn near_file() -> impl Strategy<Value = String> {
    let words = [
        "0:",
        "S:",
        "Mhz",
        "*",
        "ue:",
        "ce:",
        "0x",
        ":",
        "R",
        "GT/s",
        "PCIe",
        "NPS",
        "CPX",
        ",",
        "\n",
        "\t",
        " ",
        "\0",
        "drm-driver:",
        "drm-engine-gfx:",
        "drm-total-cycles-",
        "drm-memory-vram:",
        "ns",
        "KiB",
        "location_id",
        "gfx_target_version",
        "simd_count",
        "simd_per_cu",
        "TOTAL_ERR_COR",
        "DRIVER=",
        "-1",
        "0",
        "1",
        "18446744073709551615",
        "99999999999999999999",
        "4294967295",
        "0000:00:00.0",
        "é",
    ];
    let word = prop_oneof![4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,3}"];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(input in prop_oneof![near_file(), any::<String>()]) {
        read_as_everything(&input);
    }

    #[test]
    fn no_bytes_do_either(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(input) = text(&bytes) {
            read_as_everything(input);
        }
    }
}
