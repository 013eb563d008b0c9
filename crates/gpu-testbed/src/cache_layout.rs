//! Where the programs of the test bed are kept between runs, and under which names.
//!
//! Only the standard library and the pinned versions of the repository: the workshop, which fills the cache, includes
//! this file as a module of its own, so that the two sides cannot disagree.

use std::path::{Path, PathBuf};

/// Programs that are built or installed together, in one directory named after the set and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramSet {
    /// The programs of Kubernetes.
    Kubernetes,
    /// helm.
    Helm,
    /// The AWS double, a virtual environment of Python.
    Moto,
    /// Object kinds of other projects: a directory of YAML files a project.
    Crds,
}

impl ProgramSet {
    /// All sets.
    pub const ALL: [Self; 4] = [Self::Kubernetes, Self::Helm, Self::Moto, Self::Crds];

    /// The name before the version.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Helm => "helm",
            Self::Moto => "moto",
            Self::Crds => "crds",
        }
    }

    /// The version that the repository pins.
    pub fn version(self) -> Option<&'static str> {
        match self {
            Self::Kubernetes => required(
                include_str!("../../../testbed/tools/kubernetes/go.mod"),
                "k8s.io/kubernetes",
            ),
            Self::Helm => required(
                include_str!("../../../testbed/tools/helm/go.mod"),
                "helm.sh/helm/v4",
            ),
            Self::Moto => pinned(
                include_str!("../../../testbed/tools/python/requirements.txt"),
                "moto",
            ),
            Self::Crds => numbered(include_str!("../../../testbed/tools/crds/modules.txt")),
        }
    }

    /// The directory with the set's programs below a cache directory.
    pub fn programs_in(self, cache: &Path) -> Option<PathBuf> {
        let version = self.version()?;
        Some(cache.join(format!("{}-{version}", self.name())).join("bin"))
    }
}

/// `GPU_TESTBED_CACHE`, or a directory of ours below the user's cache directory.
pub fn cache_directory() -> Option<PathBuf> {
    let named = |variable: &str| {
        std::env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    named("GPU_TESTBED_CACHE").or_else(|| {
        let user = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")))?;
        Some(user.join("gpu-autoscaler-testbed"))
    })
}

/// The version of a module in the requirements of a `go.mod`.
fn required(go_mod: &'static str, module: &str) -> Option<&'static str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next()? == module).then(|| words.next()).flatten()
    })
}

/// The version of a package in a `requirements.txt`.
fn pinned(requirements: &'static str, package: &str) -> Option<&'static str> {
    requirements.lines().find_map(|line| {
        let (name, version) = line.split_once("==")?;
        (name.split('[').next()?.trim() == package).then_some(version.trim())
    })
}

/// The number of a set that has no version of its own.
fn numbered(list: &'static str) -> Option<&'static str> {
    list.lines()
        .find_map(|line| line.strip_prefix("set "))
        .map(str::trim)
}
