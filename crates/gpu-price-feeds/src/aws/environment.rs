//! What the process was told about its credentials, under the names that AWS's own tools use.

use std::path::PathBuf;

use gpu_runtime::http::client::Secret;

/// Where credentials are to be had. The first of keys, web identity, container and metadata that is there is the one.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Keys that are given outright.
    pub keys: Option<StaticKeys>,
    /// A role for the service account of a pod (IRSA).
    pub web_identity: Option<WebIdentity>,
    /// An endpoint beside the container (EKS Pod Identity, ECS).
    pub container: Option<Container>,
    /// The machine's own role.
    pub metadata: Metadata,
    /// In place of the endpoint of STS in the region.
    pub sts_endpoint: Option<String>,
    /// The region in which STS is asked.
    pub region: Option<String>,
}

/// Keys that are given outright.
#[derive(Debug, Clone)]
pub struct StaticKeys {
    /// The name of the key.
    pub access_key: String,
    /// The key.
    pub secret: Secret,
    /// Belongs to keys that end.
    pub token: Option<Secret>,
}

/// A role for the service account of a pod.
#[derive(Debug, Clone)]
pub struct WebIdentity {
    /// The role.
    pub role: String,
    /// The token of the service account, which the kubelet renews.
    pub token_file: PathBuf,
    /// How the session is called in AWS's logs.
    pub session: String,
}

/// An endpoint beside the container.
#[derive(Debug, Clone)]
pub struct Container {
    /// Its address.
    pub address: String,
    /// What it wants to be shown.
    pub token: Option<Secret>,
    /// The same in a file, which is renewed.
    pub token_file: Option<PathBuf>,
}

/// The machine's own role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Metadata {
    /// Asked at this address.
    At(String),
    /// Not asked.
    #[default]
    Never,
}

/// Where machines of AWS find what concerns them.
const METADATA: &str = "http://169.254.169.254";
/// Where relative addresses of containers begin.
const CONTAINER: &str = "http://169.254.170.2";
const SESSION: &str = "gpu-autoscaler";

impl Environment {
    /// What the variables of this process say.
    pub fn of_process() -> Self {
        Self::from(|name| std::env::var(name).ok())
    }

    /// What variables say; an empty one says nothing.
    pub fn from(variable: impl Fn(&str) -> Option<String>) -> Self {
        let said = |name: &str| variable(name).filter(|value| !value.is_empty());
        let secret = |name: &str| said(name).map(Secret::new);
        let keys = said("AWS_ACCESS_KEY_ID")
            .zip(secret("AWS_SECRET_ACCESS_KEY"))
            .map(|(access_key, key)| StaticKeys {
                access_key,
                secret: key,
                token: secret("AWS_SESSION_TOKEN"),
            });
        let web_identity =
            said("AWS_ROLE_ARN")
                .zip(said("AWS_WEB_IDENTITY_TOKEN_FILE"))
                .map(|(role, file)| WebIdentity {
                    role,
                    token_file: file.into(),
                    session: said("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| SESSION.to_owned()),
                });
        let relative =
            said("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINER}{path}"));
        let container = relative
            .or_else(|| said("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
            .map(|address| Container {
                address,
                token: secret("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                token_file: said("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(PathBuf::from),
            });
        let disabled =
            said("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let endpoint = said("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| METADATA.to_owned());
        Self {
            keys,
            web_identity,
            container,
            metadata: if disabled {
                Metadata::Never
            } else {
                Metadata::At(endpoint)
            },
            sts_endpoint: said("AWS_ENDPOINT_URL_STS"),
            region: said("AWS_REGION").or_else(|| said("AWS_DEFAULT_REGION")),
        }
    }
}
