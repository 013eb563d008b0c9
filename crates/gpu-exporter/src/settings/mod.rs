//! What the exporter is told: flags, environment and file become one checked value. A value that is wrong is refused with
//! its name and the fix; on a reload the old value then stays.

mod amd;
mod applications;
mod batch;
mod dcgm;
pub mod duration;
mod fallback;
mod file;
mod flags;
mod labels;
mod sidecar;

pub use amd::{AmdFlags, with_two_dashes};
pub use applications::{ApplicationFlags, ApplicationSettings, TextfileSettings};
pub use batch::BatchFlags;
pub use dcgm::{DcgmFlags, WithoutMeaning};
pub use fallback::{FallbackFlags, FallbackSettings, ToolName};
pub use file::{FileError, FileSettings, parse_yaml, read_text, read_yaml};
pub use flags::{Cli, Command, Flags, Source};
pub use labels::{AllowList, ApiLabels, unmet_label_wish};
pub use sidecar::{Mode, OwnGpusFrom, PodInfo, Sidecar, SidecarFlags, Until, UntilProcess};

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::owners::jobs::Convention;
use crate::page::{
    AmdConfig, AmdConfigError, Companions, CountersError, CountersFile, FamilyChoice, LabelChoice,
    PageSettings, SeriesCap, SettingsError as PageError, StaticLabels, Vocabulary, parse_vocabularies,
};
use crate::web::OWN_PATHS;

/// dcgm-exporter's port, which scrape configurations already name.
const PORT: u16 = 9400;
/// Below this the driver is busy answering us; above an hour a counter is no longer a measurement.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(100);
const LONGEST_INTERVAL: Duration = Duration::from_secs(3600);

/// Everything that is settled before anything starts.
#[derive(Debug, Clone)]
pub struct Settings {
    pub address: SocketAddr,
    pub metrics_path: String,
    pub sample_interval: Duration,
    pub collection_interval: Duration,
    pub node: String,
    pub log_level: String,
    pub log_format: String,
    pub page: PageSettings,
    pub applications: ApplicationSettings,
    /// The counters file that is part of the page's settings, to be watched.
    pub collectors: Option<PathBuf>,
    /// The same of the configuration of AMD's exporter.
    pub amd_metrics_config: Option<PathBuf>,
    pub kubernetes: Kubernetes,
    pub kubelet_socket: PathBuf,
    pub resource_names: Vec<String>,
    /// The labels that the API server is asked for, in builds that can.
    pub api_labels: Option<ApiLabels>,
    pub process_sight: ProcessSight,
    pub procfs: PathBuf,
    pub sysfs: PathBuf,
    /// The kubelet's directory and `/var/log` of the host, from which pods get their uids and containers their names.
    pub kubelet_directory: PathBuf,
    pub logs: PathBuf,
    pub nvml_library: Option<PathBuf>,
    /// What is run where a driver cannot be read.
    pub fallback: FallbackSettings,
    pub source: Source,
    /// The kernel's log; where none is named, the usual one is read if that is allowed.
    pub kernel_log: Option<PathBuf>,
    pub web_config_file: Option<PathBuf>,
    /// Where a batch system's prolog leaves its jobs.
    pub job_directories: Vec<(Convention, PathBuf)>,
    /// The pod that the exporter is a container of, where it speaks for that alone.
    pub sidecar: Option<Sidecar>,
    pub until: Until,
}

/// Whether pods are looked up at the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kubernetes {
    Off,
    On,
    /// When the kubelet's socket is there.
    WhenPresent,
}

/// Whether the driver's process ids are those that `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSight {
    /// They are when this process runs in the machine's first process namespace.
    Detect,
    Host,
    Own,
}

