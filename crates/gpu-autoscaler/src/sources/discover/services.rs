//! Exporters behind a Service, by its EndpointSlices: they say which node each of them runs on.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use kube::runtime::watcher::Config;
use kube::{Api, Client};

use super::{Found, Scheme, TargetBook, watch};

/// A Service in words: `namespace/name`, `namespace/name:port` with the name or the number of a port, and `https://` in front
/// where it is spoken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceRef {
    pub namespace: String,
    pub name: String,
    /// Without it the port called `metrics`, else the first.
    pub port: Option<String>,
    pub scheme: Option<Scheme>,
}

/// Why a word is no Service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no Service: give `namespace/name`, or `namespace/name:port`")]
pub struct ServiceError(String);

impl FromStr for ServiceRef {
    type Err = ServiceError;

    fn from_str(text: &str) -> Result<Self, ServiceError> {
        let (scheme, rest) = Scheme::split(text.trim());
        let wrong = || ServiceError(text.to_owned());
        let (namespace, name) = rest.split_once('/').ok_or_else(wrong)?;
        let (name, port) = match name.split_once(':') {
            Some((name, port)) => (name, Some(port.to_owned())),
            None => (name, None),
        };
        let is_name = |word: &str| {
            let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            (1..=63).contains(&word.len()) && word.bytes().all(is_part)
        };
        let words = [Some(namespace), Some(name), port.as_deref()];
        if !words.into_iter().flatten().all(is_name) {
            return Err(wrong());
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
            scheme,
        })
    }
}

impl fmt::Display for ServiceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Follows the endpoints of a Service and writes them into the book. Runs until it is dropped.
pub async fn follow_service(client: Client, service: ServiceRef, book: Arc<TargetBook>) {
    let api: Api<EndpointSlice> = Api::namespaced(client, &service.namespace);
    let config = Config::default().labels(&format!("kubernetes.io/service-name={}", service.name));
    let finder = format!("service {service}");
    watch::follow(api, config, finder, book, move |slice| find(slice, &service)).await;
}

fn find(slice: &EndpointSlice, service: &ServiceRef) -> Vec<Found> {
    let ports = slice.ports.as_deref().unwrap_or_default();
    let Some((port, scheme)) = choose(ports, service) else {
        return Vec::new();
    };
    let endpoints = slice
        .endpoints
        .iter()
        .flatten()
        .filter(|endpoint| is_ready(endpoint));
    let found = endpoints.filter_map(|endpoint| {
        let address = endpoint.addresses.first()?;
        let uid = endpoint
            .target_ref
            .as_ref()
            .and_then(|target| target.uid.as_deref());
        Found::new(
            address,
            port,
            scheme,
            "/metrics",
            endpoint.node_name.as_deref(),
            uid,
        )
    });
    found.collect()
}

/// What says nothing of its readiness is ready, as the API has it.
fn is_ready(endpoint: &Endpoint) -> bool {
    let conditions = endpoint.conditions.as_ref();
    conditions.and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn choose(ports: &[EndpointPort], service: &ServiceRef) -> Option<(u16, Scheme)> {
    let called = |port: &&EndpointPort, name: &str| port.name.as_deref() == Some(name);
    let chosen = match service.port.as_deref() {
        Some(word) => ports.iter().find(|port| {
            let number = port.port.map(|number| number.to_string());
            called(port, word) || number.as_deref() == Some(word)
        }),
        None => ports
            .iter()
            .find(|port| called(port, "metrics"))
            .or_else(|| ports.first()),
    }?;
    let is_https = |word: Option<&str>| word.is_some_and(|word| word.starts_with("https"));
    let told = if is_https(chosen.name.as_deref()) || is_https(chosen.app_protocol.as_deref()) {
        Scheme::Https
    } else {
        Scheme::Http
    };
    Some((u16::try_from(chosen.port?).ok()?, service.scheme.unwrap_or(told)))
}

#[cfg(test)]
mod tests {
    use super::{Scheme, ServiceRef};

    #[test]
    fn services_are_read_from_words() {
        let service: ServiceRef = "https://gpu-monitoring/dcgm-exporter:metrics".parse().unwrap();
        assert_eq!(service.to_string(), "gpu-monitoring/dcgm-exporter");
        assert_eq!(
            (service.port.as_deref(), service.scheme),
            (Some("metrics"), Some(Scheme::Https))
        );
        let plain: ServiceRef = "gpu-monitoring/dcgm-exporter".parse().unwrap();
        assert_eq!((plain.port, plain.scheme), (None, None));
        for wrong in ["", "dcgm-exporter", "a/", "/b", "a/b/c", "A/b", "a/b:"] {
            assert!(wrong.parse::<ServiceRef>().is_err(), "{wrong}");
        }
    }
}
