//! Presets and overrides survive the way through a file.

use super::{Model, Scenario};

#[test]
fn every_machine_survives_its_file() {
    let mut machines: Vec<Scenario> = Model::ALL.map(|model| Scenario::of(model, 2)).into();
    machines.extend([
        Scenario::none(),
        Scenario::h100_x8(),
        Scenario::a100_mixed_mig(),
        Scenario::t4_time_sliced(),
        Scenario::l40s_mps(),
        Scenario::rtx3080(),
    ]);
    for machine in machines {
        assert_eq!(Scenario::parse(&machine.to_json()).unwrap(), machine);
    }
}

#[test]
fn a_gpu_differs_from_its_preset_only_where_it_says_so() {
    let text = r#"{"gpus": [{"model": "t4", "power": {"usage": 12000}, "serial": null}]}"#;
    let mut expected = Scenario::of(Model::T4, 1);
    let gpu = &mut expected.gpus[0];
    gpu.processes.clear();
    gpu.serial = None;
    gpu.power.as_mut().unwrap().usage = 12_000;
    assert_eq!(Scenario::parse(text).unwrap(), expected);
}

#[test]
fn a_misspelt_value_is_refused() {
    for text in [
        r#"{"gpus": [{"model": "t5"}]}"#,
        r#"{"gpus": [{"model": "t4", "powr": 1}]}"#,
        r#"{"gpu": []}"#,
    ] {
        assert!(Scenario::parse(text).is_err(), "{text}");
    }
}
