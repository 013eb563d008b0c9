//! Credentials: who is asked, what is shown to whom, and for how long the answer holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use gpu_price_feeds::aws::{
    Container, Credentials, CredentialsChain, CredentialsError, Environment, Metadata, WebIdentity,
};
use gpu_runtime::http::client::{Client, Secret};
use gpu_runtime::{Chain, Clock, ManualClock, SystemClock};

use crate::local;
use crate::server::{Seen, Server, json, status};

const NOW: &str = "2026-11-16T12:00:00Z";
const HOUR: Duration = Duration::from_secs(3600);

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(NOW.parse().unwrap()))
}

fn chain(environment: Environment, clock: Arc<dyn Clock>) -> CredentialsChain {
    CredentialsChain::new(environment, Client::new(local()).unwrap(), clock).unwrap()
}

async fn get(environment: Environment) -> Result<Credentials, CredentialsError> {
    chain(environment, clock()).get().await
}

/// The keys, in a line.
fn line(credentials: &Credentials) -> String {
    let token = credentials.token.as_ref().map(Secret::expose);
    format!(
        "{} {} {token:?}",
        credentials.access_key,
        credentials.secret.expose()
    )
}

fn keys(expires: &str) -> String {
    format!(
        r#"{{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIA1", "SecretAccessKey": "hunter2", "Token": "ticket", "Expiration": "{expires}"}}"#
    )
}

fn variables(pairs: &'static [(&'static str, &'static str)]) -> Environment {
    Environment::from(|name| {
        let found = pairs.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[tokio::test]
async fn keys_of_the_environment_come_first() {
    let environment = variables(&[
        ("AWS_ACCESS_KEY_ID", "AKIA1"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/x"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere"),
    ]);
    assert_eq!(line(&get(environment).await.unwrap()), "AKIA1 hunter2 None");
}

#[test]
fn variables_are_read_under_the_names_of_awss_tools() {
    let container = variables(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")]);
    assert_eq!(container.container.unwrap().address, "http://169.254.170.2/v2/x");
    let pod_identity = variables(&[
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1/credentials",
        ),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/var/run/token"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_REGION", "eu-west-1"),
    ]);
    assert_eq!(
        pod_identity.container.unwrap().token_file.unwrap().to_str(),
        Some("/var/run/token")
    );
    assert_eq!(
        (pod_identity.metadata, pod_identity.region.as_deref()),
        (Metadata::Never, Some("eu-west-1"))
    );
    let half = variables(&[("AWS_ACCESS_KEY_ID", "AKIA1"), ("AWS_SECRET_ACCESS_KEY", "")]);
    assert!(half.keys.is_none());
    assert_eq!(half.metadata, Metadata::At("http://169.254.169.254".to_owned()));
}

/// The metadata of a machine, version 2: nothing without a token of the session.
fn machine(seen: &Seen) -> Response {
    let roles = "/latest/meta-data/iam/security-credentials/";
    if seen.path == "/latest/api/token" {
        let asked = seen.header("x-aws-ec2-metadata-token-ttl-seconds").is_some() && seen.method == "PUT";
        return if asked {
            "session".into_response()
        } else {
            status(400)
        };
    }
    if seen.header("x-aws-ec2-metadata-token") != Some("session") {
        return status(401);
    }
    match seen.path.strip_prefix(roles) {
        Some("") => "gpu-nodes\n".into_response(),
        Some("gpu-nodes") => json(keys("2026-11-16T13:00:00Z")),
        _ => status(404),
    }
}

#[tokio::test]
async fn the_machines_role_is_asked_with_a_session() {
    let server = Server::start(|_, seen| machine(seen)).await;
    let environment = Environment {
        metadata: Metadata::At(server.url.clone()),
        ..Environment::default()
    };
    assert_eq!(
        line(&get(environment).await.unwrap()),
        "ASIA1 hunter2 Some(\"ticket\")"
    );
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn the_endpoint_beside_a_container_is_shown_the_token_of_the_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "pod-token\n").unwrap();
    let server = Server::start(|_, seen| match seen.header("authorization") {
        Some("pod-token") => json(keys("2026-11-16T18:00:00Z")),
        _ => status(403),
    })
    .await;
    let with = |address: &str| Environment {
        container: Some(Container {
            address: address.to_owned(),
            token: None,
            token_file: Some(file.clone()),
        }),
        ..Environment::default()
    };
    let here = format!("{}/v1/credentials", server.url);
    assert_eq!(
        line(&get(with(&here)).await.unwrap()),
        "ASIA1 hunter2 Some(\"ticket\")"
    );
    // A token is sent nowhere else in plain words.
    for elsewhere in [
        "http://10.0.0.1/",
        "http://credentials.example/",
        "http://169.254.169.254/",
        "nonsense",
    ] {
        let error = get(with(elsewhere)).await.unwrap_err();
        assert!(
            matches!(error, CredentialsError::Address { .. }),
            "{elsewhere}: {error}"
        );
    }
}

#[tokio::test]
async fn a_service_accounts_token_is_traded_for_a_role() {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, "signed-by-the-cluster").unwrap();
    let answer = "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult><Credentials>\
        <AccessKeyId>ASIA2</AccessKeyId><SecretAccessKey>hunter2</SecretAccessKey><SessionToken>ticket</SessionToken>\
        <Expiration>2026-11-16T13:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
    let server = Server::start(move |_, _| answer.into_response()).await;
    let environment = Environment {
        web_identity: Some(WebIdentity {
            role: "arn:aws:iam::1:role/prices".to_owned(),
            token_file,
            session: "gpu-autoscaler".to_owned(),
        }),
        sts_endpoint: Some(server.url.clone()),
        ..Environment::default()
    };
    assert_eq!(
        line(&get(environment.clone()).await.unwrap()),
        "ASIA2 hunter2 Some(\"ticket\")"
    );
    let seen = &server.seen()[0];
    let field = |name: &str| seen.form(name);
    assert_eq!(field("Action").as_deref(), Some("AssumeRoleWithWebIdentity"));
    assert_eq!(
        field("WebIdentityToken").as_deref(),
        Some("signed-by-the-cluster")
    );
    assert_eq!(field("RoleArn").as_deref(), Some("arn:aws:iam::1:role/prices"));
    assert!(seen.header("authorization").is_none());
    std::fs::remove_dir_all(folder.path()).unwrap();
    let error = get(environment).await.unwrap_err();
    assert!(matches!(error, CredentialsError::Token { .. }), "{error}");
}

