//! Numbers of what many rows share, asked for in one go for a whole batch.

use std::collections::HashMap;

use gpu_cost::{Grain, LedgerRow, Moment, PriceNote};
use gpu_model::ClusterId;
use tokio_postgres::Transaction;

use super::pool::Failing;
use crate::error::StoreError;
use crate::ledger::{Dimensions, Fingerprints, Fold, check_names, floor};
use crate::stored::digest;

/// Sets of dimensions whose numbers are remembered: a hundred thousand pods that come and go, in about 20 MB.
const KNOWN_SETS: usize = 250_000;
const KNOWN_PRICES: usize = 10_000;

/// What is remembered between batches. Forgotten after every failure, which may have taken some of it back.
#[derive(Debug, Default)]
pub(super) struct Known {
    clusters: HashMap<ClusterId, i32>,
    fingerprints: Fingerprints,
    /// With the last day that is noted with a set.
    sets: HashMap<u128, (i64, Moment)>,
    prices: HashMap<PriceNote, (i64, Moment)>,
    /// Days that have a partition.
    pub(super) days: Vec<Moment>,
    /// The values of sets, for folding.
    pub(super) fold: Fold,
    /// Whose numbers these are.
    epoch: i64,
}

/// The numbers of one row's parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) cluster: i32,
    pub(super) set: i64,
    pub(super) price: i64,
}

impl Known {
    /// Another replica may have restored a dump, whose numbers are others.
    pub(super) fn turn_to(&mut self, epoch: i64) {
        if self.epoch != epoch {
            *self = Self {
                epoch,
                ..Self::default()
            };
        }
    }

    /// Makes sure that everything the rows name has a number, and returns the number of each row's set.
    pub(super) async fn learn(
        &mut self,
        transaction: &Transaction<'_>,
        rows: &[LedgerRow],
    ) -> Result<Vec<Numbers>, StoreError> {
        if self.sets.len() >= KNOWN_SETS {
            self.sets.clear();
        }
        if self.prices.len() >= KNOWN_PRICES {
            self.prices.clear();
        }
        for row in rows {
            self.cluster(transaction, &row.cluster).await?;
        }
        let prints: Vec<u128> = rows.iter().map(|row| self.fingerprints.of(row)).collect();
        self.learn_sets(transaction, rows, &prints).await?;
        self.learn_prices(transaction, rows).await?;
        let missing = || StoreError::failed("write a row", "what it names was not learnt");
        let mut numbers = Vec::with_capacity(rows.len());
        for (row, print) in rows.iter().zip(&prints) {
            numbers.push(Numbers {
                cluster: *self.clusters.get(&row.cluster).ok_or_else(missing)?,
                set: self.sets.get(print).ok_or_else(missing)?.0,
                price: self.prices.get(&row.price).ok_or_else(missing)?.0,
            });
        }
        Ok(numbers)
    }

    pub(super) async fn cluster(
        &mut self,
        transaction: &Transaction<'_>,
        name: &ClusterId,
    ) -> Result<i32, StoreError> {
        if let Some(id) = self.clusters.get(name) {
            return Ok(*id);
        }
        let id = cluster(transaction, name).await?;
        self.clusters.insert(name.clone(), id);
        Ok(id)
    }

    async fn learn_sets(
        &mut self,
        transaction: &Transaction<'_>,
        rows: &[LedgerRow],
        prints: &[u128],
    ) -> Result<(), StoreError> {
        const ACT: &str = "write what rows are charged to";
        // The same name twice in one statement would be refused, so each comes once, with its last day.
        let mut new: HashMap<[u8; 16], (u128, usize)> = HashMap::new();
        let (mut names, mut clusters, mut uids) = (Vec::new(), Vec::new(), Vec::new());
        let (mut days, mut bodies) = (Vec::new(), Vec::new());
        for (row, print) in rows.iter().zip(prints) {
            let day = floor(Grain::Day, row.span.end.plus(-1));
            if self.sets.get(print).is_some_and(|(_, last_day)| *last_day >= day) {
                continue;
            }
            check_names(row)?;
            let dimensions = Dimensions::of(row);
            let body = serde_json::to_string(&dimensions).map_err(|error| StoreError::failed(ACT, error))?;
            let name = digest(&body);
            if let Some((_, place)) = new.get(&name) {
                let noted: &mut i64 = &mut days[*place];
                *noted = day.0.max(*noted);
                continue;
            }
            new.insert(name, (*print, names.len()));
            names.push(name.to_vec());
            clusters.push(self.clusters.get(&row.cluster).copied());
            uids.push(dimensions.holder.as_ref().map(|holder| holder.uid.to_string()));
            days.push(day.0);
            bodies.push(body);
        }
        if new.is_empty() {
            return Ok(());
        }
        let found = transaction
            .query(
                "insert into dimension_set as s (digest, cluster, pod_uid, last_day, body)
                 select * from unnest($1::bytea[], $2::integer[], $3::text[], $4::bigint[], $5::text[])
                 on conflict (digest) do update set last_day = greatest(s.last_day, excluded.last_day)
                 returning digest, id, last_day",
                &[&names, &clusters, &uids, &days, &bodies],
            )
            .await
            .or_fail(ACT)?;
        for row in &found {
            let name: &[u8] = row.get(0);
            if let Ok(name) = <[u8; 16]>::try_from(name)
                && let Some((print, _)) = new.remove(&name)
            {
                self.sets.insert(print, (row.get(1), Moment(row.get(2))));
            }
        }
        Ok(())
    }

    async fn learn_prices(
        &mut self,
        transaction: &Transaction<'_>,
        rows: &[LedgerRow],
    ) -> Result<(), StoreError> {
        const ACT: &str = "write the price of a row";
        for row in rows {
            let day = floor(Grain::Day, row.span.start);
            if self.prices.get(&row.price).is_some_and(|(_, last)| *last >= day) {
                continue;
            }
            let body = serde_json::to_string(&row.price).map_err(|error| StoreError::failed(ACT, error))?;
            let name = digest(&body);
            let found = transaction
                .query_one(
                    "insert into price_note as p (digest, last_day, body) values ($1, $2, $3)
                     on conflict (digest) do update set last_day = greatest(p.last_day, excluded.last_day)
                     returning id",
                    &[&name.as_slice(), &day.0, &body],
                )
                .await
                .or_fail(ACT)?;
            self.prices.insert(row.price.clone(), (found.get(0), day));
        }
        Ok(())
    }
}

/// The number of a cluster.
pub(super) async fn cluster(transaction: &Transaction<'_>, name: &ClusterId) -> Result<i32, StoreError> {
    const ACT: &str = "name a cluster";
    let select = "select id from cluster where name = $1";
    if let Some(row) = transaction
        .query_opt(select, &[&name.as_str()])
        .await
        .or_fail(ACT)?
    {
        return Ok(row.get(0));
    }
    let row = transaction
        .query_one(
            "insert into cluster (name) values ($1) returning id",
            &[&name.as_str()],
        )
        .await
        .or_fail(ACT)?;
    Ok(row.get(0))
}
