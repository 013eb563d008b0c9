//! The shared store against a real PostgreSQL server: the contract, and what a server does to its clients.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use gpu_cost::{Grain, Moment, Span};
use gpu_store::{Batch, CostQuery, Dimension, Store, StoreAddress, open};
use gpu_testbed::postgres::{Ending, Postgres};
use gpu_testbed::{Bed, require};
use tokio_postgres::NoTls;

use crate::contract::{self, fold};
use crate::sample::{DAY, HOUR, MINUTE, pod_row, span};

const WHOLE: Duration = Duration::from_secs(420);

/// An empty database of its own.
async fn new_database(server: &Postgres, name: &str) -> anyhow::Result<StoreAddress> {
    let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(&format!("create database {name}")).await?;
    drop(client);
    connection.await??;
    Ok(server.url_of(name).parse()?)
}

#[tokio::test]
async fn the_contract_holds() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Arc::new(Postgres::start(&bed).await?);
        let mut number = 0;
        contract::hold(|| {
            number += 1;
            let server = Arc::clone(&server);
            async move { new_database(&server, &format!("case_{number}")).await.unwrap() }
        })
        .await;
        Ok(())
    })
    .await
}

/// One after the other, rows are written while the server is ended, in order and not.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_under_load_loses_and_doubles_nothing() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let mut server = Postgres::start(&bed).await?;
        let store = open(&new_database(&server, "load").await?).await?;
        let mut writers = Vec::new();
        for writer in 0..3_u32 {
            let store = Arc::clone(&store);
            writers.push(tokio::spawn(write_for_a_while(store, writer)));
        }
        let folding = {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for _ in 0..200 {
                    store.roll_up().await?;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok::<_, gpu_store::StoreError>(())
            })
        };
        for ending in [Ending::Crash, Ending::Fast, Ending::Crash] {
            tokio::time::sleep(Duration::from_millis(500)).await;
            server.restart(&bed, ending).await?;
        }
        let mut acknowledged = 0;
        for writer in writers {
            acknowledged += writer.await?.context("a writer gave up")?;
        }
        folding.await??;
        fold(&*store).await;
        let totals = store.totals().await?;
        assert_eq!(totals.rows, acknowledged, "acknowledged and held");
        assert_eq!(
            contract::all_rows(&*store).await.len() as u64,
            acknowledged,
            "and readable"
        );
        let answer = store.cost(CostQuery::by(span(0, 30 * DAY), Vec::new())).await?;
        let costs: i64 = answer.lines.iter().map(|line| line.sums.allocated).sum();
        assert_eq!(costs, totals.row_sums.allocated, "roll-ups and rows");
        store.forget_roll_ups().await?;
        fold(&*store).await;
        assert_eq!(store.totals().await?, totals, "roll-ups made anew");
        Ok(())
    })
    .await
}

/// Writes batches for some seconds, every other one twice, and returns how many different rows were acknowledged.
async fn write_for_a_while(store: Arc<dyn Store>, writer: u32) -> anyhow::Result<u64> {
    let mut count = 0;
    for batch in 0..40_i64 {
        let rows: Vec<_> = (0..50)
            .map(|pod| {
                // New pods all the time: what is learnt of them goes with a transaction that is lost.
                let number = u32::try_from(batch).unwrap() / 2 * 50 + pod;
                pod_row(
                    writer * 10_000 + number,
                    span(batch * HOUR, batch * HOUR + 7 * MINUTE),
                )
            })
            .collect();
        for _ in 0..=batch % 2 {
            let written = Batch {
                rows: rows.clone(),
                ..Batch::default()
            };
            store.append(written).await?;
        }
        count += 50;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    Ok(count)
}

#[tokio::test]
async fn replicas_take_turns_and_agree() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let address = new_database(&server, "turns").await?;
        // All of them find an empty database, and one of them makes the tables.
        let stores = futures::future::try_join_all((0..3).map(|_| open(&address))).await?;
        let writes = stores.iter().map(|store| {
            let store = Arc::clone(store);
            async move {
                for batch in 0..10 {
                    let rows = (0..20)
                        .map(|pod| pod_row(pod, span(batch * HOUR, batch * HOUR + HOUR)))
                        .collect();
                    let batch = Batch {
                        rows,
                        ..Batch::default()
                    };
                    store.append(batch).await?;
                    store.roll_up().await?;
                }
                Ok::<_, gpu_store::StoreError>(())
            }
        });
        futures::future::try_join_all(writes).await?;
        fold(&*stores[0]).await;
        assert_eq!(stores[1].totals().await?.rows, 200);
        let query = CostQuery::by(span(0, DAY), vec![Dimension::Namespace]);
        let answer = stores[2].cost(query).await?;
        let costs: i64 = answer.lines.iter().map(|line| line.sums.allocated).sum();
        assert_eq!(costs, stores[0].totals().await?.row_sums.allocated);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn rows_lie_in_partitions_that_are_made_ahead_and_dropped_whole() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let address = new_database(&server, "days").await?;
        let store = open(&address).await?;
        let rows = (0..10)
            .map(|day| pod_row(1, span(day * DAY, day * DAY + HOUR)))
            .collect();
        store
            .append(Batch {
                rows,
                ..Batch::default()
            })
            .await?;
        fold(&*store).await;
        let client = connected(&server, "days").await?;
        let partitions = async || {
            let sql = "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
                 where i.inhparent = 'gpu_autoscaler.ledger_row'::regclass order by 1";
            let rows = client.query(sql, &[]).await?;
            anyhow::Ok(rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>())
        };
        let made = partitions().await?;
        assert_eq!(made.len(), 13, "ten days with rows and three ahead: {made:?}");
        assert_eq!(made[0], "ledger_row_20260301");
        assert_eq!(made[12], "ledger_row_20260313");
        let now = crate::sample::at(10 * DAY);
        while !store.retain(gpu_store::Retention::default(), now).await?.is_done {}
        // The floor is 4 March. A row of 3 March may reach over it, so its partition stays, empty.
        assert_eq!(partitions().await?[0], "ledger_row_20260303");
        assert_eq!(store.totals().await?.rows, 7);
        Ok(())
    })
    .await
}

