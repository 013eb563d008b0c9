//! Standing for election on a Lease: taking it when it is free, renewing it, letting it go.
//!
//! Every update names the resource version it rests on, so that of two candidates one is refused. A leader counts from the moment it
//! *asked* for a renewal and stops believing in itself well before anybody else may take over.

use std::sync::Arc;
use std::time::Duration;

use gpu_runtime::{Chain, Clock, Shutdown};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use ring::rand::SecureRandom as _;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::lease::{self, Observed, State};
use super::sharing::{SharingError, StoreKind};
use super::standing::{Leadership, Term};

/// The times of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimes {
    /// How long a lease holds that nobody renews.
    pub lease: Duration,
    /// How long a leader believes in itself after its last renewal.
    pub renew_deadline: Duration,
    /// How often a leader renews and a candidate looks.
    pub retry: Duration,
}

impl Default for LeaseTimes {
    /// A killed leader is replaced after 6 to 7 s, which leaves 3 s to start acting.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(6),
            renew_deadline: Duration::from_secs(4),
            retry: Duration::from_secs(1),
        }
    }
}

/// Why times cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "lease times {lease:?}, {renew_deadline:?} and {retry:?} do not fit: two retries must fit into the renew deadline, and the renew deadline must be shorter than the lease"
)]
pub struct TimesError {
    lease: Duration,
    renew_deadline: Duration,
    retry: Duration,
}

impl LeaseTimes {
    pub fn checked(self) -> Result<Self, TimesError> {
        if self.retry.is_zero() || self.retry * 2 > self.renew_deadline || self.renew_deadline >= self.lease {
            return Err(TimesError {
                lease: self.lease,
                renew_deadline: self.renew_deadline,
                retry: self.retry,
            });
        }
        Ok(self)
    }
}

/// Who stands for election, and for what.
#[derive(Debug, Clone)]
pub struct ElectionSettings {
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// Unique among the replicas; see [`new_identity`].
    pub identity: String,
    pub times: LeaseTimes,
    pub store: StoreKind,
}

/// Why a replica may not go on.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    #[error(transparent)]
    Sharing(#[from] SharingError),
}

/// A name no other replica has: two that shared one would take each other's renewals for their own.
pub fn new_identity(host: &str) -> String {
    let mut bytes = [0_u8; 6];
    // Without random numbers, the process id still tells apart the replicas of one host, and the host those of different ones.
    if ring::rand::SystemRandom::new().fill(&mut bytes).is_err() {
        bytes[..4].copy_from_slice(&std::process::id().to_be_bytes());
    }
    let suffix: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{host}_{suffix}")
}

/// One candidate.
pub struct Election {
    leases: Api<Lease>,
    settings: ElectionSettings,
    clock: Arc<dyn Clock>,
    leadership: Leadership,
}

impl Election {
    pub fn new(
        client: Client,
        settings: ElectionSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Leadership), TimesError> {
        settings.times.checked()?;
        let leadership = Leadership::none(settings.identity.clone(), Arc::clone(&clock));
        let election = Self {
            leases: Api::namespaced(client, &settings.namespace),
            settings,
            clock,
            leadership: leadership.clone(),
        };
        Ok((election, leadership))
    }

    /// Stands for election until the shutdown, then lets the lease go. An error means that this replica must end.
    pub async fn run(&self, shutdown: &Shutdown) -> Result<(), ElectionError> {
        let mut seen = None;
        let outcome = loop {
            let pause = tokio::select! {
                biased;
                () = shutdown.triggered() => break Ok(()),
                step = self.step(&mut seen) => match step {
                    Ok(pause) => pause,
                    Err(error) => break Err(error),
                },
            };
            tokio::select! {
                biased;
                () = shutdown.triggered() => break Ok(()),
                () = sleep(pause) => {}
            }
        };
        let led = self.leadership.until().is_some();
        // First the belief, then the lease: nothing is written between the two.
        self.leadership.let_go();
        if led {
            self.release().await;
        }
        outcome
    }

    /// One look or renewal, and how long to wait before the next.
    async fn step(&self, seen: &mut Option<Observed>) -> Result<Duration, ElectionError> {
        let asked_at = self.clock.monotonic();
        let outcome = match (self.leadership.until(), seen.as_ref()) {
            (Some(until), Some(ours)) => {
                let left = until.saturating_duration_since(asked_at);
                let within = left.min(self.call_time());
                let renewed = lease::renewed(ours.lease.clone(), self.clock.now());
                match self.put(renewed, within).await {
                    Put::Refused => self.renew_again(lease::term(&ours.lease), within).await,
                    other => other,
                }
            }
            _ => self.look(seen).await?,
        };
        match outcome {
            Put::Done(lease) => self.note_holding(seen, *lease, asked_at),
            // Somebody changed the lease: the next step looks at it.
            Put::Refused => self.step_down("the lease was changed by another"),
            Put::Failed(error) => {
                warn!(error, "failed to reach the lease");
                if self
                    .leadership
                    .until()
                    .is_some_and(|until| self.clock.monotonic() >= until)
                {
                    self.step_down("the lease could not be renewed in time");
                }
            }
            Put::Wait(pause) => return Ok(pause),
        }
        Ok(self.settings.times.retry)
    }

    /// After a refused renewal: it may be our own, whose answer was lost, that changed the lease. Then the term goes on.
    async fn renew_again(&self, term: Term, within: Duration) -> Put {
        match timeout(within, self.leases.get(&self.settings.lease)).await {
            Ok(Ok(found))
                if lease::term(&found) == term
                    && lease::holder(&found) == Some(self.settings.identity.as_str()) =>
            {
                self.put(lease::renewed(found, self.clock.now()), within).await
            }
            Ok(Ok(_)) => Put::Refused,
            Ok(Err(error)) => Put::from(Ok(Err(error))),
            Err(_) => Put::Failed("no answer in time".to_owned()),
        }
    }

