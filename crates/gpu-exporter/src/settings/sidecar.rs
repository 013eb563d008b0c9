//! The exporter beside one workload in its pod: whose GPUs it shows, and when it ends.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use gpu_model::{ContainerName, Namespace, PodName, PodUid};

use super::file::FileSettings;
use super::flags::Flags;
use super::{AllowList, SettingsError};
use crate::owners::own_pod::{OwnGpus, OwnPod, Sharing};
use crate::owners::pod_info;

/// Where the examples mount the downward API.
const POD_INFO: &str = "/etc/podinfo";
/// What Argo calls the container that works.
const MAIN: &str = "main";

/// For whom the exporter speaks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// For every GPU of its node.
    #[default]
    Node,
    /// For the GPUs of the pod that it is a container of.
    Sidecar,
}

/// What only a sidecar is told, mostly through the downward API.
#[derive(Debug, Default, Clone, Args)]
pub struct SidecarFlags {
    /// For whom it speaks: node (every GPU of the node) or sidecar (those of its own pod)
    #[arg(long, env = "GPU_EXPORTER_MODE", value_name = "MODE", value_enum)]
    pub mode: Option<Mode>,
    /// The pod's name (sidecar)
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub pod_name: Option<String>,
    /// The pod's namespace (sidecar)
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAME")]
    pub pod_namespace: Option<String>,
    /// The pod's uid (sidecar)
    #[arg(long, env = "POD_UID", value_name = "UID")]
    pub pod_uid: Option<String>,
    /// The container of the pod that works on the GPUs (sidecar)
    #[arg(long, env = "GPU_EXPORTER_MAIN_CONTAINER", value_name = "NAME")]
    pub main_container: Option<String>,
    /// Where the downward API's files `labels` and `annotations` are (sidecar)
    #[arg(long, env = "GPU_EXPORTER_POD_INFO_DIR", value_name = "DIR")]
    pub pod_info_dir: Option<PathBuf>,
    /// The workflow's name, where the pod's labels do not tell it (sidecar)
    #[arg(long, env = "WORKFLOW_NAME", value_name = "NAME")]
    pub workflow_name: Option<String>,
    /// The workflow's uid (sidecar)
    #[arg(long, env = "WORKFLOW_UID", value_name = "UID")]
    pub workflow_uid: Option<String>,
    /// The step of the workflow, where the pod's annotations do not tell it (sidecar)
    #[arg(long, env = "WORKFLOW_STEP", value_name = "NAME")]
    pub workflow_step: Option<String>,
    /// Which try of the step this is (sidecar)
    #[arg(long, env = "WORKFLOW_RETRY", value_name = "NUMBER")]
    pub workflow_retry: Option<String>,
    /// Which GPUs are the pod's: all that can be seen, their uuids, or a file that holds those (sidecar)
    #[arg(long, env = "GPU_EXPORTER_OWN_GPUS", value_name = "all|UUIDS|FILE")]
    pub own_gpus: Option<String>,
    /// Other pods work on the same GPUs: the pod is named, and no figure is called its own (sidecar)
    #[arg(long, env = "GPU_EXPORTER_SHARED_GPUS", value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = FalseyValueParser::new(),
        hide_default_value = true, hide_possible_values = true)]
    pub shared_gpus: bool,
    /// End when this file appears; in sidecar mode, that in which Argo leaves the main container's exit code, or `none`
    #[arg(long, env = "GPU_EXPORTER_UNTIL_FILE", value_name = "FILE")]
    pub until_file: Option<PathBuf>,
    /// End when this program, or with `auto` every other container's, has run and is gone (needs shareProcessNamespace)
    #[arg(long, env = "GPU_EXPORTER_UNTIL_PROCESS", value_name = "auto|NAME")]
    pub until_process: Option<String>,
    /// Write what each GPU did to this file, as JSON: every ten seconds, and at the end
    #[arg(long, env = "GPU_EXPORTER_FINAL_REPORT", value_name = "FILE")]
    pub final_report: Option<PathBuf>,
}

/// A sidecar's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecar {
    pub pod: OwnPod,
    pub pod_info: PodInfo,
    pub own_gpus: OwnGpusFrom,
    /// The labels of the pod that are shown.
    pub labels: AllowList,
    /// What the settings say of the workflow, by the name of the label.
    pub workflow: Vec<(&'static str, String)>,
}

/// Where the downward API is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodInfo {
    pub directory: PathBuf,
    /// Whether somebody named it: then it has to be there.
    pub is_named: bool,
}

/// Where it is known from which GPUs are the pod's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnGpusFrom {
    Settings(OwnGpus),
    /// The main container writes it.
    File(PathBuf),
}

/// When the program ends by itself, and what it leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Until {
    pub file: Option<PathBuf>,
    pub process: Option<UntilProcess>,
    pub report: Option<PathBuf>,
}

/// Whose end is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UntilProcess {
    /// Every process of another container.
    Others,
    Named(String),
}

/// For whom the exporter speaks.
pub(super) fn mode(flags: &Flags, file: &FileSettings) -> Mode {
    flags.sidecar.mode.or(file.mode).unwrap_or_default()
}

