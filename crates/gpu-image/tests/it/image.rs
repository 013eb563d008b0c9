//! What is in an archive, that it is the same every time, and what is refused.

use std::{io::Read, path::Path};

use gpu_image::{Built, ImageError, ImageSpec, build_image};
use serde_json::Value;

/// The smallest file that counts as a static program for amd64: a header without segments.
fn static_program() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18..20].copy_from_slice(&62_u16.to_le_bytes());
    bytes
}

fn static_image(directory: &Path) -> Built {
    let program = directory.join("thing");
    std::fs::write(&program, static_program()).unwrap();
    let mut spec = ImageSpec::new(
        "registry.example:5000/team/thing:1.0",
        program,
        directory.join("thing.tar"),
    );
    spec.arguments = vec!["serve".into()];
    spec.labels = [("org.opencontainers.image.title".to_owned(), "thing".to_owned())].into();
    build_image(&spec).unwrap()
}

/// Every entry of a tar archive as its mode, owner, time, size and path.
fn listing(bytes: &[u8]) -> String {
    let mut archive = tar::Archive::new(bytes);
    let mut text = String::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let (header, path) = (entry.header(), entry.path().unwrap());
        text.push_str(&format!(
            "{:04o} {}:{} {} {:>5} {}\n",
            header.mode().unwrap(),
            header.uid().unwrap(),
            header.gid().unwrap(),
            header.mtime().unwrap(),
            header.size().unwrap(),
            path.display()
        ));
    }
    text
}

fn file(archive: &Path, name: &str) -> Vec<u8> {
    let bytes = std::fs::read(archive).unwrap();
    for entry in tar::Archive::new(&bytes[..]).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().to_str() == Some(name) {
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            return content;
        }
    }
    panic!("`{name}` is not in `{}`", archive.display());
}

fn json(archive: &Path, name: &str) -> Value {
    serde_json::from_slice(&file(archive, name)).unwrap()
}

/// The layer's bytes, found as `docker load` finds them.
fn layer(archive: &Path) -> Vec<u8> {
    file(
        archive,
        json(archive, "manifest.json")[0]["Layers"][0].as_str().unwrap(),
    )
}

#[test]
fn the_layer_holds_the_program_and_a_bare_system() {
    let directory = tempfile::tempdir().unwrap();
    let built = static_image(directory.path());
    assert_eq!(
        listing(&layer(&built.path)),
        "0755 0:0 0     0 etc/
0644 0:0 0    27 etc/group
0644 0:0 0    17 etc/nsswitch.conf
0644 0:0 0    78 etc/passwd
1777 0:0 0     0 tmp/
0755 0:0 0     0 usr/
0755 0:0 0     0 usr/local/
0755 0:0 0     0 usr/local/bin/
0755 0:0 0    64 usr/local/bin/thing
"
    );
}

/// Both kinds of manifest lead to the same configuration, and it asks for a user without rights.
#[test]
fn both_manifests_lead_to_the_same_image() {
    let directory = tempfile::tempdir().unwrap();
    let built = static_image(directory.path());
    let docker = json(&built.path, "manifest.json");
    let index = json(&built.path, "index.json");
    let name = "registry.example:5000/team/thing:1.0";
    assert_eq!(docker[0]["RepoTags"][0], name);
    assert_eq!(
        index["manifests"][0]["annotations"]["io.containerd.image.name"],
        name
    );
    assert_eq!(index["manifests"][0]["digest"], built.digest.to_string());
    let manifest = json(&built.path, &format!("blobs/sha256/{}", built.digest.hex()));
    let config = docker[0]["Config"].as_str().unwrap();
    assert_eq!(
        manifest["config"]["digest"]
            .as_str()
            .unwrap()
            .replace("sha256:", "blobs/sha256/"),
        config
    );
    let config = json(&built.path, config);
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/local/bin/thing");
    assert_eq!(config["config"]["Cmd"][0], "serve");
    assert_eq!(
        config["config"]["Labels"]["org.opencontainers.image.title"],
        "thing"
    );
    assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
    assert_eq!(std::fs::metadata(&built.path).unwrap().len(), built.size_bytes);
}

/// The digest of an image from nothing but constants is itself a constant. A change here changes every published
/// digest, which must be on purpose.
#[test]
fn the_same_input_gives_the_same_image() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (static_image(one.path()), static_image(two.path()));
    assert_eq!(
        std::fs::read(&first.path).unwrap(),
        std::fs::read(&second.path).unwrap()
    );
    assert_eq!(
        first.digest.to_string(),
        "sha256:1e7c49866dc2bac61488b7b59c0b690aa1539636262176d6ea15b29c14b612e3"
    );
}

#[test]
fn a_dynamic_program_brings_its_loader_and_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("bundle.crt");
    std::fs::write(&bundle, "certificates").unwrap();
    let program = std::env::current_exe().unwrap();
    let mut spec = ImageSpec::new(
        "localhost/test/itself:1",
        &program,
        directory.path().join("itself.tar"),
    );
    spec.certificates = Some(bundle);
    let built = build_image(&spec).unwrap();
    let listing = listing(&layer(&built.path));
    for wanted in [
        "/libc.so.6\n",
        "/ld-linux-",
        "etc/ssl/certs/ca-certificates.crt\n",
    ] {
        assert!(listing.contains(wanted), "{wanted:?} is not in\n{listing}");
    }
}

#[track_caller]
fn check_refused(name: &str, program: &[u8], expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("thing");
    std::fs::write(&file, program).unwrap();
    let error: ImageError =
        build_image(&ImageSpec::new(name, file, directory.path().join("out.tar"))).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    assert!(!directory.path().join("out.tar").exists());
}

#[test]
fn a_name_without_registry_or_tag_is_refused() {
    for name in [
        "thing",
        "thing:1",
        "library/thing:1",
        "docker.io/thing",
        "localhost:5000/thing",
        "docker.io/x:",
    ] {
        check_refused(name, &static_program(), "is not full");
    }
}

#[test]
fn a_script_is_refused() {
    check_refused("docker.io/library/thing:1", b"#!/bin/sh\n", "not a Linux program");
}
