//! Flags and environment, ours and those of dcgm-exporter where they have a meaning here. A flag wins over the environment,
//! both win over the file, and the file wins over the default.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::amd::AmdFlags;
use super::applications::ApplicationFlags;
use super::batch::BatchFlags;
use super::dcgm::DcgmFlags;
use super::duration;
use super::fallback::FallbackFlags;
use super::sidecar::SidecarFlags;

/// Every GPU metric of this node, attributed to the pod, container, slice or process that caused it.
#[derive(Debug, Parser)]
#[command(
    name = "gpu-exporter",
    version,
    after_help = "Serves Prometheus text and OpenMetrics on http://ADDRESS/metrics and JSON on /api/v1/monitoring/gpu-metrics.\n\
                  Flags and environment of dcgm-exporter are accepted where they have a meaning; the rest are named in the log.\n\
                  Signals: TERM and INT end it, HUP reads the settings again, USR1 lets the driver go for an upgrade or a reset,\n\
                  USR2 takes it again. It ends with code 75 when the driver was replaced and only a new process can load it."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub flags: Flags,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the page of the exporter that runs on this machine (images have no curl)
    Fetch {
        /// What to fetch; the metrics page where it is not given
        path: Option<String>,
        /// The user, where the exporter asks for one
        #[arg(long, value_name = "NAME", requires = "password_file")]
        user: Option<String>,
        /// A file with the user's password
        #[arg(long, value_name = "FILE", requires = "user")]
        password_file: Option<PathBuf>,
    },
    /// Look at the driver, the kubelet and the permissions, and say what is wrong and how to mend it
    Doctor,
}

/// Where values come from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// What the machine's drivers say.
    #[default]
    Drivers,
    /// Nothing is measured; every page says so.
    Sim,
}

