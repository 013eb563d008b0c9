//! From a firmware's table to readings. Pure. A number that the table does not have is left alone, so that the kernel's own
//! files can fill it; temperatures, powers and voltages of exactly 0 are what a table shows before its first sample.

use gpu_model::Reading;

use super::tables::{Engines, Metrics};
use crate::readings::{DeviceReadings, Field, LinkReadings, PartField, Parts};

/// Sets a field where there is a number.
pub(super) fn put(into: &mut DeviceReadings, field: Field, value: Option<f64>) {
    if let Some(value) = value {
        into.set(field, Reading::Known(value));
    }
}

/// A number that cannot be 0 while the device is awake.
pub(super) fn awake(value: Option<f64>) -> Option<f64> {
    value.filter(|value| *value != 0.0)
}

/// Counts in whole units; those beyond 2^53 are refused at the door.
#[expect(
    clippy::cast_precision_loss,
    reason = "the range of the field refuses what a double cannot hold"
)]
pub(super) fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// What one table says of the whole device.
pub(super) fn fill(table: &Metrics, into: &mut DeviceReadings) {
    activity(table, into);
    heat_and_power(table, into);
    clocks(table, into);
    bus(table, into);
    links(table, into);
}

fn activity(table: &Metrics, into: &mut DeviceReadings) {
    put(into, Field::MediaUtilization, table.media_busy_ratio);
    put(
        into,
        Field::UtilizationAccumulated,
        whole(table.gfx_activity_accumulator),
    );
    put(
        into,
        Field::MemoryUtilizationAccumulated,
        whole(table.memory_activity_accumulator),
    );
    put(
        into,
        Field::MemoryBandwidthMax,
        awake(table.memory_bandwidth_limit_bytes_per_second),
    );
    put(into, Field::LimitTicks, whole(table.accumulation_counter));
    put(into, Field::LimitTicksProchot, whole(table.residency.prochot));
    put(into, Field::LimitTicksPower, whole(table.residency.package_power));
    put(
        into,
        Field::LimitTicksThermal,
        whole(table.residency.socket_thermal),
    );
    put(
        into,
        Field::LimitTicksRegulator,
        whole(table.residency.vr_thermal),
    );
    put(into, Field::LimitTicksMemory, whole(table.residency.hbm_thermal));
}

fn heat_and_power(table: &Metrics, into: &mut DeviceReadings) {
    put(into, Field::EdgeTemperature, awake(table.edge_celsius));
    put(into, Field::HotspotTemperature, awake(table.hotspot_celsius));
    put(into, Field::MemoryTemperature, awake(table.memory_celsius));
    put(
        into,
        Field::GraphicsRegulatorTemperature,
        awake(table.vr_gfx_celsius),
    );
    put(into, Field::SocRegulatorTemperature, awake(table.vr_soc_celsius));
    put(
        into,
        Field::MemoryRegulatorTemperature,
        awake(table.vr_memory_celsius),
    );
    for (index, celsius) in (0..).zip(table.hbm_celsius) {
        part(into, PartField::StackTemperature, index, awake(celsius));
    }
    put(into, Field::PowerInstant, awake(table.socket_power_watts));
    put(into, Field::PowerAverage, awake(table.average_socket_power_watts));
    put(into, Field::GraphicsVoltage, awake(table.gfx_volts));
    put(into, Field::SocVoltage, awake(table.soc_volts));
    put(into, Field::MemoryVoltage, awake(table.memory_volts));
    put(into, Field::FanSpeed, table.fan_rpm);
}

fn clocks(table: &Metrics, into: &mut DeviceReadings) {
    let graphics = mean(&table.gfx_clock_hertz).or(table.average_gfx_clock_hertz);
    put(into, Field::GraphicsClock, graphics);
    put(into, Field::SmClock, graphics);
    let memory = table.memory_clock_hertz.or(table.average_memory_clock_hertz);
    put(into, Field::MemoryClock, memory);
    let soc = mean(&table.soc_clock_hertz).or(table.average_soc_clock_hertz);
    put(into, Field::SocClock, soc);
    let fabric = table.fabric_clock_hertz.or(table.average_fabric_clock_hertz);
    put(into, Field::FabricClock, fabric);
    let video = mean(&table.video_clock_hertz).or_else(|| mean(&table.average_video_clock_hertz));
    put(into, Field::VideoClock, video);
    let decoder = mean(&table.decode_clock_hertz).or_else(|| mean(&table.average_decode_clock_hertz));
    put(into, Field::DecoderClock, decoder);
    let instances: [(PartField, &[Option<f64>]); 3] = [
        (PartField::SocClock, &table.soc_clock_hertz),
        (PartField::VideoClock, &table.video_clock_hertz),
        (PartField::DecoderClock, &table.decode_clock_hertz),
    ];
    for (field, values) in instances {
        // A single instance is the device's own clock.
        if values.iter().flatten().count() > 1 {
            parts(&mut into.parts, field, values);
        }
    }
}

