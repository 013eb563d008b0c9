//! A real Prometheus between the exporters and us.

use std::collections::BTreeMap;
use std::time::Duration;

use gpu_autoscaler::sources::direct::DirectSettings;
use gpu_autoscaler::sources::prometheus::{PrometheusSettings, PrometheusSource};
use gpu_autoscaler::sources::{MetricsSource, standalone};
use gpu_model::Harvest;
use gpu_testbed::prometheus::{Prometheus, PrometheusOptions, ScrapeJob};
use gpu_testbed::{Bed, eventually, require};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use super::{class, exporter, golden, target, timeless};

const SOON: Duration = Duration::from_secs(60);
const WHOLE: Duration = Duration::from_secs(180);

/// Asks until all GPUs and all targets, the server among them, are there.
async fn until_all(source: &Mutex<PrometheusSource>, gpus: usize, targets: usize) -> anyhow::Result<Harvest> {
    eventually("Prometheus has scraped everything", SOON, || async {
        let harvest = source.lock().await.collect(Timestamp::now()).await;
        Ok(Some(harvest).filter(|harvest| (harvest.gpus.len(), harvest.targets.len()) == (gpus, targets)))
    })
    .await
}

#[track_caller]
fn same(harvest: &Harvest, other: &Harvest) {
    for (a, b) in timeless(&harvest.gpus).lines().zip(timeless(&other.gpus).lines()) {
        assert_eq!(a, b);
    }
    assert_eq!(harvest.gpus.len(), other.gpus.len());
}

fn labels(pairs: [(&str, &str); 3]) -> BTreeMap<String, String> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The operator gives every target the exporter's own pod, namespace and container as labels, so that those of the page become
/// `exported_pod` and the like.
#[tokio::test]
async fn both_sources_yield_the_same_gpus() -> anyhow::Result<()> {
    require!(Prometheus::need());
    let pages = [
        "8xh100.prom",
        "a100-mixed-mig.prom",
        "t4-time-sliced.prom",
        "mi300x-cpx.prom",
    ];
    let mut addresses = Vec::new();
    for (number, page) in pages.into_iter().enumerate() {
        // The golden pages of NVIDIA's machines all have the same uuids.
        let page = golden(page).replace("GPU-0b8a5f1c", &format!("GPU-0b8a5f1{number}"));
        addresses.push(exporter(page).await.to_string());
    }
    let mut direct = standalone(&addresses.join(","), DirectSettings::default())?;
    let direct = direct.collect(Timestamp::now()).await;
    assert_eq!(direct.gpus.len(), 13);
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let mut options = PrometheusOptions::scraping("", "");
        options.scrape_interval = Duration::from_secs(1);
        options.jobs = vec![ScrapeJob {
            name: "gpu-exporter".to_owned(),
            targets: addresses.clone(),
            path: "/metrics".to_owned(),
            labels: labels([
                ("pod", "gpu-exporter-x2x4z"),
                ("namespace", "gpu-autoscaler"),
                ("container", "exporter"),
            ]),
        }];
        let prometheus = Prometheus::start(&bed, &options).await?;
        let source = PrometheusSource::new(PrometheusSettings::new(prometheus.url())?)?;
        let source = Mutex::new(source);
        let harvest = until_all(&source, direct.gpus.len(), 5).await?;
        same(&harvest, &direct);
        assert_eq!(class(&harvest, "prometheus"), None);
        for address in &addresses {
            let report = target(&harvest, format!("gpu-exporter/{address}"));
            assert_eq!((report.failure.as_ref(), report.skipped_lines), (None, 0));
        }
        let age = harvest.at.duration_since(harvest.gpus[0].taken_at);
        assert!(
            age < SignedDuration::from_secs(10),
            "the time is that of the scrape: {age}"
        );

        // After a restart the past is asked for at once.
        let mut anew = PrometheusSource::new(PrometheusSettings::new(prometheus.url())?)?;
        let to = Timestamp::now();
        let from = to - SignedDuration::from_secs(6);
        let past = anew.backfill(from, to, Duration::from_secs(1)).await;
        assert_eq!(past.len(), 7);
        assert!(past.is_sorted_by(|a, b| a.at < b.at));
        let last = past.last().unwrap();
        same(last, &direct);

        prometheus.part().stop(Duration::from_secs(20)).await?;
        let gone = source.lock().await.collect(Timestamp::now()).await;
        assert_eq!(
            (gone.gpus.len(), gone.targets.len()),
            (0, 1),
            "nothing is invented"
        );
        let report = target(&gone, "prometheus");
        assert_eq!(class(&gone, "prometheus"), Some("refused"), "{report:?}");
        assert_eq!(report.last_success.map(|at| at <= gone.at), Some(true));
        assert_eq!(anew.backfill(from, to, Duration::from_secs(1)).await, []);
        Ok(())
    })
    .await
}

/// dcgm-exporter alone, in both fashions of scraping it, and one target that is down.
#[tokio::test]
async fn the_exporters_own_pod_holds_no_gpu() -> anyhow::Result<()> {
    require!(Prometheus::need());
    let page = golden("t4-time-sliced.prom");
    let lines = page
        .lines()
        .filter(|line| line.starts_with("DCGM_FI_") && !line.contains("pod="));
    let idle: String = lines.map(|line| format!("{line}\n")).collect();
    let address = exporter(idle).await.to_string();
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let mut options = PrometheusOptions::scraping("", "");
        options.scrape_interval = Duration::from_secs(1);
        options.jobs = vec![ScrapeJob {
            name: "dcgm".to_owned(),
            targets: vec![address.clone(), "127.0.0.1:1".to_owned()],
            path: "/metrics".to_owned(),
            labels: labels([
                ("pod", "dcgm-abc"),
                ("namespace", "gpu-monitoring"),
                ("node", "node-of-the-target"),
            ]),
        }];
        let prometheus = Prometheus::start(&bed, &options).await?;
        let source = PrometheusSource::new(PrometheusSettings::new(prometheus.url())?)?;
        let source = Mutex::new(source);
        let harvest = until_all(&source, 1, 3).await?;
        assert_eq!(harvest.gpus[0].parts, [], "the pod of the exporter is no holder");
        assert_eq!(harvest.gpus[0].node.as_str(), "node-of-the-target");
        assert_eq!(class(&harvest, "dcgm/127.0.0.1:1"), Some("other"));
        Ok(())
    })
    .await
}
