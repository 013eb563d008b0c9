//! Servers of the query API that a real Prometheus cannot be made to be: behind a prefix, in front of tenants, partial, slow, broken.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse as _;
use axum::routing::{MethodRouter, get, post};
use gpu_autoscaler::sources::MetricsSource as _;
use gpu_autoscaler::sources::prometheus::{PrometheusSettings, PrometheusSource};
use gpu_model::Harvest;
use gpu_runtime::http::client::{Authorization, HeaderName, HeaderValue, Secret};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{class, serve_app, target};

fn series(name: &str, more: &[(&str, &str)], samples: &[(i64, &str)]) -> Value {
    let mut metric = json!({"__name__": name, "job": "dcgm", "instance": "10.0.0.1:9400", "gpu": "0", "UUID": "GPU-1",
        "modelName": "Tesla T4", "Hostname": "n1"});
    for (label, value) in more {
        metric[label] = json!(value);
    }
    let now = Timestamp::now().as_second();
    let values: Vec<Value> = samples
        .iter()
        .map(|(after, value)| json!([now + after, value]))
        .collect();
    json!({"metric": metric, "values": values})
}

fn answer(series: &[Value]) -> Value {
    json!({"status": "success", "data": {"resultType": "matrix", "result": series}})
}

fn busy() -> Value {
    answer(&[series("DCGM_FI_DEV_GPU_UTIL", &[], &[(-40, "10"), (-10, "87")])])
}

async fn serving(path: &str, method: MethodRouter) -> SocketAddr {
    serve_app(Router::new().route(path, method)).await
}

fn settings(url: &str) -> PrometheusSettings {
    PrometheusSettings {
        timeout: Duration::from_secs(2),
        max_bytes: 1 << 20,
        ..PrometheusSettings::new(url).unwrap()
    }
}

async fn collect(settings: PrometheusSettings) -> Harvest {
    PrometheusSource::new(settings)
        .unwrap()
        .collect(Timestamp::now())
        .await
}

/// Asks a server that answers every query like this.
async fn collect_from(body: Value) -> Harvest {
    let address = serving("/api/v1/query", post(async move || body.to_string())).await;
    collect(settings(&format!("http://{address}"))).await
}

#[tokio::test]
async fn a_tenant_behind_a_prefix_is_asked_once_with_its_credentials() {
    let method = post(async |headers: HeaderMap, body: String| {
        assert_eq!(headers.get("x-scope-orgid").unwrap(), "team-a");
        assert_eq!(headers.get("authorization").unwrap(), "Basic am9lOmh1bnRlcjI=");
        assert!(
            body.contains("DCGM_FI_DEV_GPU_UTIL%7C") && body.contains("cluster%3D%22a%22"),
            "{body}"
        );
        busy().to_string()
    });
    let address = serving("/prometheus/api/v1/query", method).await;
    let mut settings = settings(&format!("http://{address}/prometheus/api/v1/query?x=1"));
    settings.matchers = vec!["cluster=\"a\"".to_owned()];
    let tenant = (
        HeaderName::from_static("x-scope-orgid"),
        HeaderValue::from_static("team-a"),
    );
    settings.client.headers.insert(tenant.0, tenant.1);
    settings.client.authorization = Authorization::Basic {
        user: "joe".to_owned(),
        password: Secret::new("hunter2"),
    };
    let harvest = collect(settings).await;
    assert_eq!(class(&harvest, "prometheus"), None, "{:?}", harvest.targets);
    assert_eq!(
        harvest.gpus[0].sample.utilization.known().unwrap().get(),
        870,
        "the newest sample counts"
    );
}

#[tokio::test]
async fn a_server_that_lets_nobody_post_is_asked_by_its_address() {
    let method = get(async |uri: Uri| {
        assert!(uri.query().unwrap().starts_with("query=%7B__name__"));
        busy().to_string()
    });
    let address = serving("/api/v1/query", method).await;
    let harvest = collect(settings(&format!("http://{address}"))).await;
    assert_eq!((class(&harvest, "prometheus"), harvest.gpus.len()), (None, 1));
}

