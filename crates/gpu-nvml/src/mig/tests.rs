//! Derived profile names are those of the driver.

use gpu_model::{Bytes, MODELS};

use super::{MigAttributes, derived_profile};

fn attributes(gpu_slices: u32, compute_slices: u32, memory: Bytes) -> MigAttributes {
    MigAttributes {
        multiprocessors: 14,
        gpu_slices,
        compute_slices,
        memory,
        copy_engines: 1,
        decoders: 0,
        encoders: 0,
        jpeg_engines: 0,
        ofa_engines: 0,
    }
}

#[test]
fn every_documented_profile_is_derived_from_its_size() {
    let mut checked = 0;
    for model in MODELS {
        let Some(table) = model.mig() else { continue };
        for profile in table.profiles {
            let Some(memory) = profile.memory else { continue };
            let slices = u32::from(profile.compute_slices);
            assert_eq!(
                derived_profile(&attributes(slices, slices, memory), model.memory),
                profile.name
            );
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} profiles have a documented size");
}

#[test]
fn a_part_of_an_instance_says_so() {
    let memory = Bytes::from_mib(40_192);
    let name = derived_profile(&attributes(3, 1, memory), Bytes::from_mib(81_920));
    assert_eq!(name, "1c.3g.40gb");
}

#[test]
fn absurd_sizes_give_a_name_all_the_same() {
    assert_eq!(
        derived_profile(&attributes(1, 1, Bytes(u64::MAX)), Bytes(0)),
        "1g.0gb"
    );
    let name = derived_profile(&attributes(1, 1, Bytes(u64::MAX)), Bytes(u64::MAX));
    assert_eq!(name, "1g.17179869184gb");
}
