//! dcgm-exporter's switches. Those with a meaning here change the page; the rest are accepted, so that an existing manifest
//! starts, and named in the log, so that nobody believes they did something.

use clap::builder::FalseyValueParser;
use clap::{ArgAction, Args};

use super::file::FileSettings;
use crate::page::{DcgmStyle, HostnameLabel, LabelNames, ModelName, PodUidLabel};

/// Switches that change the labels of the `dcgm` vocabulary.
#[derive(Debug, Default, Clone, Args)]
pub struct DcgmFlags {
    /// Write `hostname` instead of `Hostname` in dcgm-exporter's families
    #[arg(long, env = "GPU_EXPORTER_LOWER_CASE_HOSTNAME", action = ArgAction::SetTrue)]
    pub lower_case_hostname: bool,
    /// No host name in dcgm-exporter's families
    #[arg(short = 'n', long, env = "DCGM_EXPORTER_NO_HOSTNAME", action = ArgAction::SetTrue)]
    pub no_hostname: bool,
    /// The old label names: uuid, pod_name, pod_namespace, container_name
    #[arg(short = 'o', long, env = "DCGM_EXPORTER_USE_OLD_NAMESPACE", action = ArgAction::SetTrue)]
    pub use_old_namespace: bool,
    /// Dashes for blanks in the model's name
    #[arg(long, env = "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME", action = ArgAction::SetTrue)]
    pub replace_blanks_in_model_name: bool,
    /// The pod's uid as a label, where it is known
    #[arg(long, env = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", action = ArgAction::SetTrue)]
    pub kubernetes_enable_pod_uid: bool,
    /// Labels of pods from the API server: all of them, where no list names some (builds with kubernetes-labels)
    #[arg(long, env = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", value_name = "BOOL", num_args = 0..=1,
        require_equals = true, default_value = "false", default_missing_value = "true",
        value_parser = FalseyValueParser::new(), hide_default_value = true, hide_possible_values = true)]
    pub kubernetes_enable_pod_labels: bool,
    /// Expressions of which one has to fit a label's name, beside --pod-label-allow
    #[arg(
        long,
        env = "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX",
        value_name = "EXPRESSIONS",
        value_delimiter = ','
    )]
    pub kubernetes_pod_label_allowlist_regex: Option<Vec<String>>,
    #[command(flatten)]
    pub without_meaning: WithoutMeaning,
}

