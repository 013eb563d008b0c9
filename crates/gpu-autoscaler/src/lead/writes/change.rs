//! One change of one object, with the condition under which the server takes it.

use std::fmt;

use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};

/// What kind of thing is written: the value of a metric's label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteKind {
    Event,
    NodeCondition,
    Annotation,
    Scale,
    Eviction,
    Status,
    NodeTaint,
}

impl WriteKind {
    pub const ALL: [Self; 7] = [
        Self::Event,
        Self::NodeCondition,
        Self::Annotation,
        Self::Scale,
        Self::Eviction,
        Self::Status,
        Self::NodeTaint,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::NodeCondition => "node-condition",
            Self::Annotation => "annotation",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
            Self::Status => "status",
            Self::NodeTaint => "node-taint",
        }
    }
}

/// Why a change cannot be made into a request.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("a new {kind} needs a name of its own: without it, two writers would make two of it")]
    Nameless { kind: &'static str },
    #[error("the {kind} `{name}` has no resource version to write on")]
    Versionless { kind: &'static str, name: String },
    #[error("failed to write down the change of the {kind} `{name}`")]
    Serialize {
        kind: &'static str,
        name: String,
        source: serde_json::Error,
    },
    #[error("failed to make the request for the {kind} `{name}`")]
    Request {
        kind: &'static str,
        name: String,
        source: kube::core::request::Error,
    },
}

/// A change. There is no way to make one without a condition.
#[derive(Clone)]
pub struct Change {
    kind: WriteKind,
    act: &'static str,
    object: String,
    request: http::Request<Vec<u8>>,
}

/// Whom the API server notes as the author.
const FIELD_MANAGER: &str = "gpu-autoscaler";

/// The object that was looked at, and in which state.
#[derive(Debug, Clone, Copy)]
struct Version<'a> {
    name: &'a str,
    uid: Option<&'a str>,
    resource_version: &'a str,
}

impl<'a> Version<'a> {
    fn of(kind: WriteKind, metadata: &'a kube::core::ObjectMeta) -> Result<Self, ChangeError> {
        let kind = kind.as_str();
        let name = metadata.name.as_deref().ok_or(ChangeError::Nameless { kind })?;
        let resource_version = metadata
            .resource_version
            .as_deref()
            .filter(|version| !version.is_empty())
            .ok_or_else(|| ChangeError::Versionless {
                kind,
                name: name.to_owned(),
            })?;
        Ok(Self {
            name,
            uid: metadata.uid.as_deref(),
            resource_version,
        })
    }

    /// The precondition in the form of the object's own metadata: the server answers 409 where it does not match.
    fn precondition(self) -> Value {
        match self.uid {
            Some(uid) => json!({"uid": uid, "resourceVersion": self.resource_version}),
            None => json!({"resourceVersion": self.resource_version}),
        }
    }
}

impl Change {
    /// A new object. Its name is made from what it is about, so that the second of two writers is refused.
    pub fn create<K>(kind: WriteKind, namespace: Option<&str>, object: &K) -> Result<Self, ChangeError>
    where
        K: kube::Resource<DynamicType = ()> + serde::Serialize,
    {
        let name = object.meta().name.clone().unwrap_or_default();
        if name.is_empty() {
            return Err(ChangeError::Nameless { kind: kind.as_str() });
        }
        let body = serde_json::to_vec(object).map_err(|source| ChangeError::Serialize {
            kind: kind.as_str(),
            name: name.clone(),
            source,
        })?;
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let request = Request::new(K::url_path(&(), namespace)).create(&params, body);
        Self::new(kind, "create", namespace, &name, request)
    }

    /// A merge patch of the object whose metadata was read, and of no other state of it.
    pub fn patch<K>(
        kind: WriteKind,
        namespace: Option<&str>,
        read: &kube::core::ObjectMeta,
        patch: Value,
    ) -> Result<Self, ChangeError>
    where
        K: kube::Resource<DynamicType = ()>,
    {
        let version = Version::of(kind, read)?;
        let patch = with_precondition(patch, version);
        let request = Request::new(K::url_path(&(), namespace)).patch(
            version.name,
            &patch_params(),
            &Patch::Merge(&patch),
        );
        Self::new(kind, "change", namespace, version.name, request)
    }

    /// A strategic merge patch of the status of the object whose metadata was read.
    pub fn patch_status<K>(
        kind: WriteKind,
        namespace: Option<&str>,
        read: &kube::core::ObjectMeta,
        patch: Value,
    ) -> Result<Self, ChangeError>
    where
        K: kube::Resource<DynamicType = ()>,
    {
        let version = Version::of(kind, read)?;
        let patch = with_precondition(patch, version);
        let request = Request::new(K::url_path(&(), namespace)).patch_subresource(
            "status",
            version.name,
            &patch_params(),
            &Patch::Strategic(&patch),
        );
        Self::new(kind, "change the status of", namespace, version.name, request)
    }

