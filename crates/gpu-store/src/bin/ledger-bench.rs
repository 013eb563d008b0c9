//! Fills a store with the ledger of a fleet, asks it what people ask, and prints what that took. Never shipped.
//!
//! `cargo run --release -p gpu-store --features bench --bin ledger-bench -- sqlite:/tmp/ledger.db --pods 10000 --days 30`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads clocks and the kernel's figures"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_cost::{
    Amounts, Dimensions, Entry, GpuTime, Grain, Holder, LedgerRow, Machine, Moment, Part, Phase, PriceNote,
    PriceSource, RowKey, ShareBasis, Slot, Span, Subject,
};
use gpu_model::{CapacityType, Cloud, ClusterId, GpuUuid, MachineId, NanoUsd, NodeName, OwnerRef};
use gpu_store::{Batch, CostQuery, Dimension, Filter, RowQuery, Store, StoreAddress, open};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A start of a day in 2026.
const FIRST: i64 = 1_772_323_200_000;
const ROWS_AT_ONCE: usize = 10_000;
/// Each question is asked so often.
const TIMES: usize = 50;

struct Settings {
    address: StoreAddress,
    pods: u32,
    days: i64,
    row_hours: i64,
}

fn main() -> Outcome<()> {
    let settings = settings()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(run(&settings))
}

fn settings() -> Outcome<Settings> {
    let mut words = std::env::args().skip(1);
    let address = words
        .next()
        .ok_or("name a store: sqlite:PATH or postgres://...")?
        .parse()?;
    let mut settings = Settings {
        address,
        pods: 10_000,
        days: 30,
        row_hours: 1,
    };
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        match name.as_str() {
            "--pods" => settings.pods = value.parse()?,
            "--days" => settings.days = value.parse()?,
            "--row-hours" => settings.row_hours = value.parse()?,
            _ => return Err(format!("`{name}` is not known").into()),
        }
    }
    Ok(settings)
}

async fn run(settings: &Settings) -> Outcome<()> {
    let store = open(&settings.address).await?;
    println!(
        "{} | {} pods, {} days, a row every {} h",
        store.facts().await?.version,
        settings.pods,
        settings.days,
        settings.row_hours
    );
    fill(&*store, settings).await?;
    ask(&*store, settings).await?;
    println!("peak memory of this process {} MiB", peak_memory_kib()? / 1024);
    store.close().await?;
    Ok(())
}

async fn fill(store: &dyn Store, settings: &Settings) -> Outcome<()> {
    let pods: Vec<LedgerRow> = (0..settings.pods).map(template).collect();
    let length = settings.row_hours * Grain::Hour.milliseconds();
    let mut rows: u64 = 0;
    let (mut written, mut folded) = (Duration::ZERO, Duration::ZERO);
    let (mut written_cpu, mut folded_cpu) = (Duration::ZERO, Duration::ZERO);
    for tick in 0..settings.days * 24 / settings.row_hours {
        let start = Moment(FIRST + tick * length);
        for pods in pods.chunks(ROWS_AT_ONCE) {
            let batch = Batch {
                rows: pods
                    .iter()
                    .map(|pod| row(pod, Span::new(start, start.plus(length))))
                    .collect(),
                ..Batch::default()
            };
            let (clock, cpu) = (Instant::now(), cpu_time()?);
            rows += store.append(batch).await?.rows_written as u64;
            written += clock.elapsed();
            written_cpu += cpu_time()?.saturating_sub(cpu);
        }
        let (clock, cpu) = (Instant::now(), cpu_time()?);
        while !store.roll_up().await?.is_done {}
        folded += clock.elapsed();
        folded_cpu += cpu_time()?.saturating_sub(cpu);
    }
    report("written", rows, written, written_cpu);
    report("folded", rows, folded, folded_cpu);
    let bytes = store.facts().await?.bytes.unwrap_or_default();
    let days = settings.days.unsigned_abs().max(1);
    println!(
        "{:.0} MB on disk, {:.1} MB a day, {} bytes a row with its roll-ups",
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / days as f64,
        bytes / rows.max(1)
    );
    Ok(())
}

fn report(what: &str, rows: u64, took: Duration, cpu: Duration) {
    println!(
        "{rows} rows {what} in {:.1} s: {:.0} rows/s; processor time of this process {:.1} s, {:.0} rows/s",
        took.as_secs_f64(),
        rows as f64 / took.as_secs_f64(),
        cpu.as_secs_f64(),
        rows as f64 / cpu.as_secs_f64().max(0.001),
    );
}