/// Switches that configure DCGM itself or things this exporter does by itself.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Accepted from dcgm-exporter, without effect")]
pub struct WithoutMeaning {
    /// There is no host engine: the driver is read directly
    #[arg(short = 'r', long, env = "DCGM_REMOTE_HOSTENGINE_INFO", hide = true)]
    remote_hostengine_info: Option<String>,
    /// All GPUs and slices are shown
    #[arg(short = 'd', long, env = "DCGM_EXPORTER_DEVICES_STR", hide = true)]
    devices: Option<String>,
    #[arg(short = 's', long, env = "DCGM_EXPORTER_OTHER_DEVICES_STR", hide = true)]
    switch_devices: Option<String>,
    #[arg(short = 'p', long, env = "DCGM_EXPORTER_CPU_DEVICES_STR", hide = true)]
    cpu_devices: Option<String>,
    /// A ConfigMap is mounted as a file and given by -f
    #[arg(short = 'm', long, env = "DCGM_EXPORTER_CONFIGMAP_DATA", hide = true)]
    configmap_data: Option<String>,
    /// Shared GPUs are always told apart by process
    #[arg(long, env = "KUBERNETES_VIRTUAL_GPUS", hide = true, num_args = 0..=1, default_missing_value = "true")]
    kubernetes_virtual_gpus: Option<String>,
    /// Claims are always understood
    #[arg(long, env = "KUBERNETES_ENABLE_DRA", hide = true, num_args = 0..=1, default_missing_value = "true")]
    kubernetes_enable_dra: Option<String>,
    /// Every form of id is always understood
    #[arg(long, env = "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", hide = true)]
    kubernetes_gpu_id_type: Option<String>,
    /// Simulated values exist behind the demo only
    #[arg(long, env = "DCGM_EXPORTER_USE_FAKE_GPUS", hide = true, num_args = 0..=1, default_missing_value = "true")]
    fake_gpus: Option<String>,
    #[arg(long, env = "DCGM_EXPORTER_ENABLE_DCGM_LOG", hide = true, num_args = 0..=1, default_missing_value = "true")]
    enable_dcgm_log: Option<String>,
    #[arg(long, env = "DCGM_EXPORTER_DCGM_LOG_LEVEL", hide = true)]
    dcgm_log_level: Option<String>,
    /// Faults are counters without a window
    #[arg(short = 'x', long, env = "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", hide = true)]
    xid_count_window_size: Option<String>,
    #[arg(long, env = "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", hide = true)]
    clock_events_count_window_size: Option<String>,
    #[arg(long, env = "DISABLE_STARTUP_VALIDATE", hide = true, num_args = 0..=1, default_missing_value = "true")]
    disable_startup_validate: Option<String>,
    /// New and lost GPUs are always noticed
    #[arg(long, env = "DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH", hide = true, num_args = 0..=1, default_missing_value = "true")]
    enable_gpu_bind_unbind_watch: Option<String>,
    #[arg(long, env = "DCGM_EXPORTER_ENABLE_PPROF", hide = true, num_args = 0..=1, default_missing_value = "true")]
    enable_pprof: Option<String>,
    /// The port is always our own
    #[arg(long, env = "DCGM_EXPORTER_SYSTEMD_SOCKET", hide = true, num_args = 0..=1, default_missing_value = "true")]
    web_systemd_socket: Option<String>,
    /// Requests are always bounded in time
    #[arg(long, env = "DCGM_EXPORTER_WEB_READ_TIMEOUT", hide = true)]
    web_read_timeout: Option<String>,
    /// Answers are always bounded in time
    #[arg(long, env = "DCGM_EXPORTER_WEB_WRITE_TIMEOUT", hide = true)]
    web_write_timeout: Option<String>,
    /// Scrapes share one page
    #[arg(long, env = "DCGM_EXPORTER_MAX_CONCURRENT_SCRAPES", hide = true)]
    max_concurrent_scrapes: Option<String>,
    /// They are always there
    #[arg(long, env = "DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", hide = true, num_args = 0..=1, default_missing_value = "true")]
    enable_exporter_metrics: Option<String>,
    /// GPUs are listed every two seconds
    #[arg(long, env = "DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL", hide = true)]
    gpu_bind_unbind_poll_interval: Option<String>,
    /// There is no host engine that keeps samples
    #[arg(long, env = "DCGM_EXPORTER_WATCH_MAX_KEEP_AGE", hide = true)]
    watch_max_keep_age: Option<String>,
    /// There is no host engine that keeps samples
    #[arg(long, env = "DCGM_EXPORTER_WATCH_MAX_KEEP_SAMPLES", hide = true)]
    watch_max_keep_samples: Option<String>,
    /// Containers are named in Kubernetes alone
    #[arg(long, env = "DCGM_EXPORTER_CONTAINER_LABELS", hide = true, num_args = 0..=1, default_missing_value = "true")]
    container_labels: Option<String>,
    /// Containers are named in Kubernetes alone
    #[arg(long, env = "DCGM_CONTAINER_RUNTIME_SOCKET", hide = true)]
    container_runtime_socket: Option<String>,
    /// There are no dumps
    #[arg(long, env = "DCGM_EXPORTER_DUMP_ENABLED", hide = true, num_args = 0..=1, default_missing_value = "true")]
    dump_enabled: Option<String>,
    /// There are no dumps
    #[arg(long, env = "DCGM_EXPORTER_DUMP_DIRECTORY", hide = true)]
    dump_directory: Option<String>,
    /// There are no dumps
    #[arg(long, env = "DCGM_EXPORTER_DUMP_RETENTION", hide = true)]
    dump_retention: Option<String>,
    /// There are no dumps
    #[arg(long, env = "DCGM_EXPORTER_DUMP_COMPRESSION", hide = true, num_args = 0..=1, default_missing_value = "true")]
    dump_compression: Option<String>,
}

