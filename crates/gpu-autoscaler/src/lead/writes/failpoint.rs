//! Places at which a test stops the program. Only in builds with the feature `failpoints`, which nothing that ships has.

use std::sync::{Mutex, PoisonError};

/// Between the last look at the permit and the first byte of a write.
pub const BEFORE_SEND: &str = "before-send";

type Hook = Box<dyn Fn() + Send + Sync>;

static HOOK: Mutex<Option<(&'static str, Hook)>> = Mutex::new(None);

/// Calls `hook` whenever the place is reached. It may stop the whole process.
pub fn set(place: &'static str, hook: impl Fn() + Send + Sync + 'static) {
    *HOOK.lock().unwrap_or_else(PoisonError::into_inner) = Some((place, Box::new(hook)));
}

pub(super) fn reached(place: &'static str) {
    let hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, act)) = hook.as_ref().filter(|(wanted, _)| *wanted == place) {
        act();
    }
}
