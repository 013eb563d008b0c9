//! Addresses are understood, and none of them gives its password away.

use super::StoreAddress;

#[track_caller]
fn check(text: &str, expected: &str) {
    let shown = match text.parse::<StoreAddress>() {
        Ok(address) => address.to_string(),
        Err(error) => error.to_string(),
    };
    assert!(shown.starts_with(expected), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn addresses_are_read_and_shown_without_secrets() {
    check("sqlite:/var/lib/l.db", "sqlite:/var/lib/l.db");
    check("sqlite:///var/lib/l.db", "sqlite:/var/lib/l.db");
    check("sqlite:ledger.db", "sqlite:ledger.db");
    check("sqlite:", "the store's address names no file");
    check(
        "postgres://me:s3cret@db:5432/costs?sslmode=require",
        "postgres://db:5432/costs",
    );
    check(
        "postgresql://me:s3cret@x@db/costs?password=s3cret",
        "postgresql://db/costs",
    );
    check("mysql://me:s3cret@db", "the store's address is neither");
}
