//! A driver that writes nonsense does no harm: no panic, no unbounded list, no unprintable text.

use gpu_nvml::{ALL_LINKS, Field, FieldQuery, Nvml, ProcessList, ProcessSamples};
use gpu_nvml_double::scenario::{Fault, FaultKind, Licence, Scenario};

use crate::machine::Machine;

/// Every function of the double that fills texts or counts.
fn nonsense(scenario: &mut Scenario, kind: FaultKind) {
    scenario.faults = gpu_nvml::SYMBOLS
        .iter()
        .map(|function| Fault::new(function, kind))
        .collect();
}

#[test]
fn texts_without_end_are_made_printable() {
    let mut scenario = Scenario::a100_mixed_mig();
    scenario.gpus[0].licence = Some(Licence {
        product: "any".to_owned(),
        feature: 1,
        licensed: true,
    });
    nonsense(&mut scenario, FaultKind::GarbageText);
    let nvml = Machine::new(scenario).nvml();
    assert!(nvml.driver().chars().all(|c| c == '\u{FFFD}'));
    let device = nvml.device(0).unwrap();
    let identity = device.identity();
    let name = device.name().unwrap();
    assert!(!name.is_empty() && name.chars().all(|c| c == '\u{FFFD}'));
    // Too long for an id, so that the device cannot be told from others.
    assert_eq!(identity.unwrap_err(), gpu_nvml::Fault::Implausible);
    for licence in device.licences().unwrap() {
        assert!(licence.product.unwrap().chars().all(|c| c == '\u{FFFD}'));
    }
}

#[test]
fn counts_beyond_reason_are_not_believed() {
    let mut scenario = Scenario::a100_mixed_mig();
    scenario.gpus[0].licence = Some(Licence {
        product: "any".to_owned(),
        feature: 1,
        licensed: true,
    });
    scenario.gpus[1].nvlink.as_mut().unwrap().links = 12;
    nonsense(&mut scenario, FaultKind::AbsurdCount);
    let nvml: Nvml = Machine::new(scenario).nvml();
    assert_eq!(nvml.device_count(), Ok(64));
    let device = nvml.device(0).unwrap();
    assert_eq!(device.mig_devices().unwrap().len(), 3);
    assert_eq!(device.licences().unwrap().len(), 1);
    let whole = nvml.device(1).unwrap();
    assert_eq!(whole.link_count(), Ok(36));
    let beyond = FieldQuery {
        field: Field::LinkSent,
        scope: 35,
    };
    assert!(whole.field(beyond).is_err());
    assert!(
        whole
            .field(FieldQuery {
                scope: ALL_LINKS,
                ..beyond
            })
            .is_ok()
    );
    let mut list = ProcessList::default();
    whole.processes(&mut list).unwrap();
    assert!(
        list.as_slice().is_empty(),
        "nothing was written, so nothing is read"
    );
    let mut samples = ProcessSamples::default();
    whole.process_utilization(0, &mut samples).unwrap();
    assert_eq!(samples.newest(), None);
}
