//! Who gets in and under which rules. The rules are exchanged as a whole while requests are being answered; each request
//! goes by those it came in under.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use gpu_runtime::http::{Refusal, TlsSlot};

use super::config::{Rate, WebConfig};
use super::passwords::{Passwords, Verdict};

/// The exchangeable rules of the port: TLS, passwords, rate and headers.
pub struct Door {
    rules: ArcSwap<Rules>,
    tls: TlsSlot,
}

struct Rules {
    passwords: Passwords,
    bucket: Option<Bucket>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Door {
    pub fn new(config: WebConfig) -> Self {
        let tls = config.tls.as_ref().map(|tls| Arc::clone(&tls.server));
        Self {
            tls: TlsSlot::new(tls),
            rules: ArcSwap::from_pointee(Rules::new(config)),
        }
    }

    /// Takes new rules over for all that comes from now on.
    pub fn exchange(&self, config: WebConfig) {
        self.tls
            .exchange(config.tls.as_ref().map(|tls| Arc::clone(&tls.server)));
        self.rules.store(Arc::new(Rules::new(config)));
    }

    /// What the listener asks for each connection.
    pub fn tls(&self) -> &TlsSlot {
        &self.tls
    }
}

impl Rules {
    fn new(config: WebConfig) -> Self {
        Self {
            passwords: Passwords::new(config.users),
            bucket: config.rate.map(Bucket::new),
            headers: config.headers,
        }
    }
}

/// Lets in who may come in.
pub(super) async fn admit(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let rules = door.rules.load_full();
    if let Some(bucket) = &rules.bucket
        && bucket.take(Instant::now()) == Drop::Empty
    {
        let details = "more requests than the configured rate; try again later";
        return Refusal::new(StatusCode::TOO_MANY_REQUESTS, details).into_response();
    }
    let verdict = rules
        .passwords
        .judge(request.headers().get(header::AUTHORIZATION))
        .await;
    // The answer must not keep old rules alive.
    drop(rules);
    match verdict {
        Verdict::Welcome => next.run(request).await,
        Verdict::Refused => {
            let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "a user name and a password are needed");
            let challenge = "Basic realm=\"gpu-exporter\", charset=\"UTF-8\"";
            ([(header::WWW_AUTHENTICATE, challenge)], refusal).into_response()
        }
        Verdict::Busy => {
            let details = "too many passwords are being checked; try again in a second";
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details);
            ([(header::RETRY_AFTER, "1")], refusal).into_response()
        }
    }
}

/// Puts the configured headers on every answer, refusals included.
pub(super) async fn add_headers(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in &door.rules.load().headers {
        response.headers_mut().insert(name, value.clone());
    }
    response
}

/// A bucket that fills by one drop an interval and holds a burst.
struct Bucket {
    rate: Rate,
    level: Mutex<Level>,
}

struct Level {
    drops: f64,
    at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drop {
    Taken,
    Empty,
}

impl Bucket {
    fn new(rate: Rate) -> Self {
        let level = Level {
            drops: f64::from(rate.burst),
            at: Instant::now(),
        };
        Self {
            rate,
            level: Mutex::new(level),
        }
    }

    fn take(&self, now: Instant) -> Drop {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(level.at);
        let gained = passed.as_secs_f64() / self.rate.interval.as_secs_f64();
        level.drops = (level.drops + gained).min(f64::from(self.rate.burst));
        level.at = now;
        if level.drops < 1.0 {
            return Drop::Empty;
        }
        level.drops -= 1.0;
        Drop::Taken
    }
}

#[cfg(test)]
mod tests {
    //! The bucket by an imagined clock.

    use std::time::{Duration, Instant};

    use super::{Bucket, Drop, Rate};

    #[test]
    fn a_burst_and_then_one_an_interval() {
        let interval = Duration::from_secs(2);
        let bucket = Bucket::new(Rate { interval, burst: 2 });
        let start = Instant::now();
        let take = |seconds: u64| bucket.take(start + Duration::from_secs(seconds));
        assert_eq!(
            [take(0), take(0), take(0)],
            [Drop::Taken, Drop::Taken, Drop::Empty]
        );
        assert_eq!(
            [take(1), take(2), take(2)],
            [Drop::Empty, Drop::Taken, Drop::Empty]
        );
        // However long nobody came, no more than the burst is saved.
        assert_eq!(
            [take(900), take(900), take(900)],
            [Drop::Taken, Drop::Taken, Drop::Empty]
        );
    }
}
