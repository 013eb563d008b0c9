//! The catalogue holds together: names are unique, ranges are the right way round.

use std::collections::BTreeSet;

use gpu_model::{GpuModel, MODELS};

#[test]
fn every_model_is_found_by_its_name_and_only_once() {
    for model in MODELS {
        assert_eq!(GpuModel::find(model.name), Some(model));
    }
    let names: BTreeSet<_> = MODELS.iter().map(|model| model.name).collect();
    assert_eq!(names.len(), MODELS.len());
    assert_eq!(GpuModel::find("NVIDIA GeForce RTX 2080 SUPER"), None);
}

#[test]
fn ranges_run_upwards() {
    for model in MODELS {
        let name = model.name;
        assert!(model.idle < model.max, "{name}");
        assert!(model.compute_clock.idle < model.compute_clock.max, "{name}");
        assert!(model.memory_clock.idle <= model.memory_clock.max, "{name}");
    }
}

#[track_caller]
fn check_gpm(name: &str, expected: bool) {
    let model = GpuModel::find(name).expect("a known model");
    assert_eq!(model.architecture.has_gpm(), expected, "{name}");
}

#[test]
fn activity_without_dcgm_begins_with_hopper() {
    check_gpm("Tesla T4", false);
    check_gpm("NVIDIA A100-SXM4-80GB", false);
    check_gpm("NVIDIA L40S", false);
    check_gpm("NVIDIA H100 80GB HBM3", true);
    check_gpm("NVIDIA B200", true);
    check_gpm("AMD Instinct MI300X", false);
}
