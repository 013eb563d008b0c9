//! The `Authorization` header, read again when the token's file changes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;

use super::files::{self, Stamps};
use super::{Authorization, Secret, SettingsError};

/// Gives the header of the moment.
pub(super) enum Authorizer {
    Constant(Option<HeaderValue>),
    File { path: PathBuf, read: Mutex<Read> },
}

/// A token and the state of the file it was read from.
pub(super) struct Read {
    stamps: Stamps,
    header: HeaderValue,
}

impl Authorizer {
    pub(super) fn new(authorization: &Authorization) -> Result<Self, SettingsError> {
        Ok(match authorization {
            Authorization::None => Self::Constant(None),
            Authorization::Bearer(token) => Self::Constant(Some(bearer(token.expose())?)),
            Authorization::Basic { user, password } => {
                let pair = STANDARD.encode(format!("{user}:{}", password.expose()));
                Self::Constant(Some(secret(&format!("Basic {pair}"))?))
            }
            Authorization::BearerFile(path) => Self::File {
                path: path.clone(),
                read: Mutex::new(Read::from(path)?),
            },
        })
    }

    /// The header to send now. A token file that is gone or empty for a moment leaves the last token in force: the
    /// peer says whether it still holds.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        match self {
            Self::Constant(header) => header.clone(),
            Self::File { path, read } => {
                let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                if Stamps::of([path.as_path()]) != read.stamps
                    && let Ok(new) = Read::from(path)
                {
                    *read = new;
                }
                Some(read.header.clone())
            }
        }
    }
}

impl Read {
    fn from(path: &Path) -> Result<Self, SettingsError> {
        // The state is taken first: a change between the two steps is then seen at the next request.
        let stamps = Stamps::of([path]);
        let content = files::read(path)?;
        let token = String::from_utf8(content).unwrap_or_default();
        let token = token.trim();
        if token.is_empty() {
            return Err(SettingsError::Content {
                path: path.to_path_buf(),
                expected: "token",
            });
        }
        Ok(Self {
            stamps,
            header: bearer(token)?,
        })
    }
}

fn bearer(token: &str) -> Result<HeaderValue, SettingsError> {
    secret(&format!("Bearer {token}"))
}

fn secret(value: &str) -> Result<HeaderValue, SettingsError> {
    Secret::new(value).header().ok_or(SettingsError::Credentials)
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authorizer(..)")
    }
}
