//! The Prometheus page of a fleet. A reading that is not known leaves no sample, and a family without samples
//! leaves no trace.

use gpu_exposition::{FamilyMeta, Format, LabelBlock, PageWriter, Value, WriteError};
use gpu_model::{FleetView, GpuSample, GpuView, Megahertz, Milliwatts, NodeView, Owner, PartView, Partition};
use gpu_model::{Permille, Reading};

use super::source_word;
use super::totals::Totals;
use crate::catalog;

/// Writes all families over the whole fleet.
pub(crate) fn metrics_page(view: &FleetView, format: Format) -> Result<String, WriteError> {
    let mut page = String::with_capacity(view.gpu_count() * BYTES_PER_GPU + 4096);
    let mut writer = PageWriter::new(&mut page, format);
    let gpus = labelled(view)?;
    identity(&mut writer, &gpus)?;
    for (meta, series) in READINGS {
        let mut family = writer.family(meta)?;
        for gpu in &gpus {
            for one in *series {
                if let Some(value) = (one.read)(&gpu.view.sample) {
                    family.sample(gpu.labels.with(one.extra), value)?;
                }
            }
        }
    }
    by_reason_and_code(&mut writer, &gpus)?;
    containers(&mut writer, &gpus)?;
    program(&mut writer, view)?;
    writer.finish();
    Ok(page)
}

/// Some thirty lines of 150 bytes; only a first guess that saves the buffer from growing ten times.
const BYTES_PER_GPU: usize = 5 * 1024;

struct Labelled<'a> {
    view: &'a GpuView,
    labels: LabelBlock,
}

fn labelled(view: &FleetView) -> Result<Vec<Labelled<'_>>, WriteError> {
    let source = source_word(view.source);
    let gpus = view
        .nodes
        .iter()
        .flat_map(|node| node.gpus.iter().map(move |gpu| (node, gpu)));
    gpus.map(|(node, gpu)| {
        Ok(Labelled {
            view: gpu,
            labels: identity_labels(node, gpu, source)?,
        })
    })
    .collect()
}

fn identity_labels(node: &NodeView, gpu: &GpuView, source: Option<&str>) -> Result<LabelBlock, WriteError> {
    let device = &gpu.device;
    let mut labels = LabelBlock::new([
        ("gpu", device.index.to_string().as_str()),
        ("uuid", device.uuid.as_str()),
        ("vendor", device.vendor.as_str()),
        ("node", node.node.name.as_str()),
    ])?;
    if let Some(source) = source {
        labels.push("source", source)?;
    }
    Ok(labels)
}

fn identity(writer: &mut PageWriter<'_>, gpus: &[Labelled<'_>]) -> Result<(), WriteError> {
    let mut info = writer.family(&catalog::GPU_INFO)?;
    for gpu in gpus {
        let device = &gpu.view.device;
        let extra = [
            ("model", device.model.as_str()),
            ("driver", device.driver.as_deref().unwrap_or_default()),
            (
                "pci_bus_id",
                device.pci_address.as_ref().map_or("", |address| address.as_str()),
            ),
        ];
        info.sample(gpu.labels.with(&extra), 1)?;
    }
    let mut up = writer.family(&catalog::GPU_UP)?;
    for gpu in gpus {
        up.sample(&gpu.labels, i32::from(answered(&gpu.view.sample)))?;
    }
    Ok(())
}

/// Whether any of the readings that every supported GPU has came back.
fn answered(sample: &GpuSample) -> bool {
    sample.memory_used.is_known()
        || sample.memory_total.is_known()
        || sample.temperature.is_known()
        || sample.power.is_known()
        || sample.utilization.is_known()
}

/// One series of a family on a GPU: the labels that tell it from its siblings, and where its value is.
struct Series {
    extra: &'static [(&'static str, &'static str)],
    read: fn(&GpuSample) -> Option<Value>,
}

const fn only(read: fn(&GpuSample) -> Option<Value>) -> Series {
    Series { extra: &[], read }
}

