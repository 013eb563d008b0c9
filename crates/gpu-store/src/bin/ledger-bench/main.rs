//! Fills a store with the ledger of a fleet, asks it what people ask, and prints what that took. Never shipped.
//!
//! `cargo run --release -p gpu-store --features bench --bin ledger-bench -- sqlite --pods 10000 --days 30 --row-minutes 60`
//!
//! The store is `sqlite` or `postgres`, made new in `--in` (the temporary directory) and removed afterwards. A batch is what one
//! settlement writes: a row of every pod, up to the most that a store takes at once. Old rows are dropped at the end of every day as a program would.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads clocks and the kernel's figures, and starts a server"
)]

mod fleet;
mod kernel;
mod server;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpu_cost::{Grain, LedgerRow, Moment, Span};
use gpu_store::store::MOST_ROWS_AT_ONCE;
use gpu_store::{Batch, CostQuery, Dimension, Filter, Retention, RowQuery, Store, StoreAddress, open};

use fleet::{FIRST, row, template};
use server::Server;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Each question is asked so often.
const TIMES: usize = 50;
const DAY: i64 = Grain::Day.milliseconds();

struct Settings {
    kind: String,
    place: PathBuf,
    pods: u32,
    days: i64,
    row_minutes: i64,
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
    let mut settings = Settings {
        kind: words.next().ok_or("name a store: sqlite or postgres")?,
        place: std::env::temp_dir(),
        pods: 10_000,
        days: 1,
        row_minutes: 5,
    };
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        match name.as_str() {
            "--in" => settings.place = value.into(),
            "--pods" => settings.pods = value.parse()?,
            "--days" => settings.days = value.parse()?,
            "--row-minutes" => settings.row_minutes = value.parse()?,
            _ => return Err(format!("`{name}` is not known").into()),
        }
    }
    Ok(settings)
}

async fn run(settings: &Settings) -> Outcome<()> {
    let file = settings
        .place
        .join(format!("ledger-bench-{}.db", std::process::id()));
    let (address, server) = match settings.kind.as_str() {
        "sqlite" => (StoreAddress::Sqlite(file.clone()), None),
        "postgres" => {
            let server = Server::start(&settings.place)?;
            (server.url().parse()?, Some(server))
        }
        other => return Err(format!("`{other}` is no store: name sqlite or postgres").into()),
    };
    let store = open(&address).await?;
    println!(
        "{} | {} pods, {} days, a row every {} min | load {} at the start",
        store.facts().await?.version,
        settings.pods,
        settings.days,
        settings.row_minutes,
        kernel::load()
    );
    let meter = Meter {
        server: server.as_ref().map(Server::pid),
    };
    fill(&*store, settings, &meter).await?;
    ask(&*store, settings).await?;
    println!(
        "peak memory of this process {} MiB | load {} at the end",
        kernel::peak_memory_mib()?,
        kernel::load()
    );
    store.close().await?;
    for ending in ["", "-wal", "-shm", ".lock"] {
        let mut name = file.clone().into_os_string();
        name.push(ending);
        let _ = std::fs::remove_file(name);
    }
    Ok(())
}

/// Reads clocks.
struct Meter {
    server: Option<u32>,
}

#[derive(Clone, Copy)]
struct Reading {
    at: Instant,
    here: Duration,
    there: Duration,
}

/// What a phase took so far.
#[derive(Default)]
struct Phase {
    elapsed: Duration,
    here: Duration,
    there: Duration,
    rows: u64,
}

impl Meter {
    fn read(&self) -> Outcome<Reading> {
        Ok(Reading {
            at: Instant::now(),
            here: kernel::cpu_time(std::process::id(), false)?,
            there: match self.server {
                None => Duration::ZERO,
                Some(pid) => kernel::cpu_time(pid, true)?,
            },
        })
    }

    fn add(&self, phase: &mut Phase, since: Reading, rows: u64) -> Outcome<()> {
        phase.elapsed += since.at.elapsed();
        let now = self.read()?;
        phase.here += now.here.saturating_sub(since.here);
        phase.there += now.there.saturating_sub(since.there);
        phase.rows += rows;
        Ok(())
    }

