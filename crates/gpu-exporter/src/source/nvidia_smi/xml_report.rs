//! The report of `nvidia-smi -q -x`, version 9 to 13 of its format.

use gpu_model::Reading;

use super::super::tool::quantity::{Said, Unit, said};
use super::super::tool::{Answer, Told};
use super::fields::{FLAGS, PLACES};
use super::filler::Filler;
use super::health::{read_clocks, read_errors, read_fabric, read_performance_state};
use super::identity::{Passport, listed};
use super::xml::{self, Element};
use crate::readings::{Field, ProcessReading, SliceId, SliceReadings};

/// More than a node runs; a longer list is corrupt.
const MOST_PROCESSES: usize = 4096;
/// A GPU has seven slices of two kinds at most.
const MOST_SLICES: usize = 64;
const MOST_GPUS: usize = 256;

/// Why a report was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the report of nvidia-smi cannot be understood")]
pub struct Unreadable;

/// Understands a report.
pub fn xml_answer(text: &str) -> Result<Answer, Unreadable> {
    let log = xml::parse(text, "nvidia_smi_log").map_err(|_| Unreadable)?;
    let driver = log.at("driver_version").map_or("", Element::text);
    let gpus: Vec<&Element> = log.children("gpu").take(MOST_GPUS + 1).collect();
    if gpus.len() > MOST_GPUS {
        return Err(Unreadable);
    }
    let devices = gpus
        .iter()
        .enumerate()
        .map(|(index, gpu)| told(gpu, index, driver))
        .collect();
    Ok(Answer {
        devices,
        undescribed: Vec::new(),
    })
}

fn told(gpu: &Element, index: usize, driver: &str) -> Told {
    let mut filler = Filler::default();
    let mut word = |path: &str| filler.word(gpu.at(path).map(Element::text).into_iter());
    let passport = Passport {
        uuid: word("uuid").filter(|uuid| uuid.starts_with("GPU-")),
        name: word("product_name"),
        bus_id: word("pci/pci_bus_id").unwrap_or_else(|| gpu.id.clone()),
        minor: word("minor_number").and_then(|minor| minor.parse().ok()),
        serial: word("serial"),
        vbios: word("vbios_version"),
        driver: driver.to_owned(),
        architecture: word("product_architecture"),
    };
    let state = word("performance_state");
    let fabric = word("fabric/state");
    for place in PLACES {
        let value = filler.number(texts(gpu, place.xml), place.unit);
        filler.set(place.field, value);
    }
    for flag in FLAGS {
        let value = filler
            .flag(texts(gpu, flag.xml))
            .map(|yes| f64::from(u8::from(yes)));
        filler.set(flag.field, value);
    }
    read_performance_state(state, &mut filler);
    read_fabric(fabric, &mut filler);
    read_clocks(gpu, &mut filler);
    read_errors(gpu, &mut filler);
    filler.readings.slices = slices(gpu, &mut filler);
    filler.readings.processes = processes(gpu, filler.is_lost());
    let mut listed = listed(passport.identity(index));
    listed.layout = filler
        .readings
        .slices
        .iter()
        .map(|slice| format!("{}/{}", slice.id.gi, slice.id.ci))
        .collect();
    Told {
        listed,
        outcome: filler.finish(),
    }
}

fn texts<'a>(gpu: &'a Element, paths: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    paths.iter().filter_map(|path| gpu.at(path)).map(Element::text)
}

/// The slices by their numbers; their names come from elsewhere. The name of a slice is kept in `uuid` as its place in the
/// tool's own count until then.
fn slices(gpu: &Element, filler: &mut Filler) -> Vec<SliceReadings> {
    let Some(devices) = gpu.at("mig_devices") else {
        return Vec::new();
    };
    let mut slices = Vec::new();
    for device in devices.children("mig_device").take(MOST_SLICES) {
        let number = |path: &str| {
            device
                .at(path)
                .and_then(|element| element.text().parse::<u32>().ok())
        };
        let (Some(gi), Some(ci)) = (number("gpu_instance_id"), number("compute_instance_id")) else {
            filler.readings.failed.push("unreadable");
            continue;
        };
        let mut slice = SliceReadings::empty();
        slice.id = SliceId { gi, ci };
        slice.uuid = own_uuid(device)
            .unwrap_or_else(|| number("index").map_or_else(String::new, |index| index.to_string()));
        let memory = [
            (Field::MemoryTotal, "fb_memory_usage/total"),
            (Field::MemoryUsed, "fb_memory_usage/used"),
            (Field::MemoryFree, "fb_memory_usage/free"),
            (Field::MemoryReserved, "fb_memory_usage/reserved"),
        ];
        for (field, path) in memory {
            let value = filler.number(texts(device, &[path]), Unit::Mebibytes);
            // What cannot be true is refused and counted where the device's own values are.
            if slice.values.set(field, value) == crate::readings::Accepted::OutOfRange {
                filler.readings.rejected += 1;
            }
        }
        slices.push(slice);
    }
    slices
}

fn own_uuid(device: &Element) -> Option<String> {
    let text = device.at("uuid").or_else(|| device.at("mig_uuid"))?.text();
    text.starts_with("MIG-").then(|| text.to_owned())
}

fn processes(gpu: &Element, is_lost: bool) -> Reading<Vec<ProcessReading>> {
    let Some(list) = gpu.at("processes") else {
        return Reading::Unsupported;
    };
    if is_lost || list.children("process_info").count() > MOST_PROCESSES {
        return Reading::Failed;
    }
    match said(list.text()) {
        Said::Failed(_) | Said::Lost => return Reading::Failed,
        Said::Nothing if !list.text().is_empty() => return Reading::Unsupported,
        Said::Nothing | Said::Text(_) => {}
    }
    let mut processes: Vec<ProcessReading> = Vec::new();
    for told in list.children("process_info") {
        let number = |path: &str| {
            told.at(path)
                .and_then(|element| element.text().parse::<u32>().ok())
        };
        let Some(pid) = number("pid") else { continue };
        let slice = number("gpu_instance_id")
            .zip(number("compute_instance_id"))
            .map(|(gi, ci)| SliceId { gi, ci });
        let memory = told.at("used_memory").map_or(Reading::Unsupported, |memory| {
            super::super::tool::quantity::reading(memory.text(), Unit::Mebibytes).unwrap_or(Reading::Failed)
        });
        add_process(&mut processes, pid, slice, memory);
    }
    Reading::Known(processes)
}

/// A process that computes and draws is listed for each; its memory is that of both.
pub(super) fn add_process(
    processes: &mut Vec<ProcessReading>,
    pid: u32,
    slice: Option<SliceId>,
    memory_bytes: Reading<f64>,
) {
    if let Some(known) = processes
        .iter_mut()
        .find(|known| (known.pid, known.slice) == (pid, slice))
    {
        known.memory_bytes = match (known.memory_bytes, memory_bytes) {
            (Reading::Known(one), Reading::Known(other)) => Reading::Known(one.max(other)),
            (Reading::Known(one), _) => Reading::Known(one),
            (_, other) => other,
        };
        return;
    }
    processes.push(ProcessReading {
        pid,
        slice,
        memory_bytes,
        // The tool measures no time by process in its report.
        utilization: Reading::Unsupported,
    });
}
