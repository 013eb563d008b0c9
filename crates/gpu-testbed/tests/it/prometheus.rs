//! Prometheus scrapes a page, answers about it, and sends alerts to Alertmanager; promtool judges pages.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use gpu_testbed::alertmanager::Alertmanager;
use gpu_testbed::prometheus::{Prometheus, PrometheusOptions, check_metrics};
use gpu_testbed::{Bed, Program, eventually, require};
use serde_json::json;

use crate::page_server::PageServer;

const SOON: Duration = Duration::from_secs(60);
const WHOLE: Duration = Duration::from_secs(180);

const PAGE: &str = "\
# HELP gpu_temperature_celsius How warm the GPU is.
# TYPE gpu_temperature_celsius gauge
gpu_temperature_celsius{gpu=\"0\"} 41.5
gpu_temperature_celsius{gpu=\"1\"} 63
";

#[tokio::test]
async fn a_scraped_page_is_answered_by_promql() -> anyhow::Result<()> {
    require!(Prometheus::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = PageServer::start(Router::new().route("/metrics", get(|| async { PAGE }))).await?;
        let options = PrometheusOptions::scraping(&server.address, "/metrics");
        let prometheus = Prometheus::start(&bed, &options).await?;
        let hottest = eventually("the page was scraped", SOON, || async {
            Ok(prometheus.query("topk(1, gpu_temperature_celsius)").await?.pop())
        })
        .await?;
        assert_eq!(hottest.labels.get("gpu").map(String::as_str), Some("1"));
        assert_eq!(hottest.labels.get("instance"), Some(&server.address));
        assert!((hottest.value - 63.0).abs() < f64::EPSILON, "{hottest:?}");
        let refused = prometheus.query("topk(").await.expect_err("this is no query");
        assert!(refused.to_string().contains("parse error"), "{refused}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_alert_travels_from_a_rule_to_alertmanager() -> anyhow::Result<()> {
    require!(Prometheus::need(), Alertmanager::need());
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let server = PageServer::start(Router::new().route("/metrics", get(|| async { PAGE }))).await?;
        let alertmanager = Alertmanager::start(&bed).await?;
        let rule = json!({"alert": "GPUIsHot", "expr": "gpu_temperature_celsius > 60"});
        let rules = json!({"groups": [{"name": "gpu", "rules": [rule]}]});
        let mut options = PrometheusOptions::scraping(&server.address, "/metrics");
        options
            .rules
            .push(bed.write_file("rules.yml", rules.to_string())?);
        options.alertmanagers.push(alertmanager.address().to_owned());
        Prometheus::start(&bed, &options).await?;
        let alerts = eventually("the alert arrived", SOON, || async {
            let alerts = alertmanager.alerts().await?;
            Ok((!alerts.is_empty()).then_some(alerts))
        })
        .await?;
        assert_eq!(alerts, ["GPUIsHot"]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn promtool_praises_a_good_page_and_refuses_a_bad_one() -> anyhow::Result<()> {
    require!(Program::Promtool);
    let bed = Bed::new()?;
    check_metrics(&bed, PAGE).await?;
    let nameless = "# TYPE gpu_reads_count counter\ngpu_reads_count 1\n";
    let complaint = check_metrics(&bed, nameless)
        .await
        .expect_err("a counter without _total and help");
    assert!(complaint.to_string().contains("gpu_reads_count"), "{complaint}");
    Ok(())
}
