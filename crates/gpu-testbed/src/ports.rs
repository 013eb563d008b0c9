//! Free loopback ports for the parts of a bed.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// Below the range from which the kernel picks ports of outgoing connections, so that no client takes a port
/// between our look and the part's start, and below the node ports of Kubernetes.
const RANGE: std::ops::Range<u16> = 10_000..30_000;

/// Thousands of ports are free on any machine that can run tests; failing this often means that loopback is broken.
const TRIES: usize = 1_000;

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A loopback port that nobody listens on and that this process has not given out before.
///
/// The number is random, so that two test processes at once hardly ever look at the same port.
///
/// # Panics
/// When no port of the range can be bound.
pub fn free_port() -> u16 {
    let random = RandomState::new();
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for attempt in 0..TRIES {
        let offset = random.hash_one(attempt) % u64::from(RANGE.end - RANGE.start);
        let port = RANGE.start + u16::try_from(offset).expect("the range is smaller than 16 bits");
        if given.contains(&port) {
            continue;
        }
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.insert(port);
            return port;
        }
    }
    panic!("no free port on loopback in {TRIES} tries");
}
