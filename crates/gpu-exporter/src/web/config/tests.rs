//! What a web configuration may say, what is refused with which words, and that no message repeats a secret.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use rcgen::{CertifiedKey, KeyPair};

use super::{Rate, WebConfig, WebConfigError, parse};

const HASH: &str = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

/// A directory with a certificate `tls.crt`, its key `tls.key` and the key of another, `other.key`.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let write = |name: &str, text: String| std::fs::write(directory.path().join(name), text).unwrap();
    write("tls.crt", cert.pem());
    write("tls.key", signing_key.serialize_pem());
    write("other.key", KeyPair::generate().unwrap().serialize_pem());
    directory
}

fn load(directory: &Path, text: &str) -> Result<WebConfig, WebConfigError> {
    let path = directory.join("web.yml");
    std::fs::write(&path, text).unwrap();
    WebConfig::load(&path)
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let directory = directory();
    let error = load(directory.path(), text).expect_err("this must be refused");
    let said = gpu_runtime::Chain(&error).to_string();
    for word in words {
        assert!(said.contains(word), "{said:?} does not say {word:?}");
    }
    for secret in ["$2y$", "X0h1gDsPszWURQ", "PRIVATE KEY", "s3cret"] {
        assert!(!said.contains(secret), "{said:?} gives {secret:?} away");
    }
}

/// `tls_server_config` with a certificate and these further lines.
fn tls(lines: &str) -> String {
    format!("tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n{lines}")
}

#[test]
fn an_empty_file_asks_for_nothing() {
    let directory = directory();
    for text in ["", "# nothing\n---\n"] {
        let config = load(directory.path(), text).unwrap();
        assert!(config.tls.is_none() && config.users.is_empty() && config.rate.is_none());
    }
}

#[test]
fn everything_that_has_a_meaning_is_taken() {
    let directory = directory();
    let text = tls(&format!(
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: tls.crt\n  client_allowed_sans: [prometheus, 10.0.0.1, 'spiffe://a/b']\n  \
         min_version: TLS13\n  max_version: TLS13\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n  \
         prefer_server_cipher_suites: true\n  curve_preferences: [X25519, CurveP256]\n\
         http_server_config:\n  http2: false\n  headers:\n    X-Frame-Options: deny\n    Strict-Transport-Security: ''\n\
         basic_auth_users:\n  prom: {HASH}\nrate_limit:\n  interval: 500ms\n  burst: 20\n"
    ));
    let config = load(directory.path(), &text).unwrap();
    assert_eq!(config.tls.unwrap().server.alpn_protocols, [b"http/1.1"]);
    assert_eq!(config.users["prom"], HASH);
    assert_eq!(config.headers.len(), 1);
    let interval = Duration::from_millis(500);
    assert_eq!(config.rate, Some(Rate { interval, burst: 20 }));
    assert!(config.notes.is_empty(), "{:?}", config.notes);
    assert_eq!(config.files.len(), 4);
}

#[test]
fn what_does_nothing_is_told() {
    let directory = directory();
    let text = tls("  min_version: TLS10\nhttp_server_config:\n  http2: true\n");
    let notes = load(directory.path(), &text).unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn typos_are_named() {
    refused("tls_sever_config: {}\n", &["tls_sever_config"]);
    refused(&tls("  client_auth: none\n"), &["client_auth"]);
    refused("http_server_config:\n  http3: true\n", &["http3"]);
    refused("rate_limit:\n  bursts: 1\n", &["bursts"]);
}

#[test]
fn certificates_must_be_there_and_fit() {
    refused(
        "tls_server_config:\n  key_file: tls.key\n",
        &["cert_file", "missing"],
    );
    refused(
        "tls_server_config:\n  cert_file: tls.crt\n",
        &["key_file", "missing"],
    );
    refused(
        "tls_server_config:\n  cert_file: nowhere.crt\n  key_file: tls.key\n",
        &["nowhere.crt"],
    );
    refused(
        "tls_server_config:\n  cert_file: tls.key\n  key_file: tls.key\n",
        &["cert_file", "PEM"],
    );
    refused(
        "tls_server_config:\n  cert_file: tls.crt\n  key_file: other.key\n",
        &["the certificate and its key were refused"],
    );
    refused(&tls("  cert: s3cret\n"), &["cert_file", "keep one"]);
}

#[test]
fn versions_suites_and_curves_are_checked() {
    refused(&tls("  min_version: SSL3\n"), &["min_version", "TLS12"]);
    refused(&tls("  max_version: TLS11\n"), &["max_version", "TLS13"]);
    refused(
        &tls("  min_version: TLS13\n  max_version: TLS12\n"),
        &["min_version"],
    );
    refused(
        &tls("  cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]\n"),
        &["cipher_suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
    );
    refused(
        &tls("  curve_preferences: [CurveP521]\n"),
        &["curve_preferences", "CurveP256"],
    );
}

#[test]
fn rules_about_clients_must_make_sense() {
    refused(
        &tls("  client_auth_type: Always\n"),
        &["client_auth_type", "NoClientCert"],
    );
    refused(
        &tls("  client_ca_file: tls.crt\n"),
        &["RequireAndVerifyClientCert"],
    );
    refused(
        &tls("  client_auth_type: RequireAndVerifyClientCert\n"),
        &["client_ca_file", "missing"],
    );
    refused(
        &tls("  client_auth_type: RequireAnyClientCert\n  client_ca_file: tls.crt\n"),
        &["client_ca_file", "no effect"],
    );
    refused(
        &tls("  client_auth_type: RequestClientCert\n  client_allowed_sans: [a]\n"),
        &["client_allowed_sans", "prove nothing"],
    );
    refused(
        &tls(
            "  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: tls.crt\n  client_allowed_sans: [a@b]\n",
        ),
        &["client_allowed_sans", "mail"],
    );
}

#[test]
fn users_headers_and_rates_are_checked() {
    refused(
        "basic_auth_users:\n  prom: s3cret\n",
        &["basic_auth_users", "`prom`", "htpasswd"],
    );
    let costly = HASH.replace("$10$", "$20$");
    refused(&format!("basic_auth_users:\n  prom: {costly}\n"), &["cost 20"]);
    refused(&format!("basic_auth_users:\n  'a:b': {HASH}\n"), &["colon"]);
    refused(&format!("basic_auth_users: {HASH}\n"), &[]);
    refused(&format!("basic_auth_users: [{HASH}]\n"), &[]);
    refused(&format!("basic_auth_users:\n  prom: {HASH}\n {HASH}: [\n"), &[]);
    refused(
        "http_server_config:\n  headers:\n    Server: x\n",
        &["`Server`", "x-frame-options"],
    );
    refused("rate_limit:\n  interval: 1s\n", &["rate_limit", "burst"]);
    refused(
        "rate_limit:\n  interval: soon\n  burst: 1\n",
        &["rate_limit", "500ms"],
    );
}

proptest! {
    #[test]
    fn fuzz_text_never_panics(text in "(tls_server_config|basic_auth_users|rate_limit|x)?:?[ -~\n]{0,80}") {
        if let Ok(shape) = parse(&text) {
            let _ = WebConfig::from_shape(shape, Path::new("/nowhere"));
        }
    }
}
