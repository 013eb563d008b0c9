//! Password checks. A bcrypt check is slow on purpose, so a right password is checked once and remembered, a wrong one is
//! remembered too, and at most one check runs at a time, on a thread of its own: neither a thousand honest scrapes nor
//! somebody who guesses costs more than one core, and those whose password is known never wait behind those who guess.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use tokio::sync::{OnceCell, Semaphore};

/// Different wrong passwords that are remembered; a scraper with an old password repeats one.
const MOST_WRONG: usize = 256;
/// Different passwords that wait for their check; further ones are told to come again. Far below the number of requests that
/// are answered at once, so that guessing cannot take all of those.
const MOST_WAITING: usize = 8;
/// Longer than any password that bcrypt tells apart (72 bytes) with any name before it.
const LONGEST_HEADER: usize = 1024;

/// What became of a caller's name and password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Welcome,
    /// No password, a wrong one, or an unknown user: the caller is not told which.
    Refused,
    /// Too many others are being checked.
    Busy,
}

/// The users and what is remembered of their callers.
pub(super) struct Passwords {
    users: BTreeMap<String, String>,
    /// Of this process alone: what is remembered are keyed digests, of no use to anybody else.
    secret: hmac::Key,
    memory: Arc<Mutex<Memory>>,
    checks: Arc<Semaphore>,
}

type Mark = [u8; 32];

#[derive(Default)]
struct Memory {
    /// At most one a user.
    right: BTreeMap<String, Mark>,
    wrong: VecDeque<Mark>,
    waiting: BTreeMap<Mark, Arc<OnceCell<bool>>>,
}

impl Passwords {
    /// Nobody is asked for a password when there are no users.
    pub(super) fn new(users: BTreeMap<String, String>) -> Self {
        let random = ring::rand::SystemRandom::new();
        Self {
            users,
            secret: hmac::Key::generate(hmac::HMAC_SHA256, &random)
                .expect("the operating system has random numbers, or TLS could not work either"),
            memory: Arc::default(),
            checks: Arc::new(Semaphore::new(1)),
        }
    }

    /// Judges an `Authorization` header.
    pub(super) async fn judge(&self, header: Option<&HeaderValue>) -> Verdict {
        if self.users.is_empty() {
            return Verdict::Welcome;
        }
        let Some((user, password)) = header.and_then(credentials) else {
            return Verdict::Refused;
        };
        let mark = self.mark(&user, &password);
        if let Some(verdict) = self.remembered(&user, &mark) {
            return verdict;
        }
        let Some(place) = self.queue(mark) else {
            return Verdict::Busy;
        };
        let is_right = *place.cell.get_or_init(|| self.check(user, password, mark)).await;
        if is_right {
            Verdict::Welcome
        } else {
            Verdict::Refused
        }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self, user: &str, password: &str) -> Mark {
        // The length keeps `a` + `bc` and `ab` + `c` apart.
        let mut context = hmac::Context::with_key(&self.secret);
        context.update(&user.len().to_be_bytes());
        context.update(user.as_bytes());
        context.update(password.as_bytes());
        let mut mark = Mark::default();
        mark.copy_from_slice(context.sign().as_ref());
        mark
    }

    fn remembered(&self, user: &str, mark: &Mark) -> Option<Verdict> {
        let memory = self.lock();
        // Marks are keyed digests, so that the time of a comparison tells nothing of the password.
        if memory.right.get(user) == Some(mark) {
            return Some(Verdict::Welcome);
        }
        memory.wrong.contains(mark).then_some(Verdict::Refused)
    }

    fn queue(&self, mark: Mark) -> Option<Place<'_>> {
        let mut memory = self.lock();
        let full = memory.waiting.len() >= MOST_WAITING;
        let cell = match memory.waiting.get(&mark) {
            Some(cell) => Arc::clone(cell),
            None if full => return None,
            None => Arc::clone(memory.waiting.entry(mark).or_default()),
        };
        Some(Place {
            passwords: self,
            mark,
            cell,
        })
    }

    async fn check(&self, user: String, password: String, mark: Mark) -> bool {
        let turn = Arc::clone(&self.checks).acquire_owned().await;
        // Somebody who went away before the verdict may have asked for the same.
        if let Some(verdict) = self.remembered(&user, &mark) {
            return verdict == Verdict::Welcome;
        }
        // An unknown user costs as much as a known one, or the time would tell who exists.
        let known = self.users.get(&user);
        let hash = known.or_else(|| self.users.values().next()).cloned();
        let (Some(hash), Ok(turn)) = (hash, turn) else {
            return false;
        };
        let is_known = known.is_some();
        let memory = Arc::clone(&self.memory);
        let checked = tokio::task::spawn_blocking(move || {
            // The turn ends with the check and not with the caller, who may lose patience before; so is the verdict kept.
            let _turn = turn;
            let is_right = bcrypt::verify(password, &hash).unwrap_or(false) && is_known;
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.remember(user, mark, is_right);
            is_right
        });
        checked.await.unwrap_or(false)
    }
}

impl Memory {
    fn remember(&mut self, user: String, mark: Mark, is_right: bool) {
        if is_right {
            self.right.insert(user, mark);
            return;
        }
        if self.wrong.len() == MOST_WRONG {
            self.wrong.pop_front();
        }
        self.wrong.push_back(mark);
    }
}

/// A place in the queue; the last to leave it clears it.
struct Place<'a> {
    passwords: &'a Passwords,
    mark: Mark,
    cell: Arc<OnceCell<bool>>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut memory = self.passwords.lock();
        // The queue's own reference and this one.
        if Arc::strong_count(&self.cell) <= 2 {
            memory.waiting.remove(&self.mark);
        }
    }
}

/// Name and password of a `Basic` header.
fn credentials(header: &HeaderValue) -> Option<(String, String)> {
    let text = header.to_str().ok().filter(|text| text.len() <= LONGEST_HEADER)?;
    let (scheme, encoded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests;
