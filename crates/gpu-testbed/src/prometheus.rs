//! A real Prometheus that scrapes what a test serves and answers questions about it, and promtool for pages and rules.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::{self, HttpError};
use crate::programs::ProgramMissing;
use crate::{Bed, BedError, Need, Part, PartSpec, Program, StopBy, free_port};

/// A start takes a second; this is for a machine that compiles beside it.
const READY_WITHIN: Duration = Duration::from_secs(60);

const PROMTOOL_WITHIN: Duration = Duration::from_secs(60);

/// Why Prometheus could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// The program is missing.
    #[error(transparent)]
    Program(#[from] ProgramMissing),
    /// It could not be started or died.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// It did not answer.
    #[error("failed to ask Prometheus")]
    Http(#[from] HttpError),
    /// It answered with an error.
    #[error("Prometheus refused the query `{query}`: {answer}")]
    Query {
        /// The query.
        query: String,
        /// What came back.
        answer: String,
    },
}

/// What Prometheus is to do.
#[derive(Debug, Clone)]
pub struct PrometheusOptions {
    /// Between two scrapes; short, because tests wait for them.
    pub scrape_interval: Duration,
    /// What it scrapes.
    pub jobs: Vec<ScrapeJob>,
    /// Files of rules that it evaluates.
    pub rules: Vec<PathBuf>,
    /// Alertmanagers, as HOST:PORT.
    pub alertmanagers: Vec<String>,
}

/// One job of a scrape configuration.
#[derive(Debug, Clone, Default)]
pub struct ScrapeJob {
    /// The value of the label `job`.
    pub name: String,
    /// HOST:PORT of each target.
    pub targets: Vec<String>,
    /// The path of the page.
    pub path: String,
    /// Labels of the targets, as service discovery adds them.
    pub labels: BTreeMap<String, String>,
}

/// One series of an instant vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its labels, the name of the metric as `__name__`.
    pub labels: BTreeMap<String, String>,
    /// Its value; not-a-number and infinities included.
    pub value: f64,
}

impl PrometheusOptions {
    /// Scrapes one page every 200 milliseconds.
    pub fn scraping(target: impl Into<String>, path: impl Into<String>) -> Self {
        let job = ScrapeJob {
            name: "test".to_owned(),
            targets: vec![target.into()],
            path: path.into(),
            labels: BTreeMap::new(),
        };
        Self {
            scrape_interval: Duration::from_millis(200),
            jobs: vec![job],
            rules: Vec::new(),
            alertmanagers: Vec::new(),
        }
    }

    /// The configuration file. JSON is YAML, too.
    fn text(&self) -> String {
        let interval = format!("{}ms", self.scrape_interval.as_millis());
        let job = |job: &ScrapeJob| {
            json!({
                "job_name": job.name,
                "metrics_path": job.path,
                "static_configs": [{"targets": job.targets, "labels": job.labels}],
            })
        };
        json!({
            "global": {
                "scrape_interval": interval,
                "scrape_timeout": interval,
                "evaluation_interval": interval,
            },
            "rule_files": self.rules,
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": self.alertmanagers}]}]},
            "scrape_configs": self.jobs.iter().map(job).collect::<Vec<Value>>(),
        })
        .to_string()
    }
}

/// A running Prometheus. It lives as long as its bed.
#[derive(Debug)]
pub struct Prometheus {
    part: Part,
    url: String,
}

impl Prometheus {
    /// The program without which none of this works.
    pub fn need() -> Need {
        Program::Prometheus.into()
    }

    /// Starts it on the bed and waits until it is ready.
    pub async fn start(bed: &Bed, options: &PrometheusOptions) -> Result<Self, PrometheusError> {
        let config = bed.write_file("prometheus.yml", options.text())?;
        let address = format!("127.0.0.1:{}", free_port());
        let spec = PartSpec::new("prometheus", Program::Prometheus.path()?)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                bed.path("prometheus-data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=warn")
            .stop_by(StopBy::Kill);
        let url = format!("http://{address}");
        let page = format!("{url}/-/ready");
        let part = bed.start(spec, READY_WITHIN, || http::probe(&page)).await?;
        Ok(Self { part, url })
    }

    /// The part, for its log or its death.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// Its address, as `http://HOST:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks an instant query whose answer is a vector.
    pub async fn query(&self, query: &str) -> Result<Vec<Sample>, PrometheusError> {
        let page = format!("{}/api/v1/query?{}", self.url, http::form(&[("query", query)]));
        let answer = http::get(&page).await?;
        let refused = || PrometheusError::Query {
            query: query.to_owned(),
            answer: answer.body.clone(),
        };
        let body: QueryAnswer = serde_json::from_str(&answer.body).map_err(|_| refused())?;
        let data = body
            .data
            .filter(|data| data.result_type == "vector")
            .ok_or_else(refused)?;
        let sample = |series: Series| {
            let value = series.value.1.parse().map_err(|_| refused())?;
            Ok(Sample {
                labels: series.metric,
                value,
            })
        };
        data.result.into_iter().map(sample).collect()
    }
}

#[derive(Deserialize)]
struct QueryAnswer {
    data: Option<QueryData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueryData {
    result_type: String,
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    /// A time and the value as text.
    value: (f64, String),
}

/// Lets promtool judge a page of metrics; its complaints come back in the error.
pub async fn check_metrics(bed: &Bed, page: &str) -> Result<(), PrometheusError> {
    let file = bed.write_file("page.prom", page)?;
    // promtool reads the page from its standard input only.
    let spec = PartSpec::new("promtool", "/bin/sh")
        .args(["-c", "exec \"$0\" check metrics < \"$1\""])
        .arg(Program::Promtool.path()?.display().to_string())
        .arg(file.display().to_string());
    bed.run(spec, PROMTOOL_WITHIN).await?;
    Ok(())
}
