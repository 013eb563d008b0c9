//! A trace of somebody's own fleet with labels, from CSV; its columns are in `docs/waste.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use gpu_model::{
    Bytes, CapacityType, Cloud, ClusterId, ContainerName, Device, DeviceId, FleetView, GpuIndex, GpuModel,
    GpuSample, GpuUuid, GpuView, Milliwatts, Namespace, Node, NodeName, NodeView, Owner, OwnerRef, PartUsage,
    PartView, Partition, Permille, Pod, PodName, PodPhase, PodRef, Reading, ResourceName, Source, Vendor,
};
use gpu_waste::{Cause, Settings, Surroundings, WindowSettings, Windows, detect};
use jiff::Timestamp;

use crate::replay::labels::Label;
use crate::replay::masks::Mask;
use crate::replay::naive::Naive;
use crate::replay::set::Outcome;

/// Judged so often, in seconds of the trace.
const CHECK_EVERY: i64 = 600;
/// And not before so much of it was seen.
const FIRST_CHECK: i64 = 1800;

pub(crate) fn play(samples: &str, labels: &str, left_out: &[Mask]) -> anyhow::Result<Outcome> {
    let rows = rows(samples)?;
    let labels = labels_of(labels)?;
    let mut outcome = Outcome::default();
    let Some(first) = rows.keys().next().copied() else {
        bail!("the trace has no rows below its head");
    };
    let interval = interval(&rows);
    let mut watchers: Vec<(Option<Mask>, Windows)> = std::iter::once(None)
        .chain(
            left_out
                .iter()
                .copied()
                .filter(|mask| *mask != Mask::Picture)
                .map(Some),
        )
        .map(|mask| {
            let window = interval.saturating_mul(20).max(Duration::from_secs(600));
            (mask, Windows::new(WindowSettings { window, interval }))
        })
        .collect();
    let mut naive = Naive::default();
    let mut next_check = first.as_second() + FIRST_CHECK;
    for (at, rows) in &rows {
        let view = view(*at, rows)?;
        for (mask, windows) in &mut watchers {
            match mask {
                Some(mask) => windows.observe(&mask.apply(&view)),
                None => windows.observe(&view),
            }
        }
        naive.observe(&view);
        if at.as_second() >= next_check {
            next_check = at.as_second() + CHECK_EVERY;
            check(&view, &watchers, &naive, &labels, &mut outcome);
        }
    }
    Ok(outcome)
}

fn check(
    view: &FleetView,
    watchers: &[(Option<Mask>, Windows)],
    naive: &Naive,
    labels: &[LabelRow],
    outcome: &mut Outcome,
) {
    let (settings, rates) = (Settings::default(), BTreeMap::new());
    let surroundings = Surroundings {
        picture: None,
        rates: &rates,
        patterns: None,
    };
    for (mask, windows) in watchers {
        let report = detect(windows, &surroundings, &settings, view.at);
        let mut found: BTreeMap<GpuUuid, BTreeSet<Cause>> = BTreeMap::new();
        for finding in report.findings.iter().filter(|finding| finding.cause.is_waste()) {
            for part in &finding.gpus {
                found.entry(part.uuid.clone()).or_default().insert(finding.cause);
            }
        }
        for gpu in view.gpus() {
            let uuid = &gpu.device.uuid;
            let label = label_at(labels, uuid, view.at);
            let causes: Vec<Cause> = found.get(uuid).into_iter().flatten().copied().collect();
            let is_held = gpu.owners().next().is_some();
            match mask {
                None => {
                    outcome.judged += 1;
                    outcome.labelled += u64::from(is_held && label != Label::Open);
                    outcome.ours.add(&label, &causes, is_held);
                    if is_held {
                        let place = (uuid.clone(), gpu.parts[0].device_id.clone());
                        outcome.naive.held.add(&label, naive.says(&place, view.at));
                    }
                }
                Some(mask) => outcome
                    .without
                    .entry(*mask)
                    .or_default()
                    .add(&label, &causes, is_held),
            }
        }
    }
}

/// The most usual distance between two instants of the trace.
fn interval(rows: &BTreeMap<Timestamp, Vec<Row>>) -> Duration {
    let times: Vec<i64> = rows.keys().map(|at| at.as_second()).collect();
    let mut steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    let middle = steps.get(steps.len() / 2).copied().unwrap_or(30);
    Duration::from_secs(u64::try_from(middle).unwrap_or(30).clamp(1, 300))
}

