//! The MIG tables against what is known of every part.

use gpu_model::{Bytes, GpuModel, MIG_TABLES, MigTable};

#[track_caller]
fn check(pci_device_id: u16, expected: &[(&str, u8, u8, u8)]) {
    let table = MigTable::for_pci_device(pci_device_id).expect("a part with MIG");
    let found: Vec<_> = table
        .profiles
        .iter()
        .map(|profile| {
            (
                profile.name,
                profile.compute_slices,
                profile.memory_slices,
                profile.max_instances,
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a30_has_four_slices() {
    check(
        0x20B7,
        &[("1g.6gb", 1, 1, 4), ("2g.12gb", 2, 2, 2), ("4g.24gb", 4, 4, 1)],
    );
}

#[test]
fn h100_has_seven_compute_and_eight_memory_slices() {
    check(
        0x2330,
        &[
            ("1g.10gb", 1, 1, 7),
            ("1g.20gb", 1, 2, 4),
            ("2g.20gb", 2, 2, 3),
            ("3g.40gb", 3, 4, 2),
            ("4g.40gb", 4, 4, 1),
            ("7g.80gb", 7, 8, 1),
        ],
    );
}

#[test]
fn only_parts_with_mig_have_a_table() {
    assert!(
        MigTable::for_pci_device(0x1EB8).is_none(),
        "a T4 cannot be sliced"
    );
    assert!(
        GpuModel::find("AMD Instinct MI300X")
            .expect("a known model")
            .mig()
            .is_none()
    );
    let a100 = GpuModel::find("NVIDIA A100-SXM4-40GB")
        .expect("a known model")
        .mig()
        .expect("MIG");
    assert_eq!(
        a100.profile("3g.20gb").and_then(|profile| profile.memory),
        Some(Bytes::from_mib(19_968))
    );
    assert!(
        a100.profile("3g.40gb").is_none(),
        "that is a profile of the larger A100"
    );
}

/// Instances of one profile fit the GPU side by side, and their documented places agree with that.
#[test]
fn every_profile_fits_its_gpu() {
    for table in MIG_TABLES {
        for profile in table.profiles {
            let name = profile.name;
            assert!(
                profile.compute_slices * profile.max_instances <= table.compute_slices,
                "{name}"
            );
            assert!(
                profile.memory_slices * profile.max_instances <= table.memory_slices,
                "{name}"
            );
            let Some(starts) = profile.starts else { continue };
            assert_eq!(starts.len(), usize::from(profile.max_instances), "{name}");
            for start in starts {
                assert!(
                    start + profile.memory_slices <= table.memory_slices,
                    "{name} at {start}"
                );
            }
        }
    }
}

/// A name says how many compute slices a profile has and about how much memory.
#[test]
fn names_agree_with_slices() {
    for profile in MIG_TABLES.iter().flat_map(|table| table.profiles) {
        let (compute, memory) = profile
            .name
            .split_once("g.")
            .expect("a profile name has both parts");
        assert_eq!(compute.parse(), Ok(profile.compute_slices), "{}", profile.name);
        let gigabytes: u64 = memory
            .strip_suffix("gb")
            .expect("memory in gb")
            .parse()
            .expect("a number");
        if let Some(known) = profile.memory {
            let exact = known.whole_mib();
            assert!(
                (gigabytes - 1) * 1000 < exact && exact <= gigabytes * 1024,
                "{}: {exact}",
                profile.name
            );
        }
    }
}