    /// The scale of a workload, as it was read from its `scale` subresource. `url_path` is that of the workload's kind and namespace.
    pub fn scale(
        url_path: &str,
        namespace: &str,
        read: &kube::core::ObjectMeta,
        replicas: u32,
    ) -> Result<Self, ChangeError> {
        let kind = WriteKind::Scale;
        let version = Version::of(kind, read)?;
        let mut metadata = version.precondition();
        metadata["name"] = json!(version.name);
        metadata["namespace"] = json!(namespace);
        let body = json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": metadata,
            "spec": {"replicas": replicas},
        });
        let request = Request::new(url_path).replace_subresource(
            "scale",
            version.name,
            &PostParams::default(),
            body.to_string().into_bytes(),
        );
        Self::new(kind, "scale", Some(namespace), version.name, request)
    }

    /// An eviction of the pod that was looked at, and of no other of that name.
    pub fn evict(
        namespace: &str,
        read: &kube::core::ObjectMeta,
        grace_seconds: Option<u32>,
    ) -> Result<Self, ChangeError> {
        use k8s_openapi::api::core::v1::Pod;
        let kind = WriteKind::Eviction;
        let version = Version::of(kind, read)?;
        let mut options = json!({"preconditions": version.precondition()});
        if let Some(seconds) = grace_seconds {
            options["gracePeriodSeconds"] = json!(seconds);
        }
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": version.name, "namespace": namespace},
            "deleteOptions": options,
        });
        let path = <Pod as kube::Resource>::url_path(&(), Some(namespace));
        let request = Request::new(path).create_subresource(
            "eviction",
            version.name,
            &PostParams::default(),
            body.to_string().into_bytes(),
        );
        Self::new(kind, "evict", Some(namespace), version.name, request)
    }

    fn new(
        kind: WriteKind,
        act: &'static str,
        namespace: Option<&str>,
        name: &str,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Self, ChangeError> {
        let mut request = request.map_err(|source| ChangeError::Request {
            kind: kind.as_str(),
            name: name.to_owned(),
            source,
        })?;
        // The API server's log then tells our writes apart.
        request.extensions_mut().insert(act);
        Ok(Self {
            kind,
            act,
            object: match namespace {
                Some(namespace) => format!("{namespace}/{name}"),
                None => name.to_owned(),
            },
            request,
        })
    }

    pub fn kind(&self) -> WriteKind {
        self.kind
    }

    /// Namespace and name.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// What is sent, for logs and tests.
    pub fn body(&self) -> &str {
        std::str::from_utf8(self.request.body()).unwrap_or_default()
    }

    pub(super) fn request(&self) -> http::Request<Vec<u8>> {
        self.request.clone()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} the {} `{}`", self.act, self.kind.as_str(), self.object)
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change({self})")
    }
}

fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

fn with_precondition(mut patch: Value, version: Version<'_>) -> Value {
    let metadata = &mut patch["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    if let (Some(metadata), Value::Object(condition)) = (metadata.as_object_mut(), version.precondition()) {
        metadata.extend(condition);
    }
    patch
}

#[cfg(test)]
mod tests {
    //! No change without its condition.

    use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
    use kube::core::ObjectMeta;

    use super::*;

    fn meta(version: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            name: Some("a".to_owned()),
            uid: Some("u-1".to_owned()),
            resource_version: version.map(str::to_owned),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn what_has_no_name_or_version_is_refused() {
        let nameless = Change::create(WriteKind::Event, Some("x"), &ConfigMap::default());
        assert!(nameless.unwrap_err().to_string().contains("needs a name"));
        let versionless = Change::patch::<Pod>(WriteKind::Annotation, Some("x"), &meta(None), json!({}));
        assert!(
            versionless
                .unwrap_err()
                .to_string()
                .contains("no resource version")
        );
        assert!(Change::evict("x", &meta(Some("")), None).is_err());
    }

    #[test]
    fn every_patch_names_what_was_read() {
        let patch = json!({"metadata": {"annotations": {"k": "v"}}});
        let change = Change::patch::<Pod>(WriteKind::Annotation, Some("x"), &meta(Some("7")), patch).unwrap();
        let body: Value = serde_json::from_str(change.body()).unwrap();
        assert_eq!(
            body["metadata"],
            json!({"annotations": {"k": "v"}, "uid": "u-1", "resourceVersion": "7"})
        );
        assert_eq!(change.object(), "x/a");
        let status =
            Change::patch_status::<Node>(WriteKind::NodeCondition, None, &meta(Some("7")), json!({}));
        let status = status.unwrap();
        assert!(status.body().contains("\"resourceVersion\":\"7\""));
        assert!(status.request.uri().path().ends_with("/nodes/a/status"));
    }

    #[test]
    fn scaling_and_evicting_name_what_was_read_too() {
        let scale =
            Change::scale("/apis/apps/v1/namespaces/x/deployments", "x", &meta(Some("7")), 0).unwrap();
        assert_eq!(
            scale.request.uri().path(),
            "/apis/apps/v1/namespaces/x/deployments/a/scale"
        );
        let body: Value = serde_json::from_str(scale.body()).unwrap();
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        let evict = Change::evict("x", &meta(Some("7")), Some(30)).unwrap();
        let body: Value = serde_json::from_str(evict.body()).unwrap();
        assert_eq!(body["deleteOptions"]["preconditions"]["uid"], "u-1");
        assert_eq!(body["deleteOptions"]["preconditions"]["resourceVersion"], "7");
    }
}