    fn note_holding(&self, seen: &mut Option<Observed>, lease: Lease, asked_at: std::time::Instant) {
        let term = lease::term(&lease);
        let began = self.leadership.term() != Some(term);
        *seen = Some(Observed::look(None, lease, asked_at));
        self.leadership
            .hold(term, asked_at + self.settings.times.renew_deadline);
        if began {
            info!(
                term = term.transitions(),
                identity = self.settings.identity,
                "leads"
            );
        }
    }

    fn step_down(&self, why: &'static str) {
        if self.leadership.until().is_some() {
            warn!(why, "leads no longer");
            self.leadership.let_go();
        }
    }

    /// A candidate's step: looks at the lease, and takes it where it is free.
    async fn look(&self, seen: &mut Option<Observed>) -> Result<Put, ElectionError> {
        let times = self.settings.times;
        let found = match timeout(self.call_time(), self.leases.get_opt(&self.settings.lease)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Ok(Put::Failed(Chain(&error).to_string())),
            Err(_) => return Ok(Put::Failed("no answer in time".to_owned())),
        };
        let Some(lease) = found else {
            *seen = None;
            return Ok(self.create().await);
        };
        let now = self.clock.monotonic();
        let observed = Observed::look(seen.as_ref(), lease, now);
        let state = observed.state(&self.settings.identity, times.lease, now);
        let observed = seen.insert(observed);
        match state {
            State::Held { by, expires_at } => {
                if observed.is_alive {
                    SharingError::between(self.settings.store, observed.store(), &by)?;
                }
                let left = expires_at.saturating_duration_since(now);
                Ok(Put::Wait(times.retry.min(left.max(Duration::from_millis(1)))))
            }
            // Ours means: from a renewal whose answer was lost. It is taken anew, in a new term.
            State::Free | State::Ours => {
                let settings = &self.settings;
                let taken = lease::taken(
                    observed.lease.clone(),
                    &settings.identity,
                    times.lease,
                    settings.store,
                    self.clock.now(),
                );
                Ok(self.put(taken, self.call_time()).await)
            }
        }
    }

    async fn create(&self) -> Put {
        let settings = &self.settings;
        let mut lease = Lease::default();
        lease.metadata.name = Some(settings.lease.clone());
        let lease = lease::taken(
            lease,
            &settings.identity,
            settings.times.lease,
            settings.store,
            self.clock.now(),
        );
        let params = PostParams::default();
        let create = self.leases.create(&params, &lease);
        Put::from(timeout(self.call_time(), create).await)
    }

    /// Replaces the lease if it still is what `lease` was made of.
    async fn put(&self, lease: Lease, within: Duration) -> Put {
        let params = PostParams::default();
        let replace = self.leases.replace(&self.settings.lease, &params, &lease);
        Put::from(timeout(within, replace).await)
    }

    async fn release(&self) {
        // Under the two seconds within which the next one should lead.
        const WITHIN: Duration = Duration::from_millis(1_500);
        let release = async {
            let found = self.leases.get(&self.settings.lease).await?;
            if lease::holder(&found) == Some(self.settings.identity.as_str()) {
                let released = lease::released(found, self.clock.now());
                self.leases
                    .replace(&self.settings.lease, &PostParams::default(), &released)
                    .await?;
            }
            Ok::<_, kube::Error>(())
        };
        match timeout(WITHIN, release).await {
            Ok(Ok(())) => info!("let the lease go"),
            Ok(Err(error)) => {
                warn!(error = %Chain(&error), "failed to let the lease go; it runs out by itself")
            }
            Err(_) => warn!("failed to let the lease go in time; it runs out by itself"),
        }
    }

    /// Two calls fit into the renew deadline.
    fn call_time(&self) -> Duration {
        self.settings.times.renew_deadline / 2
    }
}

/// How a step ended.
enum Put {
    Done(Box<Lease>),
    Refused,
    Failed(String),
    Wait(Duration),
}

impl From<Result<kube::Result<Lease>, tokio::time::error::Elapsed>> for Put {
    fn from(answer: Result<kube::Result<Lease>, tokio::time::error::Elapsed>) -> Self {
        match answer {
            Ok(Ok(lease)) => Self::Done(Box::new(lease)),
            // 409: another was quicker. 404: it was deleted. Both mean that we hold nothing.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Self::Refused,
            Ok(Err(error)) => Self::Failed(Chain(&error).to_string()),
            Err(_) => Self::Failed("no answer in time".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Times that cannot work are refused, and identities differ.

    use super::*;

    #[test]
    fn the_default_times_fit_and_others_must() {
        assert!(LeaseTimes::default().checked().is_ok());
        let late = LeaseTimes {
            renew_deadline: Duration::from_secs(6),
            ..LeaseTimes::default()
        };
        assert!(
            late.checked()
                .unwrap_err()
                .to_string()
                .contains("shorter than the lease")
        );
        let rare = LeaseTimes {
            retry: Duration::from_secs(3),
            ..LeaseTimes::default()
        };
        assert!(rare.checked().is_err());
    }

    #[test]
    fn two_processes_of_one_host_have_different_identities() {
        let (a, b) = (new_identity("host"), new_identity("host"));
        assert_ne!(a, b);
        assert!(a.starts_with("host_"));
    }
}
