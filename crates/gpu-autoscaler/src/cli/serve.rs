//! The settings of `serve`: each a flag and an environment variable, with the bounds within which it makes sense.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::SignedDuration;

pub(crate) const SERVE: &str = "\
Watch a cluster, join it with what its GPUs really do, find waste and tell owners.

It reads exporters itself (--metrics-source direct, the default) or asks a Prometheus, and it changes nothing in the cluster but \
events, a condition on nodes with broken GPUs, and its own lease. With --standalone it needs no Kubernetes: name exporters by --targets.";

/// The settings of `serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeOptions {
    /// The address and port of the API and its pages; port 0 takes any free one and prints it
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8080", value_parser = super::parse_address,
          env = "GPU_AUTOSCALER_LISTEN")]
    pub(crate) listen: SocketAddr,

    /// The name of this cluster in every key, row and metric [default: the uid of its kube-system namespace]
    #[arg(long, value_name = "NAME", env = "GPU_AUTOSCALER_CLUSTER")]
    pub(crate) cluster: Option<String>,

    /// The namespace of the lease and of the switch for `pause` [default: that of the pod, else gpu-autoscaler-system]
    #[arg(long, value_name = "NAMESPACE", env = "GPU_AUTOSCALER_NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// The kubeconfig context to use outside of a cluster [default: the current one]
    #[arg(long, value_name = "CONTEXT", env = "GPU_AUTOSCALER_CONTEXT")]
    pub(crate) context: Option<String>,

    /// What this process does: observe, cost, api; all by default
    #[arg(
        long,
        value_name = "ROLES",
        value_delimiter = ',',
        default_value = "observe,cost,api",
        env = "GPU_AUTOSCALER_ROLES"
    )]
    pub(crate) roles: Vec<Role>,

    #[command(flatten)]
    pub(crate) analysis: AnalysisOptions,

    #[command(flatten)]
    pub(crate) source: SourceOptions,

    #[command(flatten)]
    pub(crate) telling: TellOptions,

    #[command(flatten)]
    pub(crate) money: MoneyOptions,
}

/// What a process of the control plane does. The others of the design come with what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    Observe,
    Cost,
    Api,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisOptions {
    /// How often to collect and analyse, 1s to 10m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = interval, env = "GPU_AUTOSCALER_ANALYSIS_INTERVAL")]
    pub(crate) analysis_interval: Duration,

    /// How far back a judgement looks, 10s to 24h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = window, env = "GPU_AUTOSCALER_ANALYSIS_WINDOW")]
    pub(crate) analysis_window: Duration,

    /// The activity below which a GPU counts as under-used, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share, env = "GPU_AUTOSCALER_WASTE_THRESHOLD")]
    pub(crate) waste_threshold: u16,

    /// How long a pod has to be idle before it is a finding, 1s to 24h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time, env = "GPU_AUTOSCALER_WASTE_AFTER")]
    pub(crate) waste_after: Duration,

    /// How long a pod may take from its start to its first use of a GPU: images, models, notebooks
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = time, env = "GPU_AUTOSCALER_WARM_UP")]
    pub(crate) warm_up: Duration,

    /// Also report workloads that leave their own pattern of the week, which is learned while this process runs
    #[arg(long, env = "GPU_AUTOSCALER_DEVIATIONS")]
    pub(crate) deviations: bool,

    /// The score from which findings are listed and told by events and notices, 0 to 100
    #[arg(long, value_name = "SCORE", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100),
          env = "GPU_AUTOSCALER_WASTE_SCORE")]
    pub(crate) waste_score: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceKind {
    Direct,
    Prometheus,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Where measurements come from")]
pub(crate) struct SourceOptions {
    /// Scrape exporters ourselves, or ask a Prometheus
    #[arg(
        long,
        value_name = "SOURCE",
        default_value = "direct",
        env = "GPU_AUTOSCALER_METRICS_SOURCE"
    )]
    pub(crate) metrics_source: SourceKind,

    /// Without Kubernetes: a fleet of exporters named by --targets
    #[arg(long, requires = "targets", env = "GPU_AUTOSCALER_STANDALONE")]
    pub(crate) standalone: bool,

    /// Exporters by address, `a:9400,b:9400` or whole URLs, besides those that are found
    #[arg(
        long,
        value_name = "ADDRESSES",
        value_delimiter = ',',
        env = "GPU_AUTOSCALER_TARGETS"
    )]
    pub(crate) targets: Vec<String>,

    /// Services whose endpoints are exporters, as NAMESPACE/NAME
    #[arg(
        long = "exporter-service",
        value_name = "NAMESPACE/NAME",
        value_delimiter = ',',
        default_value = "gpu-monitoring/dcgm-exporter,gpu-autoscaler-system/gpu-exporter",
        env = "GPU_AUTOSCALER_EXPORTER_SERVICE"
    )]
    pub(crate) exporter_services: Vec<String>,

    /// Pods that are exporters, by label, such as `app=gpu-exporter`; their port is 9400 unless --exporter-port says otherwise
    #[arg(long, value_name = "SELECTOR", env = "GPU_AUTOSCALER_EXPORTER_SELECTOR")]
    pub(crate) exporter_selector: Option<String>,

    /// The port of exporters that are found by label
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 9400,
        env = "GPU_AUTOSCALER_EXPORTER_PORT"
    )]
    pub(crate) exporter_port: u16,

    /// How long one exporter or one query may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time, env = "GPU_AUTOSCALER_SCRAPE_TIMEOUT")]
    pub(crate) scrape_timeout: Duration,

    /// The Prometheus to ask, such as http://prometheus.monitoring:9090; PROMETHEUS_URL is read too
    #[arg(long, value_name = "URL", env = "GPU_AUTOSCALER_PROMETHEUS_URL")]
    pub(crate) prometheus_url: Option<String>,

    /// More matchers for the query, such as `cluster="a"`
    #[arg(long, value_name = "MATCHERS", env = "GPU_AUTOSCALER_PROMETHEUS_MATCHERS")]
    pub(crate) prometheus_matchers: Option<String>,

    /// A header for Prometheus, such as `X-Scope-OrgID: team`; may be given several times
    #[arg(long = "prometheus-header", value_name = "NAME: VALUE")]
    pub(crate) prometheus_headers: Vec<String>,

    /// A file with a bearer token for the source, read again when it changes
    #[arg(long, value_name = "FILE", env = "GPU_AUTOSCALER_SOURCE_TOKEN_FILE")]
    pub(crate) source_token_file: Option<PathBuf>,

    /// A file with the certificates by which the source is trusted
    #[arg(long, value_name = "FILE", env = "GPU_AUTOSCALER_SOURCE_CA_FILE")]
    pub(crate) source_ca_file: Option<PathBuf>,

    /// Do not check the certificate of the source
    #[arg(long, env = "GPU_AUTOSCALER_SOURCE_INSECURE")]
    pub(crate) source_insecure: bool,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Telling people")]