/// Why the settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("setting `{name}`: {problem}")]
    Value { name: &'static str, problem: String },
    #[error(transparent)]
    Page(#[from] PageError),
    #[error("counters file `{path}`")]
    Counters { path: PathBuf, source: CountersError },
    #[error("configuration of AMD's exporter `{path}`")]
    AmdConfig { path: PathBuf, source: AmdConfigError },
}

impl Settings {
    /// Puts flags, environment (already in the flags) and file together; `host` is the machine's own name.
    pub fn resolve(flags: &Flags, host: &str) -> Result<Self, SettingsError> {
        let file = match &flags.config_file {
            Some(path) => read_yaml(path)?,
            None => FileSettings::default(),
        };
        let sidecar = sidecar::resolve(flags, &file)?;
        let node = flags.node_name.as_ref().or(file.node_name.as_ref());
        let node = node.map_or(host, String::as_str).to_owned();
        let amd = amd::config(&flags.amd, &file)?;
        Ok(Self {
            address: address(flags, &file, amd.as_ref())?,
            metrics_path: metrics_path(flags, &file)?,
            sample_interval: sample_interval(flags, &file)?,
            collection_interval: collection_interval(flags, &file)?,
            log_level: log_level(flags, &file),
            log_format: log_format(flags, &file),
            page: page(flags, &file, amd)?,
            applications: ApplicationSettings::resolve(&flags.applications, &file, &node)?,
            collectors: flags.collectors.clone().or_else(|| file.collectors.clone()),
            amd_metrics_config: amd::path(&flags.amd, &file),
            kubernetes: match flags.kubernetes.or(file.kubernetes) {
                Some(true) => Kubernetes::On,
                Some(false) => Kubernetes::Off,
                None => Kubernetes::WhenPresent,
            },
            kubelet_socket: flags
                .pod_resources_kubelet_socket
                .clone()
                .or_else(|| file.pod_resources_kubelet_socket.clone())
                .unwrap_or_else(|| PathBuf::from(gpu_kubelet::podresources::SOCKET)),
            resource_names: flags
                .nvidia_resource_names
                .clone()
                .or_else(|| file.nvidia_resource_names.clone())
                .unwrap_or_default(),
            api_labels: match sidecar {
                // It holds no token; its labels come from the downward API.
                Some(_) => None,
                None => labels::resolve(flags, &file, &node)?,
            },
            node,
            process_sight: match flags.host_processes {
                None => ProcessSight::Detect,
                Some(true) => ProcessSight::Host,
                Some(false) => ProcessSight::Own,
            },
            procfs: flags
                .path_procfs
                .clone()
                .unwrap_or_else(|| PathBuf::from("/proc")),
            sysfs: flags.path_sysfs.clone().unwrap_or_else(|| PathBuf::from("/sys")),
            kubelet_directory: flags
                .path_kubelet
                .clone()
                .unwrap_or_else(|| PathBuf::from("/var/lib/kubelet")),
            logs: flags
                .path_logs
                .clone()
                .unwrap_or_else(|| PathBuf::from("/var/log")),
            nvml_library: flags.nvml_library.clone().or_else(|| file.nvml_library.clone()),
            fallback: fallback::resolve(&flags.fallback, &file)?,
            source: flags.source,
            kernel_log: flags.kernel_log.clone().or_else(|| file.kernel_log.clone()),
            web_config_file: flags
                .web_config_file
                .clone()
                .or_else(|| file.web_config_file.clone()),
            job_directories: batch::directories(&flags.batch, &file),
            sidecar,
            until: sidecar::until(flags, &file)?,
        })
    }

    /// What cannot change while the program runs; a reload that asks for it is refused with these words.
    pub fn fixed_difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            ("address", self.address != other.address),
            ("metrics-path", self.metrics_path != other.metrics_path),
            ("node-name", self.node != other.node),
            ("sample-interval", self.sample_interval != other.sample_interval),
            (
                "collection-interval",
                self.collection_interval != other.collection_interval,
            ),
            ("log-level", self.log_level != other.log_level),
            ("log-format", self.log_format != other.log_format),
            ("kubernetes", self.kubernetes != other.kubernetes),
            (
                "pod-resources-kubelet-socket",
                self.kubelet_socket != other.kubelet_socket,
            ),
            (
                "nvidia-resource-names",
                self.resource_names != other.resource_names,
            ),
            (
                "pod-label-allow, node-label-allow",
                self.api_labels != other.api_labels,
            ),
            (
                "textfile-dir, textfile-max-age, scrape-pods, scrape-rule, application-interval, application-families, application-max-series",
                self.applications != other.applications,
            ),
            ("nvml-library", self.nvml_library != other.nvml_library),
            (
                "fallback, fallback-interval, fallback-timeout and the paths of tools",
                self.fallback != other.fallback,
            ),
            ("kernel-log", self.kernel_log != other.kernel_log),
            ("web-config-file", self.web_config_file != other.web_config_file),
            (
                "hpc-job-mapping-dir, slurm-job-dir",
                self.job_directories != other.job_directories,
            ),
            (
                "mode, main-container, pod-info-dir, own-gpus, shared-gpus",
                self.sidecar != other.sidecar,
            ),
            (
                "until-file, until-process, final-report",
                self.until != other.until,
            ),
        ];
        differences
            .into_iter()
            .find(|(_, differs)| *differs)
            .map(|(name, _)| name)
    }
}

fn log_level(flags: &Flags, file: &FileSettings) -> String {
    if flags.debug {
        return "debug".to_owned();
    }
    let level = flags.log_level.as_ref().or(file.log_level.as_ref());
    level.map_or("info", String::as_str).to_owned()
}

fn log_format(flags: &Flags, file: &FileSettings) -> String {
    let format = flags.log_format.as_ref().or(file.log_format.as_ref());
    format.map_or("text", String::as_str).to_owned()
}

