//! Credentials of the moment: fetched when they are needed, kept until shortly before they end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpu_runtime::Clock;
use gpu_runtime::http::client::{Client, ClientSettings, FetchError, Proxies, Secret, SettingsError};
use jiff::Timestamp;

use super::environment::{Environment, Metadata};
use super::sources;

/// What a request is signed with.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The name of the key.
    pub access_key: String,
    /// The key.
    pub secret: Secret,
    /// Belongs to keys that end.
    pub token: Option<Secret>,
    /// When they end; absent where they do not.
    pub expires: Option<Timestamp>,
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// Nothing names any.
    #[error(
        "neither keys, nor a role of the service account, nor an endpoint of the container is named, and the machine's metadata are not to be asked"
    )]
    None,
    /// Whoever gives them was not reached, or refused.
    #[error("failed to get credentials from {giver}")]
    Fetch {
        /// Who gives them.
        giver: &'static str,
        /// What went wrong.
        source: FetchError,
    },
    /// Whoever gives them answered with something else.
    #[error("{giver} answered without credentials")]
    Content {
        /// Who gives them.
        giver: &'static str,
    },
    /// A token's file cannot be read.
    #[error("failed to read the token for {giver}")]
    Token {
        /// Who wants to see it.
        giver: &'static str,
        /// What went wrong.
        source: std::io::Error,
    },
    /// An address is none, or one to which no token may be sent.
    #[error("the address of {giver} is neither one of this machine nor https")]
    Address {
        /// Whose address.
        giver: &'static str,
    },
}

/// New ones are fetched this long before the old ones end; AWS hands them out at least this much earlier.
const EARLY: Duration = Duration::from_secs(5 * 60);

/// Gives credentials; clones share them.
#[derive(Clone)]
pub struct CredentialsChain {
    environment: Arc<Environment>,
    /// Asks AWS.
    outside: Client,
    /// Asks this machine, never through a proxy.
    machine: Client,
    kept: Arc<Mutex<Option<Credentials>>>,
    clock: Arc<dyn Clock>,
}

impl CredentialsChain {
    /// Sets up the chain; nothing is asked yet.
    pub fn new(
        environment: Environment,
        outside: Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        let machine = Client::new(ClientSettings {
            proxies: Proxies::Never,
            // It is this machine or nobody.
            connect_timeout: Duration::from_secs(2),
            ..ClientSettings::default()
        })?;
        Ok(Self {
            environment: Arc::new(environment),
            outside,
            machine,
            kept: Arc::default(),
            clock,
        })
    }

    /// Credentials that hold for some minutes at least. When new ones cannot be had, old ones are given up to their end.
    pub async fn get(&self) -> Result<Credentials, CredentialsError> {
        let now = self.clock.now();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let holds_for = |credentials: &Credentials, time: Duration| {
            credentials
                .expires
                .is_none_or(|end| now.saturating_add(time).is_ok_and(|later| later < end))
        };
        if let Some(kept) = kept.clone().filter(|kept| holds_for(kept, EARLY)) {
            return Ok(kept);
        }
        match self.fetch().await {
            Ok(fresh) => {
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
                Ok(fresh)
            }
            Err(error) => kept.filter(|kept| holds_for(kept, Duration::ZERO)).ok_or(error),
        }
    }

    async fn fetch(&self) -> Result<Credentials, CredentialsError> {
        let environment = &self.environment;
        if let Some(keys) = &environment.keys {
            return Ok(Credentials {
                access_key: keys.access_key.clone(),
                secret: keys.secret.clone(),
                token: keys.token.clone(),
                expires: None,
            });
        }
        if let Some(identity) = &environment.web_identity {
            let endpoint = environment.sts_endpoint.as_deref();
            return sources::web_identity(&self.outside, identity, endpoint, environment.region.as_deref())
                .await;
        }
        if let Some(container) = &environment.container {
            return sources::container(&self.machine, container).await;
        }
        match &environment.metadata {
            Metadata::At(address) => sources::metadata(&self.machine, address).await,
            Metadata::Never => Err(CredentialsError::None),
        }
    }
}

impl std::fmt::Debug for CredentialsChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialsChain")
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}
