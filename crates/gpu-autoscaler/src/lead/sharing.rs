//! Two replicas must share a store. A file cannot be shared, so a second replica on SQLite is refused, and told what to do.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use gpu_runtime::{Clock, SystemClock};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use super::election::ElectionSettings;
use super::lease::{Observed, State};

/// On the Lease: where the holder keeps its books.
pub(super) const STORE_ANNOTATION: &str = "gpu-autoscaler.io/store";

/// A look at the lease that takes longer is a failure of the API server.
const LOOK_WITHIN: Duration = Duration::from_secs(10);

/// Where a replica keeps its books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A file of its own.
    Sqlite,
    /// A server that others can reach too.
    Postgres,
}

impl StoreKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for StoreKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Sqlite, Self::Postgres]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(())
    }
}

impl From<&gpu_store::StoreAddress> for StoreKind {
    fn from(address: &gpu_store::StoreAddress) -> Self {
        match address {
            gpu_store::StoreAddress::Sqlite(_) => Self::Sqlite,
            gpu_store::StoreAddress::Postgres(_) => Self::Postgres,
        }
    }
}

/// Why a replica may not run beside another.
#[derive(Debug, thiserror::Error)]
pub enum SharingError {
    #[error(
        "another replica (`{holder}`) is running, and this one has its store in a SQLite file that they cannot share: run one replica, or give all of them the same PostgreSQL database with `--store postgres://...`"
    )]
    OwnFile { holder: String },
    #[error(
        "another replica (`{holder}`) is running with its store in a SQLite file, which this one cannot share: stop that one, or give both the same PostgreSQL database with `--store postgres://...`"
    )]
    TheirFile { holder: String },
    #[error("failed to look at the lease `{lease}` to see whether another replica is running")]
    Look { lease: String, source: Box<kube::Error> },
    #[error("the API server did not tell in time whether another replica is running")]
    Silent,
}

impl SharingError {
    /// Whether two living replicas get along.
    pub(super) fn between(ours: StoreKind, theirs: Option<StoreKind>, holder: &str) -> Result<(), Self> {
        let holder = holder.to_owned();
        match (ours, theirs) {
            (StoreKind::Sqlite, _) => Err(Self::OwnFile { holder }),
            (StoreKind::Postgres, Some(StoreKind::Sqlite)) => Err(Self::TheirFile { holder }),
            (StoreKind::Postgres, Some(StoreKind::Postgres) | None) => Ok(()),
        }
    }
}

/// Before a replica starts: whether another one is alive with which it could not share its store.
///
/// A lease that a dead replica left behind is waited for, at most for its duration. Replicas that start at the same instant are told
/// apart by the election, which ends all but one of them in the same words.
pub async fn check_store_sharing(client: Client, settings: &ElectionSettings) -> Result<(), SharingError> {
    let leases: Api<Lease> = Api::namespaced(client, &settings.namespace);
    let mut seen: Option<Observed> = None;
    loop {
        let found = timeout(LOOK_WITHIN, leases.get_opt(&settings.lease))
            .await
            .map_err(|_| SharingError::Silent)?
            .map_err(|error| SharingError::Look {
                lease: settings.lease.clone(),
                source: Box::new(error),
            })?;
        let Some(lease) = found else { return Ok(()) };
        let now = SystemClock.monotonic();
        let observed = Observed::look(seen.as_ref(), lease, now);
        match observed.state(&settings.identity, settings.times.lease, now) {
            State::Free | State::Ours => return Ok(()),
            State::Held { by, .. } => {
                let verdict = SharingError::between(settings.store, observed.store(), &by);
                if observed.is_alive || verdict.is_ok() {
                    return verdict;
                }
            }
        }
        seen = Some(observed);
        sleep(settings.times.retry.min(Duration::from_millis(500))).await;
    }
}