fn bus(table: &Metrics, into: &mut DeviceReadings) {
    put(into, Field::PcieLinkWidth, awake(whole(table.pcie_link_lanes)));
    let speed = awake(table.pcie_link_transfers_per_second);
    put(into, Field::PcieLinkSpeed, speed);
    put(into, Field::PcieLinkGeneration, speed.and_then(generation));
    put(into, Field::PcieBandwidth, table.pcie_bytes_per_second);
    put(
        into,
        Field::PcieBandwidthAccumulated,
        whole(table.pcie_bandwidth_accumulator),
    );
    put(into, Field::PcieReplays, whole(table.pcie_replay_count));
    put(
        into,
        Field::PcieReplayRollovers,
        whole(table.pcie_replay_rollover_count),
    );
    put(
        into,
        Field::PcieRecoveries,
        whole(table.pcie_l0_to_recovery_count),
    );
    put(
        into,
        Field::PcieOtherEndRecoveries,
        whole(table.pcie_other_end_recovery_count),
    );
    put(into, Field::PcieNaksSent, whole(table.pcie_nak_sent_count));
    put(
        into,
        Field::PcieNaksReceived,
        whole(table.pcie_nak_received_count),
    );
}

/// The bus generation of a lane's speed.
pub(super) fn generation(transfers: f64) -> Option<f64> {
    let generations = [2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9, 128e9];
    let at = generations
        .iter()
        .position(|speed| (transfers - speed).abs() < 0.01 * speed)?;
    Some((at + 1) as f64)
}

/// Links to other GPUs: what this device wrote over a link it sent, what it read it received. A link that is neither up nor
/// ever carried anything is a place without a neighbour.
fn links(table: &Metrics, into: &mut DeviceReadings) {
    into.links.clear();
    let (mut sent_in_all, mut received_in_all) = (None, None);
    for at in 0..table.xgmi_read_bytes.len() {
        let (sent, received) = (table.xgmi_write_bytes[at], table.xgmi_read_bytes[at]);
        let active = table.xgmi_link_active[at];
        let carried = sent.unwrap_or(0) > 0 || received.unwrap_or(0) > 0;
        if !(active == Some(true) || carried) {
            continue;
        }
        let reading = |value: Option<f64>| value.map_or(Reading::Unsupported, Reading::Known);
        into.links.push(LinkReadings {
            link: u32::try_from(at).unwrap_or(u32::MAX),
            active: active.map_or(Reading::Unsupported, Reading::Known),
            sent_bytes: reading(whole(sent)),
            received_bytes: reading(whole(received)),
            replay_errors: Reading::Unsupported,
            recovery_errors: Reading::Unsupported,
            crc_errors: Reading::Unsupported,
        });
        sent_in_all = sum(sent_in_all, sent);
        received_in_all = sum(received_in_all, received);
    }
    if into.links.is_empty() {
        return;
    }
    put(into, Field::LinkSentBytes, whole(sent_in_all));
    put(into, Field::LinkReceivedBytes, whole(received_in_all));
    put(into, Field::LinkWidth, awake(whole(table.xgmi_link_lanes)));
    put(into, Field::LinkSpeed, awake(table.xgmi_link_bits_per_second));
}

fn sum(all: Option<u64>, one: Option<u64>) -> Option<u64> {
    match one {
        Some(one) => Some(all.unwrap_or(0).saturating_add(one)),
        None => all,
    }
}

/// The mean of those that are known.
pub(super) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let count = values.iter().flatten().count();
    let sum: f64 = values.iter().flatten().sum();
    (count > 0).then(|| sum / count as f64)
}

/// What the engines of a partition, or of a device that is not divided, do.
pub(super) fn engines(engines: &Engines, into: &mut Parts) {
    parts(into, PartField::GraphicsBusy, &engines.gfx_busy_ratio);
    parts(into, PartField::VideoBusy, &engines.vcn_busy_ratio);
    parts(into, PartField::JpegBusy, &engines.jpeg_busy_ratio);
    let counted = [
        (PartField::GraphicsBusyAccumulated, &engines.gfx_busy_accumulator),
        (
            PartField::BelowLimitTicksPower,
            &engines.below_host_limit_power_accumulator,
        ),
        (
            PartField::BelowLimitTicksThermal,
            &engines.below_host_limit_thermal_accumulator,
        ),
        (
            PartField::LowUtilizationTicks,
            &engines.low_utilization_accumulator,
        ),
    ];
    for (field, values) in counted {
        counts(into, field, values);
    }
    let total = match engines.below_host_limit_total_accumulator.iter().flatten().next() {
        Some(_) => &engines.below_host_limit_total_accumulator,
        None => &engines.below_host_limit_accumulator,
    };
    counts(into, PartField::BelowLimitTicksTotal, total);
}

pub(super) fn parts(into: &mut Parts, field: PartField, values: &[Option<f64>]) {
    for (index, value) in (0..).zip(values) {
        if let Some(value) = value {
            into.push(field, index, Reading::Known(*value));
        }
    }
}

fn counts(into: &mut Parts, field: PartField, values: &[Option<u64>]) {
    for (index, value) in (0..).zip(values) {
        if let Some(value) = whole(*value) {
            into.push(field, index, Reading::Known(value));
        }
    }
}

fn part(into: &mut DeviceReadings, field: PartField, index: u16, value: Option<f64>) {
    if let Some(value) = value {
        into.push(field, index, Reading::Known(value));
    }
}

#[cfg(test)]
mod tests;
