//! The settings worked out once: which families of which vocabulary, in which order, under which names.

use std::borrow::Cow;

use gpu_exposition::{FamilyMeta, MetricKind};

use super::amd_config::{AmdConfig, HealthThresholds};
use super::catalog::{FamilySpec, Tier, Vocabulary};
use super::counters::{CountersFile, IdentityLabel};
use super::settings::{Companions, PageSettings, Subset};
use crate::snapshot::NodeSnapshot;
use crate::source::nvidia_smi::NAME as NVIDIA_SMI;

/// What every page of these settings has in common.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) full: Vec<Chapter>,
    pub(super) core: Vec<Chapter>,
    /// The chapter of a source that stands in for a driver, where the settings leave room for it.
    companion: Option<Chapter>,
    pub(super) cap: usize,
    /// The entries of a counters file that are not shown, if there is a file.
    pub(super) skipped: Option<usize>,
    pub(super) dcgm_labels: Vec<IdentityLabel>,
    pub(super) health: HealthThresholds,
}

/// The families of one vocabulary.
#[derive(Debug)]
pub(super) struct Chapter {
    pub(super) vocabulary: Vocabulary,
    pub(super) families: Vec<Planned>,
}

/// A family under the name it has on the page.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) spec: &'static FamilySpec,
    name: Cow<'static, str>,
    help: Cow<'static, str>,
    kind: MetricKind,
}

impl Plan {
    pub(super) fn new(settings: &PageSettings) -> Self {
        let chapter = |&vocabulary: &Vocabulary| Chapter {
            vocabulary,
            families: match (vocabulary, &settings.counters, &settings.amd) {
                (Vocabulary::Dcgm, Some(file), _) => of_file(file),
                (Vocabulary::Amd, _, Some(config)) => of_config(config, settings),
                _ => of_catalogue(vocabulary, |spec| settings.families.takes(spec)),
            },
        };
        let companion = Vocabulary::NvidiaSmi;
        let is_free = settings.companions == Companions::Shown && !settings.vocabularies.contains(&companion);
        Self {
            companion: is_free.then(|| chapter(&companion)),
            full: settings.vocabularies.iter().map(chapter).collect(),
            core: vec![Chapter {
                vocabulary: Vocabulary::Gpu,
                families: of_catalogue(Vocabulary::Gpu, |spec| spec.tier == Tier::Core),
            }],
            cap: settings.series_cap.get(),
            skipped: settings.counters.as_ref().map(|file| file.skipped.len()),
            dcgm_labels: match &settings.counters {
                Some(file) => file.labels.clone(),
                None => vec![IdentityLabel::driver_version()],
            },
            health: settings
                .amd
                .as_ref()
                .map_or_else(HealthThresholds::default, |config| config.health.clone()),
        }
    }

    pub(super) fn chapters(&self, subset: Subset, snapshot: &NodeSnapshot) -> impl Iterator<Item = &Chapter> {
        let (chapters, companion) = match subset {
            Subset::Full => (&self.full, self.companion.as_ref()),
            Subset::Core => (&self.core, None),
        };
        let is_read = || snapshot.sources.iter().any(|source| source.name == NVIDIA_SMI);
        chapters.iter().chain(companion.filter(|_| is_read()))
    }
}

impl Planned {
    pub(super) fn meta(&self) -> FamilyMeta<'_> {
        FamilyMeta {
            name: &self.name,
            help: &self.help,
            kind: self.kind,
            unit: self.spec.meta.unit,
        }
    }
}

fn of_catalogue(vocabulary: Vocabulary, takes: impl Fn(&FamilySpec) -> bool) -> Vec<Planned> {
    let chosen = vocabulary.families().filter(|spec| takes(spec));
    chosen
        .map(|spec| Planned {
            spec,
            name: Cow::Borrowed(spec.meta.name),
            help: Cow::Borrowed(spec.meta.help),
            kind: spec.meta.kind,
        })
        .collect()
}

fn of_config(config: &AmdConfig, settings: &PageSettings) -> Vec<Planned> {
    let takes = |spec: &FamilySpec| match &config.families {
        Some(chosen) => chosen.iter().any(|one| one.meta.name == spec.meta.name),
        None => settings.families.takes(spec),
    };
    let mut families = of_catalogue(Vocabulary::Amd, takes);
    for family in families.iter_mut().filter(|_| !config.prefix.is_empty()) {
        family.name = Cow::Owned(format!("{}{}", config.prefix, family.name));
    }
    families
}

fn of_file(file: &CountersFile) -> Vec<Planned> {
    let families = file.families.iter();
    families
        .map(|family| Planned {
            spec: family.spec,
            name: Cow::Owned(family.name.clone()),
            help: Cow::Owned(family.help.clone()),
            kind: family.kind,
        })
        .collect()
}