impl WithoutMeaning {
    /// The names of the switches that were given and do nothing; a value that is dcgm-exporter's default asks for nothing.
    pub fn given(&self) -> Vec<&'static str> {
        let switches = [
            ("remote-hostengine-info", &self.remote_hostengine_info),
            ("devices", &self.devices),
            ("switch-devices", &self.switch_devices),
            ("cpu-devices", &self.cpu_devices),
            ("configmap-data", &self.configmap_data),
            ("kubernetes-virtual-gpus", &self.kubernetes_virtual_gpus),
            ("kubernetes-enable-dra", &self.kubernetes_enable_dra),
            ("kubernetes-gpu-id-type", &self.kubernetes_gpu_id_type),
            ("fake-gpus", &self.fake_gpus),
            ("enable-dcgm-log", &self.enable_dcgm_log),
            ("dcgm-log-level", &self.dcgm_log_level),
            ("xid-count-window-size", &self.xid_count_window_size),
            (
                "clock-events-count-window-size",
                &self.clock_events_count_window_size,
            ),
            ("disable-startup-validate", &self.disable_startup_validate),
            ("enable-gpu-bind-unbind-watch", &self.enable_gpu_bind_unbind_watch),
            ("enable-pprof", &self.enable_pprof),
            ("web-systemd-socket", &self.web_systemd_socket),
            ("web-read-timeout", &self.web_read_timeout),
            ("web-write-timeout", &self.web_write_timeout),
            ("max-concurrent-scrapes", &self.max_concurrent_scrapes),
            ("enable-exporter-metrics", &self.enable_exporter_metrics),
            (
                "gpu-bind-unbind-poll-interval",
                &self.gpu_bind_unbind_poll_interval,
            ),
            ("watch-max-keep-age", &self.watch_max_keep_age),
            ("watch-max-keep-samples", &self.watch_max_keep_samples),
            ("container-labels", &self.container_labels),
            ("container-runtime-socket", &self.container_runtime_socket),
            ("dump-enabled", &self.dump_enabled),
            ("dump-directory", &self.dump_directory),
            ("dump-retention", &self.dump_retention),
            ("dump-compression", &self.dump_compression),
        ];
        let asks = |value: &Option<String>| {
            value
                .as_deref()
                .is_some_and(|value| !matches!(value, "" | "false" | "f" | "none"))
        };
        switches
            .into_iter()
            .filter(|(_, value)| asks(value))
            .map(|(name, _)| name)
            .collect()
    }
}

/// The style of the `dcgm` vocabulary.
pub(super) fn style(flags: &DcgmFlags, file: &FileSettings) -> DcgmStyle {
    let absent = flags.no_hostname || file.no_hostname == Some(true);
    let lower = flags.lower_case_hostname || file.lower_case_hostname == Some(true);
    DcgmStyle {
        hostname: match (absent, lower) {
            (true, _) => HostnameLabel::Absent,
            (false, true) => HostnameLabel::Lower,
            (false, false) => HostnameLabel::Capital,
        },
        names: if flags.use_old_namespace {
            LabelNames::Old
        } else {
            LabelNames::Current
        },
        model: if flags.replace_blanks_in_model_name {
            ModelName::BlanksReplaced
        } else {
            ModelName::AsIs
        },
        pod_uid: if flags.kubernetes_enable_pod_uid {
            PodUidLabel::Shown
        } else {
            PodUidLabel::Absent
        },
    }
}
