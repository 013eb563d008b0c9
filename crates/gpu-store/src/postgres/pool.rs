//! A few connections, opened when they are needed and again when they were lost.

use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};

use super::Limits;
use super::tls::Connector;
use super::url;
use crate::address::PostgresUrl;
use crate::error::StoreError;

/// The waiting time after the first failure, doubled after each further one.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Our tables live in a schema of their own: the database may be shared.
pub(super) const SCHEMA: &str = "gpu_autoscaler";

pub(super) struct Pool {
    config: Config,
    connector: Connector,
    limits: Limits,
    permits: Semaphore,
    idle: Mutex<Vec<Client>>,
}

impl std::fmt::Debug for Pool {
    /// The configuration holds a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    pub(super) fn new(url: &PostgresUrl, limits: Limits) -> Result<Self, StoreError> {
        let parts = url::parse(url.secret())?;
        let mut config = parts.config;
        config.connect_timeout(limits.connect_within);
        config.application_name("gpu-autoscaler");
        Ok(Self {
            config,
            connector: Connector::new(&parts.tls)?,
            limits,
            permits: Semaphore::new(limits.connections.max(1)),
            idle: Mutex::default(),
        })
    }

    /// Does work on a connection. When the connection or the server is lost, waits and does it again on another, up to the limit.
    pub(super) async fn run<T>(
        &self,
        work: impl for<'a> Fn(&'a mut Client) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let _permit = self.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        let started = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            let error = match self.attempt(&work).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let StoreError::Unavailable { source, .. } = error else {
                return Err(error);
            };
            if started.elapsed() + wait > self.limits.give_up_after {
                return Err(StoreError::Unavailable {
                    seconds: started.elapsed().as_secs(),
                    source,
                });
            }
            tracing::warn!(error = %source, "lost the database, trying again");
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn attempt<T>(
        &self,
        work: &impl for<'a> Fn(&'a mut Client) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let mut client = match idle.filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect().await?,
        };
        let result = work(&mut client).await;
        let is_usable = !client.is_closed() && !matches!(result, Err(StoreError::Unavailable { .. }));
        if is_usable && let Ok(mut idle) = self.idle.lock() {
            idle.push(client);
        }
        result
    }

    /// A new connection, ready for use.
    pub(super) async fn connect(&self) -> Result<Client, StoreError> {
        let connecting = self.config.connect(self.connector.clone());
        let (client, connection) = timeout(self.limits.connect_within, connecting)
            .await
            .map_err(|error| unavailable(Box::new(error)))?
            .map_err(|error| sorted("connect to the database", error))?;
        // It ends with the client, or with the server; the client hears of that.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the database ended");
            }
        });
        let statement = self.limits.statement_within.as_millis();
        let settings = format!(
            "set statement_timeout = {statement}; set lock_timeout = {statement};
             set idle_in_transaction_session_timeout = {statement}; set timezone = 'UTC';
             set search_path = {SCHEMA}, public; set client_min_messages = warning"
        );
        client
            .batch_execute(&settings)
            .await
            .map_err(|error| sorted("set up a connection", error))?;
        Ok(client)
    }

    pub(super) fn close(&self) {
        self.permits.close();
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }
}

/// Turns an error of the database into ours.
pub(super) trait Failing<T> {
    fn or_fail(self, act: &'static str) -> Result<T, StoreError>;
}

impl<T> Failing<T> for Result<T, tokio_postgres::Error> {
    fn or_fail(self, act: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| sorted(act, error))
    }
}

fn unavailable(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Unavailable { seconds: 0, source }
}

/// Whether an error passes: the server restarts, hands over, or refuses for now.
fn sorted(act: &'static str, error: tokio_postgres::Error) -> StoreError {
    let Some(code) = error.code() else {
        // Without a code of the server the connection failed, unless a value could not be read.
        let is_value = std::error::Error::source(&error).is_some_and(|source| !source.is::<std::io::Error>());
        return if error.is_closed() || !is_value {
            unavailable(Box::new(error))
        } else {
            StoreError::failed(act, error)
        };
    };
    if *code == SqlState::DISK_FULL {
        return StoreError::DiskFull {
            path: "the database server".into(),
        };
    }
    let passes = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    if code.code().starts_with("08") || passes.contains(code) {
        return unavailable(Box::new(error));
    }
    StoreError::failed(act, error)
}

/// Whether a row was in the way.
pub(super) fn is_unique_violation(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::UNIQUE_VIOLATION)
}