#[tokio::test]
async fn warnings_and_partial_answers_are_passed_on() {
    let mut body = busy();
    body["warnings"] = json!(["store 10.0.0.9 did not answer"]);
    body["isPartial"] = json!(true);
    let harvest = collect_from(body).await;
    let expected = ["the answer is partial", "store 10.0.0.9 did not answer"];
    assert_eq!(target(&harvest, "prometheus").warnings, expected);
    assert_eq!(harvest.gpus.len(), 1);
}

/// A pod that has ended is in the range and not in the newest scrape.
#[tokio::test]
async fn series_that_have_ended_are_not_counted() {
    let pod = |name| [("exported_pod", name), ("exported_namespace", "ml")];
    let harvest = collect_from(answer(&[
        series("DCGM_FI_DEV_GPU_UTIL", &pod("ended"), &[(-90, "99"), (-60, "99")]),
        series("DCGM_FI_DEV_GPU_UTIL", &pod("runs"), &[(-30, "20"), (-5, "40")]),
        series("DCGM_FI_DEV_FB_USED", &pod("runs"), &[(-30, "100"), (-5, "NaN")]),
    ]))
    .await;
    let gpu = &harvest.gpus[0];
    assert_eq!(gpu.sample.utilization.known().unwrap().get(), 400);
    let holders: Vec<_> = gpu
        .parts
        .iter()
        .map(|part| part.holder.as_ref().unwrap().pod.as_str())
        .collect();
    assert_eq!(holders, ["runs"]);
    let age = harvest.at.duration_since(gpu.taken_at).as_secs();
    assert!((4..30).contains(&age), "{age}");
    assert_eq!(target(&harvest, "dcgm/10.0.0.1:9400").skipped_lines, 1);
}

#[tokio::test]
async fn a_clock_that_runs_ahead_is_counted() {
    let harvest = collect_from(answer(&[series("DCGM_FI_DEV_GPU_UTIL", &[], &[(3600, "5")])])).await;
    assert_eq!(target(&harvest, "dcgm/10.0.0.1:9400").skewed_samples, 1);
    assert!(harvest.gpus[0].taken_at <= harvest.at);
}

#[tokio::test]
async fn failures_have_a_class_and_no_gpus() {
    let error = json!({"status": "error", "errorType": "timeout", "error": "query timed out"}).to_string();
    let refused = json!({"status": "error", "errorType": "bad_data", "error": "parse error"}).to_string();
    let long = answer(&vec![series("DCGM_FI_DEV_GPU_UTIL", &[], &[(0, "5")]); 20_000]).to_string();
    let cases = [
        (StatusCode::SERVICE_UNAVAILABLE, error, "timeout"),
        (StatusCode::BAD_REQUEST, refused, "status"),
        (
            StatusCode::BAD_GATEWAY,
            "<html>bad gateway</html>".to_owned(),
            "status",
        ),
        (StatusCode::OK, "<html>log in</html>".to_owned(), "malformed"),
        (StatusCode::OK, busy().to_string().split_off(2), "malformed"),
        (StatusCode::OK, busy().to_string()[..100].to_owned(), "malformed"),
        (StatusCode::OK, long, "too_large"),
    ];
    for (status, body, expected) in cases {
        let start: String = body.chars().take(60).collect();
        let method = post(async move || (status, body.clone()));
        let address = serving("/api/v1/query", method).await;
        let harvest = collect(settings(&format!("http://{address}"))).await;
        assert_eq!(
            class(&harvest, "prometheus"),
            Some(expected),
            "{start} {:?}",
            harvest.targets
        );
        assert_eq!((harvest.gpus.len(), harvest.targets.len()), (0, 1));
    }
    let silent = post(async || {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Body::empty().into_response()
    });
    let address = serving("/api/v1/query", silent).await;
    let harvest = collect(settings(&format!("http://{address}"))).await;
    assert_eq!(class(&harvest, "prometheus"), Some("timeout"));
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_without_repeating_it() {
    for wrong in ["", "prometheus:9090", "ftp://a/", "http://"] {
        let said = PrometheusSettings::new(wrong).unwrap_err().to_string();
        assert!(said.starts_with("this is no address of a Prometheus"), "{said}");
    }
}