/// What the first version left, as it would be found.
const FIRST_VERSION: &str = include_str!("first_version.sql");

async fn connected(server: &Postgres, name: &str) -> anyhow::Result<tokio_postgres::Client> {
    let (client, connection) = tokio_postgres::connect(&server.url_of(name), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::test]
async fn the_first_version_is_migrated_and_keeps_what_it_holds() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let address = new_database(&server, "old").await?;
        let client = connected(&server, "old").await?;
        client.batch_execute(FIRST_VERSION).await?;
        let body = serde_json::to_string(&gpu_store::Dimensions::of(&pod_row(1, span(0, HOUR))))?;
        client
            .execute("update dimension_set set body = $1", &[&body])
            .await?;
        let asked = async |store: &dyn Store| {
            let day = Span::new(Moment(86_400_000), Moment(172_800_000));
            store.cost(CostQuery::by(day, Vec::new())).await
        };
        for _ in 0..2 {
            // The second time changes nothing.
            let store = open(&address).await?;
            assert_eq!(store.facts().await?.unfolded, 1);
            let totals = store.totals().await?;
            assert_eq!((totals.rows, totals.set_slices, totals.slices), (2, 2, 2));
            assert_eq!(totals.slice_sums.allocated, 24);
            assert_eq!(totals.records.len(), 1);
            // The day is closed: its sum answers, and with it the row that is not folded.
            let answer = asked(&*store).await?;
            assert_eq!(answer.grains, [Some(Grain::Day)]);
            assert_eq!(answer.lines[0].sums.allocated, 12);
        }
        let row = client
            .query_one(
                "select (select value from meta where name = 'closed'), (select last_day from dimension_set)",
                &[],
            )
            .await?;
        // Rows that were not folded had not yet told their set the day.
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, i64>(1)),
            (172_800_000, 86_400_000)
        );
        let store = open(&address).await?;
        fold(&*store).await;
        assert_eq!(store.facts().await?.unfolded, 0);
        assert_eq!(
            asked(&*store).await?.lines[0].sums.allocated,
            12,
            "added to the closed day"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn tables_of_a_later_program_are_refused_untouched() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let address = new_database(&server, "new").await?;
        open(&address).await?.close().await?;
        let client = connected(&server, "new").await?;
        let raise = "update gpu_autoscaler.meta set value = value + 5 where name = 'schema' returning value";
        let later: i64 = client.query_one(raise, &[]).await?.get(0);
        let Err(error) = open(&address).await else {
            anyhow::bail!("it was opened");
        };
        assert!(
            matches!(error, gpu_store::StoreError::NewerSchema { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("run the newer program"), "{error}");
        let found = "select value from gpu_autoscaler.meta where name = 'schema'";
        assert_eq!(client.query_one(found, &[]).await?.get::<_, i64>(0), later);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn tls_is_as_strict_as_the_address_says() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    let ours = rcgen::generate_simple_self_signed(vec!["db.example".to_owned(), "127.0.0.1".to_owned()])?;
    let other = rcgen::generate_simple_self_signed(vec!["db.example".to_owned()])?;
    let elsewhere = rcgen::generate_simple_self_signed(vec!["elsewhere.example".to_owned()])?;
    bed.guard(WHOLE, async {
        let roots = bed.write_file("roots.pem", ours.cert.pem())?;
        let wrong = bed.write_file("wrong.pem", other.cert.pem())?;
        let files = [
            ("server.crt", ours.cert.pem()),
            ("server.key", ours.signing_key.serialize_pem()),
            ("other.crt", elsewhere.cert.pem()),
            ("other.key", elsewhere.signing_key.serialize_pem()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let server = Postgres::start_with(&bed, &[("ssl", "on")], &files).await?;
        let attempt = async |query: &str| -> Result<(), gpu_store::StoreError> {
            let address: StoreAddress = format!("{}?{query}", server.url()).parse().unwrap();
            let StoreAddress::Postgres(url) = &address else {
                unreachable!()
            };
            let limits = gpu_store::postgres::Limits {
                give_up_after: Duration::from_millis(10),
                ..Default::default()
            };
            gpu_store::postgres::PostgresStore::open(url, &limits)
                .await
                .map(drop)
        };
        attempt("sslmode=disable").await?;
        attempt("sslmode=require").await?;
        attempt("").await?;
        let (roots, wrong) = (roots.display(), wrong.display());
        attempt(&format!("sslmode=verify-full&sslrootcert={roots}")).await?;
        attempt(&format!("sslmode=verify-ca&sslrootcert={roots}")).await?;
        for refused in [
            format!("sslmode=verify-full&sslrootcert={wrong}"),
            format!("sslmode=verify-ca&sslrootcert={wrong}"),
            format!("sslmode=require&sslrootcert={wrong}"),
            "sslmode=verify-full".to_owned(),
            "sslmode=sometimes".to_owned(),
            "sslmode=verify-full&sslrootcert=/nowhere".to_owned(),
        ] {
            attempt(&refused).await.expect_err(&refused);
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn no_error_holds_the_password() -> anyhow::Result<()> {
    let taken = gpu_testbed::free_port();
    for url in [
        format!("postgres://me:s3cret@127.0.0.1:{taken}/costs"),
        format!("postgres://me:s3cret@127.0.0.1:{taken}/costs?nonsense=s3cret"),
        "postgres://me:s3cret@127.0.0.1:notaport/costs".to_owned(),
        "postgres://me:s3%cret@[::/costs".to_owned(),
        "postgres://me:s3cret@127.0.0.1/costs?sslmode=s3cret".to_owned(),
    ] {
        let address: StoreAddress = url.parse()?;
        let StoreAddress::Postgres(url) = &address else {
            unreachable!()
        };
        let limits = gpu_store::postgres::Limits {
            give_up_after: Duration::from_millis(100),
            ..Default::default()
        };
        let error = gpu_store::postgres::PostgresStore::open(url, &limits)
            .await
            .unwrap_err();
        let debug = format!("{error:?} {address:?} {url:?}");
        let told = format!("{:#} {debug}", anyhow::Error::new(error));
        assert!(!told.contains("s3cret") && !told.contains("s3%cret"), "{told}");
    }
    Ok(())
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_store_moves_between_sqlite_and_postgres_and_back() -> anyhow::Result<()> {
    use gpu_store::dump::{Target, restore, save};

    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let file = |name: &str| StoreAddress::Sqlite(bed.path(name));
        let embedded = open(&file("one.db")).await?;
        contract::fill(&*embedded).await;
        let mut text = Vec::new();
        let totals = save(&*embedded, &mut text).await?;
        let shared = open(&new_database(&server, "moved").await?).await?;
        assert_eq!(
            restore(&*shared, text.as_slice(), Target::MustBeEmpty).await?,
            totals
        );
        let mut second = Vec::new();
        save(&*shared, &mut second).await?;
        let back = open(&file("two.db")).await?;
        assert_eq!(
            restore(&*back, second.as_slice(), Target::MustBeEmpty).await?,
            totals
        );
        for store in [&shared, &back] {
            assert_eq!(
                contract::all_rows(&**store).await,
                contract::all_rows(&*embedded).await
            );
            for dimension in [Dimension::Namespace, Dimension::Pod] {
                let query = CostQuery::by(span(0, 3 * DAY), vec![dimension]);
                assert_eq!(store.cost(query.clone()).await?, embedded.cost(query).await?);
            }
        }
        Ok(())
    })
    .await
}
