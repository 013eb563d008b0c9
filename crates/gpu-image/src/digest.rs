//! SHA-256 digests as images write them.

use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A digest in the form `sha256:<64 hexadecimal digits>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Digest(String);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut text = String::from("sha256:");
        for byte in Sha256::digest(bytes) {
            text.push_str(&format!("{byte:02x}"));
        }
        Self(text)
    }

    /// The digits alone, which are also the name of the blob.
    pub fn hex(&self) -> &str {
        self.0.trim_start_matches("sha256:")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