#[tokio::test]
async fn credentials_are_kept_renewed_early_and_used_up_to_their_end() {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = Arc::clone(&broken);
    let server = Server::start(
        move |before, _| match (is_broken.load(Ordering::SeqCst), before) {
            (true, _) => status(500),
            (false, 0) => json(keys("2026-11-16T13:00:00Z")),
            (false, _) => json(keys("2026-11-16T14:00:00Z")),
        },
    )
    .await;
    let clock = clock();
    let environment = Environment {
        container: Some(Container {
            address: server.url.clone(),
            token: None,
            token_file: None,
        }),
        ..Environment::default()
    };
    let chain = chain(environment, clock.clone());
    let ends = async || {
        chain
            .get()
            .await
            .map(|credentials| credentials.expires.unwrap().to_string())
    };
    assert_eq!(ends().await.unwrap(), "2026-11-16T13:00:00Z");
    clock.advance(HOUR / 2);
    ends().await.unwrap();
    assert_eq!(server.seen().len(), 1, "kept");
    clock.advance(HOUR / 2 - Duration::from_secs(240));
    assert_eq!(ends().await.unwrap(), "2026-11-16T14:00:00Z");
    broken.store(true, Ordering::SeqCst);
    clock.advance(HOUR);
    assert_eq!(
        ends().await.unwrap(),
        "2026-11-16T14:00:00Z",
        "old ones are better than none"
    );
    clock.advance(HOUR);
    assert!(ends().await.is_err());
}

#[tokio::test]
async fn nothing_named_is_said_and_no_word_holds_a_secret() {
    let none = get(Environment::default()).await.unwrap_err();
    assert!(matches!(none, CredentialsError::None));
    let environment = variables(&[
        ("AWS_ACCESS_KEY_ID", "AKIA1"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
    ]);
    let chain = chain(environment.clone(), Arc::new(SystemClock));
    let credentials = chain.get().await.unwrap();
    assert!(!format!("{environment:?} {chain:?} {credentials:?}").contains("hunter2"));
    let refused = Server::start(|_, _| status(403)).await;
    let error = get(Environment {
        container: Some(Container {
            address: refused.url.clone(),
            token: Some(Secret::new("hunter2")),
            token_file: None,
        }),
        ..Environment::default()
    })
    .await
    .unwrap_err();
    assert!(!format!("{error:?} {}", Chain(&error)).contains("hunter2"));
}