/// One line of the trace.
#[derive(Debug, Clone, Default)]
struct Row {
    fields: BTreeMap<String, String>,
}

impl Row {
    fn text(&self, column: &str) -> Option<&str> {
        self.fields
            .get(column)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    fn number(&self, column: &str) -> anyhow::Result<Option<f64>> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let number: f64 = text
            .parse()
            .with_context(|| format!("column {column}: `{text}` is no number"))?;
        if !number.is_finite() || number < 0.0 {
            bail!("column {column}: `{text}` is no amount");
        }
        Ok(Some(number))
    }

    /// In units of a thousandth of the column's.
    fn thousandths(&self, column: &str) -> anyhow::Result<Option<u64>> {
        let number = self.number(column)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be finite and not negative; a cast from float to integer saturates"
        )]
        Ok(number.map(|number| (number * 1000.0).round() as u64))
    }

    /// A percentage as a share.
    fn share(&self, column: &str) -> anyhow::Result<Reading<Permille>> {
        let share = self.thousandths(column)?.map(|thousandths| thousandths / 100);
        Ok(reading(share.map(|share| {
            Permille::clamped(u16::try_from(share).unwrap_or(1000))
        })))
    }

    fn mebibytes(&self, column: &str) -> anyhow::Result<Reading<Bytes>> {
        let mebibytes = self.thousandths(column)?.map(|thousandths| thousandths / 1000);
        Ok(reading(
            mebibytes.map(|mebibytes| Bytes::from_mib(mebibytes.min(1 << 30))),
        ))
    }
}

fn reading<T>(value: Option<T>) -> Reading<T> {
    value.map_or(Reading::Failed, Reading::Known)
}

fn table(text: &str, needed: &[&str]) -> anyhow::Result<Vec<Row>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let head: Vec<String> = lines.next().unwrap_or("").split(',').map(clean).collect();
    for column in needed {
        if !head.iter().any(|name| name == column) {
            bail!(
                "the head of the file names no column `{column}`; it needs {}",
                needed.join(", ")
            );
        }
    }
    let mut rows = Vec::new();
    for (number, line) in (2..).zip(lines) {
        let values: Vec<String> = line.split(',').map(clean).collect();
        if values.len() != head.len() {
            bail!(
                "line {number} has {} values and the head has {}",
                values.len(),
                head.len()
            );
        }
        rows.push(Row {
            fields: head.iter().cloned().zip(values).collect(),
        });
    }
    Ok(rows)
}

fn clean(text: &str) -> String {
    text.trim().trim_matches('"').to_owned()
}

fn rows(text: &str) -> anyhow::Result<BTreeMap<Timestamp, Vec<Row>>> {
    let mut by_time: BTreeMap<Timestamp, Vec<Row>> = BTreeMap::new();
    for row in table(text, &["time", "node", "gpu", "model", "utilization_percent"])? {
        let time = instant(row.text("time").unwrap_or(""))?;
        by_time.entry(time).or_default().push(row);
    }
    Ok(by_time)
}

/// RFC 3339, or seconds since 1970.
fn instant(text: &str) -> anyhow::Result<Timestamp> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Timestamp::from_second(seconds).with_context(|| format!("`{text}` is no instant"));
    }
    text.parse()
        .with_context(|| format!("`{text}` is no instant: give RFC 3339 or seconds since 1970"))
}

fn view(at: Timestamp, rows: &[Row]) -> anyhow::Result<FleetView> {
    let mut nodes: BTreeMap<String, Vec<GpuView>> = BTreeMap::new();
    for row in rows {
        let gpu = gpu(row)?;
        let gpus = nodes
            .entry(row.text("node").unwrap_or("node").to_owned())
            .or_default();
        gpus.push(gpu);
    }
    let nodes = nodes.into_iter().map(|(name, gpus)| {
        Ok(NodeView {
            node: Arc::new(Node {
                name: NodeName::new(name)?,
                cloud: Cloud::OnPremises,
                instance_type: None,
                region: None,
                zone: None,
                capacity_type: CapacityType::Owned,
                labels: BTreeMap::new(),
            }),
            gpus,
        })
    });
    Ok(FleetView {
        cluster: ClusterId::new("trace")?,
        at,
        source: Source::Measured,
        nodes: nodes.collect::<anyhow::Result<_>>()?,
        pending: Vec::new(),
    })
}

