//! Keys that follow from the content, so that writing the same row twice writes it once.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The key of a ledger row: a digest of all that the row says, its revision included.
///
/// Pod names are chosen by strangers, so the digest is one that nobody can steer into a collision; 128 bits are a UUID's
/// width, which every database has a compact column for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(pub [u8; 16]);

impl RowKey {
    /// The 32 hexadecimal digits of [`fmt::Display`], read back.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        let mut key = [0; 16];
        for (index, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(key))
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for RowKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RowKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a row key is 32 hexadecimal digits"))
    }
}

/// Collects the fields of a key. Every text goes in with its length, so that no two lists of fields look the same.
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn new(kind: &str) -> Self {
        Self(Sha256::new()).text(kind)
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
        self
    }

    pub(crate) fn maybe(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.number(1).text(text),
            None => self.number(0),
        }
    }

    pub(crate) fn number(mut self, number: i64) -> Self {
        self.0.update(number.to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8; 16]) -> Self {
        self.0.update(bytes);
        self
    }

    pub(crate) fn finish(self) -> [u8; 16] {
        let mut key = [0; 16];
        key.copy_from_slice(&self.0.finalize()[..16]);
        key
    }
}
