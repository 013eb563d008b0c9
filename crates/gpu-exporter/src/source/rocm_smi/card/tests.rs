//! Cards of several versions of ROCm.

use gpu_model::Reading;

use super::rocm_answer;
use crate::readings::Field;
use crate::source::DriverFault;

#[test]
fn spellings_of_several_versions() {
    let text = r#"{"card1": {"Card series": "Radeon", "PCI Bus": "0000:A3:00.0", "Unique ID": "0xab", "GPU use (%)": 88,
        "Current Socket Graphics Package Power (W)": "140.0", "Temperature (Sensor junction) (C)": "41.0", "GPU Memory Read/Write Activity (%)": "7",
        "Accumulated Energy (uJ)": "2500000.5", "sclk clock level": "1 (900Mhz)", "pcie clock level": "1 (32.0GT/s x16)"},
       "card0": {"GPU memory use (%)": "12", "Average Graphics Package Power (W)": "36.0", "Accumulated Energy (uJ)": "0.0",
        "sclk clock speed:": "(300Mhz)", "mclk clock level:": "2", "VRAM Total Memory (B)": [1], "Temperature (Sensor edge) (C)": "35.0"},
       "system": {"Driver version": "6.8.5"}}"#;
    let answer = rocm_answer(text).unwrap();
    let [old, new] = answer.devices.as_slice() else {
        panic!("{answer:?}")
    };
    assert_eq!((old.listed.identity.index, new.listed.identity.index), (0, 1));
    assert_eq!(new.listed.identity.uuid, "00000000000000ab");
    assert_eq!(new.listed.identity.pci_bus_id, "0000:a3:00.0");
    assert_eq!(old.listed.identity.driver_version, "6.8.5");
    let (old, new) = (old.outcome.as_ref().unwrap(), new.outcome.as_ref().unwrap());
    let value = |readings: &crate::readings::DeviceReadings, field| readings.values.get(field);
    assert_eq!(value(new, Field::Utilization), Reading::Known(0.88));
    assert_eq!(
        value(new, Field::MemoryBandwidthUtilization),
        Reading::Known(0.07)
    );
    assert_eq!(value(new, Field::Power), Reading::Known(140.0));
    assert_eq!(value(new, Field::Temperature), Reading::Known(41.0));
    assert_eq!(value(new, Field::Energy), Reading::Known(2.500_000_5));
    assert_eq!(value(new, Field::GraphicsClock), Reading::Known(9e8));
    assert_eq!(value(new, Field::PcieLinkGeneration), Reading::Known(5.0));
    assert_eq!(
        value(old, Field::MemoryBandwidthUtilization),
        Reading::Known(0.12)
    );
    assert_eq!(value(old, Field::Power), Reading::Known(36.0));
    assert_eq!(value(old, Field::Energy), Reading::Unsupported);
    assert_eq!(value(old, Field::GraphicsClock), Reading::Known(3e8));
    assert_eq!(value(old, Field::MemoryClock), Reading::Unsupported);
    assert_eq!(value(old, Field::MemoryTotal), Reading::Failed);
    assert_eq!(old.failed, ["unreadable"]);
}

#[test]
fn processes_of_a_single_card_are_its_own() {
    let text = r#"{"card0": {"GPU use (%)": "1"}, "system": {"PID42": "python, train, 1, 1048576, 0, unknown", "PID7": "x, 1, N/A, 0, 0", "PIDs": "2"}}"#;
    let answer = rocm_answer(text).unwrap();
    let readings = answer.devices[0].outcome.as_ref().unwrap();
    let mut told: Vec<_> = readings
        .processes
        .as_ref()
        .known()
        .unwrap()
        .iter()
        .map(|one| (one.pid, one.memory_bytes))
        .collect();
    told.sort_by_key(|(pid, _)| *pid);
    assert_eq!(
        told,
        [(7, Reading::Unsupported), (42, Reading::Known(1_048_576.0))]
    );
    let two = r#"{"card0": {"GPU use (%)": "1"}, "card1": {"Unique ID": "0x1"}, "system": {"PID42": "p, 1, 5, 0, 0"}}"#;
    let answer = rocm_answer(two).unwrap();
    assert_eq!(
        answer.devices[0].outcome.as_ref().unwrap().processes,
        Reading::Unsupported
    );
}

#[test]
fn partitions_that_cannot_be_told_apart_are_counted() {
    let text = r#"{"card0": {"Unique ID": "0x1"}, "card1": {"Unique ID": "0x1"}}"#;
    let answer = rocm_answer(text).unwrap();
    assert_eq!(answer.devices.len(), 1);
    assert_eq!(answer.undescribed, [DriverFault::Failed { class: "partition" }]);
    assert!(rocm_answer("{}").is_none() && rocm_answer("{\"card0\": 5}").is_none());
}

#[test]
fn the_first_versions_wrote_units_behind_numbers() {
    let text = r#"{"card0": {"GPU use": "12%", "Average Graphics Package Power": "21.5W", "Temperature (Sensor #1)": "31.0c"}}"#;
    let answer = rocm_answer(text).unwrap();
    let readings = answer.devices[0].outcome.as_ref().unwrap();
    assert_eq!(readings.values.get(Field::Utilization), Reading::Known(0.12));
    assert_eq!(readings.values.get(Field::Power), Reading::Known(21.5));
    assert_eq!(readings.values.get(Field::Temperature), Reading::Known(31.0));
}
