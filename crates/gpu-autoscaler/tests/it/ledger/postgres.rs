//! Replicas that share a real PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use gpu_autoscaler::ledger::{LedgerKeeper, LedgerSettings, LedgerState};
use gpu_store::sqlite::SqliteStore;
use gpu_store::{Store, open};
use gpu_testbed::postgres::{Ending, Postgres};
use gpu_testbed::{Bed, require};
use tempfile::TempDir;

use super::film::{bundled, film, keeper, same, show};

const WHOLE: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread")]
async fn leaders_that_take_turns_keep_one_ledger() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = Postgres::start(&bed).await?;
        let address = server.url().parse()?;
        let stores = [open(&address).await?, open(&address).await?];
        let film = film(2, 9, 100);
        let mut replicas = [keeper(&stores[0], &film.0[0]), keeper(&stores[1], &film.0[0])];
        let prices = bundled();
        for (number, look) in film.0.iter().enumerate() {
            // Eleven rounds each: no turn begins or ends with a window.
            let leader = number / 11 % 2;
            for (replica, keeper) in replicas.iter_mut().enumerate() {
                let status = keeper
                    .round(look.clone(), &prices, look.view.at, replica == leader)
                    .await;
                assert_eq!(status.check(), Ok(()));
            }
        }
        assert_ne!(replicas[0].status().state, replicas[1].status().state);

        let directory = TempDir::new()?;
        let alone: Arc<dyn Store> = Arc::new(SqliteStore::open(&directory.path().join("alone.db"))?);
        show(&mut keeper(&alone, &film.0[0]), &film.0, &prices).await;
        same(&*stores[0], &*alone).await;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_store_is_away_rounds_go_on_and_nothing_is_lost() -> anyhow::Result<()> {
    require!(Postgres::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let mut server = Postgres::start(&bed).await?;
        let store = open(&server.url().parse()?).await?;
        let film = film(2, 13, 120);
        let settings = LedgerSettings {
            patience: Duration::from_millis(300),
            ..LedgerSettings::default()
        };
        let cluster = film.0[0].view.cluster.clone();
        let mut keeper = LedgerKeeper::new(cluster, Arc::clone(&store), settings);
        let prices = bundled();
        show(&mut keeper, &film.0[..40], &prices).await;
        server.stop(Ending::Crash).await?;
        for look in &film.0[40..70] {
            keeper.round(look.clone(), &prices, look.view.at, true).await;
        }
        assert_eq!(keeper.status().state, LedgerState::Holding);
        assert!(keeper.status().check().is_err());
        server.start_again(&bed).await?;
        for look in &film.0[70..] {
            let status = keeper.round(look.clone(), &prices, look.view.at, true).await;
            // The store tries to connect less and less often; give it time once.
            if status.state == LedgerState::Holding {
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
        }
        assert_eq!(keeper.status().check(), Ok(()));

        let directory = TempDir::new()?;
        let alone: Arc<dyn Store> = Arc::new(SqliteStore::open(&directory.path().join("alone.db"))?);
        let mut undisturbed = super::film::keeper(&alone, &film.0[0]);
        show(&mut undisturbed, &film.0, &prices).await;
        assert_eq!(keeper.status().settled_until, undisturbed.status().settled_until);
        same(&*store, &*alone).await;
        Ok(())
    })
    .await
}
