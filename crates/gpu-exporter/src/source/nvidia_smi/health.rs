//! What is not a single number: errors in several counts, reasons for low clocks, the fabric's state.

use gpu_model::Reading;

use super::super::tool::quantity::Unit;
use super::filler::Filler;
use super::xml::Element;
use crate::readings::{Field, ThrottleReason, ThrottleSet};

/// The end of the name of each reason, in the report and in the table.
pub(super) const REASONS: &[(&str, ThrottleReason)] = &[
    ("applications_clocks_setting", ThrottleReason::ClocksSetting),
    ("sw_power_cap", ThrottleReason::PowerCap),
    ("hw_slowdown", ThrottleReason::HardwareSlowdown),
    ("hw_thermal_slowdown", ThrottleReason::HardwareThermal),
    ("hw_power_brake_slowdown", ThrottleReason::HardwarePowerBrake),
    ("sync_boost", ThrottleReason::SyncBoost),
    ("sw_thermal_slowdown", ThrottleReason::SoftwareThermal),
];

/// The same for the driver's own counts of time; the report shortens some of them.
pub(super) const COUNTED: &[(&[&str], ThrottleReason)] = &[
    (&["sw_power_cap"], ThrottleReason::PowerCap),
    (&["sync_boost"], ThrottleReason::SyncBoost),
    (
        &["sw_therm_slowdown", "sw_thermal_slowdown"],
        ThrottleReason::SoftwareThermal,
    ),
    (
        &["hw_therm_slowdown", "hw_thermal_slowdown"],
        ThrottleReason::HardwareThermal,
    ),
    (
        &["hw_power_brake", "hw_power_brake_slowdown"],
        ThrottleReason::HardwarePowerBrake,
    ),
];

/// Puts together which reasons hold, each with what was said of it. Of a reason that was not spoken of nothing is known.
pub(super) fn throttles(reasons: &[(ThrottleReason, Reading<bool>)]) -> Reading<ThrottleSet> {
    if reasons.iter().any(|(_, holds)| *holds == Reading::Failed) {
        return Reading::Failed;
    }
    let known = reasons
        .iter()
        .filter_map(|(reason, holds)| Some((*reason, holds.known()?)));
    let judged: Vec<ThrottleReason> = known.clone().map(|(reason, _)| reason).collect();
    if judged.is_empty() {
        return Reading::Unsupported;
    }
    let mut set = ThrottleSet::judging(&judged);
    known
        .filter(|(_, holds)| *holds)
        .for_each(|(reason, _)| set.insert(reason));
    Reading::Known(set)
}

pub(super) fn read_clocks(gpu: &Element, filler: &mut Filler) {
    let section = ["clocks_event_reasons", "clocks_throttle_reasons"]
        .into_iter()
        .find_map(|name| gpu.at(name));
    if let Some(section) = section {
        let reasons: Vec<_> = REASONS
            .iter()
            .map(|(name, reason)| {
                let told = with_end(section, "_reason_", name).map(Element::text);
                (*reason, filler.flag(told.into_iter()))
            })
            .collect();
        filler.readings.throttled = throttles(&reasons);
    }
    let counts = [
        "clocks_event_reasons_counters",
        "clocks_throttle_reasons_counters",
    ]
    .into_iter()
    .find_map(|name| gpu.at(name));
    if let Some(counts) = counts {
        for (names, reason) in COUNTED {
            let told = names
                .iter()
                .filter_map(|name| with_end(counts, "_counters_", name))
                .map(Element::text);
            filler.readings.throttle_seconds[*reason as usize] = filler.number(told, Unit::Microseconds);
        }
    }
}

/// The child whose name ends so: drivers changed the beginning from `throttle` to `event`.
fn with_end<'a>(section: &'a Element, middle: &str, name: &str) -> Option<&'a Element> {
    section
        .all_children()
        .iter()
        .find(|child| child.name.split_once(middle).is_some_and(|(_, end)| end == name))
}

/// Totals, or what adds up to them: since Turing the report has them by place and kind of memory.
pub(super) fn read_errors(gpu: &Element, filler: &mut Filler) {
    let counts = [
        (
            "volatile",
            Field::EccCorrectedVolatile,
            Field::EccUncorrectedVolatile,
        ),
        (
            "aggregate",
            Field::EccCorrectedAggregate,
            Field::EccUncorrectedAggregate,
        ),
    ];
    for (since, corrected, uncorrected) in counts {
        let Some(section) = gpu.at("ecc_errors").and_then(|errors| errors.at(since)) else {
            continue;
        };
        let old = [("single_bit/total", corrected), ("double_bit/total", uncorrected)];
        for (path, field) in old {
            if let Some(total) = section.at(path) {
                let total = filler.number([total.text()].into_iter(), Unit::Count);
                filler.set(field, total);
            }
        }
        let new: [(&[&str], Field); 2] = [
            (&["sram_correctable", "dram_correctable"], corrected),
            (
                &[
                    "sram_uncorrectable",
                    "sram_uncorrectable_parity",
                    "sram_uncorrectable_secded",
                    "dram_uncorrectable",
                ],
                uncorrected,
            ),
        ];
        for (names, field) in new {
            let parts = names
                .iter()
                .filter_map(|name| section.at(name))
                .map(Element::text);
            let parts: Vec<_> = parts
                .map(|part| filler.number([part].into_iter(), Unit::Count))
                .collect();
            if !parts.is_empty() {
                filler.set(field, sum(&parts));
            }
        }
    }
}

/// What is known of several counts together: one that failed leaves the sum unknown, one that is not there adds nothing.
fn sum(parts: &[Reading<f64>]) -> Reading<f64> {
    if parts.contains(&Reading::Failed) {
        return Reading::Failed;
    }
    let known: Vec<f64> = parts.iter().filter_map(|part| part.known()).collect();
    if known.is_empty() {
        return Reading::Unsupported;
    }
    Reading::Known(known.iter().sum())
}

/// The fabric's states as NVML numbers them.
pub(super) fn read_fabric(state: Option<String>, filler: &mut Filler) {
    let Some(state) = state else { return };
    let number = match state.to_ascii_lowercase().as_str() {
        "not started" => 1.0,
        "in progress" => 2.0,
        "completed" => 3.0,
        _ => return,
    };
    filler.set(Field::FabricState, Reading::Known(number));
}

/// `P0` to `P15`.
pub(super) fn read_performance_state(state: Option<String>, filler: &mut Filler) {
    let Some(state) = state else { return };
    let number = state.strip_prefix('P').and_then(|number| number.parse().ok());
    let reading = number.map_or(Reading::Failed, Reading::Known);
    if reading == Reading::Failed {
        filler.readings.failed.push("unreadable");
    }
    filler.set(Field::PerformanceState, reading);
}
