//! The archive around the layer: an OCI image layout that carries Docker's own manifest too, so that every runtime
//! reads the one file. Both name the same blobs.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tar::{Builder, EntryType};

use crate::{Digest, USER_ID, layer::append};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// The image's parts.
pub(crate) struct Image<'a> {
    pub(crate) repository: &'a str,
    pub(crate) tag: &'a str,
    pub(crate) architecture: &'a str,
    pub(crate) entrypoint: String,
    pub(crate) arguments: &'a [String],
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) layer: Vec<u8>,
}

/// The archive's bytes and the digest of the manifest in it.
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

/// Writes the archive.
pub(crate) fn pack(image: &Image<'_>) -> Packed {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // The layer is not compressed, so its digest is also the digest of its content.
    let layer = Digest::of(&image.layer);
    let config = config_of(image, &layer);
    let config_digest = Digest::of(&config);
    let manifest = bytes_of(&json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(CONFIG, &config_digest, &config),
        "layers": [descriptor(LAYER, &layer, &image.layer)],
    }));
    let digest = Digest::of(&manifest);

    let name = format!("{}:{}", image.repository, image.tag);
    let mut entry = descriptor(MANIFEST, &digest, &manifest);
    entry["platform"] = json!({"architecture": image.architecture, "os": "linux"});
    entry["annotations"] = json!({
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": image.tag,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    });
    let docker = json!([{
        "Config": blob(&config_digest),
        "RepoTags": [name],
        "Layers": [blob(&layer)],
    }]);
    files.insert("index.json".to_owned(), bytes_of(&index));
    files.insert("manifest.json".to_owned(), bytes_of(&docker));
    files.insert(
        "oci-layout".to_owned(),
        bytes_of(&json!({"imageLayoutVersion": "1.0.0"})),
    );
    files.insert(blob(&config_digest), config);
    files.insert(blob(&digest), manifest);

    let mut tar = Builder::new(Vec::new());
    append(&mut tar, EntryType::Directory, "blobs/", 0o755, &[]);
    append(&mut tar, EntryType::Directory, "blobs/sha256/", 0o755, &[]);
    append(&mut tar, EntryType::Regular, &blob(&layer), 0o644, &image.layer);
    for (path, bytes) in files {
        append(&mut tar, EntryType::Regular, &path, 0o644, &bytes);
    }
    Packed {
        bytes: tar.into_inner().expect("writing to memory cannot fail"),
        digest,
    }
}

fn config_of(image: &Image<'_>, layer: &Digest) -> Vec<u8> {
    bytes_of(&json!({
        // The time of the build would change the digest; the labels say what was built.
        "created": "1970-01-01T00:00:00Z",
        "architecture": image.architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER_ID}:{USER_ID}"),
            "Env": ["PATH=/usr/local/bin"],
            "Entrypoint": [image.entrypoint],
            "Cmd": image.arguments,
            "WorkingDir": "/",
            "Labels": image.labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "gpu-image"}],
    }))
}

fn descriptor(media_type: &str, digest: &Digest, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
}

fn blob(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

fn bytes_of(value: &Value) -> Vec<u8> {
    serde_json::to_vec(&Sorted(value)).expect("a JSON value always has a text")
}

/// Writes objects in the order of their keys. The JSON library does the same by default, but any crate of the build
/// can switch it to the order of insertion, and digests must not depend on that.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> = fields.iter().map(|(key, value)| (key, Sorted(value))).collect();
                serializer.collect_map(fields)
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(Sorted)),
            plain => plain.serialize(serializer),
        }
    }
}
