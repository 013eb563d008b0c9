//! Tables in any order of columns, with noise around them.

use gpu_model::Reading;

use super::{csv_answer, known_fields};
use crate::readings::Field;
use crate::source::DriverFault;

#[test]
fn columns_are_found_by_name() {
    let gpus = "WARNING: infoROM is corrupted at gpu 0000:00:1E.0\n\
                power.draw [W], uuid, index, name, pci.bus_id, memory.used [MiB], temperature.gpu, clocks_event_reasons.sw_power_cap, mig.mode.current, driver_version\n\
                [N/A], GPU-a, 3, Tesla T4, 00000000:00:1E.0, 12 MiB, [Unknown Error], Active, [N/A], 550.90\n\
                half a line, GPU-b\n";
    let apps = "gpu_uuid, pid, used_gpu_memory [MiB]\nGPU-a, 42, 5 MiB\nGPU-a, 43, [N/A]\nGPU-z, 44, 1 MiB\n";
    let answer = csv_answer(gpus, Some(apps)).unwrap();
    let [told] = answer.devices.as_slice() else {
        panic!("{answer:?}")
    };
    let identity = &told.listed.identity;
    assert_eq!(
        (
            identity.index,
            identity.uuid.as_str(),
            identity.pci_bus_id.as_str()
        ),
        (3, "GPU-a", "00000000:00:1e.0")
    );
    assert_eq!(
        (identity.model.as_str(), identity.driver_version.as_str()),
        ("Tesla T4", "550.90")
    );
    let readings = told.outcome.as_ref().unwrap();
    assert_eq!(readings.values.get(Field::Power), Reading::Unsupported);
    assert_eq!(
        readings.values.get(Field::MemoryUsed),
        Reading::Known(12.0 * 1_048_576.0)
    );
    assert_eq!(readings.values.get(Field::Temperature), Reading::Failed);
    assert_eq!(readings.failed, ["other"]);
    assert_eq!(
        readings
            .throttled
            .known()
            .unwrap()
            .judgement(crate::readings::ThrottleReason::PowerCap),
        Some(true)
    );
    let processes: Vec<_> = readings
        .processes
        .as_ref()
        .known()
        .unwrap()
        .iter()
        .map(|one| (one.pid, one.memory_bytes))
        .collect();
    assert_eq!(
        processes,
        [
            (42, Reading::Known(5.0 * 1_048_576.0)),
            (43, Reading::Unsupported)
        ]
    );
}

#[test]
fn a_lost_gpu_is_lost() {
    let gpus = "index, uuid, utilization.gpu [%], power.draw [W]\n0, GPU-a, [GPU is lost], [GPU is lost]\n";
    let answer = csv_answer(gpus, None).unwrap();
    assert_eq!(answer.devices[0].outcome, Err(DriverFault::DeviceLost));
    assert!(csv_answer("Field \"x\" is not a valid field to query.\n", None).is_none());
}

#[test]
fn names_are_taken_from_the_help() {
    let help = "List of valid properties to query:\n\n\"timestamp\"\nThe time \"now\" in it.\n\"clocks.current.sm\" or \"clocks.sm\"\nText.\n\"a b\"\n";
    assert_eq!(
        known_fields(help),
        ["timestamp", "now", "clocks.current.sm", "clocks.sm"]
    );
}
