//! Measures parsers of the Prometheus text format on one generated page, one after the other, on one core:
//! `cargo run --release --manifest-path crates/gpu-exposition/compare/Cargo.toml`.
//!
//! Every parser must find the same number of samples, or its figure is not printed. Time is processor time of the
//! measuring thread, and the best of several runs, because what else a machine does only ever adds to it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gpu_exposition::{Event, Format, Limits, Page, Parser, ParserOptions, StreamParser};

#[path = "../../benches/fleet/mod.rs"]
mod fleet;

const MEGABYTE: usize = 1_000_000;
/// The page on which parsers are compared: small enough that the slowest ends within seconds.
const COMPARED: usize = 10 * MEGABYTE;
/// What a socket usually hands over at once.
const PIECE: usize = 16 << 10;
const RUNS: u32 = 5;

type Failure = Box<dyn std::error::Error>;
type Count = fn(&str) -> Result<usize, Failure>;

fn main() -> Result<(), Failure> {
    let page = fleet::page_of(COMPARED, Format::Text)?;
    let samples = page.lines().filter(|line| !line.starts_with('#')).count();
    println!(
        "page: {} bytes, {samples} samples, text format; best of {RUNS} runs, processor time of one thread",
        page.len()
    );
    let parsers: [(&str, Count); 5] = [
        ("gpu-exposition Parser (borrowed events)", pull),
        ("gpu-exposition StreamParser (16 KiB pieces)", stream),
        ("gpu-exposition Page (owned)", owned),
        ("prometheus-parse 0.2 (Rust, owned)", prometheus_parse),
        ("openmetrics-parser 0.5 (Rust, owned)", openmetrics_parser),
    ];
    for (name, count) in parsers {
        report(name, &page, samples, count);
    }
    println!("{}", python(&page, samples)?);

    println!("growth of gpu-exposition Parser (borrowed events):");
    for megabytes in [1, 10, 100] {
        let page = fleet::page_of(megabytes * MEGABYTE, Format::Text)?;
        let samples = page.lines().filter(|line| !line.starts_with('#')).count();
        report(&format!("{megabytes} MB"), &page, samples, pull);
    }
    println!("growth of the writer, into a warm buffer:");
    for nodes in [20, 200, 2000] {
        write(nodes)?;
    }
    Ok(())
}

fn report(name: &str, page: &str, samples: usize, count: Count) {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = processor_time();
        let found = count(std::hint::black_box(page));
        let took = processor_time() - start;
        match found {
            Ok(found) if found == samples => best = best.min(took),
            Ok(found) => return println!("{name:<46} found {found} samples instead of {samples}"),
            Err(error) => return println!("{name:<46} failed: {error}"),
        }
    }
    println!("{name:<46} {:>9.1} MB/s", rate(page.len(), best));
}

fn processor_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock)
        .expect("every Linux has this clock")
        .into()
}

fn rate(bytes: usize, took: Duration) -> f64 {
    bytes as f64 / 1e6 / took.as_secs_f64()
}

fn options() -> ParserOptions {
    let limits = Limits {
        max_bytes: u64::MAX,
        ..Limits::DEFAULT
    };
    ParserOptions {
        limits,
        ..ParserOptions::new(Format::Text)
    }
}

/// Looks at every label and value, so that the work cannot be left out.
fn weigh(event: &Event<'_>) -> usize {
    let Event::Sample(sample) = event else { return 0 };
    let length: usize = sample
        .labels
        .map(|label| label.name.raw().len() + label.value.raw().len())
        .sum();
    std::hint::black_box((length, sample.value));
    1
}

fn pull(page: &str) -> Result<usize, Failure> {
    let mut parser = Parser::new(page.as_bytes(), options());
    let mut samples = 0;
    while let Some(event) = parser.next_event() {
        samples += weigh(&event?);
    }
    Ok(samples)
}

fn stream(page: &str) -> Result<usize, Failure> {
    let mut parser = StreamParser::new(options());
    let mut samples = 0;
    let mut failure = None;
    let mut sink = |event: Result<Event<'_>, _>| match event {
        Ok(event) => samples += weigh(&event),
        Err(error) => failure = Some(error),
    };
    for piece in page.as_bytes().chunks(PIECE) {
        parser.feed(piece, &mut sink);
    }
    parser.finish(&mut sink);
    failure.map_or(Ok(samples), |error| Err(error.into()))
}

fn owned(page: &str) -> Result<usize, Failure> {
    let page = Page::parse(page.as_bytes(), options())?;
    Ok(page.families.iter().map(|family| family.samples.len()).sum())
}

fn prometheus_parse(page: &str) -> Result<usize, Failure> {
    let lines = page.lines().map(|line| Ok(line.to_owned()));
    Ok(prometheus_parse::Scrape::parse(lines)?.samples.len())
}

fn openmetrics_parser(page: &str) -> Result<usize, Failure> {
    let exposition =
        openmetrics_parser::prometheus::parse_prometheus(page).map_err(|error| error.to_string())?;
    Ok(exposition
        .families
        .into_values()
        .map(|family| family.into_iter_samples().count())
        .sum())
}

/// One writer run per size: the second rendering into the same buffer is the one that counts.
fn write(nodes: u32) -> Result<(), Failure> {
    let mut fleet = fleet::Fleet::new(nodes)?;
    let mut page = String::new();
    let mut best = Duration::MAX;
    for run in 0..=RUNS {
        page.clear();
        let start = processor_time();
        fleet.write(&mut page, Format::Text)?;
        if run > 0 {
            best = best.min(processor_time() - start);
        }
    }
    println!(
        "{:<46} {:>9.1} MB/s",
        format!("{:.1} MB", page.len() as f64 / 1e6),
        rate(page.len(), best)
    );
    Ok(())
}

/// Python's own client, in a virtual environment in the build directory.
fn python(page: &str, samples: usize) -> Result<String, Failure> {
    let Some(interpreter) = python_with_client() else {
        return Ok("prometheus_client (Python): absent, python3 or the package could not be had".to_owned());
    };
    let mut file = std::fs::File::create(build_directory().join("compare.prom"))?;
    file.write_all(page.as_bytes())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("compare.py");
    let output = Command::new(interpreter)
        .arg(script)
        .arg(build_directory().join("compare.prom"))
        .arg(samples.to_string())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

fn python_with_client() -> Option<PathBuf> {
    let environment = build_directory().join("compare-python");
    let interpreter = environment.join("bin/python");
    let succeeds = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let has_client = || succeeds(Command::new(&interpreter).args(["-c", "import prometheus_client"]));
    if has_client() {
        return Some(interpreter);
    }
    let made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&environment))
        && succeeds(Command::new(&interpreter).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "prometheus_client",
        ]));
    (made && has_client()).then_some(interpreter)
}

/// Where this program was built, which is writable and not under version control.
fn build_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program
        .parent()
        .map(Path::to_owned)
        .unwrap_or_else(std::env::temp_dir)
}
