//! The demo in front of the programs that people put there: promtool, Prometheus and a browser.

use std::path::Path;
use std::time::Duration;

use gpu_testbed::prometheus::{Prometheus, PrometheusOptions, check_metrics};
use gpu_testbed::{Bed, Program, chromium, eventually, require};

use crate::program::Demo;

const SOON: Duration = Duration::from_secs(60);
const WHOLE: Duration = Duration::from_secs(240);

#[tokio::test]
async fn promtool_has_no_finding_on_the_page() -> anyhow::Result<()> {
    require!(Program::Promtool);
    let demo = Demo::start(&[]).ready();
    let bed = Bed::new()?;
    check_metrics(&bed, &demo.get("/metrics").body).await?;
    Ok(())
}

#[tokio::test]
async fn prometheus_scrapes_the_demo_and_answers_by_pod() -> anyhow::Result<()> {
    require!(Prometheus::need());
    let demo = Demo::start(&[]).ready();
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let options = PrometheusOptions::scraping(demo.address.to_string(), "/metrics");
        let prometheus = Prometheus::start(&bed, &options).await?;
        let count = eventually("the demo was scraped", SOON, || async {
            Ok(prometheus
                .query("count(gpu_up{source=\"sim\"} == 1)")
                .await?
                .pop())
        })
        .await?;
        assert!((count.value - 96.0).abs() < f64::EPSILON, "{count:?}");
        let by_pod = prometheus
            .query("sum by (namespace, pod) (gpu_container_memory_bytes)")
            .await?;
        assert!(by_pod.len() > 10, "only {} pods hold memory", by_pod.len());
        assert!(
            by_pod
                .iter()
                .all(|series| series.labels.contains_key("namespace")),
            "{by_pod:?}"
        );
        Ok(())
    })
    .await
}

/// The picture is kept below `target/artefacts` for people to look at.
#[tokio::test]
async fn a_browser_draws_one_tile_for_every_gpu() -> anyhow::Result<()> {
    require!(chromium::need());
    let demo = Demo::start(&[]).ready();
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let url = format!("http://{}/", demo.address);
        let document = chromium::dump_dom(&bed, &url).await?;
        let is_tile = |button: &&str| {
            button
                .split('>')
                .next()
                .is_some_and(|tag| tag.contains("class=\"tile"))
        };
        let tiles = document.split("<button").skip(1).filter(is_tile).count();
        assert_eq!(tiles, 96, "the page shows {tiles} tiles");
        assert!(
            document.to_lowercase().contains("simulated"),
            "the page does not say that it is simulated"
        );
        let picture = chromium::screenshot(&bed, &url, 1400, 900).await?;
        let kept = artefacts()?.join("demo.png");
        std::fs::copy(&picture, &kept)?;
        assert!(
            std::fs::metadata(&kept)?.len() > 20_000,
            "the picture is all but empty"
        );
        Ok(())
    })
    .await
}

fn artefacts() -> anyhow::Result<std::path::PathBuf> {
    let built = Path::new(env!("CARGO_BIN_EXE_gpu-autoscaler"));
    let target = built.ancestors().nth(2).unwrap_or(built);
    let directory = target.join("artefacts");
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}