fn metrics_path(flags: &Flags, file: &FileSettings) -> Result<String, SettingsError> {
    let path = flags
        .metrics_path
        .clone()
        .or_else(|| file.metrics_path.clone())
        .unwrap_or_else(|| "/metrics".to_owned());
    let refused = |problem| {
        Err(SettingsError::Value {
            name: "metrics-path",
            problem,
        })
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    if !path.starts_with('/') || !path.chars().all(is_plain) {
        return refused(format!(
            "`{path}` is not a path; write one that begins with `/`, such as `/metrics`"
        ));
    }
    if OWN_PATHS.contains(&path.as_str()) {
        return refused(format!(
            "`{path}` is taken by another page of the exporter; choose another path"
        ));
    }
    Ok(path)
}

fn address(flags: &Flags, file: &FileSettings, amd: Option<&AmdConfig>) -> Result<SocketAddr, SettingsError> {
    let written = match &file.address {
        Some(text) => {
            let parsed = flags::listen_address(text);
            Some(parsed.map_err(|problem| SettingsError::Value {
                name: "address",
                problem,
            })?)
        }
        None => None,
    };
    let chosen = flags.address.or(written);
    let of_amd = amd.and_then(|config| config.port).filter(|_| chosen.is_none());
    let mut address = chosen.unwrap_or(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT));
    if let Some(port) = flags.port.or(flags.amd.metrics_exporter_port).or(of_amd) {
        address.set_port(port);
    }
    Ok(address)
}

fn sample_interval(flags: &Flags, file: &FileSettings) -> Result<Duration, SettingsError> {
    let name = "sample-interval";
    let interval = flags.sample_interval.map_or_else(
        || from_file(name, file.sample_interval.as_ref()),
        |time| Ok(Some(time)),
    )?;
    bounded(name, interval.unwrap_or(Duration::from_secs(1)))
}

fn collection_interval(flags: &Flags, file: &FileSettings) -> Result<Duration, SettingsError> {
    let name = "collection-interval";
    let flag = flags.collection_interval.or(flags.collect_interval);
    let interval = flag.map_or_else(
        || from_file(name, file.collection_interval.as_ref()),
        |time| Ok(Some(time)),
    )?;
    bounded(name, interval.unwrap_or(Duration::from_secs(30)))
}

fn from_file(name: &'static str, text: Option<&file::Text>) -> Result<Option<Duration>, SettingsError> {
    let refused = |error: duration::DurationError| SettingsError::Value {
        name,
        problem: error.to_string(),
    };
    text.map(|text| duration::parse(&text.to_string()))
        .transpose()
        .map_err(refused)
}

fn bounded(name: &'static str, interval: Duration) -> Result<Duration, SettingsError> {
    if (SHORTEST_SAMPLE..=LONGEST_INTERVAL).contains(&interval) {
        return Ok(interval);
    }
    let problem = format!("{interval:?} is out of bounds; use 100 ms to one hour");
    Err(SettingsError::Value { name, problem })
}

fn page(flags: &Flags, file: &FileSettings, amd: Option<AmdConfig>) -> Result<PageSettings, SettingsError> {
    let default = PageSettings::default();
    let chosen = flags.vocabulary.as_ref().or(file.vocabulary.as_ref());
    let (vocabularies, companions): (BTreeSet<Vocabulary>, Companions) = match chosen {
        Some(names) => (parse_vocabularies(&names.join(","))?, Companions::Hidden),
        None => (default.vocabularies, default.companions),
    };
    let families = match flags.families.as_ref().or(file.families.as_ref()) {
        Some(names) => FamilyChoice::parse(&names.join(","))?,
        None => default.families,
    };
    let counters = match flags.collectors.as_ref().or(file.collectors.as_ref()) {
        Some(path) => {
            let refused = |source| SettingsError::Counters {
                path: path.clone(),
                source,
            };
            Some(CountersFile::parse(&read_text(path)?).map_err(refused)?)
        }
        None => None,
    };
    let of_file = file
        .static_labels
        .iter()
        .flatten()
        .map(|(name, value)| format!("{name}={value}"));
    let of_flags = flags.label.iter().map(|(name, value)| format!("{name}={value}"));
    let labels: Vec<String> = of_file.chain(of_flags).collect();
    Ok(PageSettings {
        vocabularies,
        companions,
        families,
        labels: file
            .labels
            .as_ref()
            .map_or(default.labels, |names| LabelChoice::parse(&names.join(","))),
        dcgm: dcgm::style(&flags.dcgm, file),
        counters,
        amd,
        static_labels: StaticLabels::parse(labels.iter().map(String::as_str))?,
        series_cap: flags
            .max_series
            .or(file.max_series)
            .map_or(Ok(default.series_cap), SeriesCap::new)?,
    })
}

#[cfg(test)]
mod tests;