/// One setting a field; `None` means that neither a flag nor the environment names it.
#[derive(Debug, Default, Clone, Args)]
pub struct Flags {
    /// Collect once, print the page and end
    #[arg(long)]
    pub once: bool,
    /// A file with settings, read again on SIGHUP and when it changes
    #[arg(long, env = "GPU_EXPORTER_CONFIG_FILE", value_name = "FILE", global = true)]
    pub config_file: Option<PathBuf>,
    /// Where to listen
    #[arg(short = 'a', long, visible_alias = "listen", env = "DCGM_EXPORTER_LISTEN", value_name = "ADDRESS", value_parser = listen_address, global = true)]
    pub address: Option<SocketAddr>,
    /// Listen on this port of all addresses
    #[arg(long, env = "EXPORTER_PORT", value_name = "PORT", global = true)]
    pub port: Option<u16>,
    /// Where the page is
    #[arg(long, env = "METRICS_PATH", value_name = "PATH", global = true)]
    pub metrics_path: Option<String>,
    /// Between two samples of what is cheap to read
    #[arg(long, env = "SAMPLE_INTERVAL", value_name = "TIME", value_parser = duration::parse)]
    pub sample_interval: Option<Duration>,
    /// Between two readings of what is slow or costly
    #[arg(long, env = "COLLECTION_INTERVAL", value_name = "TIME", value_parser = duration::parse)]
    pub collection_interval: Option<Duration>,
    /// dcgm-exporter's form of --collection-interval, in milliseconds
    #[arg(short = 'c', long, env = "DCGM_EXPORTER_INTERVAL", value_name = "MILLISECONDS", value_parser = milliseconds)]
    pub collect_interval: Option<Duration>,
    /// The node's name in labels; the host name where it is not given
    #[arg(long, env = "NODE_NAME", value_name = "NAME")]
    pub node_name: Option<String>,
    /// How much to log: error, warn, info, debug
    #[arg(long, env = "LOG_LEVEL", value_name = "LEVEL", global = true)]
    pub log_level: Option<String>,
    /// How to log: text or json
    #[arg(long, env = "DCGM_EXPORTER_LOG_FORMAT", value_name = "FORMAT", global = true)]
    pub log_format: Option<String>,
    /// dcgm-exporter's form of --log-level debug
    #[arg(long, env = "DCGM_EXPORTER_DEBUG", action = ArgAction::SetTrue, global = true)]
    pub debug: bool,
    /// Names to publish: any of gpu, dcgm, nvidia_smi, amd
    #[arg(
        long,
        env = "GPU_EXPORTER_VOCABULARY",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub vocabulary: Option<Vec<String>>,
    /// Only these families: names, prefixes with `*`, `default` for the usual ones, `all`
    #[arg(
        long,
        env = "GPU_EXPORTER_FAMILIES",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub families: Option<Vec<String>>,
    /// dcgm-exporter's counters file: which of its families to publish
    #[arg(short = 'f', long, env = "DCGM_EXPORTER_COLLECTORS", value_name = "FILE")]
    pub collectors: Option<PathBuf>,
    /// A label on every series, as NAME=VALUE (may be repeated)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// The most series a page may have; what goes beyond is dropped and counted
    #[arg(long, env = "GPU_EXPORTER_MAX_SERIES", value_name = "COUNT")]
    pub max_series: Option<usize>,
    /// Join with pods through the kubelet's socket: true or false; by default when the socket is there
    #[arg(short = 'k', long, env = "DCGM_EXPORTER_KUBERNETES", value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub kubernetes: Option<bool>,
    /// The kubelet's pod-resources socket
    #[arg(long, env = "DCGM_POD_RESOURCES_KUBELET_SOCKET", value_name = "SOCKET")]
    pub pod_resources_kubelet_socket: Option<PathBuf>,
    /// Further resource names that mean a GPU
    #[arg(
        long,
        env = "NVIDIA_RESOURCE_NAMES",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub nvidia_resource_names: Option<Vec<String>>,
    /// Labels of pods to take over from the API server: names, or prefixes with `*` (builds with kubernetes-labels)
    #[arg(
        long,
        env = "GPU_EXPORTER_POD_LABEL_ALLOW",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub pod_label_allow: Option<Vec<String>>,
    /// Labels of the node to take over from the API server, in the same form
    #[arg(
        long,
        env = "GPU_EXPORTER_NODE_LABEL_ALLOW",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub node_label_allow: Option<Vec<String>>,
    /// Whether processes of other containers can be told apart (hostPID): true or false; found out by default
    #[arg(long, env = "GPU_EXPORTER_HOST_PROCESSES", value_name = "BOOL")]
    pub host_processes: Option<bool>,
    /// Where /proc of the host is
    #[arg(long = "path.procfs", env = "GPU_EXPORTER_PROCFS", value_name = "DIR")]
    pub path_procfs: Option<PathBuf>,
    /// Where /sys of the host is
    #[arg(long = "path.sysfs", env = "GPU_EXPORTER_SYSFS", value_name = "DIR")]
    pub path_sysfs: Option<PathBuf>,
    /// Where the kubelet's own files of the host are; only its record of devices is read
    #[arg(long = "path.kubelet", env = "GPU_EXPORTER_KUBELET_DIR", value_name = "DIR")]
    pub path_kubelet: Option<PathBuf>,
    /// Where /var/log of the host is; only names of files in its `pods` and `containers` are read
    #[arg(long = "path.logs", env = "GPU_EXPORTER_LOGS_DIR", value_name = "DIR")]
    pub path_logs: Option<PathBuf>,
    /// NVIDIA's management library, where it is not in one of the usual places
    #[arg(long, env = "GPU_EXPORTER_NVML_LIBRARY", value_name = "FILE")]
    pub nvml_library: Option<PathBuf>,
    /// Where values come from: the drivers, or a simulation in builds that have one
    #[arg(long, env = "GPU_EXPORTER_SOURCE", value_name = "NAME", value_enum, default_value_t = Source::Drivers)]
    pub source: Source,
    /// The kernel's log, from which faults are read where that is allowed; /dev/kmsg by default
    #[arg(long, env = "GPU_EXPORTER_KERNEL_LOG", value_name = "FILE")]
    pub kernel_log: Option<PathBuf>,
    /// TLS and passwords, in the format of Prometheus' exporters
    #[arg(
        long,
        env = "DCGM_EXPORTER_WEB_CONFIG_FILE",
        value_name = "FILE",
        global = true
    )]
    pub web_config_file: Option<PathBuf>,
    #[command(flatten)]
    pub applications: ApplicationFlags,
    #[command(flatten)]
    pub batch: BatchFlags,
    #[command(flatten)]
    pub sidecar: SidecarFlags,
    #[command(flatten)]
    pub fallback: FallbackFlags,
    #[command(flatten)]
    pub dcgm: DcgmFlags,
    #[command(flatten)]
    pub amd: AmdFlags,
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let number: u64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number of milliseconds"))?;
    Ok(Duration::from_millis(number))
}

/// `:9400`, `9400` and `0.0.0.0:9400` are all in use.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => format!("[::]:{text}"),
        None => text.replace("localhost:", "127.0.0.1:"),
    };
    whole
        .parse()
        .map_err(|_| format!("`{text}` is not an address; write `:9400` or `127.0.0.1:9400`"))
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` has no `=`; write NAME=VALUE"))?;
    if !gpu_exposition::is_label_name(name) {
        return Err(format!(
            "`{name}` is not a label name; use letters, digits and `_`"
        ));
    }
    Ok((name.to_owned(), value.to_owned()))
}
