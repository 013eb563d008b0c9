//! Activity of the units inside: there on Hopper, absent before, never invented.

use gpu_nvml::{Device, Fault, GpmMetric, GpmQuery, GpmSupport, Nvml};
use gpu_nvml_double::scenario::{Model, Scenario};

use crate::machine::Machine;

const ASKED: [GpmMetric; 4] = [
    GpmMetric::SM_ACTIVE,
    GpmMetric::TENSOR_ACTIVE,
    GpmMetric::LINK_SENT,
    GpmMetric(199),
];

fn compare(
    nvml: &Nvml,
    take: impl Fn(&mut gpu_nvml::GpmSample) -> Result<(), Fault>,
) -> [Result<f64, Fault>; 4] {
    let (mut earlier, mut later) = (nvml.gpm_sample().unwrap(), nvml.gpm_sample().unwrap());
    take(&mut earlier).unwrap();
    take(&mut later).unwrap();
    let mut query = GpmQuery::new(&ASKED);
    query.read(&earlier, &later).unwrap();
    [0, 1, 2, 3].map(|place| query.value(place))
}

#[test]
fn hopper_tells_what_its_units_do() {
    let nvml = Machine::new(Scenario::h100_x8()).nvml();
    let device = nvml.device(0).unwrap();
    let values = compare(&nvml, |sample| device.gpm_take(sample));
    assert_eq!(values, [Ok(38.5), Ok(30.5), Ok(4096.0), Err(Fault::Unsupported)]);
}

#[test]
fn no_data_is_not_zero() {
    let mut scenario = Scenario::h100_x8();
    scenario.gpus[0].gpm.as_mut().unwrap().insert(2, None);
    let nvml = Machine::new(scenario).nvml();
    let device = nvml.device(0).unwrap();
    let values = compare(&nvml, |sample| device.gpm_take(sample));
    assert_eq!(values[0], Err(Fault::NoData));
    assert_eq!(values[1], Ok(30.5));
}

#[test]
fn slices_of_hopper_have_their_own_values() {
    let mut scenario = Scenario::of(Model::H100, 1);
    let mut slices = Scenario::a100_mixed_mig().gpus[0].mig.clone().unwrap();
    let slice = slices.instances[1].as_mut().unwrap();
    slice.gpm = Some([(2, Some(77.0)), (5, Some(0.0))].into());
    scenario.gpus[0].mig = Some(slices);
    let nvml = Machine::new(scenario).nvml();
    let device = nvml.device(0).unwrap();
    let values = compare(&nvml, |sample| device.gpm_take_slice(5, sample));
    assert_eq!(values[..2], [Ok(77.0), Ok(0.0)]);
    let mut sample = nvml.gpm_sample().unwrap();
    assert_eq!(device.gpm_take_slice(9, &mut sample), Err(Fault::NotFound));
}

#[track_caller]
fn check_absent(model: Model) {
    let nvml = Machine::new(Scenario::of(model, 1)).nvml();
    let device: Device = nvml.device(0).unwrap();
    assert_eq!(device.gpm_support(), Ok(GpmSupport::Unavailable));
    let mut sample = nvml.gpm_sample().unwrap();
    assert_eq!(device.gpm_take(&mut sample), Err(Fault::Unsupported));
}

#[test]
fn before_hopper_there_is_none() {
    check_absent(Model::A100Gb80);
    check_absent(Model::T4);
    check_absent(Model::L40s);
}

#[test]
fn samples_in_the_wrong_order_or_of_two_sessions_are_refused() {
    let machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let device = nvml.device(0).unwrap();
    let (mut earlier, mut later) = (nvml.gpm_sample().unwrap(), nvml.gpm_sample().unwrap());
    device.gpm_take(&mut earlier).unwrap();
    device.gpm_take(&mut later).unwrap();
    let mut query = GpmQuery::new(&ASKED);
    assert!(query.read(&later, &earlier).is_err());
    assert_eq!(query.value(0), Err(Fault::NoData));
    let other = machine.nvml().gpm_sample().unwrap();
    assert!(query.read(&earlier, &other).is_err());
}
