//! The embedded store: the contract, and what a file has to bear.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gpu_store::dump::Target;
use gpu_store::entries::Opening;
use gpu_store::error::ErrorClass;
use gpu_store::sqlite::{SqliteOptions, SqliteStore, backup, restore};
use gpu_store::{Batch, CostQuery, Dimension, RecordKind, RecordQuery, Store, StoreAddress, StoreError};
use tempfile::TempDir;

use crate::contract::{self, all_rows, fold};
use crate::sample::{DAY, HOUR, MINUTE, at, cluster, pod_row, span};

/// Set for the child that a test kills: the file that it writes to.
const CHILD_WRITES_TO: &str = "GPU_STORE_TEST_CHILD_FILE";
const ROWS_OF_A_BATCH: u32 = 40;

#[tokio::test]
async fn the_contract_holds() {
    let directory = TempDir::new().unwrap();
    let mut number = 0;
    contract::hold(|| {
        number += 1;
        let address = StoreAddress::Sqlite(directory.path().join(format!("{number}.db")));
        async move { address }
    })
    .await;
}

fn batch(number: i64) -> Batch {
    let rows = (0..ROWS_OF_A_BATCH)
        .map(|pod| pod_row(pod, span(number * MINUTE, number * MINUTE + 90_000)))
        .collect();
    Batch {
        rows,
        ..Batch::default()
    }
}

/// The child: writes batches and says which were acknowledged, until it is killed. Without the variable it is an empty test.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD_WRITES_TO) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(Path::new(&path)).unwrap();
    let mut out = std::io::stdout();
    for number in 0..100_000 {
        runtime.block_on(store.append(batch(number))).unwrap();
        if number % 3 == 0 {
            runtime.block_on(store.roll_up()).unwrap();
        }
        writeln!(out, "acknowledged {number}").unwrap();
        out.flush().unwrap();
    }
}

fn child(path: &Path) -> Child {
    spawn(
        "sqlite::child_that_writes_until_it_is_killed",
        CHILD_WRITES_TO,
        path,
    )
}

