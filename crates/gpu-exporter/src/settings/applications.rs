//! What is taken of the workloads' own numbers: from which directory, from which pods, how often and how much.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use gpu_model::NodeName;

use super::file::FileSettings;
use super::{SettingsError, bounded, duration, from_file, labels};
use crate::applications::NameList;
use crate::applications::scrape::ScrapeRule;

/// Prometheus scrapes about as often; a workload that writes more often is shown with its latest word.
const INTERVAL: Duration = Duration::from_secs(15);
/// A training step may take minutes, and a workload that has been silent for longer is not known to be alive.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Enough for eight model servers with all their histograms; the page's own families have room for ten times as many.
const MAX_SERIES: usize = 5_000;

/// The flags of this part.
#[derive(Debug, Default, Clone, Args)]
pub struct ApplicationFlags {
    /// A directory with metrics of workloads, in files `*.prom`: those in it are the node's, those in a directory
    /// `<namespace>_<pod>` the pod's
    #[arg(long, env = "GPU_EXPORTER_TEXTFILE_DIR", value_name = "DIR")]
    pub textfile_dir: Option<PathBuf>,
    /// After which time a file that was not written again is left out
    #[arg(long, env = "GPU_EXPORTER_TEXTFILE_MAX_AGE", value_name = "TIME", value_parser = duration::parse)]
    pub textfile_max_age: Option<Duration>,
    /// Scrape pods that hold a GPU and ask for it by `prometheus.io` annotations (builds with kubernetes-labels)
    #[arg(long, env = "GPU_EXPORTER_SCRAPE_PODS", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub scrape_pods: Option<bool>,
    /// Scrape pods that hold a GPU as NAMESPACE/POD=http://HOST:PORT/PATH says; `*` fits any names, and `{pod}` and
    /// `{namespace}` stand for them in the host
    #[arg(
        long,
        env = "GPU_EXPORTER_SCRAPE_RULES",
        value_name = "RULES",
        value_delimiter = ','
    )]
    pub scrape_rule: Option<Vec<String>>,
    /// Between two looks at the metrics of workloads
    #[arg(long, env = "GPU_EXPORTER_APPLICATION_INTERVAL", value_name = "TIME", value_parser = duration::parse)]
    pub application_interval: Option<Duration>,
    /// Only these families of workloads: names, or prefixes with `*`
    #[arg(
        long,
        env = "GPU_EXPORTER_APPLICATION_FAMILIES",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub application_families: Option<Vec<String>>,
    /// The most series of all workloads together; families that go beyond are left out and counted
    #[arg(long, env = "GPU_EXPORTER_APPLICATION_MAX_SERIES", value_name = "COUNT")]
    pub application_max_series: Option<usize>,
}

/// The settings of this part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationSettings {
    pub textfiles: Option<TextfileSettings>,
    /// Pods whose pages the operator knows.
    pub scrape_rules: Vec<ScrapeRule>,
    /// The node by its name in the API, whose annotated pods are scraped, in builds that can ask.
    pub scrape_node: Option<NodeName>,
    pub interval: Duration,
    pub families: NameList,
    pub max_series: usize,
}

/// The textfile directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextfileSettings {
    pub directory: PathBuf,
    pub max_age: Duration,
}

impl ApplicationSettings {
    pub(super) fn resolve(
        flags: &ApplicationFlags,
        file: &FileSettings,
        node: &str,
    ) -> Result<Self, SettingsError> {
        let time = |name, flag: Option<Duration>, text, default| -> Result<Duration, SettingsError> {
            let given = match flag {
                Some(time) => Some(time),
                None => from_file(name, text)?,
            };
            bounded(name, given.unwrap_or(default))
        };
        let max_age = time(
            "textfile-max-age",
            flags.textfile_max_age,
            file.textfile_max_age.as_ref(),
            MAX_AGE,
        )?;
        let interval = time(
            "application-interval",
            flags.application_interval,
            file.application_interval.as_ref(),
            INTERVAL,
        )?;
        let names = flags
            .application_families
            .as_ref()
            .or(file.application_families.as_ref());
        let families = NameList::parse(names.into_iter().flatten().map(String::as_str));
        let rules = flags.scrape_rule.as_ref().or(file.scrape_rule.as_ref());
        let scrape_rules = ScrapeRule::parse_all(rules.into_iter().flatten().map(String::as_str));
        let directory = flags.textfile_dir.as_ref().or(file.textfile_dir.as_ref());
        Ok(Self {
            textfiles: directory.map(|directory| TextfileSettings {
                directory: directory.clone(),
                max_age,
            }),
            scrape_rules: scrape_rules.map_err(|problem| SettingsError::Value {
                name: "scrape-rule",
                problem,
            })?,
            scrape_node: match flags.scrape_pods.or(file.scrape_pods) {
                Some(true) => Some(labels::asked_node("scrape-pods", node)?),
                Some(false) | None => None,
            },
            interval,
            families: families.map_err(|problem| SettingsError::Value {
                name: "application-families",
                problem,
            })?,
            max_series: flags
                .application_max_series
                .or(file.application_max_series)
                .unwrap_or(MAX_SERIES),
        })
    }
}
