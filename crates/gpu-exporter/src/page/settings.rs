//! What the page is to hold. Texts from flags, environment and file are parsed here, once, with an error that says what
//! to do; everything after works with these types.

use std::collections::BTreeSet;

use gpu_exposition::is_label_name;

use super::amd_config::{ALWAYS, AmdConfig, AmdLabel};
use super::catalog::{FamilySpec, Tier, Vocabulary};
use super::counters::CountersFile;

/// Everything that decides what is on a page besides the snapshot.
#[derive(Debug, Clone)]
pub struct PageSettings {
    pub vocabularies: BTreeSet<Vocabulary>,
    pub companions: Companions,
    pub families: FamilyChoice,
    pub labels: LabelChoice,
    pub dcgm: DcgmStyle,
    /// A counters file of dcgm-exporter; it takes the place of `families` for the `dcgm` vocabulary.
    pub counters: Option<CountersFile>,
    /// The configuration of AMD's exporter; its fields take the place of `families` for the `amd` vocabulary.
    pub amd: Option<AmdConfig>,
    pub static_labels: StaticLabels,
    pub series_cap: SeriesCap,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            vocabularies: BTreeSet::from([Vocabulary::Gpu, Vocabulary::Dcgm]),
            companions: Companions::default(),
            families: FamilyChoice::default(),
            labels: LabelChoice::All,
            dcgm: DcgmStyle::default(),
            counters: None,
            amd: None,
            static_labels: StaticLabels::default(),
            series_cap: SeriesCap::default(),
        }
    }
}

/// Whether a source that stands in for a driver brings its own vocabulary along, as long as it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Companions {
    #[default]
    Shown,
    /// Somebody chose the vocabularies.
    Hidden,
}

/// Why a setting of the page was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("no vocabulary is called `{name}`: use gpu, dcgm, nvidia_smi or amd")]
    Vocabulary { name: String },
    #[error(
        "no family is called `{name}`: use a name of the list in the documentation, a prefix with `*`, `default` or `all`"
    )]
    Family { name: String },
    #[error("the label `{text}` is not of the form name=value")]
    LabelForm { text: String },
    #[error(
        "`{name}` cannot be the name of a label: use letters, digits and `_`, not first a digit and not `__`"
    )]
    LabelName { name: String },
    #[error("the label `{name}` is one of the exporter's own: use another name")]
    LabelReserved { name: String },
    #[error("the label `{name}` is given twice")]
    LabelRepeated { name: String },
    #[error("the value of the label `{name}` exceeds {limit} bytes")]
    LabelLong { name: String, limit: usize },
    #[error("more than {limit} labels were given")]
    LabelMany { limit: usize },
    #[error("a limit of {cap} series leaves no room for the exporter's own: use at least {lowest}")]
    Cap { cap: usize, lowest: usize },
}

/// Parses the comma-separated `--vocabulary` setting.
pub fn parse_vocabularies(text: &str) -> Result<BTreeSet<Vocabulary>, SettingsError> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items
        .map(|item| {
            let named = Vocabulary::ALL.into_iter().find(|one| one.as_str() == item);
            named.ok_or_else(|| SettingsError::Vocabulary {
                name: item.to_owned(),
            })
        })
        .collect()
}

/// The allow-list of families.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyChoice {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    DefaultTier,
    All,
    Name(String),
    Prefix(String),
}

impl Default for FamilyChoice {
    fn default() -> Self {
        Self {
            items: vec![Item::DefaultTier],
        }
    }
}

impl FamilyChoice {
    /// Every family there is.
    pub fn all() -> Self {
        Self {
            items: vec![Item::All],
        }
    }

    /// Parses a comma-separated list of names, prefixes with `*`, `default` and `all`.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let items = items.map(Item::parse).collect::<Result<Vec<_>, _>>()?;
        Ok(if items.is_empty() {
            Self::default()
        } else {
            Self { items }
        })
    }

    pub(super) fn takes(&self, spec: &FamilySpec) -> bool {
        self.items.iter().any(|item| item.takes(spec))
    }
}

impl Item {
    fn parse(text: &str) -> Result<Self, SettingsError> {
        let item = match text {
            "default" => return Ok(Self::DefaultTier),
            "all" => return Ok(Self::All),
            _ => match text.strip_suffix('*') {
                Some(prefix) => Self::Prefix(prefix.to_owned()),
                None => Self::Name(text.to_owned()),
            },
        };
        let mut known = Vocabulary::ALL.into_iter().flat_map(Vocabulary::families);
        if known.any(|spec| item.takes(spec)) {
            Ok(item)
        } else {
            Err(SettingsError::Family {
                name: text.to_owned(),
            })
        }
    }

    fn takes(&self, spec: &FamilySpec) -> bool {
        match self {
            Self::DefaultTier => spec.tier != Tier::Named,
            Self::All => true,
            Self::Name(name) => spec.is_called(name),
            Self::Prefix(prefix) => spec.meta.name.starts_with(prefix.as_str()),
        }
    }
}

/// The allow-list of labels. Labels that tell two series apart stay whatever it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelChoice {
    All,
    Only(BTreeSet<String>),
}