/// This program again, as the one test that the variable wakes up.
fn spawn(test: &str, variable: &str, path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(variable, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .process_group(0);
    command.spawn().unwrap()
}

/// The number of the last batch that the child said was acknowledged, after it has said so many.
fn wait_for(child: &mut Child, batches: usize) -> i64 {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let acknowledged =
        lines.filter_map(|line| line.unwrap().strip_prefix("acknowledged ")?.parse::<i64>().ok());
    acknowledged.take(batches).last().expect("the child writes")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_loses_nothing_acknowledged_and_doubles_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    for round in 1..=4 {
        let mut child = child(&path);
        let last = wait_for(&mut child, round * 7);
        child.kill().unwrap();
        child.wait().unwrap();

        let store = SqliteStore::open(&path).unwrap();
        let rows = all_rows(&store).await;
        let written: Vec<_> = (0..)
            .flat_map(|number| batch(number).rows)
            .take(rows.len())
            .collect();
        let mut written_sorted = written;
        written_sorted.sort_by_key(|row| (row.span.start, row.key));
        assert_eq!(rows, written_sorted, "whole batches, each row once");
        assert_eq!(rows.len() % ROWS_OF_A_BATCH as usize, 0, "no half of a batch");
        assert!(
            rows.len() as i64 / i64::from(ROWS_OF_A_BATCH) > last,
            "acknowledged is held"
        );
        fold(&store).await;
        let totals = store.totals().await.unwrap();
        store.forget_roll_ups().await.unwrap();
        fold(&store).await;
        assert_eq!(
            store.totals().await.unwrap(),
            totals,
            "roll-ups count each row once"
        );
    }
}

/// Ticks of settlement in a day, and the pods that each has a row of.
const TICKS: i64 = 288;
const PODS: u32 = 12;
/// Set for the child that settles a day: the file that it writes to.
const CHILD_SETTLES_IN: &str = "GPU_STORE_TEST_CHILD_SETTLES_IN";

/// The tick's rows and the place up to which the day is settled, in one batch.
fn tick(number: i64) -> Batch {
    let (from, to) = (number * 5 * MINUTE, (number + 1) * 5 * MINUTE);
    let mut rows: Vec<_> = (0..PODS).map(|pod| pod_row(pod, span(from, to))).collect();
    if number % 9 == 4 {
        // Something was learnt late: the first row of the tick before is taken back and written anew.
        let wrong = pod_row(0, span(from - 5 * MINUTE, from));
        let mut right = wrong.clone();
        right.revision = 1;
        right.time.used_ms += 1;
        rows.extend([wrong.reversed(1), right.sealed()]);
    }
    let place = Opening {
        cluster: cluster("blue"),
        id: "day".to_owned(),
        machine: "i-1".to_owned(),
        since: at(0),
        settled_until: at(to),
        is_closed: number + 1 == TICKS,
        holding: serde_json::json!({}),
    };
    Batch {
        rows,
        replacements: vec![place.record().unwrap()],
        ..Batch::default()
    }
}

/// Goes on where the ledger says that it stopped.
async fn settle(store: &SqliteStore, mut each: impl FnMut(i64)) {
    let found = store.records(RecordQuery::of(RecordKind::Opening)).await.unwrap();
    let place = found.records.first().map(|record| Opening::read(record).unwrap());
    let done = place.map_or(0, |place| (place.settled_until.0 - at(0).0) / (5 * MINUTE));
    for number in done..TICKS {
        store.append(tick(number)).await.unwrap();
        each(number);
        if number % 4 == 0 {
            store.roll_up().await.unwrap();
        }
    }
    fold(store).await;
}

/// The child of the test below. Without the variable it is an empty test.
#[test]
fn child_that_settles_a_day() {
    let Some(path) = std::env::var_os(CHILD_SETTLES_IN) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(Path::new(&path)).unwrap();
    let mut out = std::io::stdout();
    runtime.block_on(settle(&store, |number| {
        writeln!(out, "acknowledged {number}").unwrap();
        out.flush().unwrap();
    }));
}

/// A day that is settled by processes of which all but the last are killed, each after so many batches as `deaths` says in turn.
async fn check_a_day_with_kills(mut deaths: impl Iterator<Item = usize>) {
    let directory = TempDir::new().unwrap();
    let (path, other) = (
        directory.path().join("killed.db"),
        directory.path().join("whole.db"),
    );
    let mut killed = 0;
    loop {
        let mut child = spawn("sqlite::child_that_settles_a_day", CHILD_SETTLES_IN, &path);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let acknowledged = lines.filter(|line| line.as_ref().unwrap().starts_with("acknowledged"));
        let wanted = deaths.next().unwrap();
        let seen = acknowledged.take(wanted).count();
        if seen < wanted {
            assert!(child.wait().unwrap().success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
    }
    assert!(killed > 0);
    let (killed, whole) = (
        SqliteStore::open(&path).unwrap(),
        SqliteStore::open(&other).unwrap(),
    );
    settle(&whole, |_| {}).await;
    assert_eq!(all_rows(&killed).await, all_rows(&whole).await);
    assert_eq!(killed.totals().await.unwrap(), whole.totals().await.unwrap());
    let query = CostQuery::by(span(0, DAY), vec![Dimension::Pod]);
    assert_eq!(
        killed.cost(query.clone()).await.unwrap(),
        whole.cost(query).await.unwrap()
    );
}

#[tokio::test]
async fn killed_at_random_moments_of_a_day_the_ledger_is_the_same() {
    check_a_day_with_kills(
        [17, 1, 60, 33, 2, 90, 41]
            .into_iter()
            .chain(std::iter::repeat(1_000)),
    )
    .await;
}

/// The same with many more deaths, day after day, as long as asked for.
#[tokio::test]
async fn soak_killed_all_day_the_ledger_is_the_same() {
    let seconds = std::env::var("GPU_SOAK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    let mut random = 1_u64;
    loop {
        check_a_day_with_kills(std::iter::from_fn(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some(1 + usize::try_from((random >> 33) % 50).unwrap())
        }))
        .await;
        if std::time::Instant::now() >= until {
            break;
        }
    }
}

#[tokio::test]
async fn a_second_process_is_refused_with_the_way_out() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    let mut child = child(&path);
    wait_for(&mut child, 1);
    let error = SqliteStore::open(&path).unwrap_err();
    let words = error.to_string();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(words.contains(&format!("process {}", child.id())), "{words}");
    assert!(words.contains("stop that one, or move to PostgreSQL"), "{words}");
    // The lock goes with the process: nothing has to be removed by hand.
    SqliteStore::open(&path).unwrap();
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    let options = SqliteOptions {
        most_pages: Some(150),
    };
    let store = SqliteStore::open_with(&path, options).unwrap();
    let mut written = 0;
    let error = loop {
        match store.append(batch(written)).await {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "the disk never gets full");
    };
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Again);
    let rows_of = |batches: i64| usize::try_from(batches).unwrap() * ROWS_OF_A_BATCH as usize;
    assert_eq!(all_rows(&store).await.len(), rows_of(written));
    store.close().await.unwrap();
    drop(store);
    // Room was made: the same batch is written now.
    let store = SqliteStore::open(&path).unwrap();
    store.append(batch(written)).await.unwrap();
    assert_eq!(all_rows(&store).await.len(), rows_of(written + 1));
}

#[tokio::test]
async fn a_backup_is_made_while_rows_are_written_and_put_back() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    let copy = directory.path().join("copy.db");
    let store = SqliteStore::open(&path).unwrap();
    for number in 0..20 {
        store.append(batch(number)).await.unwrap();
    }
    let (from, to) = (path.clone(), copy.clone());
    let copying = tokio::task::spawn_blocking(move || backup(&from, &to));
    for number in 20..60 {
        store.append(batch(number)).await.unwrap();
    }
    copying.await.unwrap().unwrap();
    backup(&path, &copy).unwrap_err();
    backup(
        &directory.path().join("absent.db"),
        &directory.path().join("b.db"),
    )
    .unwrap_err();

    let held = all_rows(&store).await;
    let error = restore(&copy, &path, Target::MayBeReplaced).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    store.close().await.unwrap();
    drop(store);
    let error = restore(&copy, &path, Target::MustBeEmpty).unwrap_err();
    assert!(matches!(error, StoreError::NotEmpty), "{error}");
    restore(&copy, &path, Target::MayBeReplaced).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let back = all_rows(&store).await;
    assert_eq!(back.len() % ROWS_OF_A_BATCH as usize, 0, "of one instant");
    assert!(back.len() >= 20 * ROWS_OF_A_BATCH as usize);
    assert_eq!(back, held[..back.len()]);
    // What was written after the backup is written again.
    for number in 0..60 {
        store.append(batch(number)).await.unwrap();
    }
    assert_eq!(all_rows(&store).await, held);
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    let store = SqliteStore::open(&path).unwrap();
    for number in 0..30 {
        store.append(batch(number)).await.unwrap();
    }
    store.close().await.unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("restore a backup"), "{error}");
    assert_eq!(
        std::fs::read(&path).unwrap()[middle..middle + 8192],
        bytes[middle..middle + 8192]
    );

    let text = directory.path().join("notes.txt");
    std::fs::write(
        &text,
        "not a database, but some text that is long enough to be taken for one".repeat(100),
    )
    .unwrap();
    let error = SqliteStore::open(&text).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let missing: PathBuf = directory.path().join("no/such/place.db");
    let error = SqliteStore::open(&missing).unwrap_err();
    assert!(error.to_string().contains("its directory must exist"), "{error}");
}

#[tokio::test]
async fn retention_gives_room_back() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    let store = SqliteStore::open(&path).unwrap();
    for day in 0..12 {
        let rows = (0..2_000)
            .map(|pod| pod_row(pod, span(day * DAY, day * DAY + HOUR)))
            .collect();
        let batch = Batch {
            rows,
            ..Batch::default()
        };
        store.append(batch).await.unwrap();
    }
    fold(&store).await;
    let before = store.facts().await.unwrap().bytes.unwrap();
    let retention = gpu_store::Retention::default();
    let mut steps = 0;
    while !store.retain(retention, at(60 * DAY)).await.unwrap().is_done {
        steps += 1;
        assert!(steps < 30, "a few steps, not one for every page");
    }
    store.close().await.unwrap();
    drop(store);
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after * 2 < before, "{before} bytes before, {after} after");
}
