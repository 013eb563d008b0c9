//! A table of nodes that is already put together: a line for each type and zone, with on-demand and spot side by side.

use anyhow::{Context, Result, bail};
use gpu_cost::formats::PricePoint;
use gpu_cost::prices::{MachineType, parse_usd};
use gpu_model::{CapacityType, Cloud};
use jiff::civil::Date;

pub(super) const HEADER: &str = "cloud,instance_type,region,zone,accelerator,accelerator_count,accelerator_mem_mib,vcpus,memory_gib,on_demand_usd_per_hour,spot_usd_per_hour,as_of";
/// Accelerators that are no GPUs.
const OTHERS: &[&str] = &["Inferentia", "Inferentia2", "Trainium", "Qualcomm AI100"];

pub(super) struct Line {
    pub(super) known: MachineType,
    pub(super) points: Vec<PricePoint>,
    pub(super) as_of: Date,
}

/// Reads the whole table; lines of other accelerators are left out.
pub(super) fn read(text: &str) -> Result<Vec<Line>> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        bail!("the first line is not `{HEADER}`");
    }
    let mut read = Vec::new();
    for (number, line) in (2..).zip(lines) {
        let line = parse(line).with_context(|| format!("line {number} cannot be read"))?;
        if !OTHERS.contains(&line.known.gpu.as_str()) {
            read.push(line);
        }
    }
    Ok(read)
}

fn parse(line: &str) -> Result<Line> {
    let fields: Vec<&str> = line.split(',').collect();
    let [
        cloud,
        name,
        region,
        zone,
        gpu,
        count,
        memory,
        vcpus,
        gib,
        on_demand,
        spot,
        as_of,
    ] = fields[..]
    else {
        bail!("it has {} fields instead of 12", fields.len());
    };
    let cloud = match cloud {
        "aws" => Cloud::Aws,
        "gcp" => Cloud::Gcp,
        "azure" => Cloud::Azure,
        other => bail!("`{other}` is no cloud"),
    };
    let mut points = Vec::new();
    for (capacity, price) in [(CapacityType::OnDemand, on_demand), (CapacityType::Spot, spot)] {
        // An empty cell is an unknown price, not a free one.
        if !price.is_empty() {
            points.push(PricePoint {
                cloud,
                instance_type: name.to_owned(),
                region: region.to_owned(),
                zone: (!zone.is_empty()).then(|| zone.to_owned()),
                capacity,
                since: None,
                rate: parse_usd(price)?,
            });
        }
    }
    Ok(Line {
        known: MachineType {
            cloud,
            name: name.to_owned(),
            gpu: gpu.to_owned(),
            gpu_thousandths: thousandths(count)?,
            gpu_memory_mib: if memory.is_empty() {
                None
            } else {
                Some(memory.parse()?)
            },
            vcpus: thousandths(vcpus)? / 1000,
            memory_mib: thousandths(gib)? * 128 / 125,
        },
        points,
        as_of: as_of.parse()?,
    })
}

/// Counts are written `8`, `8.0` and `0.125`.
fn thousandths(text: &str) -> Result<u32> {
    let nanos = parse_usd(text)?.0;
    u32::try_from(nanos / 1_000_000).context("a count is too large")
}
