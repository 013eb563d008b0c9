//! Speaking with AWS: who we are, and how a request says so. No SDK: two questions need no more than a signature.

mod credentials;
mod environment;
mod sign;
mod sources;
pub(crate) mod xml;

pub use credentials::{Credentials, CredentialsChain, CredentialsError};
pub use environment::{Container, Environment, Metadata, StaticKeys, WebIdentity};
pub use sign::{SignError, sign};
pub(crate) use sources::{domain, form};
