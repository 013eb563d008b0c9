//! The keeper of the ledger with real stores: processes that are killed, a database that goes away, leaders that take turns.

mod film;
mod postgres;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use gpu_autoscaler::ledger::LedgerState;
use gpu_cost::prices::{Override, OverrideRate};
use gpu_cost::{Grain, Moment, PriceBook, Span, charge};
use gpu_model::NanoUsd;
use gpu_store::sqlite::SqliteStore;
use gpu_store::{CostQuery, RecordKind, RecordQuery, Store};
use tempfile::TempDir;

use film::{bundled, film, keeper, reel, rows, same, show};

/// Set for the child that a test kills: the file it writes to and the look it begins with.
const CHILD_WRITES_TO: &str = "GPU_AUTOSCALER_TEST_LEDGER_FILE";
const CHILD_BEGINS_AT: &str = "GPU_AUTOSCALER_TEST_LEDGER_LOOK";
/// An hour and a bit, so that the use of an hour is summed up too.
const LOOKS: usize = 140;
/// The fleet that is watched by processes that are killed.
const NODES: u32 = 2;
const SEED: u64 = 21;
const RATE: NanoUsd = NanoUsd(8_000_000_000);

fn open(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_sum_to_the_price_of_every_machine_and_answers_to_the_rows() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory.path().join("ledger.db"));
    let film = film(4, 11, LOOKS);
    let mut keeper = keeper(&store, &film.0[0]);
    show(&mut keeper, &film.0, &bundled()).await;
    assert_eq!(keeper.status().state, LedgerState::Keeping);

    let until = Moment::from(keeper.status().settled_until.unwrap());
    let start = Grain::FiveMinutes.bucket(Moment::from(film.0[0].view.at)).start;
    let all = Span::new(start, until);
    let rows = rows(&*store).await;
    let mut expected = 0;
    for machine in machines(&rows) {
        let of: Vec<_> = rows.iter().filter(|row| row.subject.id() == machine).collect();
        let allocated: i64 = of
            .iter()
            .filter_map(|row| row.amounts)
            .map(|amounts| amounts.allocated.0)
            .sum();
        let price = of[0].price.rate().map_or(0, |rate| charge(rate, all).0);
        assert_eq!(allocated, price, "{machine}");
        expected += price;
    }
    assert!(expected > 0);
    let answer = store.cost(CostQuery::by(all, Vec::new())).await.unwrap();
    let answered: i64 = answer.lines.iter().map(|line| line.sums.allocated).sum();
    assert_eq!(answered, expected);
    let facts = store.facts().await.unwrap();
    assert_eq!(facts.unfolded, 0, "the newest window is folded");
    let usage = store.records(RecordQuery::of(RecordKind::Usage)).await.unwrap();
    assert!(!usage.records.is_empty(), "the use of the hour that ended");
}

fn machines(rows: &[gpu_cost::LedgerRow]) -> std::collections::BTreeSet<String> {
    rows.iter().map(|row| row.subject.id().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_comes_late_corrects_the_last_hour() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory.path().join("ledger.db"));
    let film = film(3, 5, 60);
    let mut keeper = keeper(&store, &film.0[0]);
    show(&mut keeper, &film.0[..40], &Arc::new(PriceBook::new())).await;
    let before = rows(&*store).await;
    assert!(
        before.iter().all(|row| row.amounts.is_none()),
        "no price, no money"
    );

    let mut book = PriceBook::new();
    book.add_override(any_machine(RATE));
    show(&mut keeper, &film.0[40..], &Arc::new(book)).await;
    assert!(keeper.status().windows_corrected > 0);
    let after = rows(&*store).await;
    let standing = gpu_cost::standing(&after);
    assert!(
        standing.iter().all(|row| row.amounts.is_some()),
        "every window has its price now"
    );
    let start = Grain::FiveMinutes.bucket(Moment::from(film.0[0].view.at)).start;
    let all = Span::new(start, Moment::from(keeper.status().settled_until.unwrap()));
    let allocated: i64 = standing
        .iter()
        .filter_map(|row| row.amounts)
        .map(|amounts| amounts.allocated.0)
        .sum();
    assert_eq!(allocated, 3 * charge(RATE, all).0);
}

/// A price for every machine of all times.
fn any_machine(rate: NanoUsd) -> Override {
    Override {
        name: "all".to_owned(),
        cloud: None,
        region: None,
        zone: None,
        instance_type: None,
        capacity: None,
        pool: None,
        gpu_model: None,
        node: None,
        rate: OverrideRate::NodeHour(rate),
        valid: Span::new(Moment(0), Moment(i64::MAX)),
        as_of: Moment(0),
    }
}

/// The child: shows a keeper the film from some look on, and says which looks it is through with. Without the variable it is an empty test.
#[test]
fn child_that_keeps_a_ledger_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD_WRITES_TO) else {
        return;
    };
    let first: usize = std::env::var(CHILD_BEGINS_AT).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = open(Path::new(&path));
    let mut looks = reel(NODES, SEED, first).take(LOOKS - first).peekable();
    let mut keeper = keeper(&store, looks.peek().unwrap());
    let prices = bundled();
    let mut out = std::io::stdout();
    for (number, look) in (first..).zip(looks) {
        let at = look.view.at;
        let status = runtime.block_on(keeper.round(look, &prices, at, true));
        assert_eq!(status.check(), Ok(()));
        writeln!(out, "through {number}").unwrap();
        out.flush().unwrap();
    }
}

fn child(path: &Path, first: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "ledger::child_that_keeps_a_ledger_until_it_is_killed",
            "--nocapture",
        ])
        .env(CHILD_WRITES_TO, path)
        .env(CHILD_BEGINS_AT, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .process_group(0);
    command.spawn().unwrap()
}

/// The last look that the child said it was through with, after so many.
fn wait_for(child: &mut Child, looks: usize) -> Option<usize> {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let through = lines.filter_map(|line| line.unwrap().split("through ").nth(1)?.trim().parse().ok());
    through.take(looks).last()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_again_and_again_loses_and_doubles_no_second() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("killed.db");
    let mut first = 0;
    for looks in [3, 9, 1, 14, 7, 11, 23, 5] {
        let mut child = child(&path, first);
        first = wait_for(&mut child, looks).expect("the child is through with some looks") + 1;
        // Somewhere in its next round.
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut last = child(&path, first);
    assert!(wait_for(&mut last, LOOKS).is_some());
    assert!(last.wait().unwrap().success());

    let undisturbed = open(&directory.path().join("undisturbed.db"));
    let film = film(NODES, SEED, LOOKS);
    let mut keeper = keeper(&undisturbed, &film.0[0]);
    show(&mut keeper, &film.0, &bundled()).await;
    let killed = open(&path);
    same(&*killed, &*undisturbed).await;
    let rows = rows(&*killed).await;
    assert!(
        rows.iter().all(|row| row.revision == 0),
        "nothing was written wrongly on the way"
    );
}