async fn ask(store: &dyn Store, settings: &Settings) -> Outcome<()> {
    let all = Span::new(
        Moment(FIRST),
        Moment(FIRST + settings.days * Grain::Day.milliseconds()),
    );
    let crooked = Span::new(all.start.plus(5_432_123), all.end.plus(-1_234_567));
    let by = |window: Span, dimensions: &[Dimension]| CostQuery::by(window, dimensions.to_vec());
    let mut filtered = by(all, &[Dimension::Owner, Dimension::GpuModel]);
    filtered.filters = vec![Filter {
        dimension: Dimension::Namespace,
        values: vec![Some("ns-7".to_owned())],
    }];
    let questions = [
        ("all days by namespace", by(all, &[Dimension::Namespace])),
        ("all days by team", by(all, &[Dimension::Team])),
        (
            "all days by label",
            by(all, &[Dimension::Label("tier".to_owned())]),
        ),
        ("all days by node", by(all, &[Dimension::Node])),
        ("uneven edges by namespace", by(crooked, &[Dimension::Namespace])),
        ("one namespace by owner and model", filtered),
    ];
    for (name, query) in questions {
        let mut took = Vec::with_capacity(TIMES);
        let mut lines = 0;
        for _ in 0..TIMES {
            let clock = Instant::now();
            lines = store.cost(query.clone()).await?.lines.len();
            took.push(clock.elapsed());
        }
        print_times(name, lines, took);
    }
    let mut took = Vec::with_capacity(TIMES);
    let mut lines = 0;
    for _ in 0..TIMES {
        let clock = Instant::now();
        let query = RowQuery {
            pod_uid: Some("uid-17".to_owned()),
            limit: 1_000,
            ..RowQuery::default()
        };
        lines = store.rows(query).await?.rows.len();
        took.push(clock.elapsed());
    }
    print_times("rows of one pod", lines, took);
    Ok(())
}

fn print_times(name: &str, lines: usize, mut took: Vec<Duration>) {
    took.sort_unstable();
    println!(
        "{name}: {lines} lines, median {:.1} ms, slowest of {TIMES} {:.1} ms",
        took[TIMES / 2].as_secs_f64() * 1e3,
        took[TIMES - 1].as_secs_f64() * 1e3
    );
}

/// A pod on a GPU of its own: 50 namespaces, 12 teams, 8 GPUs a machine, a label, an owner for four pods.
fn template(pod: u32) -> LedgerRow {
    let number = pod / 8;
    let text = |name: String| Some(name);
    let machine = Machine {
        id: MachineId::new(format!("i-{number:017x}")).expect("it is a name"),
        node: NodeName::new(format!("ip-10-0-{}-{}.ec2.internal", number / 250, number % 250))
            .expect("it is a name"),
        cloud: Cloud::Aws,
        instance_type: text("p5.48xlarge".to_owned()),
        region: text("eu-central-1".to_owned()),
        zone: text(format!("euc1-az{}", number % 3)),
        capacity: CapacityType::OnDemand,
        pool: text("training".to_owned()),
        gpu_model: text(if number.is_multiple_of(4) { "H200" } else { "H100" }.to_owned()),
        gpus: Some(8),
        vcpus: Some(192),
        memory: None,
    };
    let holder = Holder {
        namespace: format!("ns-{}", pod % 50).parse().expect("it is a name"),
        pod: format!("trainer-{pod}-worker-0").parse().expect("it is a name"),
        uid: format!("uid-{pod}").parse().expect("it is a name"),
        container: Some("main".parse().expect("it is a name")),
        dimensions: Dimensions {
            team: text(format!("team-{}", pod % 12)),
            owner: Some(OwnerRef {
                kind: "Job".to_owned(),
                name: format!("train-{}", pod / 4),
            }),
            labels: [("tier".to_owned(), format!("tier-{}", pod % 3))].into(),
            ..Dimensions::default()
        },
    };
    LedgerRow {
        key: RowKey([0; 16]),
        entry: Entry::Charge,
        revision: 0,
        cluster: ClusterId::new("production").expect("it is a name"),
        subject: Subject::Machine(Arc::new(machine)),
        span: Span::new(Moment(0), Moment(0)),
        part: Part::Pod,
        slot: Slot::Gpu {
            gpu: GpuUuid::new(format!("GPU-{pod:032x}")).expect("it is a name"),
            partition: None,
        },
        holder: Some(Arc::new(holder)),
        phase: Phase::Running,
        basis: ShareBasis::Exclusive,
        time: GpuTime::default(),
        amounts: None,
        price: PriceNote::Priced {
            rate: NanoUsd(98_320_000_000),
            list: NanoUsd(98_320_000_000),
            source: PriceSource::Bundled,
            as_of: Moment(FIRST),
            capacity: CapacityType::OnDemand,
            estimate: false,
            commitment: None,
        },
    }
}

fn row(template: &LedgerRow, span: Span) -> LedgerRow {
    let held_ms = span.milliseconds();
    let allocated = 12_290_000_000 * held_ms / 3_600_000;
    let used = allocated * 61 / 100;
    LedgerRow {
        span,
        time: GpuTime {
            held_ms,
            used_ms: held_ms * 61 / 100,
            unmeasured_ms: 0,
        },
        amounts: Some(Amounts {
            list: NanoUsd(allocated),
            allocated: NanoUsd(allocated),
            used: NanoUsd(used),
            unused: NanoUsd(allocated - used),
            unmeasured: NanoUsd(0),
        }),
        ..template.clone()
    }
    .sealed()
}

/// User and system time of this process. The kernel counts in hundredths of a second.
fn cpu_time() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|number| number.parse::<u64>().ok())
        .sum();
    Ok(Duration::from_millis(ticks * 10))
}

fn peak_memory_kib() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line
        .and_then(|line| line.split_whitespace().next())
        .ok_or("the kernel does not say")?;
    Ok(number.parse()?)
}
