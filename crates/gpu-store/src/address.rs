//! The address of a store: `sqlite:PATH` or `postgres://…`. It may hold a password, so it is never printed whole.

use std::fmt;
use std::path::PathBuf;

/// Where a store is. Its text form has no password and no query.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    Sqlite(PathBuf),
    Postgres(PostgresUrl),
}

/// The URL of a PostgreSQL database with all that it holds. Nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// The whole URL, password included, for the one who connects.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without_query = self.0.split(['?', '#']).next().unwrap_or_default();
        let (scheme, rest) = without_query.split_once("://").unwrap_or(("postgres", ""));
        // The last `@` ends the user part: a password may hold others.
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        write!(f, "{scheme}://{place}")
    }
}

/// Why a text is no address. The text is not repeated: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "the store's address names no file: write `sqlite:PATH`, for example `sqlite:/var/lib/gpu-autoscaler/ledger.db`"
    )]
    NoPath,
    #[error("the store's address is neither `sqlite:PATH` nor `postgres://USER@HOST/DATABASE`")]
    Unknown,
}

impl std::str::FromStr for StoreAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path.ends_with('/') {
                return Err(AddressError::NoPath);
            }
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(PostgresUrl(text.to_owned())));
        }
        Err(AddressError::Unknown)
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => fmt::Display::fmt(url, f),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