fn gpu(row: &Row) -> anyhow::Result<GpuView> {
    let uuid = GpuUuid::new(row.text("gpu").unwrap_or(""))?;
    let model = row.text("model").unwrap_or("");
    let vendor = GpuModel::find(model).map_or(Vendor::Nvidia, |model| model.vendor);
    let processes = row
        .thousandths("processes")?
        .map(|thousandths| thousandths / 1000);
    let processes = reading(processes.map(|count| u32::try_from(count).unwrap_or(u32::MAX)));
    let watts = row.thousandths("power_watts")?;
    let sample = GpuSample {
        utilization: row.share("utilization_percent")?,
        sm_active: row.share("sm_active_percent")?,
        tensor_active: row.share("tensor_active_percent")?,
        dram_active: row.share("dram_active_percent")?,
        memory_used: row.mebibytes("memory_used_mib")?,
        memory_total: row.mebibytes("memory_total_mib")?,
        power: reading(watts.map(|milliwatts| Milliwatts(u32::try_from(milliwatts).unwrap_or(u32::MAX)))),
        processes,
        ..GpuSample::default()
    };
    let part = PartView {
        partition: Partition::Whole,
        device_id: DeviceId::new(uuid.as_str())?,
        resource: ResourceName::new(match vendor {
            Vendor::Nvidia => "nvidia.com/gpu",
            Vendor::Amd => "amd.com/gpu",
            Vendor::Intel => "gpu.intel.com/xe",
        })?,
        memory_total: sample.memory_total,
        usage: PartUsage {
            utilization: sample.utilization,
            sm_active: sample.sm_active,
            memory_used: sample.memory_used,
            processes,
        },
        owner: owner(row)?,
    };
    Ok(GpuView {
        device: Arc::new(Device {
            uuid,
            index: GpuIndex(0),
            vendor,
            model: model.to_owned(),
            driver: None,
            pci_address: None,
        }),
        sample,
        parts: vec![part],
    })
}

fn owner(row: &Row) -> anyhow::Result<Option<Owner>> {
    let Some(name) = row.text("pod") else {
        return Ok(None);
    };
    let started = row.text("started").map(instant).transpose()?;
    let owners = match (row.text("owner_kind"), row.text("owner_name")) {
        (Some(kind), Some(name)) => vec![OwnerRef {
            kind: kind.to_owned(),
            name: name.to_owned(),
        }],
        _ => Vec::new(),
    };
    let pod = Pod {
        reference: PodRef {
            namespace: Namespace::new(row.text("namespace").unwrap_or("default"))?,
            name: PodName::new(name)?,
            uid: None,
        },
        owners,
        labels: BTreeMap::new(),
        resource: ResourceName::new("nvidia.com/gpu")?,
        count: 1,
        phase: PodPhase::Running,
        created_at: started,
        started_at: started,
    };
    Ok(Some(Owner {
        pod: Arc::new(pod),
        container: ContainerName::new("main")?,
    }))
}

/// What somebody knows about a GPU for some time.
#[derive(Debug)]
struct LabelRow {
    gpu: String,
    from: Timestamp,
    to: Timestamp,
    label: Label,
}

fn labels_of(text: &str) -> anyhow::Result<Vec<LabelRow>> {
    let rows = table(text, &["gpu", "from", "to", "label"])?;
    let rows = rows.iter().map(|row| {
        let label = match row.text("label") {
            Some("waste") => Label::Waste(causes(row.text("cause"))?),
            Some("fine") => Label::Fine,
            Some("open") => Label::Open,
            other => bail!("`{}` is no label: give waste, fine or open", other.unwrap_or("")),
        };
        Ok(LabelRow {
            gpu: row.text("gpu").unwrap_or("").to_owned(),
            from: instant(row.text("from").unwrap_or(""))?,
            to: instant(row.text("to").unwrap_or(""))?,
            label,
        })
    });
    rows.collect()
}

/// The causes that a label allows: the one that it names, or any.
fn causes(name: Option<&str>) -> anyhow::Result<&'static [Cause]> {
    let Some(name) = name else {
        return Ok(&Cause::ALL);
    };
    let found = Cause::ALL.iter().position(|cause| cause.as_str() == name);
    let found = found.with_context(|| format!("`{name}` is no cause"))?;
    Ok(std::slice::from_ref(&Cause::ALL[found]))
}

/// What is not labelled is open.
fn label_at(labels: &[LabelRow], gpu: &GpuUuid, at: Timestamp) -> Label {
    let row = labels
        .iter()
        .find(|row| row.gpu == gpu.as_str() && (row.from..row.to).contains(&at));
    row.map_or(Label::Open, |row| row.label.clone())
}