impl LabelChoice {
    /// Parses a comma-separated list of label names; an empty one keeps all.
    pub fn parse(text: &str) -> Self {
        let names: BTreeSet<String> = text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            Self::All
        } else {
            Self::Only(names)
        }
    }

    pub(super) fn keeps(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    /// Whether a label that is usually left out is asked for.
    pub(super) fn names(&self, name: &str) -> bool {
        *self != Self::All && self.keeps(name)
    }
}

/// Switches of dcgm-exporter that change its labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DcgmStyle {
    pub hostname: HostnameLabel,
    pub names: LabelNames,
    pub model: ModelName,
    pub pod_uid: PodUidLabel,
}

/// How the label with the name of the node is spelt: releases before 4.8.3 wrote it with a capital.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostnameLabel {
    #[default]
    Capital,
    Lower,
    Absent,
}

/// Which names the labels of uuid and owner have; `Old` is `--use-old-namespace`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LabelNames {
    #[default]
    Current,
    Old,
}

/// Whether blanks in the model's name become dashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelName {
    #[default]
    AsIs,
    BlanksReplaced,
}

/// Whether the pod's uid is a label, where it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PodUidLabel {
    #[default]
    Absent,
    Shown,
}

/// Labels that the operator adds to every series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaticLabels(Vec<(String, String)>);

impl StaticLabels {
    /// More would double the page without telling more.
    const MOST: usize = 16;
    /// A label value is for a name, not for a document.
    const LONGEST_VALUE: usize = 256;

    /// Parses `name=value` texts.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, SettingsError> {
        let mut labels: Vec<(String, String)> = Vec::new();
        for text in texts {
            let form = || SettingsError::LabelForm {
                text: text.to_owned(),
            };
            let (name, value) = text.split_once('=').ok_or_else(form)?;
            let (name, value) = (name.trim().to_owned(), value.to_owned());
            if !is_label_name(&name) || name.starts_with("__") {
                return Err(SettingsError::LabelName { name });
            }
            if is_own_label(&name) {
                return Err(SettingsError::LabelReserved { name });
            }
            if labels.iter().any(|(known, _)| *known == name) {
                return Err(SettingsError::LabelRepeated { name });
            }
            if value.len() > Self::LONGEST_VALUE {
                return Err(SettingsError::LabelLong {
                    name,
                    limit: Self::LONGEST_VALUE,
                });
            }
            labels.push((name, value));
        }
        if labels.len() > Self::MOST {
            return Err(SettingsError::LabelMany { limit: Self::MOST });
        }
        Ok(Self(labels))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The labels that do not stand in the catalogue beside a family, besides those of dcgm-exporter.
const IDENTITY_LABELS: &[&str] = &[
    "vendor",
    "node",
    "partition",
    "name",
    "class",
    "version",
    "job_id",
    "job_user",
    "job_partition",
    "job_cluster",
    "workflow",
    "workflow_uid",
    "step",
    "retry",
];

/// The same in dcgm-exporter's vocabulary.
const DCGM_IDENTITY_LABELS: &[&str] = &[
    "gpu",
    "uuid",
    "UUID",
    "pci_bus_id",
    "device",
    "modelName",
    "source",
    "namespace",
    "pod",
    "container",
    "hostname",
    "Hostname",
    "GPU_I_PROFILE",
    "GPU_I_ID",
    "GPU_CI_ID",
    "pod_uid",
    "hpc_job",
    "pod_name",
    "pod_namespace",
    "container_name",
    "le",
    "quantile",
];

pub(super) fn is_own_label(name: &str) -> bool {
    let mut specs = Vocabulary::ALL.into_iter().flat_map(Vocabulary::families);
    IDENTITY_LABELS.contains(&name)
        || is_label_of_dcgm(name)
        || is_label_of_amd(name)
        || specs.any(|spec| spec.labels.contains(&name))
}

/// Whether series with AMD's names have this label for themselves. The name of the cluster an operator may give, and then it is
/// his.
fn is_label_of_amd(name: &str) -> bool {
    let mut optional = AmdLabel::ALL
        .into_iter()
        .filter(|label| *label != AmdLabel::ClusterName);
    ALWAYS.contains(&name) || optional.any(|label| label.as_str() == name)
}

/// Whether series with dcgm-exporter's names may have this label.
pub(super) fn is_label_of_dcgm(name: &str) -> bool {
    let mut specs = Vocabulary::Dcgm.families();
    DCGM_IDENTITY_LABELS.contains(&name)
        || name.starts_with("DCGM_FI_")
        || specs.any(|spec| spec.labels.contains(&name))
}

/// The most series that a page may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesCap(usize);

impl SeriesCap {
    /// Below this the exporter's own families would not fit.
    pub const LOWEST: usize = 100;

    pub fn new(cap: usize) -> Result<Self, SettingsError> {
        if cap < Self::LOWEST {
            return Err(SettingsError::Cap {
                cap,
                lowest: Self::LOWEST,
            });
        }
        Ok(Self(cap))
    }

    pub const fn get(self) -> usize {
        self.0
    }
}

impl Default for SeriesCap {
    /// A node with 16 GPUs in 7 slices each, 250 pods and every family on has about half of it.
    fn default() -> Self {
        Self(30_000)
    }
}

/// Which part of the page a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subset {
    /// What the settings choose.
    Full,
    /// `?families=core`: what the control plane reads, whatever the settings choose.
    Core,
}

impl Subset {
    /// Reads the value of the `families` query parameter.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "core" => Some(Self::Core),
            "" | "all" => Some(Self::Full),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
