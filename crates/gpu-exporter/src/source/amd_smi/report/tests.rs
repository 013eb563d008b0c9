//! Old and new shapes, and shapes that are none.

use gpu_model::Reading;

use super::{Texts, amd_answer};
use crate::readings::Field;

const METRIC: &str = r#"{"gpu_data": [{"gpu": 1, "usage": {"gfx_activity": {"value": 94, "unit": "%"}, "umc_activity": "N/A"},
    "power": {"socket_power": {"value": 612, "unit": "W"}}, "temperature": {"edge": "N/A", "hotspot": {"value": 71, "unit": "C"}},
    "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}, "max_clk": {"value": 0, "unit": "MHz"}}},
    "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 1, "unit": "GB"}},
    "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}, "replay_count": [1]},
    "ecc": {"total_correctable_count": 3}, "energy": {"total_energy_consumption": {"value": 0.0, "unit": "J"}}}]}"#;

#[test]
fn the_new_shape() {
    let answer = amd_answer(&Texts {
        metric: METRIC,
        fixed: r#"{"gpu_data": [{"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": "0xABC"}, "bus": {"bdf": "0000:05:00.0", "max_pcie_speed": {"value": 32, "unit": "GT/s"}},
            "limit": {"ppt0": {"socket_power_limit": {"value": 750, "unit": "W"}}}, "driver": {"version": "6.12"}, "partition": {"accelerator_partition": "SPX"}}]}"#,
        list: "not json",
        process: r#"[{"gpu": 1, "process_list": [{"process_info": {"pid": 42, "memory_usage": {"vram_mem": {"value": 5, "unit": "KB"}}}}, {"process_info": "No running processes detected"}, {"process_info": {"pid": "x"}}]}]"#,
    })
    .unwrap();
    let told = &answer.devices[0];
    let identity = &told.listed.identity;
    assert_eq!(
        (identity.index, identity.uuid.as_str(), identity.model.as_str()),
        (1, "0000000000000abc", "AMD Instinct MI300X")
    );
    assert_eq!(identity.pci_bus_id, "0000:05:00.0");
    assert_eq!(identity.board.compute_partition.as_deref(), Some("SPX"));
    let readings = told.outcome.as_ref().unwrap();
    let value = |field| readings.values.get(field);
    assert_eq!(value(Field::Utilization), Reading::Known(0.94));
    assert_eq!(value(Field::MemoryBandwidthUtilization), Reading::Unsupported);
    assert_eq!(value(Field::Temperature), Reading::Known(71.0));
    assert_eq!(value(Field::MemoryUsed), Reading::Known(1_073_741_824.0));
    assert_eq!(value(Field::GraphicsClock), Reading::Known(2.1e9));
    assert_eq!(value(Field::GraphicsClockMax), Reading::Unsupported);
    assert_eq!(value(Field::PcieLinkGeneration), Reading::Known(5.0));
    assert_eq!(value(Field::PcieReplays), Reading::Failed);
    assert_eq!(value(Field::Energy), Reading::Unsupported);
    assert_eq!(value(Field::PowerLimit), Reading::Known(750.0));
    let processes: Vec<_> = readings
        .processes
        .as_ref()
        .known()
        .unwrap()
        .iter()
        .map(|one| (one.pid, one.memory_bytes))
        .collect();
    assert_eq!(processes, [(42, Reading::Known(5120.0))]);
}

#[test]
fn the_old_shape_and_no_shape() {
    let old = r#"[{"gpu": 0, "usage": {"gfx_activity": 7}, "power": {"socket_power": "130 W"}, "pcie": {"speed": {"value": 16000, "unit": "MT/s"}}}]"#;
    let answer = amd_answer(&Texts {
        metric: old,
        ..Texts::default()
    })
    .unwrap();
    let told = &answer.devices[0];
    assert_eq!(told.listed.identity.uuid, "amd-gpu0");
    let readings = told.outcome.as_ref().unwrap();
    assert_eq!(readings.values.get(Field::Utilization), Reading::Known(0.07));
    assert_eq!(readings.values.get(Field::Power), Reading::Known(130.0));
    assert_eq!(
        readings.values.get(Field::PcieLinkGeneration),
        Reading::Known(4.0)
    );
    assert_eq!(readings.processes, Reading::Unsupported);
    for none in ["", "[]", "{}", "[{}]", "[{\"gpu\": -1}]", "{\"gpu_data\": 5}"] {
        assert!(
            amd_answer(&Texts {
                metric: none,
                ..Texts::default()
            })
            .is_none(),
            "{none}"
        );
    }
}