pub(crate) struct TellOptions {
    /// How long other findings than idle ones last before an event tells of them
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = time, env = "GPU_AUTOSCALER_EVENT_AFTER")]
    pub(crate) event_after: Duration,

    /// Findings that waste less than so many dollars in a month are not told
    #[arg(
        long,
        value_name = "USD",
        default_value_t = 10,
        env = "GPU_AUTOSCALER_MONEY_FLOOR"
    )]
    pub(crate) money_floor: u32,

    /// Tell by Kubernetes events: on, off, or dry-run, which logs them instead
    #[arg(
        long,
        value_name = "MODE",
        default_value = "on",
        env = "GPU_AUTOSCALER_EVENTS"
    )]
    pub(crate) events: Switch,

    /// Mark nodes with broken GPUs by a condition: on, off or dry-run
    #[arg(
        long,
        value_name = "MODE",
        default_value = "on",
        env = "GPU_AUTOSCALER_NODE_CONDITIONS"
    )]
    pub(crate) node_conditions: Switch,

    /// Note findings on pods as annotations: off unless asked for
    #[arg(
        long,
        value_name = "MODE",
        default_value = "off",
        env = "GPU_AUTOSCALER_ANNOTATIONS"
    )]
    pub(crate) annotations: Switch,

    /// A YAML file with channels for notices: webhooks, Slack, e-mail
    #[arg(long, value_name = "FILE", env = "GPU_AUTOSCALER_NOTICES_FILE")]
    pub(crate) notices_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
    DryRun,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Store and prices")]
pub(crate) struct MoneyOptions {
    /// Where the ledger is: sqlite:PATH for one replica, postgres://… for several
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "sqlite:gpu-autoscaler.db",
        env = "GPU_AUTOSCALER_STORE"
    )]
    pub(crate) store: String,

    /// A YAML file with overrides, discounts, commitments and the sheet of own machines
    #[arg(long, value_name = "FILE", env = "GPU_AUTOSCALER_PRICES_FILE")]
    pub(crate) prices_file: Option<PathBuf>,

    /// Live price lists to ask besides the table in the program: aws, gcp, azure. None by default: they are on the internet
    #[arg(
        long,
        value_name = "CLOUDS",
        value_delimiter = ',',
        env = "GPU_AUTOSCALER_PRICE_FEEDS"
    )]
    pub(crate) price_feeds: Vec<PriceFeed>,

    /// The key of a Google project for its price list
    #[arg(
        long,
        value_name = "KEY",
        env = "GPU_AUTOSCALER_GCP_API_KEY",
        hide_env_values = true
    )]
    pub(crate) gcp_api_key: Option<String>,

    /// The ConfigMap with the same document under `prices.yaml`, as NAMESPACE/NAME
    #[arg(long, value_name = "NAMESPACE/NAME", env = "GPU_AUTOSCALER_PRICES_CONFIGMAP")]
    pub(crate) prices_configmap: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PriceFeed {
    Aws,
    Gcp,
    Azure,
}

fn interval(text: &str) -> Result<Duration, String> {
    bounded(text, Duration::from_secs(1), Duration::from_secs(600))
}

fn window(text: &str) -> Result<Duration, String> {
    bounded(text, Duration::from_secs(10), Duration::from_secs(86_400))
}

fn time(text: &str) -> Result<Duration, String> {
    bounded(text, Duration::from_secs(1), Duration::from_secs(86_400))
}

/// A time such as `90s`, `10m` or `1h 30m`; a bare number is seconds.
fn bounded(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
    let parsed = match seconds {
        Some(time) => time,
        None => text
            .parse::<SignedDuration>()
            .ok()
            .and_then(|time| Duration::try_from(time).ok())
            .ok_or_else(|| "give a time such as 30s, 10m or 1h".to_owned())?,
    };
    if parsed < least || parsed > most {
        return Err(format!("give {} to {}", words(least), words(most)));
    }
    Ok(parsed)
}

fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

/// A share from 0 to 1 in thousandths.
fn share(text: &str) -> Result<u16, String> {
    let wrong = || "give a share from 0 to 1, such as 0.5".to_owned();
    let share: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.0..=1.0).contains(&share) {
        return Err(wrong());
    }
    // Checked above: a thousand at most.
    Ok((0..=1000u16)
        .min_by(|a, b| distance(*a, share).total_cmp(&distance(*b, share)))
        .unwrap_or(0))
}

fn distance(thousandths: u16, share: f64) -> f64 {
    (f64::from(thousandths) / 1000.0 - share).abs()
}
