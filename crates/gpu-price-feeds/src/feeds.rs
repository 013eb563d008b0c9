//! The clouds' live price lists: fetched over HTTP, each on its own interval, only as far as somebody wants them.

pub mod aws_offer;
#[cfg(feature = "aws")]
pub mod aws_spot;
pub mod azure_retail;
pub mod gcp_catalog;
mod pages;
mod pipe;
pub(crate) mod runner;
mod state;

use std::future::Future;
use std::time::Duration;

use gpu_cost::formats::{FormatError, PricePoint};
use gpu_model::Cloud;
use gpu_runtime::http::client::{FetchError, SettingsError};
use serde::{Deserialize, Serialize};

pub use runner::Schedule;

use crate::Wanted;

/// A cloud's interface for prices.
pub trait Feed: Send + Sync + 'static {
    /// Its name among the sources; it is a label of metrics.
    fn source(&self) -> &'static str;

    /// The cloud whose prices it has.
    fn cloud(&self) -> Cloud;

    /// Whether there is a list for each region, or one for all.
    fn division(&self) -> Division;

    /// Reads a list, or says that it has not changed since `known` was noted. The list is read as a whole or not at all: a part
    /// of it is an error.
    fn fetch(
        &self,
        request: &ListRequest,
        known: Option<&Validators>,
    ) -> impl Future<Output = Result<Answer, FeedError>> + Send;
}

/// How the prices of a cloud are divided into lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// A list for each region.
    ByRegion,
    /// One list for all of them.
    Whole,
}

/// A list, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// The region of the list, where lists are by region.
    pub region: Option<String>,
    /// What is wanted; nothing but this is kept.
    pub wanted: Wanted,
}

/// What a list said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The same as before.
    Unchanged,
    /// These prices.
    Prices {
        /// The prices, in any order.
        points: Vec<PricePoint>,
        /// What to show the next time to learn whether anything changed.
        validators: Validators,
    },
}

/// How a server recognises the state of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// A name of the state.
    pub etag: Option<String>,
    /// The instant of the last change, as the server wrote it.
    pub last_modified: Option<String>,
}

/// Why a list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// It could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It is not in the format that the cloud documents.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// It has no end.
    #[error("the price list has over {limit} pages, or one of them twice")]
    Endless {
        /// How many were read.
        limit: usize,
    },
    /// None of what is wanted is in it.
    #[error(
        "the price list holds none of the {wanted} machine types that are in use: check the region, or its format has changed"
    )]
    Empty {
        /// How many types were looked for.
        wanted: usize,
    },
    /// We cannot prove who we are, or are not allowed to ask.
    #[error("not entitled: {reason}")]
    Credentials {
        /// What was tried, without anything secret.
        reason: String,
    },
    /// The service answered with an error of its own.
    #[error("the service answered {status} {code}")]
    Service {
        /// The status of the answer.
        status: u16,
        /// The service's word for it.
        code: String,
    },
    /// The reader of the list failed.
    #[error("the reader of the price list ended in the middle")]
    Reader,
}

impl FeedError {
    /// One word of a closed set, for labels of metrics.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Fetch(error) => error.class(),
            Self::Format(_) => "format",
            Self::Endless { .. } => "endless",
            Self::Empty { .. } => "empty",
            Self::Credentials { .. } => "credentials",
            Self::Service { .. } => "status",
            Self::Reader => "other",
        }
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Fetch(FetchError::Status { retry_after, .. }) => *retry_after,
            _ => None,
        }
    }
}

/// Why a feed cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum FeedSettingsError {
    /// The address is none.
    #[error("`{address}` is no address of a server: write it as https://host")]
    Address {
        /// What was given.
        address: String,
    },
    /// The client's settings are wrong.
    #[error(transparent)]
    Client(#[from] SettingsError),
}
