//! A tiny fleet in full, so that any change of behaviour shows as a change of text.

use std::fmt::Write;

use gpu_model::{FleetView, GpuView, PartView, Reading};

use crate::{seconds, world};

#[test]
fn two_nodes_after_ten_minutes() {
    let mut world = world(2, 42);
    world.advance(seconds(600));
    insta::assert_snapshot!(text(&world.observe()));
}

#[test]
fn sliced_and_shared_nodes_after_an_hour() {
    let mut world = world(5, 42);
    world.advance(seconds(3600));
    let mut view = world.observe();
    view.nodes
        .retain(|node| ["a100-mig-0002", "t4-shared-0004"].contains(&node.node.name.as_str()));
    for node in &mut view.nodes {
        node.gpus.truncate(5);
    }
    insta::assert_snapshot!(text(&view));
}

fn text(view: &FleetView) -> String {
    let mut text = format!("{} at {}\n", view.cluster, view.at);
    for node in &view.nodes {
        let place = node.node.zone.as_deref().unwrap_or("-");
        writeln!(
            text,
            "{} {place} {}",
            node.node.name,
            node.node.capacity_type.as_str()
        )
        .expect("a string takes any text");
        for gpu in &node.gpus {
            writeln!(text, "  {}", gpu_line(gpu)).expect("a string takes any text");
            for part in &gpu.parts {
                writeln!(text, "    {}", part_line(part)).expect("a string takes any text");
            }
        }
    }
    text
}

fn gpu_line(gpu: &GpuView) -> String {
    let sample = &gpu.sample;
    format!(
        "{} {} {} util {} sm {} mem {} power {} energy {} temp {} clock {} busy {}",
        gpu.device.index,
        gpu.device.model,
        gpu.device.uuid,
        known(sample.utilization),
        known(sample.sm_active),
        known(sample.memory_used.map(|bytes| bytes.whole_mib())),
        known(sample.power.map(|power| power.0)),
        known(sample.energy.map(|energy| energy.0)),
        known(sample.temperature.map(|degrees| degrees.0)),
        known(sample.compute_clock.map(|clock| clock.0)),
        known(sample.busy.map(|busy| busy.as_millis())),
    )
}

fn part_line(part: &PartView) -> String {
    let owner = part
        .owner
        .as_ref()
        .map_or("-".to_owned(), |owner| owner.pod.reference.to_string());
    format!(
        "{} {} mem {} util {} {owner}",
        part.partition,
        part.resource,
        known(part.usage.memory_used.map(|bytes| bytes.whole_mib())),
        known(part.usage.utilization),
    )
}

fn known(reading: Reading<impl std::fmt::Display>) -> String {
    match reading {
        Reading::Known(value) => value.to_string(),
        Reading::Unsupported => "unsupported".to_owned(),
        Reading::Failed => "failed".to_owned(),
    }
}
