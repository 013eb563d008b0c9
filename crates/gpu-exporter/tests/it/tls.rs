//! TLS of the real program: certificates, client certificates, and renewal without a restart.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use gpu_testbed::pki::Authority;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::exporter::{Answer, DEADLINE, Exporter, ask, run};

/// A directory with a web configuration, and the authority behind its certificate.
struct Shop {
    directory: tempfile::TempDir,
    authority: Authority,
}

impl Shop {
    fn new() -> Self {
        let shop = Self {
            directory: tempfile::tempdir().unwrap(),
            authority: Authority::new("test").unwrap(),
        };
        std::fs::write(shop.path("ca.crt"), shop.authority.certificate()).unwrap();
        shop.renew(&shop.authority);
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a new certificate of that authority, key first: for a moment the two do not fit.
    fn renew(&self, authority: &Authority) {
        let identity = authority.server(&["localhost", "127.0.0.1"]).unwrap();
        std::fs::write(self.path("tls.key"), identity.key).unwrap();
        std::fs::write(self.path("tls.crt"), identity.certificate).unwrap();
    }

    fn web_config(&self, lines: &str) -> String {
        let text = format!("tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n{lines}");
        std::fs::write(self.path("web.yml"), text).unwrap();
        self.path("web.yml").to_str().unwrap().to_owned()
    }
}

/// Asks over TLS, trusting this authority, with a certificate if one is given.
fn get(
    exporter: &Exporter,
    path: &str,
    trusted: &Authority,
    own: Option<(&str, &str)>,
) -> std::io::Result<Answer> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(trusted.certificate_der()))
        .unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(exporter.address)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    ask(StreamOwned::new(connection, stream), "GET", path, &[])
}

#[test]
fn a_renewed_certificate_is_served_without_a_restart() {
    let shop = Shop::new();
    let config = shop.web_config("");
    let mut exporter = Exporter::start(&["--web-config-file", &config]);
    assert!(exporter.log().contains("scheme=\"https\""));
    assert_eq!(
        get(&exporter, "/metrics", &shop.authority, None).unwrap().status,
        200
    );
    let other = Authority::new("other").unwrap();
    assert!(get(&exporter, "/metrics", &other, None).is_err());
    // Plain HTTP is no way around: the answer, if any, is an alert of TLS.
    let mut plain = TcpStream::connect(exporter.address).unwrap();
    plain.set_read_timeout(Some(DEADLINE)).unwrap();
    plain.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut heard = Vec::new();
    let _ = plain.read_to_end(&mut heard);
    assert!(!heard.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&heard));

    shop.renew(&other);
    let renewed = || get(&exporter, "/metrics", &other, None).ok();
    crate::exporter::wait("the new certificate is served", renewed, || exporter.log());
    assert!(get(&exporter, "/metrics", &shop.authority, None).is_err());

    std::fs::write(shop.path("tls.crt"), "nonsense").unwrap();
    exporter.wait_for_log("refused changed settings");
    assert_eq!(get(&exporter, "/metrics", &other, None).unwrap().status, 200);
    assert!(exporter.is_running());
}

#[test]
fn clients_without_the_right_certificate_stay_outside() {
    let shop = Shop::new();
    let lines = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n";
    let config = shop.web_config(lines);
    let exporter = Exporter::start(&["--web-config-file", &config]);
    let known = shop.authority.client("prometheus", None).unwrap();
    let stranger = Authority::new("other")
        .unwrap()
        .client("prometheus", None)
        .unwrap();
    let try_as = |own: Option<(&str, &str)>| get(&exporter, "/metrics", &shop.authority, own);
    assert_eq!(
        try_as(Some((&known.certificate, &known.key))).unwrap().status,
        200
    );
    assert!(try_as(None).is_err());
    assert!(try_as(Some((&stranger.certificate, &stranger.key))).is_err());
}

/// A client's certificate that names itself; its own authority.
fn named_client(name: &str) -> (String, String) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

#[test]
fn only_clients_with_an_allowed_name_come_in() {
    let shop = Shop::new();
    let (good, bad) = (named_client("prometheus.local"), named_client("curious.local"));
    std::fs::write(shop.path("clients.crt"), format!("{}{}", good.0, bad.0)).unwrap();
    let lines = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: clients.crt\n  \
                 client_allowed_sans: [Prometheus.local]\n";
    let config = shop.web_config(lines);
    let exporter = Exporter::start(&["--web-config-file", &config]);
    let try_as = |own: &(String, String)| get(&exporter, "/metrics", &shop.authority, Some((&own.0, &own.1)));
    assert_eq!(try_as(&good).unwrap().status, 200);
    assert!(try_as(&bad).is_err());
}

#[test]
fn any_certificate_will_do_where_none_is_verified() {
    let shop = Shop::new();
    let config = shop.web_config("  client_auth_type: RequireAnyClientCert\n  max_version: TLS12\n");
    let exporter = Exporter::start(&["--web-config-file", &config]);
    let own = named_client("anybody");
    let answer = get(&exporter, "/metrics", &shop.authority, Some((&own.0, &own.1)));
    assert_eq!(answer.unwrap().status, 200);
    assert!(get(&exporter, "/metrics", &shop.authority, None).is_err());
}

#[test]
fn fetch_and_doctor_speak_tls_with_their_own_exporter() {
    let shop = Shop::new();
    let config = shop.web_config("  client_auth_type: RequireAnyClientCert\n");
    let exporter = Exporter::start(&["--web-config-file", &config]);
    let address = exporter.address.to_string();
    let words = |command: &'static str| ["--address", &address, "--web-config-file", &config, command];
    let fetched = run(&words("fetch"));
    assert!(fetched.status.success(), "{fetched:?}");
    assert!(String::from_utf8(fetched.stdout).unwrap().contains("dcgm_up 0"));
    let told = String::from_utf8(run(&words("doctor")).stdout).unwrap();
    assert!(told.contains("ok    web configuration"), "{told}");
    assert!(told.contains("ok    port: an exporter runs"), "{told}");
}

#[test]
fn a_bad_web_configuration_is_refused_at_the_start() {
    let shop = Shop::new();
    let check = |lines: &str, words: &str| {
        let config = shop.web_config(lines);
        let ended = run(&["--web-config-file", &config, "--address", "127.0.0.1:0"]);
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{said:?} does not say {words:?}");
    };
    check("  cert_fiel: x\n", "cert_fiel");
    check(
        "  client_auth_type: RequireAndVerifyClientCert\n",
        "client_ca_file",
    );
    std::fs::remove_file(shop.path("tls.key")).unwrap();
    check("", "tls.key");
}
