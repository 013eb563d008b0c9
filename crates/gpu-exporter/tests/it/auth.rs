//! Passwords at the door of the real program.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::exporter::{Answer, Exporter, replace, run};

/// Cost 4: the test is about the door, not about the lock's strength.
fn users(user: &str, password: &str) -> String {
    let hash = bcrypt::hash_with_salt(password, 4, [3; 16]).unwrap();
    format!("basic_auth_users:\n  {user}: {hash}\n")
}

fn get(exporter: &Exporter, path: &str, user: &str, password: &str) -> Answer {
    let pair = STANDARD.encode(format!("{user}:{password}"));
    exporter.ask("GET", path, &[("authorization", &format!("Basic {pair}"))])
}

#[test]
fn a_password_is_asked_for_everything_but_the_probes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("web.yml");
    std::fs::write(&file, users("prom", "s3cret")).unwrap();
    let exporter = Exporter::start(&["--web-config-file", file.to_str().unwrap()]);
    for path in ["/metrics", "/", "/api/v1/monitoring/gpu-metrics", "/nope"] {
        let refused = exporter.get(path);
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.header("www-authenticate").unwrap().starts_with("Basic "));
        assert!(!refused.text().contains("prom"), "{}", refused.text());
    }
    for path in ["/healthz", "/readyz"] {
        assert_ne!(exporter.get(path).status, 401, "{path}");
    }
    for _ in 0..3 {
        assert_eq!(get(&exporter, "/metrics", "prom", "s3cret").status, 200);
        assert_eq!(get(&exporter, "/metrics", "prom", "wrong").status, 401);
        assert_eq!(get(&exporter, "/metrics", "nobody", "s3cret").status, 401);
    }
    assert!(!exporter.log().contains("s3cret"));

    replace(&file, &users("prom", "renewed"));
    exporter.wait_for_log("took changed settings over what=\"web_config\"");
    assert_eq!(get(&exporter, "/metrics", "prom", "s3cret").status, 401);
    assert_eq!(get(&exporter, "/metrics", "prom", "renewed").status, 200);
    exporter.wait_for_page("/readyz", |answer| {
        answer.text().contains("\"web_config\",\"up\":true")
    });

    replace(&file, "basic_auth_users:\n  prom: renewed\n");
    let line = exporter.wait_for_log("refused changed settings");
    assert!(line.contains("bcrypt") && !line.contains("renewed"), "{line}");
    assert_eq!(get(&exporter, "/metrics", "prom", "renewed").status, 200);
    exporter.wait_for_page("/readyz", |answer| {
        answer.text().contains("\"web_config\",\"up\":false")
    });
    let page = get(&exporter, "/metrics", "prom", "renewed").text();
    assert!(
        page.contains("gpu_exporter_source_up{source=\"web_config\"} 0"),
        "{page}"
    );
}

#[test]
fn fetch_brings_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let (file, password) = (
        directory.path().join("web.yml"),
        directory.path().join("password"),
    );
    std::fs::write(&file, users("prom", "s3cret")).unwrap();
    std::fs::write(&password, "s3cret\n").unwrap();
    let file = file.to_str().unwrap();
    let exporter = Exporter::start(&["--web-config-file", file]);
    let address = exporter.address.to_string();
    let base = ["--address", address.as_str(), "--web-config-file", file, "fetch"];
    let with = [
        &base[..],
        &["--user", "prom", "--password-file", password.to_str().unwrap()],
    ]
    .concat();
    let fetched = run(&with);
    assert!(fetched.status.success(), "{fetched:?}");
    assert!(String::from_utf8(fetched.stdout).unwrap().contains("dcgm_up 0"));
    let refused = run(&base);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("401"));
}

#[test]
fn headers_and_the_rate_of_the_file_hold() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("web.yml");
    let text = "http_server_config:\n  headers:\n    X-Frame-Options: deny\nrate_limit:\n  interval: 1h\n  burst: 2\n";
    std::fs::write(&file, text).unwrap();
    let exporter = Exporter::start(&["--web-config-file", file.to_str().unwrap()]);
    let first = exporter.get("/metrics");
    assert_eq!(
        (first.status, first.header("x-frame-options")),
        (200, Some("deny"))
    );
    assert_eq!(exporter.get("/metrics").status, 200);
    let third = exporter.get("/metrics");
    assert_eq!(
        (third.status, third.header("x-frame-options")),
        (429, Some("deny"))
    );
    assert_eq!(exporter.get("/healthz").status, 200);
}
