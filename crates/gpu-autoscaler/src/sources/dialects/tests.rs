//! Pages in the shapes that exporters write, and what is made of them. The expectation is one line a GPU and one a part.

mod amd;
mod dcgm;
mod hostile;
mod merging;
mod ours;
mod smi;

use std::fmt::{Display, Write as _};

use gpu_exposition::Format;
use gpu_model::{Attribution, GpuReport, GpuSample, NodeName, PartReport, Reading};
use jiff::Timestamp;

use super::finish::PageOutcome;
use super::{Memory, Mixture, Origin, PageStream, merge};

pub(super) const AT: Timestamp = Timestamp::constant(1_770_000_000, 0);

pub(super) fn outcome(page: &str, node: Option<&str>) -> PageOutcome {
    let mut stream = PageStream::new(Format::Text);
    // In pieces of odd sizes, as the network cuts them.
    for piece in page.as_bytes().chunks(77) {
        let _ = stream.feed(piece);
    }
    let node: Option<NodeName> = node.map(|node| node.parse().unwrap());
    let origin = Origin {
        node: node.as_ref(),
        host: "10.0.0.1",
        at: AT,
        exporter: None,
        mixture: Mixture::OneScrape,
    };
    stream.finish().unwrap().finish(&origin, &mut Memory::default())
}

pub(super) fn reports(page: &str) -> Vec<GpuReport> {
    merge(outcome(page, None).drafts)
}

/// One line a GPU, with what is known of it, and one line a part.
pub(super) fn text(reports: &[GpuReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let device = &report.device;
        write!(
            text,
            "{} {} {} {:?}",
            report.node, device.index, device.uuid, device.model
        )
        .unwrap();
        sample(&mut text, &report.sample);
        text.push('\n');
        for told in &report.parts {
            part(&mut text, told);
        }
    }
    text
}

fn sample(text: &mut String, sample: &GpuSample) {
    say(text, "util", sample.utilization);
    say(text, "bandwidth", sample.memory_bandwidth);
    say(text, "sm", sample.sm_active);
    say(text, "occupancy", sample.sm_occupancy);
    say(text, "tensor", sample.tensor_active);
    say(text, "dram", sample.dram_active);
    say(text, "used", sample.memory_used.map(|bytes| bytes.whole_mib()));
    say(text, "total", sample.memory_total.map(|bytes| bytes.whole_mib()));
    say(text, "mW", sample.power.map(|power| power.0));
    say(text, "limit", sample.power_limit.map(|power| power.0));
    say(text, "mJ", sample.energy.map(|energy| energy.0));
    say(text, "C", sample.temperature.map(|degrees| degrees.0));
    say(text, "memC", sample.memory_temperature.map(|degrees| degrees.0));
    say(text, "MHz", sample.compute_clock.map(|clock| clock.0));
    say(text, "memMHz", sample.memory_clock.map(|clock| clock.0));
    say(text, "busy", sample.busy.map(|busy| busy.as_millis()));
    say(text, "rx", sample.pcie_received.map(|bytes| bytes.0));
    say(text, "tx", sample.pcie_sent.map(|bytes| bytes.0));
    say(text, "processes", sample.processes);
    say(text, "ecc", sample.ecc_uncorrected);
    say(text, "remap-failed", sample.row_remap_failed);
    say(text, "remap-pending", sample.row_remap_pending);
    if let Reading::Known(reasons) = &sample.throttled_by {
        write!(
            text,
            " throttled={:?}",
            reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>()
        )
        .unwrap();
    }
    for time in &sample.throttle_times {
        write!(text, " {}={}ms", time.reason.as_str(), time.total.as_millis()).unwrap();
    }
    for fault in &sample.faults {
        write!(text, " fault{}={}", fault.code, fault.count).unwrap();
    }
}

fn part(text: &mut String, told: &PartReport) {
    write!(text, "  {}", told.partition).unwrap();
    if let Some(id) = &told.device_id {
        write!(text, " {id}").unwrap();
    }
    say(text, "util", told.usage.utilization);
    say(text, "sm", told.usage.sm_active);
    say(
        text,
        "used",
        told.usage.memory_used.map(|bytes| bytes.whole_mib()),
    );
    say(text, "total", told.memory_total.map(|bytes| bytes.whole_mib()));
    say(text, "processes", told.usage.processes);
    if let Some(holder) = &told.holder {
        let container = holder.container.as_ref().map_or("", |name| name.as_str());
        write!(text, " for {}/{}/{container}", holder.namespace, holder.pod).unwrap();
    }
    text.push_str(match told.attribution {
        Attribution::Own => "\n",
        Attribution::Sole => " sole\n",
        Attribution::Repeated => " repeated\n",
    });
}

fn say<T: Display>(text: &mut String, name: &str, reading: Reading<T>) {
    match reading {
        Reading::Known(value) => write!(text, " {name}={value}").unwrap(),
        Reading::Failed => write!(text, " {name}=failed").unwrap(),
        Reading::Unsupported => {}
    }
}

#[track_caller]
pub(super) fn check(page: &str, expected: &str) {
    let found = text(&reports(page));
    let expected: String = expected
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    assert_eq!(found, expected, "found:\n{found}");
}
