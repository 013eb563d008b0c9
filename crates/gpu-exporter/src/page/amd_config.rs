//! The JSON configuration of AMD's device-metrics-exporter, as far as it decides what is on the page: which families, which
//! labels, under which prefix. What has no meaning here is told and does not spoil the rest; a value that makes no sense is an
//! error with the name of its field.

use std::collections::{BTreeMap, BTreeSet};

use gpu_exposition::{is_label_name, is_metric_name};
use serde_json::{Map, Value};

use super::catalog::{FamilySpec, SELF, Vocabulary};
use super::settings::is_own_label;
use crate::readings::ErrorBlock;

/// AMD's exporter takes ten.
const MOST_CUSTOM_LABELS: usize = 10;
/// Some 200 fields exist.
const MOST_ENTRIES: usize = 1_000;
/// As for labels that the operator gives by a flag.
const LONGEST_VALUE: usize = 256;
/// The longest prefix in use is a word.
const LONGEST_PREFIX: usize = 64;
/// What an error or a note repeats of the file.
const EXCERPT: usize = 64;

/// A parsed file.
#[derive(Debug, Clone, Default)]
pub struct AmdConfig {
    pub port: Option<u16>,
    pub prefix: String,
    /// In the order of the catalogue; `None` where the file names no field.
    pub families: Option<Vec<&'static FamilySpec>>,
    pub labels: BTreeSet<AmdLabel>,
    /// Labels on every series of these families.
    pub custom: Vec<(String, String)>,
    pub health: HealthThresholds,
    /// What the file asks for in vain, for the log.
    pub notes: Vec<String>,
}

/// Labels of AMD's exporter that are shown when they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AmdLabel {
    CardSeries,
    CardVendor,
    ClusterName,
    DriverVersion,
    GpuUuid,
    PodUuid,
    VbiosVersion,
}

impl AmdLabel {
    pub const ALL: [Self; 7] = [
        Self::CardSeries,
        Self::CardVendor,
        Self::ClusterName,
        Self::DriverVersion,
        Self::GpuUuid,
        Self::PodUuid,
        Self::VbiosVersion,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CardSeries => "card_series",
            Self::CardVendor => "card_vendor",
            Self::ClusterName => "cluster_name",
            Self::DriverVersion => "driver_version",
            Self::GpuUuid => "gpu_uuid",
            Self::PodUuid => "pod_uuid",
            Self::VbiosVersion => "vbios_version",
        }
    }
}

/// How many uncorrectable errors a block may have before the GPU counts as unwell: none, unless the file allows some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthThresholds(BTreeMap<ErrorBlock, u32>);

impl HealthThresholds {
    pub(super) fn of(&self, block: ErrorBlock) -> f64 {
        f64::from(self.0.get(&block).copied().unwrap_or(0))
    }
}

/// Why a file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmdConfigError {
    #[error("failed to read it as JSON: {problem}")]
    Json { problem: String },
    #[error("`{field}` {problem}")]
    Field { field: String, problem: String },
}

