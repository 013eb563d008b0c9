//! Right, wrong and unknown callers, and what a crowd of them costs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::{MOST_WRONG, Passwords, Verdict, credentials};

fn passwords() -> Passwords {
    let hash = bcrypt::hash_with_salt("correct horse", 4, [7; 16])
        .unwrap()
        .to_string();
    Passwords::new(BTreeMap::from([("prom".to_owned(), hash)]))
}

fn header(user: &str, password: &str) -> HeaderValue {
    let encoded = STANDARD.encode(format!("{user}:{password}"));
    HeaderValue::from_str(&format!("Basic {encoded}")).unwrap()
}

async fn check(passwords: &Passwords, user: &str, password: &str, expected: Verdict) {
    // Asked twice: what was checked and what is remembered must agree.
    for _ in 0..2 {
        let verdict = passwords.judge(Some(&header(user, password))).await;
        assert_eq!(verdict, expected, "{user}:{password}");
    }
}

#[tokio::test]
async fn only_the_right_pair_is_welcome() {
    let passwords = passwords();
    check(&passwords, "prom", "correct horse", Verdict::Welcome).await;
    check(&passwords, "prom", "wrong horse", Verdict::Refused).await;
    check(&passwords, "prom", "", Verdict::Refused).await;
    // The hash of another user is used to waste the same time, and its password must not let a stranger in.
    check(&passwords, "nobody", "correct horse", Verdict::Refused).await;
    check(&passwords, "promcorrect", " horse", Verdict::Refused).await;
    assert_eq!(passwords.judge(None).await, Verdict::Refused);
}

#[tokio::test]
async fn without_users_everybody_is_welcome() {
    let open = Passwords::new(BTreeMap::new());
    assert_eq!(open.judge(None).await, Verdict::Welcome);
}

#[tokio::test]
async fn a_crowd_with_one_password_is_checked_once() {
    let passwords = Arc::new(passwords());
    let crowd: Vec<_> = (0..1000)
        .map(|_| {
            let passwords = Arc::clone(&passwords);
            tokio::spawn(async move { passwords.judge(Some(&header("prom", "correct horse"))).await })
        })
        .collect();
    for caller in crowd {
        assert_eq!(caller.await.unwrap(), Verdict::Welcome);
    }
    let memory = passwords.lock();
    assert!(memory.waiting.is_empty());
    assert_eq!(memory.right.len(), 1);
}

#[tokio::test]
async fn guessing_is_slowed_and_leaves_little_behind() {
    let passwords = Arc::new(passwords());
    check(&passwords, "prom", "correct horse", Verdict::Welcome).await;
    let crowd: Vec<_> = (0..2 * MOST_WRONG)
        .map(|guess| {
            let passwords = Arc::clone(&passwords);
            tokio::spawn(async move { passwords.judge(Some(&header("prom", &guess.to_string()))).await })
        })
        .collect();
    let mut busy = 0;
    for caller in crowd {
        match caller.await.unwrap() {
            Verdict::Busy => busy += 1,
            Verdict::Refused => {}
            Verdict::Welcome => panic!("a guess was right"),
        }
    }
    // Some were checked while the others still came.
    assert!(busy > MOST_WRONG, "{busy} were told to wait");
    for guess in 0..2 * MOST_WRONG {
        passwords.judge(Some(&header("prom", &guess.to_string()))).await;
    }
    check(&passwords, "prom", "correct horse", Verdict::Welcome).await;
    let memory = passwords.lock();
    assert!(memory.waiting.is_empty());
    assert_eq!(memory.wrong.len(), MOST_WRONG);
}

#[tokio::test]
async fn a_caller_who_goes_away_frees_the_place_and_the_verdict_is_kept() {
    let passwords = Arc::new(passwords());
    let caller = Arc::clone(&passwords);
    let task = tokio::spawn(async move { caller.judge(Some(&header("prom", "x"))).await });
    tokio::task::yield_now().await;
    task.abort();
    let _ = task.await;
    assert!(passwords.lock().waiting.is_empty());
    let kept = async {
        while passwords.lock().wrong.is_empty() {
            tokio::task::yield_now().await
        }
    };
    tokio::time::timeout(Duration::from_secs(20), kept).await.unwrap();
}

proptest! {
    #[test]
    fn fuzz_headers_never_panic(text in "([Bb]asic )?[ -~]{0,40}") {
        let _ = HeaderValue::from_str(&text).ok().as_ref().and_then(credentials);
    }
}
