//! The document of `GET /api/v1/monitoring/gpu-metrics`: every GPU with its readings, its node and its owner.
//!
//! What could not be read is `null`, and `errors` says why; nothing turns into 0.

use gpu_model::{
    Bytes, Celsius, FleetView, GpuSample, GpuView, Megahertz, Milliwatts, NodeView, Owner, PartView,
};
use gpu_model::{Partition, Permille, Reading};
use jiff::Timestamp;
use serde::Serialize;

use super::source_word;
use super::totals::is_divided;

/// The document as JSON text.
pub(crate) fn gpu_metrics(view: &FleetView) -> serde_json::Result<Vec<u8>> {
    let mut errors = Vec::new();
    let mut gpus = Vec::with_capacity(view.gpu_count());
    for node in &view.nodes {
        for gpu in &node.gpus {
            note_errors(&mut errors, node, gpu);
            gpus.push(Gpu::new(node, gpu));
        }
    }
    serde_json::to_vec(&Document {
        timestamp: view.at,
        source: source_word(view.source),
        gpus,
        errors,
    })
}

#[derive(Serialize)]
struct Document<'a> {
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    gpus: Vec<Gpu<'a>>,
    errors: Vec<Error<'a>>,
}

#[derive(Serialize)]
struct Gpu<'a> {
    id: String,
    name: &'a str,
    uuid: &'a str,
    vendor: &'static str,
    node: &'a str,
    /// Percent.
    utilization: Option<f64>,
    /// Percent of the time in which memory was read or written.
    memory_utilization: Option<f64>,
    memory: Memory,
    /// Degrees Celsius.
    temperature: Option<i16>,
    /// Watts.
    power_usage: Option<f64>,
    /// Watts.
    power_limit: Option<f64>,
    clock_speeds: ClockSpeeds,
    /// Who holds the whole GPU. The holders of a divided GPU are with its parts.
    owner: Option<OwnerName<'a>>,
    /// The parts of a divided GPU; empty for a whole one.
    parts: Vec<Part<'a>>,
}

/// Megabytes of 2^20 bytes, as the vendors' tools print them.
#[derive(Serialize)]
struct Memory {
    total: Option<u64>,
    used: Option<u64>,
    free: Option<u64>,
}

/// Megahertz.
#[derive(Serialize)]
struct ClockSpeeds {
    graphics: Option<u32>,
    memory: Option<u32>,
}

#[derive(Serialize)]
struct OwnerName<'a> {
    namespace: &'a str,
    pod: &'a str,
    container: &'a str,
}

#[derive(Serialize)]
struct Part<'a> {
    partition: String,
    device_id: &'a str,
    resource: &'a str,
    utilization: Option<f64>,
    memory: Memory,
    owner: Option<OwnerName<'a>>,
}

/// Why a value is `null`.
#[derive(Serialize)]
struct Error<'a> {
    node: &'a str,
    gpu: String,
    field: &'static str,
    reason: &'static str,
}

impl<'a> Gpu<'a> {
    fn new(node: &'a NodeView, gpu: &'a GpuView) -> Self {
        let GpuView {
            device,
            sample,
            parts,
        } = gpu;
        let divided = is_divided(gpu);
        Self {
            id: id(gpu),
            name: &device.model,
            uuid: device.uuid.as_str(),
            vendor: device.vendor.as_str(),
            node: node.node.name.as_str(),
            utilization: percent(sample.utilization),
            memory_utilization: percent(sample.memory_bandwidth),
            memory: Memory::new(sample.memory_total, sample.memory_used),
            temperature: sample.temperature.known().map(|Celsius(degrees)| degrees),
            power_usage: watts(sample.power),
            power_limit: watts(sample.power_limit),
            clock_speeds: ClockSpeeds {
                graphics: megahertz(sample.compute_clock),
                memory: megahertz(sample.memory_clock),
            },
            owner: if divided {
                None
            } else {
                gpu.owners().next().map(OwnerName::new)
            },
            parts: if divided {
                parts.iter().map(Part::new).collect()
            } else {
                Vec::new()
            },
        }
    }
}

impl Memory {
    fn new(total: Reading<Bytes>, used: Reading<Bytes>) -> Self {
        let free = total.zip(used).map(|(total, used)| total.saturating_sub(used));
        Self {
            total: mib(total),
            used: mib(used),
            free: mib(free),
        }
    }
}

impl<'a> OwnerName<'a> {
    fn new(owner: &'a Owner) -> Self {
        let pod = &owner.pod.reference;
        Self {
            namespace: pod.namespace.as_str(),
            pod: pod.name.as_str(),
            container: owner.container.as_str(),
        }
    }
}

impl<'a> Part<'a> {
    fn new(part: &'a PartView) -> Self {
        Self {
            partition: partition(&part.partition),
            device_id: part.device_id.as_str(),
            resource: part.resource.as_str(),
            utilization: percent(part.usage.utilization),
            memory: Memory::new(part.memory_total, part.usage.memory_used),
            owner: part.owner.as_ref().map(OwnerName::new),
        }
    }
}

fn partition(partition: &Partition) -> String {
    partition.to_string()
}

fn id(gpu: &GpuView) -> String {
    format!("gpu-{}", gpu.device.index)
}

fn percent(share: Reading<Permille>) -> Option<f64> {
    share.known().map(|share| f64::from(share.get()) / 10.0)
}

fn mib(amount: Reading<Bytes>) -> Option<u64> {
    amount.known().map(Bytes::whole_mib)
}

fn watts(power: Reading<Milliwatts>) -> Option<f64> {
    power.known().map(|power| f64::from(power.0) / 1000.0)
}

fn megahertz(clock: Reading<Megahertz>) -> Option<u32> {
    clock.known().map(|clock| clock.0)
}

fn note_errors<'a>(errors: &mut Vec<Error<'a>>, node: &'a NodeView, gpu: &GpuView) {
    let GpuSample {
        utilization,
        memory_bandwidth,
        memory_used,
        memory_total,
        ..
    } = &gpu.sample;
    let GpuSample {
        temperature,
        power,
        power_limit,
        compute_clock,
        memory_clock,
        ..
    } = &gpu.sample;
    let fields = [
        ("utilization", why(utilization)),
        ("memory_utilization", why(memory_bandwidth)),
        ("memory.total", why(memory_total)),
        ("memory.used", why(memory_used)),
        ("temperature", why(temperature)),
        ("power_usage", why(power)),
        ("power_limit", why(power_limit)),
        ("clock_speeds.graphics", why(compute_clock)),
        ("clock_speeds.memory", why(memory_clock)),
    ];
    let missing = fields
        .into_iter()
        .filter_map(|(field, reason)| Some((field, reason?)));
    errors.extend(missing.map(|(field, reason)| {
        let node = node.node.name.as_str();
        Error {
            node,
            gpu: id(gpu),
            field,
            reason,
        }
    }));
}

fn why<T>(reading: &Reading<T>) -> Option<&'static str> {
    match reading {
        Reading::Known(_) => None,
        Reading::Unsupported => Some("unsupported"),
        Reading::Failed => Some("failed"),
    }
}
