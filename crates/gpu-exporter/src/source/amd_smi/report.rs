//! What `amd-smi` says of GPUs: lists of objects, in newer versions below `gpu_data`; numbers as `{value, unit}`, in older ones
//! bare; `N/A` for what is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_model::{Reading, Vendor};
use serde_json::Value;

use super::super::tool::json::{JsonFiller, Object, amd_uuid, document, number, pcie_generation};
use super::super::tool::quantity::Unit;
use super::super::tool::{Answer, Told, kernel_address};
use super::super::{DriverFault, Listed};
use super::places::{CLOCKS, LIMITS, PLACES};
use crate::readings::{Field, ProcessReading};
use crate::snapshot::{Board, Identity};

const MOST_GPUS: usize = 256;
const MOST_PROCESSES: usize = 4096;

/// What the tool printed, by command.
#[derive(Debug, Clone, Copy, Default)]
pub struct Texts<'a> {
    pub metric: &'a str,
    pub fixed: &'a str,
    pub list: &'a str,
    pub process: &'a str,
}

/// Understands it; none where the metrics are not there. Without the rest a GPU has fewer names.
pub fn amd_answer(texts: &Texts<'_>) -> Option<Answer> {
    let metric = document(texts.metric)?;
    let (fixed, list, process) = (
        document(texts.fixed),
        document(texts.list),
        document(texts.process),
    );
    let metric = by_gpu(&metric)?;
    let of = |value: &Option<Value>| {
        value
            .as_ref()
            .and_then(|value| by_gpu(value).map(owned))
            .unwrap_or_default()
    };
    let (fixed, list, process) = (of(&fixed), of(&list), of(&process));
    let mut answer = Answer::default();
    for (index, gpu) in metric {
        let one = Gpu {
            index,
            metric: gpu,
            fixed: fixed.get(&index).and_then(Object::of),
            list: list.get(&index).and_then(Object::of),
        };
        let mut told = one.told();
        if let (Ok(readings), Some(process)) = (&mut told.outcome, process.get(&index).and_then(Object::of)) {
            readings.processes = processes(process);
        }
        let is_twin = |other: &Told| other.listed.identity.uuid == told.listed.identity.uuid;
        if answer.devices.iter().any(is_twin) {
            // Partitions of one GPU have its id, and their values are not all their own.
            answer
                .undescribed
                .push(DriverFault::Failed { class: "partition" });
        } else {
            answer.devices.push(told);
        }
    }
    Some(answer)
}

/// The objects by their number. A list, a list below `gpu_data`, or a single object.
fn by_gpu(value: &Value) -> Option<BTreeMap<u32, Object<'_>>> {
    let value = Object::of(value)
        .and_then(|object| object.get("gpu_data"))
        .unwrap_or(value);
    let objects: Vec<&Value> = match value {
        Value::Array(list) => list.iter().take(MOST_GPUS).collect(),
        one => vec![one],
    };
    let number = |object: Object<'_>| u32::try_from(object.get("gpu")?.as_u64()?).ok();
    let found: BTreeMap<u32, Object<'_>> = objects
        .into_iter()
        .filter_map(Object::of)
        .filter_map(|object| Some((number(object)?, object)))
        .collect();
    (!found.is_empty()).then_some(found)
}

fn owned(found: BTreeMap<u32, Object<'_>>) -> BTreeMap<u32, Value> {
    found
        .into_iter()
        .map(|(index, object)| (index, Value::Object(object.0.clone())))
        .collect()
}

struct Gpu<'a> {
    index: u32,
    metric: Object<'a>,
    fixed: Option<Object<'a>>,
    list: Option<Object<'a>>,
}