    fn report(&self, name: &str, phase: &Phase) {
        let rate = |took: Duration| phase.rows as f64 / took.as_secs_f64().max(0.001);
        let server = match self.server {
            None => String::new(),
            Some(_) => format!(
                " here, {:.1} s = {:.0} rows/s in the server",
                phase.there.as_secs_f64(),
                rate(phase.there)
            ),
        };
        println!(
            "{name}: {} rows in {:.1} s = {:.0} rows/s; processor time {:.1} s = {:.0} rows/s{server}",
            phase.rows,
            phase.elapsed.as_secs_f64(),
            rate(phase.elapsed),
            phase.here.as_secs_f64(),
            rate(phase.here),
        );
    }
}

async fn fill(store: &dyn Store, settings: &Settings, meter: &Meter) -> Outcome<()> {
    let pods: Vec<LedgerRow> = (0..settings.pods).map(template).collect();
    let length = settings.row_minutes * 60_000;
    let (mut written, mut folded, mut dropped) = (Phase::default(), Phase::default(), Phase::default());
    let mut largest = 0;
    for tick in 0..settings.days * DAY / length {
        let start = Moment(FIRST + tick * length);
        for pods in pods.chunks(MOST_ROWS_AT_ONCE) {
            let span = Span::new(start, start.plus(length));
            let batch = Batch {
                rows: pods.iter().map(|pod| row(pod, span)).collect(),
                ..Batch::default()
            };
            let since = meter.read()?;
            let rows = store.append(batch).await?.rows_written as u64;
            meter.add(&mut written, since, rows)?;
        }
        let since = meter.read()?;
        let mut rows = 0;
        loop {
            let progress = store.roll_up().await?;
            rows += progress.rows;
            if progress.is_done {
                break;
            }
        }
        meter.add(&mut folded, since, rows)?;
        let now = start.plus(length);
        if now.0 % DAY == 0 {
            largest = largest.max(store.facts().await?.bytes.unwrap_or_default());
            let since = meter.read()?;
            let mut rows = 0;
            loop {
                let progress = store.retain(Retention::default(), now).await?;
                rows += progress.rows;
                if progress.is_done {
                    break;
                }
            }
            meter.add(&mut dropped, since, rows)?;
        }
    }
    meter.report("written", &written);
    meter.report("folded", &folded);
    if dropped.rows > 0 {
        meter.report("dropped", &dropped);
    }
    let kept = store.totals().await?;
    println!(
        "on disk {:.0} MB: {:.1} MB a day, {} bytes a row written; {} rows, {} sums of sets and {} of values are kept",
        largest as f64 / 1e6,
        largest as f64 / 1e6 / settings.days.max(1) as f64,
        largest / written.rows.max(1),
        kept.rows,
        kept.set_slices,
        kept.slices,
    );
    Ok(())
}

/// The questions, each with its name.
fn questions(settings: &Settings) -> Vec<(&'static str, CostQuery)> {
    let all = Span::new(Moment(FIRST), Moment(FIRST + settings.days * DAY));
    // To the millisecond, as far as rows are kept.
    let since = all.start.max(all.end.plus(-6 * DAY));
    let crooked = Span::new(since.plus(5_432_123), all.end.plus(-1_234_567));
    let by = |window: Span, dimensions: &[Dimension]| CostQuery::by(window, dimensions.to_vec());
    let mut filtered = by(all, &[Dimension::Owner, Dimension::GpuModel]);
    filtered.filters = vec![Filter {
        dimension: Dimension::Namespace,
        values: vec![Some("ns-7".to_owned())],
    }];
    vec![
        ("all days by namespace", by(all, &[Dimension::Namespace])),
        ("all days by team", by(all, &[Dimension::Team])),
        ("all days by GPU model", by(all, &[Dimension::GpuModel])),
        (
            "all days by label",
            by(all, &[Dimension::Label("tier".to_owned())]),
        ),
        ("all days by node", by(all, &[Dimension::Node])),
        ("all days by owner", by(all, &[Dimension::Owner])),
        ("uneven edges by namespace", by(crooked, &[Dimension::Namespace])),
        ("one namespace by owner and model", filtered),
        (
            "all days by namespace and model",
            by(all, &[Dimension::Namespace, Dimension::GpuModel]),
        ),
    ]
}

async fn ask(store: &dyn Store, settings: &Settings) -> Outcome<()> {
    for (name, query) in questions(settings) {
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
