//! Those who give credentials: STS for a service account's token, the endpoint beside a container, the machine's metadata.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use gpu_runtime::http::client::{
    Client, HeaderName, HeaderValue, Limits, Method, Request, Response, Secret, Url, header,
};
use jiff::Timestamp;
use serde::Deserialize;

use super::credentials::{Credentials, CredentialsError};
use super::environment::{Container, WebIdentity};
use super::xml;

/// Answers are a kilobyte or two.
const LIMITS: Limits = Limits::new(Duration::from_secs(10), 64 * 1024);

const STS: &str = "AWS STS";
const CONTAINER: &str = "the container's credentials endpoint";
const METADATA: &str = "the machine's metadata";

/// Trades the token of a service account for credentials of a role.
pub(super) async fn web_identity(
    client: &Client,
    identity: &WebIdentity,
    endpoint: Option<&str>,
    region: Option<&str>,
) -> Result<Credentials, CredentialsError> {
    let token = read_token(&identity.token_file, STS)?;
    let address = match (endpoint, region) {
        (Some(endpoint), _) => endpoint.to_owned(),
        (None, Some(region)) => format!("https://sts.{region}.{}", domain(region)),
        (None, None) => "https://sts.amazonaws.com".to_owned(),
    };
    let url: Url = address
        .parse()
        .map_err(|_| CredentialsError::Address { giver: STS })?;
    let form = form(&[
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", &identity.role),
        ("RoleSessionName", &identity.session),
        ("WebIdentityToken", &token),
    ]);
    let request = Request::post(url, "application/x-www-form-urlencoded", form);
    let answer = ask(client, request, STS).await?;
    let text = std::str::from_utf8(&answer.body).unwrap_or_default();
    let value = |name: &str| xml::value(text, name).ok_or(CredentialsError::Content { giver: STS });
    Ok(Credentials {
        access_key: value("AccessKeyId")?,
        secret: Secret::new(value("SecretAccessKey")?),
        token: Some(Secret::new(value("SessionToken")?)),
        expires: Some(ends(&value("Expiration")?, STS)?),
    })
}

/// Asks the endpoint beside the container.
pub(super) async fn container(
    client: &Client,
    container: &Container,
) -> Result<Credentials, CredentialsError> {
    let wrong = || CredentialsError::Address { giver: CONTAINER };
    let url: Url = container.address.parse().map_err(|_| wrong())?;
    if !is_trusted(&url) {
        return Err(wrong());
    }
    let mut request = Request::get(url);
    let token = match (&container.token_file, &container.token) {
        (Some(file), _) => Some(Secret::new(read_token(file, CONTAINER)?)),
        (None, token) => token.clone(),
    };
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, hidden(&token, CONTAINER)?);
    }
    let answer = ask(client, request, CONTAINER).await?;
    KeyDocument::read(&answer, CONTAINER)
}

/// Asks the machine's metadata for the keys of its role, with a token of the session as version 2 demands.
pub(super) async fn metadata(client: &Client, address: &str) -> Result<Credentials, CredentialsError> {
    let wrong = || CredentialsError::Address { giver: METADATA };
    let base: Url = address.parse().map_err(|_| wrong())?;
    let at = |path: &str| base.join(path).map_err(|_| wrong());
    let session = Request::new(Method::PUT, at("/latest/api/token")?).header(
        HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds"),
        HeaderValue::from_static("300"),
    );
    let answer = ask(client, session, METADATA).await?;
    let token = Secret::new(text(&answer, METADATA)?);
    let with_token = |url: Url| -> Result<Request, CredentialsError> {
        let name = HeaderName::from_static("x-aws-ec2-metadata-token");
        Ok(Request::get(url).header(name, hidden(&token, METADATA)?))
    };
    let roles = "/latest/meta-data/iam/security-credentials/";
    let answer = ask(client, with_token(at(roles)?)?, METADATA).await?;
    let listed = text(&answer, METADATA)?;
    let role = listed.lines().next().unwrap_or_default().trim();
    let mut url = at(roles)?;
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push(role);
    }
    let answer = ask(client, with_token(url)?, METADATA).await?;
    KeyDocument::read(&answer, METADATA)
}

/// Credentials as containers and machines are told them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeyDocument {
    access_key_id: String,
    secret_access_key: String,
    token: Option<String>,
    expiration: Option<String>,
}

impl KeyDocument {
    fn read(answer: &Response, giver: &'static str) -> Result<Credentials, CredentialsError> {
        let document: Self =
            serde_json::from_slice(&answer.body).map_err(|_| CredentialsError::Content { giver })?;
        Ok(Credentials {
            access_key: document.access_key_id,
            secret: Secret::new(document.secret_access_key),
            token: document.token.map(Secret::new),
            expires: document.expiration.map(|text| ends(&text, giver)).transpose()?,
        })
    }
}

/// The domain of AWS's services; China has its own.
pub(crate) fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    }
}

/// A form as it is posted.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    // The query of an address has the same form, and the address's type knows how to write it.
    let mut url: Url = "http://form/".parse().expect("a constant address");
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

/// A token goes to this machine, to the two link-local addresses of AWS, or through TLS; anything else is a mistake or a trap.
fn is_trusted(url: &Url) -> bool {
    const LINK_LOCAL: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || is_loopback || LINK_LOCAL.contains(&host)
}

async fn ask(client: &Client, request: Request, giver: &'static str) -> Result<Response, CredentialsError> {
    let answer = client.fetch(request, LIMITS).await.and_then(Response::success);
    answer.map_err(|source| CredentialsError::Fetch { giver, source })
}

fn read_token(path: &Path, giver: &'static str) -> Result<String, CredentialsError> {
    let text = std::fs::read_to_string(path).map_err(|source| CredentialsError::Token { giver, source })?;
    Ok(text.trim().to_owned())
}

fn hidden(secret: &Secret, giver: &'static str) -> Result<HeaderValue, CredentialsError> {
    secret.header().ok_or(CredentialsError::Content { giver })
}

fn text(answer: &Response, giver: &'static str) -> Result<String, CredentialsError> {
    let text = std::str::from_utf8(&answer.body).unwrap_or_default().trim();
    if text.is_empty() {
        return Err(CredentialsError::Content { giver });
    }
    Ok(text.to_owned())
}

fn ends(text: &str, giver: &'static str) -> Result<Timestamp, CredentialsError> {
    text.parse().map_err(|_| CredentialsError::Content { giver })
}