impl Gpu<'_> {
    fn told(&self) -> Told {
        Told {
            listed: Listed {
                identity: Arc::new(self.identity()),
                layout: Vec::new(),
            },
            outcome: self.readings(),
        }
    }

    fn word(&self, of_fixed: &[&str], of_list: &[&str]) -> Option<String> {
        let fixed = self.fixed.and_then(|fixed| fixed.word(of_fixed));
        fixed.or_else(|| self.list.and_then(|list| list.word(of_list)))
    }

    fn identity(&self) -> Identity {
        let bus = self
            .word(&["bus/bdf"], &["bdf"])
            .unwrap_or_else(|| format!("gpu{}", self.index));
        let address = kernel_address(&bus);
        let model = self.word(&["asic/market_name", "board/product_name"], &[]);
        Identity {
            vendor: Vendor::Amd,
            index: self.index,
            minor: None,
            uuid: amd_uuid(self.word(&["asic/asic_serial"], &[]).as_deref(), &address),
            model: model.clone().unwrap_or_default(),
            pci_bus_id: address,
            serial: self.word(&["board/product_serial"], &[]),
            vbios: self.word(&["vbios/version", "ifwi/version"], &[]),
            driver_version: self
                .word(&["driver/version", "driver/driver_version"], &[])
                .unwrap_or_default(),
            architecture: None,
            board: Board {
                series: model,
                maker: self.word(&["board/manufacturer_name"], &[]),
                compute_partition: self.word(
                    &["partition/compute_partition", "partition/accelerator_partition"],
                    &[],
                ),
                memory_partition: self.word(&["partition/memory_partition"], &[]),
                ..Board::default()
            },
        }
    }

    fn readings(&self) -> Result<crate::readings::DeviceReadings, DriverFault> {
        let mut filler = JsonFiller::default();
        filler.fill(self.metric, PLACES);
        filler.first_temperature();
        // The counter starts with the driver; a GPU in use that has counted nothing has no counter.
        let energy = filler.number(self.metric, &["energy/total_energy_consumption"], Unit::Joules);
        filler.set(Field::Energy, without_zero(energy));
        for (paths, now, most) in CLOCKS {
            let at = |end: &str| {
                paths
                    .iter()
                    .map(|path| format!("{path}/{end}"))
                    .collect::<Vec<_>>()
            };
            let number = |filler: &mut JsonFiller, names: &[String]| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                filler.number(self.metric, &names, Unit::Megahertz)
            };
            let value = number(&mut filler, &[at("clk"), at("cur_clk")].concat());
            filler.set(*now, value);
            let value = number(&mut filler, &[at("max_clk")].concat());
            filler.set(*most, without_zero(value));
        }
        if let Some(fixed) = self.fixed {
            filler.fill(fixed, LIMITS);
            if filler.readings.values.get(Field::MemoryTotal) == Reading::Unsupported {
                let total = filler.number(fixed, &["vram/size", "vram/vram_size"], Unit::Mebibytes);
                filler.set(Field::MemoryTotal, total);
            }
        }
        self.bus_speed(&mut filler);
        filler.finish()
    }

    fn bus_speed(&self, filler: &mut JsonFiller) {
        let speeds = [
            (
                Some(self.metric),
                &["pcie/speed", "pcie/current_speed"][..],
                Field::PcieLinkSpeed,
                Field::PcieLinkGeneration,
            ),
            (
                self.fixed,
                &["bus/max_pcie_speed"][..],
                Field::PcieLinkSpeedMax,
                Field::PcieLinkGenerationMax,
            ),
        ];
        for (object, paths, speed, generation) in speeds {
            let Some(object) = object else { continue };
            // In billions of transfers a second; older versions give millions.
            let told = filler
                .number(object, paths, Unit::Count)
                .map(|told| if told >= 1000.0 { told / 1000.0 } else { told });
            filler.set(speed, told.map(|told| told * 1e9));
            let number = told.known().and_then(pcie_generation);
            filler.set(generation, number.map_or(Reading::Unsupported, Reading::Known));
        }
    }
}

fn without_zero(reading: Reading<f64>) -> Reading<f64> {
    if reading == Reading::Known(0.0) {
        Reading::Unsupported
    } else {
        reading
    }
}

fn processes(gpu: Object<'_>) -> Reading<Vec<ProcessReading>> {
    let Some(Value::Array(list)) = gpu.get("process_list") else {
        return Reading::Unsupported;
    };
    if list.len() > MOST_PROCESSES {
        return Reading::Failed;
    }
    let mut processes: Vec<ProcessReading> = Vec::new();
    for entry in list.iter().filter_map(Object::of) {
        // Where there is none, a sentence stands in the place of the object.
        let info = match entry.get("process_info") {
            Some(info) => Object::of(info),
            None => Some(entry),
        };
        let Some(info) = info else { continue };
        let pid = info
            .get("pid")
            .and_then(Value::as_u64)
            .and_then(|pid| u32::try_from(pid).ok());
        let Some(pid) = pid else { continue };
        let memory = ["memory_usage/vram_mem", "vram_mem", "mem_usage", "mem"]
            .iter()
            .find_map(|path| info.at(path));
        let memory = memory.map_or(Reading::Unsupported, |value| {
            number(value, Unit::Bytes).unwrap_or(Reading::Failed)
        });
        if processes.iter().all(|known| known.pid != pid) {
            processes.push(ProcessReading {
                pid,
                slice: None,
                memory_bytes: memory,
                utilization: Reading::Unsupported,
            });
        }
    }
    Reading::Known(processes)
}

#[cfg(test)]
mod tests;