/// The settings of a sidecar; `None` for a node's exporter.
pub(super) fn resolve(flags: &Flags, file: &FileSettings) -> Result<Option<Sidecar>, SettingsError> {
    if mode(flags, file) == Mode::Node {
        return Ok(None);
    }
    let own = &flags.sidecar;
    if flags.node_name.as_ref().or(file.node_name.as_ref()).is_none() {
        // The host name is the pod's: the same GPU would be on two nodes.
        return Err(missing("node-name", "NODE_NAME", "spec.nodeName"));
    }
    let pod = OwnPod {
        namespace: named(
            "pod-namespace",
            own.pod_namespace.as_deref(),
            ("POD_NAMESPACE", "metadata.namespace"),
            |text| Namespace::new(text).ok(),
        )?,
        pod: named(
            "pod-name",
            own.pod_name.as_deref(),
            ("POD_NAME", "metadata.name"),
            |text| PodName::new(text).ok(),
        )?,
        container: main_container(flags, file)?,
        uid: match own.pod_uid.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => Some(PodUid::new(text).map_err(|_| refused("pod-uid", text))?),
            None => None,
        },
        sharing: if own.shared_gpus || file.shared_gpus == Some(true) {
            Sharing::Shared
        } else {
            Sharing::Exclusive
        },
    };
    let directory = own.pod_info_dir.as_ref().or(file.pod_info_dir.as_ref());
    let own_gpus = own.own_gpus.as_ref().or(file.own_gpus.as_ref());
    Ok(Some(Sidecar {
        pod,
        pod_info: PodInfo {
            is_named: directory.is_some(),
            directory: directory.map_or_else(|| PathBuf::from(POD_INFO), Clone::clone),
        },
        own_gpus: match own_gpus.map(|text| text.trim()) {
            None | Some("") => OwnGpusFrom::Settings(OwnGpus::All),
            Some(path) if path.starts_with('/') => OwnGpusFrom::File(PathBuf::from(path)),
            Some(names) => OwnGpusFrom::Settings(OwnGpus::parse(names)),
        },
        labels: super::labels::of_own_pod(flags, file)?,
        workflow: workflow(own),
    }))
}

/// When to end; both modes can be told.
pub(super) fn until(flags: &Flags, file: &FileSettings) -> Result<Until, SettingsError> {
    let own = &flags.sidecar;
    let set = own.until_file.as_ref().or(file.until_file.as_ref());
    let argo = match mode(flags, file) {
        Mode::Sidecar => {
            let main = main_container(flags, file)?;
            Some(PathBuf::from(format!(
                "/var/run/argo/ctr/{}/exitcode",
                main.as_str()
            )))
        }
        Mode::Node => None,
    };
    let process = own.until_process.as_ref().or(file.until_process.as_ref());
    let until = set.cloned().or(argo);
    Ok(Until {
        file: until.filter(|path| path.as_os_str() != "none"),
        process: process
            .filter(|name| !name.is_empty())
            .map(|name| match name.as_str() {
                "auto" => UntilProcess::Others,
                name => UntilProcess::Named(name.to_owned()),
            }),
        report: own.final_report.clone().or_else(|| file.final_report.clone()),
    })
}

fn main_container(flags: &Flags, file: &FileSettings) -> Result<ContainerName, SettingsError> {
    let set = flags
        .sidecar
        .main_container
        .as_ref()
        .or(file.main_container.as_ref());
    let text = set.map_or(MAIN, String::as_str);
    // It becomes a part of a path, so that it must be a name that a container can have.
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name = ContainerName::new(text)
        .ok()
        .filter(|_| text.chars().all(is_plain));
    name.ok_or_else(|| refused("main-container", text))
}

fn workflow(flags: &SidecarFlags) -> Vec<(&'static str, String)> {
    let given = [
        (pod_info::WORKFLOW, &flags.workflow_name),
        (pod_info::WORKFLOW_UID, &flags.workflow_uid),
        (pod_info::STEP, &flags.workflow_step),
        (pod_info::RETRY, &flags.workflow_retry),
    ];
    given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.clone().filter(|value| !value.is_empty())?)))
        .collect()
}

fn named<T>(
    name: &'static str,
    text: Option<&str>,
    (variable, field): (&str, &str),
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, SettingsError> {
    match text.filter(|text| !text.is_empty()) {
        Some(text) => parse(text).ok_or_else(|| refused(name, text)),
        None => Err(missing(name, variable, field)),
    }
}

fn refused(name: &'static str, text: &str) -> SettingsError {
    SettingsError::Value {
        name,
        problem: format!("`{text}` is not a name that Kubernetes allows there"),
    }
}

fn missing(name: &'static str, variable: &str, field: &str) -> SettingsError {
    SettingsError::Value {
        name,
        problem: format!(
            "a sidecar has to be told; set `{variable}` in its container from `fieldRef: {{ fieldPath: {field} }}`"
        ),
    }
}

#[cfg(test)]
mod tests;