/// The families whose series are the same on every GPU, in the order of the page.
const READINGS: &[(&FamilyMeta<'static>, &[Series])] = &[
    (&catalog::UTILIZATION, &[only(|gpu| ratio(gpu.utilization))]),
    (
        &catalog::MEMORY_USED,
        &[only(|gpu| number(gpu.memory_used.map(|bytes| bytes.0)))],
    ),
    (
        &catalog::MEMORY_TOTAL,
        &[only(|gpu| number(gpu.memory_total.map(|bytes| bytes.0)))],
    ),
    (&catalog::MEMORY_USED_RATIO, &[only(memory_used_ratio)]),
    (
        &catalog::MEMORY_BANDWIDTH,
        &[only(|gpu| ratio(gpu.memory_bandwidth))],
    ),
    (&catalog::POWER, &[only(|gpu| watts(gpu.power))]),
    (&catalog::POWER_LIMIT, &[only(|gpu| watts(gpu.power_limit))]),
    (
        &catalog::ENERGY,
        &[only(|gpu| number(gpu.energy.map(|energy| thousandths(energy.0))))],
    ),
    (
        &catalog::TEMPERATURE,
        &[
            Series {
                extra: &[("sensor", "gpu")],
                read: |gpu| number(gpu.temperature.map(|celsius| i32::from(celsius.0))),
            },
            Series {
                extra: &[("sensor", "memory")],
                read: |gpu| number(gpu.memory_temperature.map(|celsius| i32::from(celsius.0))),
            },
        ],
    ),
    (
        &catalog::CLOCK,
        &[
            Series {
                extra: &[("clock", "graphics")],
                read: |gpu| hertz(gpu.compute_clock),
            },
            Series {
                extra: &[("clock", "memory")],
                read: |gpu| hertz(gpu.memory_clock),
            },
        ],
    ),
    (
        &catalog::BUSY,
        &[only(|gpu| number(gpu.busy.map(|busy| busy.as_secs_f64())))],
    ),
    (&catalog::SM_ACTIVE, &[only(|gpu| ratio(gpu.sm_active))]),
    (&catalog::SM_OCCUPANCY, &[only(|gpu| ratio(gpu.sm_occupancy))]),
    (&catalog::TENSOR_ACTIVE, &[only(|gpu| ratio(gpu.tensor_active))]),
    (&catalog::DRAM_ACTIVE, &[only(|gpu| ratio(gpu.dram_active))]),
    (
        &catalog::PCIE,
        &[
            Series {
                extra: &[("direction", "receive")],
                read: |gpu| number(gpu.pcie_received.map(|bytes| bytes.0)),
            },
            Series {
                extra: &[("direction", "transmit")],
                read: |gpu| number(gpu.pcie_sent.map(|bytes| bytes.0)),
            },
        ],
    ),
    (&catalog::PROCESSES, &[only(|gpu| number(gpu.processes))]),
];

fn number<T: Into<Value>>(reading: Reading<T>) -> Option<Value> {
    reading.known().map(Into::into)
}

fn ratio(share: Reading<Permille>) -> Option<Value> {
    number(share.map(Permille::as_ratio))
}

fn watts(power: Reading<Milliwatts>) -> Option<Value> {
    number(power.map(|power| thousandths(power.0.into())))
}

fn hertz(clock: Reading<Megahertz>) -> Option<Value> {
    number(clock.map(|clock| u64::from(clock.0) * 1_000_000))
}

/// A float holds milliwatts and millijoules exactly up to 2^53: nine million years of a 30 kW board.
fn thousandths(amount: u64) -> f64 {
    amount as f64 / 1000.0
}

fn memory_used_ratio(gpu: &GpuSample) -> Option<Value> {
    let (used, total) = gpu.memory_used.zip(gpu.memory_total).known()?;
    used.share_of(total).map(|share| share.as_ratio().into())
}

/// The families whose series differ from GPU to GPU.
fn by_reason_and_code(writer: &mut PageWriter<'_>, gpus: &[Labelled<'_>]) -> Result<(), WriteError> {
    let mut throttle = writer.family(&catalog::THROTTLE)?;
    for gpu in gpus {
        for time in &gpu.view.sample.throttle_times {
            let extra = [("reason", time.reason.as_str())];
            throttle.sample(gpu.labels.with(&extra), time.total.as_secs_f64())?;
        }
    }
    let mut faults = writer.family(&catalog::FAULTS)?;
    for gpu in gpus {
        for fault in &gpu.view.sample.faults {
            let code = fault.code.to_string();
            faults.sample(gpu.labels.with(&[("code", &code)]), fault.count)?;
        }
    }
    Ok(())
}

type ReadPart = fn(&PartView) -> Option<Value>;

/// What each container does on the part it holds.
fn containers(writer: &mut PageWriter<'_>, gpus: &[Labelled<'_>]) -> Result<(), WriteError> {
    let families: [(&FamilyMeta<'_>, ReadPart); 2] = [
        (&catalog::CONTAINER_UTILIZATION, |part| {
            ratio(part.usage.utilization)
        }),
        (&catalog::CONTAINER_MEMORY, |part| {
            number(part.usage.memory_used.map(|bytes| bytes.0))
        }),
    ];
    for (meta, read) in families {
        let mut family = writer.family(meta)?;
        for gpu in gpus {
            for part in &gpu.view.parts {
                if let (Some(owner), Some(value)) = (&part.owner, read(part)) {
                    let owner = owner_labels(gpu, &part.partition, owner)?;
                    family.sample(&owner, value)?;
                }
            }
        }
    }
    Ok(())
}

fn owner_labels(gpu: &Labelled<'_>, part: &Partition, owner: &Owner) -> Result<LabelBlock, WriteError> {
    let mut labels = gpu.labels.clone();
    if *part != Partition::Whole {
        labels.push("partition", &part.to_string())?;
    }
    labels.push("namespace", owner.pod.reference.namespace.as_str())?;
    labels.push("pod", owner.pod.reference.name.as_str())?;
    labels.push("container", owner.container.as_str())?;
    Ok(labels)
}

/// What the program says of itself and of the fleet as a whole.
fn program(writer: &mut PageWriter<'_>, view: &FleetView) -> Result<(), WriteError> {
    let source = source_word(view.source).map(|word| ("source", word));
    let labels = LabelBlock::new(source)?;
    let totals = Totals::of(view);
    writer
        .family(&catalog::BUILD_INFO)?
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1)?;
    if let Some(mean) = totals.utilization {
        writer
            .family(&catalog::CLUSTER_UTILIZATION)?
            .sample(&labels, mean.as_ratio())?;
    }
    writer
        .family(&catalog::PENDING_PODS)?
        .sample(&labels, view.pending.len() as u64)?;
    Ok(())
}
