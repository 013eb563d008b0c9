//! What an hour of one GPU costs on every node, for findings: the price in force, divided as the ledger divides it.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::prices::NodeSplit;
use gpu_cost::{Machine, Moment, PriceBook, PriceNote};
use gpu_model::{ClusterPicture, FleetView, MachineId, NanoUsd, NodeName, NodeView};
use gpu_waste::GpuRate;
use jiff::Timestamp;

use crate::names::NODE_POOL_LABEL;

/// The rate of a GPU on every node of the fleet. A node without a price is there too, with the reason.
pub(crate) fn rates(
    view: &FleetView,
    picture: Option<&ClusterPicture>,
    book: &PriceBook,
    split: &NodeSplit,
    now: Timestamp,
) -> BTreeMap<NodeName, GpuRate> {
    let moment = Moment::from(now);
    let rate = |node: &NodeView| {
        let machine = machine(node, picture);
        let note = book.quote(&machine, moment);
        (node.node.name.clone(), gpu_rate(&machine, &note, split))
    };
    view.nodes.iter().map(rate).collect()
}

/// The machine behind a node, as the price book asks for it.
pub(crate) fn machine(view: &NodeView, picture: Option<&ClusterPicture>) -> Machine {
    let node = &view.node;
    let known = picture.and_then(|picture| picture.nodes.get(&node.name));
    let own_name = || MachineId::new(node.name.as_str()).expect("a node's name is a valid id");
    let mut machine = Machine {
        id: known.map_or_else(own_name, |known| known.machine.clone()),
        node: node.name.clone(),
        cloud: node.cloud,
        instance_type: node.instance_type.clone(),
        region: node.region.clone(),
        zone: node.zone.clone(),
        capacity: node.capacity_type,
        pool: node.labels.get(NODE_POOL_LABEL).cloned(),
        gpu_model: view.gpus.first().map(|gpu| gpu.device.model.clone()),
        gpus: None,
        vcpus: known.and_then(|known| u32::try_from(known.host.cpu_millicores.div_ceil(1000)).ok()),
        memory: known.map(|known| known.host.memory),
    };
    machine.complete_from_type();
    if machine.gpus.is_none() && !view.gpus.is_empty() {
        machine.gpus = u16::try_from(view.gpus.len()).ok();
    }
    machine
}

fn gpu_rate(machine: &Machine, note: &PriceNote, split: &NodeSplit) -> GpuRate {
    let PriceNote::Priced {
        rate,
        source,
        as_of,
        capacity,
        estimate,
        ..
    } = note
    else {
        return GpuRate {
            per_gpu_hour: None,
            note: format!("no price: {}", unpriced(note)),
        };
    };
    let gpus = machine.gpus.filter(|gpus| *gpus > 0);
    let (to_gpus, to_host) = split.weights(*rate, machine);
    let per_gpu_hour = gpus.map(|gpus| {
        let all = i128::from(to_gpus) + i128::from(to_host);
        let share = i128::from(rate.0) * i128::from(to_gpus) / all.max(1) / i128::from(gpus);
        NanoUsd(i64::try_from(share).unwrap_or(i64::MAX))
    });
    let day = as_of.timestamp().strftime("%Y-%m-%d");
    let machine_type = machine.instance_type.as_deref().unwrap_or("own machine");
    let place = machine.zone.as_deref().or(machine.region.as_deref());
    let place = place.map_or_else(String::new, |place| format!(" in {place}"));
    let estimate = if *estimate { ", an estimate" } else { "" };
    GpuRate {
        per_gpu_hour,
        note: format!(
            "{} price of {machine_type}{place}, {} of {day}{estimate}",
            capacity.as_str(),
            source.as_str()
        ),
    }
}

fn unpriced(note: &PriceNote) -> &'static str {
    match note {
        PriceNote::Priced { .. } => "none",
        PriceNote::Unpriced { reason } => reason.words(),
    }
}

/// A book that holds the bundled table alone. It is checked when the program is built, so it can be read.
pub(crate) fn bundled_book() -> Arc<PriceBook> {
    Arc::new(PriceBook::with_bundled().expect("the table in the program was checked when it was built"))
}