impl AmdConfig {
    pub fn parse(text: &str) -> Result<Self, AmdConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: Value = serde_json::from_str(text).map_err(|error| AmdConfigError::Json {
            problem: error.to_string(),
        })?;
        let mut config = Self::default();
        for (name, value) in object("the file", &value)? {
            match name.as_str() {
                "ServerPort" => config.port = port(value)?,
                "CommonConfig" => config.common(object(name, value)?)?,
                "GPUConfig" => config.gpu(object(name, value)?)?,
                _ => config.note(name, "has no effect here"),
            }
        }
        config.check_names()?;
        Ok(config)
    }

    fn common(&mut self, settings: &Map<String, Value>) -> Result<(), AmdConfigError> {
        for (name, value) in settings {
            let field = format!("CommonConfig.{name}");
            match name.as_str() {
                "MetricsFieldPrefix" => self.prefix = prefix(&field, value)?,
                _ => self.note(&field, "has no effect here"),
            }
        }
        Ok(())
    }

    fn gpu(&mut self, settings: &Map<String, Value>) -> Result<(), AmdConfigError> {
        for (name, value) in settings {
            let field = format!("GPUConfig.{name}");
            match name.as_str() {
                "Fields" => self.fields(&field, value)?,
                "Labels" => self.labels(&field, value)?,
                "CustomLabels" => self.custom_labels(&field, object(&field, value)?)?,
                "HealthThresholds" => self.thresholds(&field, object(&field, value)?)?,
                "ExtraPodLabels" => self.note(
                    &field,
                    "has no effect here: labels of pods come by --pod-label-allow",
                ),
                "Selector" => self.note(&field, "has no effect here: all GPUs are shown"),
                _ => self.note(&field, "has no effect here"),
            }
        }
        Ok(())
    }

    fn fields(&mut self, field: &str, value: &Value) -> Result<(), AmdConfigError> {
        let mut names = BTreeSet::new();
        for text in texts(field, value)? {
            let name = text.to_ascii_lowercase();
            match Vocabulary::Amd.families().find(|spec| spec.is_called(&name)) {
                Some(spec) => {
                    names.insert(spec.meta.name);
                }
                None => self.note(
                    field,
                    &format!("leaves out `{}`: this exporter has no such value", excerpt(text)),
                ),
            }
        }
        // An empty list asks for no choice.
        let is_empty = value.as_array().is_some_and(Vec::is_empty);
        let chosen = Vocabulary::Amd.families();
        self.families = (!is_empty).then(|| chosen.filter(|spec| names.contains(spec.meta.name)).collect());
        Ok(())
    }

    fn labels(&mut self, field: &str, value: &Value) -> Result<(), AmdConfigError> {
        for text in texts(field, value)? {
            let name = text.to_ascii_lowercase();
            match AmdLabel::ALL.into_iter().find(|label| label.as_str() == name) {
                Some(label) => {
                    self.labels.insert(label);
                }
                None if ALWAYS.contains(&name.as_str()) || OWNER.contains(&name.as_str()) => {}
                None => self.note(
                    field,
                    &format!("leaves out `{}`: this exporter has no such label", excerpt(text)),
                ),
            }
        }
        Ok(())
    }

    fn custom_labels(&mut self, field: &str, labels: &Map<String, Value>) -> Result<(), AmdConfigError> {
        if labels.len() > MOST_CUSTOM_LABELS {
            return refused(field, format!("has more than {MOST_CUSTOM_LABELS} labels"));
        }
        for (name, value) in labels {
            let one = format!("{field}.{}", excerpt(name));
            let name = name.to_ascii_lowercase();
            if !is_label_name(&name) || name.starts_with("__") {
                return refused(&one, "cannot be the name of a label: use letters, digits and `_`");
            }
            if is_own_label(&name) || self.custom.iter().any(|(known, _)| *known == name) {
                return refused(&one, "is taken: use another name");
            }
            let Some(text) = value.as_str() else {
                return refused(&one, "is not a text");
            };
            if text.len() > LONGEST_VALUE {
                return refused(&one, format!("exceeds {LONGEST_VALUE} bytes"));
            }
            self.custom.push((name, text.to_owned()));
        }
        Ok(())
    }

    fn thresholds(&mut self, field: &str, settings: &Map<String, Value>) -> Result<(), AmdConfigError> {
        for (name, value) in settings {
            let one = format!("{field}.{}", excerpt(name));
            let word = name.to_ascii_lowercase();
            let word = word.strip_prefix("gpu_ecc_uncorrect_");
            let block = ErrorBlock::ALL
                .into_iter()
                .find(|block| word == Some(block.as_str()));
            match block {
                Some(block) => {
                    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
                    let Some(count) = count else {
                        return refused(&one, "is not a count of errors");
                    };
                    self.health.0.insert(block, count);
                }
                None => self.note(&one, "has no effect here"),
            }
        }
        Ok(())
    }

    /// A prefix must not turn one of AMD's names into one of ours.
    fn check_names(&self) -> Result<(), AmdConfigError> {
        let others = Vocabulary::ALL.into_iter().filter(|one| *one != Vocabulary::Amd);
        let taken: BTreeSet<&str> = others
            .flat_map(Vocabulary::families)
            .flat_map(|spec| [Some(spec.meta.name), spec.alias])
            .flatten()
            .chain(SELF.iter().map(|meta| meta.name))
            .collect();
        let clash =
            |spec: &&FamilySpec| taken.contains(format!("{}{}", self.prefix, spec.meta.name).as_str());
        match Vocabulary::Amd.families().find(clash) {
            Some(spec) => refused(
                "CommonConfig.MetricsFieldPrefix",
                format!(
                    "makes another family's name of `{}`: use another prefix",
                    spec.meta.name
                ),
            ),
            None => Ok(()),
        }
    }

    fn note(&mut self, field: &str, problem: &str) {
        if self.notes.len() < MOST_ENTRIES {
            self.notes.push(format!("`{}` {problem}", excerpt(field)));
        }
    }
}

/// Labels that every series has, empty where there is nothing to say.
pub(super) const ALWAYS: [&str; 11] = [
    "serial_number",
    "gpu_id",
    "card_model",
    "hostname",
    "gpu_partition_id",
    "gpu_compute_partition_type",
    "gpu_memory_partition_type",
    "deployment_mode",
    "job_id",
    "job_user",
    "job_partition",
];
/// The same of the owner.
pub(super) const OWNER: [&str; 3] = ["namespace", "pod", "container"];

fn refused<T>(field: &str, problem: impl Into<String>) -> Result<T, AmdConfigError> {
    Err(AmdConfigError::Field {
        field: field.to_owned(),
        problem: problem.into(),
    })
}

fn object<'a>(field: &str, value: &'a Value) -> Result<&'a Map<String, Value>, AmdConfigError> {
    match value.as_object() {
        Some(object) => Ok(object),
        None => refused(field, "is not an object"),
    }
}

fn texts<'a>(field: &str, value: &'a Value) -> Result<Vec<&'a str>, AmdConfigError> {
    let Some(list) = value.as_array() else {
        return refused(field, "is not a list of names");
    };
    if list.len() > MOST_ENTRIES {
        return refused(field, format!("has more than {MOST_ENTRIES} entries"));
    }
    match list.iter().map(Value::as_str).collect() {
        Some(texts) => Ok(texts),
        None => refused(field, "holds something that is not a name"),
    }
}

/// 0 is how the format says that nothing was chosen.
fn port(value: &Value) -> Result<Option<u16>, AmdConfigError> {
    match value.as_u64().map(u16::try_from) {
        Some(Ok(port)) => Ok((port > 0).then_some(port)),
        _ => refused("ServerPort", "is not a port"),
    }
}

fn prefix(field: &str, value: &Value) -> Result<String, AmdConfigError> {
    let Some(prefix) = value.as_str() else {
        return refused(field, "is not a text");
    };
    if prefix.len() > LONGEST_PREFIX || !is_metric_name(&format!("{prefix}x")) || prefix.contains(':') {
        return refused(
            field,
            "cannot begin the name of a metric: use letters, digits and `_`, not first a digit",
        );
    }
    Ok(prefix.to_owned())
}

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests;
