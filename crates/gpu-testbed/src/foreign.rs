//! Object kinds of other projects, as those projects publish them. Their controllers do not run here: what is proven with
//! these is that our objects are accepted, not that somebody acts on them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use crate::cache_layout::{ProgramSet, cache_directory};
use crate::eventually::eventually;
use crate::fleet::Fleet;
use crate::requirement::Need;

/// As long as `kubectl wait` is given elsewhere.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

/// A project whose object kinds can be installed into a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foreign {
    PrometheusOperator,
    CertManager,
    Keda,
    ArgoWorkflows,
    ArgoCd,
}

impl Foreign {
    pub const ALL: [Self; 5] = [
        Self::PrometheusOperator,
        Self::CertManager,
        Self::Keda,
        Self::ArgoWorkflows,
        Self::ArgoCd,
    ];

    /// The name of its directory in the cache.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrometheusOperator => "prometheus-operator",
            Self::CertManager => "cert-manager",
            Self::Keda => "keda",
            Self::ArgoWorkflows => "argo-workflows",
            Self::ArgoCd => "argo-cd",
        }
    }

    /// What a test hands to [`crate::require!`].
    pub fn need(self) -> Need {
        Need::that(&format!("object kinds of {}", self.name()), || {
            self.directory().is_some()
        })
    }

    /// Installs the project's object kinds for all tests of the fleet; doing it twice changes nothing.
    pub async fn install(self, fleet: &Fleet) -> anyhow::Result<()> {
        let directory = self.directory().unwrap_or_default();
        let directory = directory.display().to_string();
        fleet
            .kubectl(&["apply", "--server-side", "--force-conflicts", "-f", &directory])
            .await?;
        established(fleet, self.name(), &directory).await
    }

    fn directory(self) -> Option<PathBuf> {
        let directory = ProgramSet::Crds
            .programs_in(&cache_directory()?)?
            .join(self.name());
        directory.is_dir().then_some(directory)
    }
}

/// Argo's WorkflowTemplate with its whole schema, under a group of our own: what Argo publishes for clusters leaves the inside
/// of a template open, and the two cannot stand side by side under one name.
#[derive(Debug, Clone, Copy)]
pub struct ArgoTemplates;

impl ArgoTemplates {
    /// The group and version that judged objects have to name.
    pub const VERSION: &'static str = "judged.argoproj.io/v1alpha1";

    /// What a test hands to [`crate::require!`].
    pub fn need() -> Need {
        Need::that("the whole schema of Argo's templates", || Self::file().is_some())
    }

    /// Installs the kind.
    pub async fn install(fleet: &Fleet) -> anyhow::Result<()> {
        let file = Self::file().context("the whole schema of Argo's templates")?;
        let text = std::fs::read_to_string(&file)?
            .replace(
                "workflowtemplates.argoproj.io",
                "workflowtemplates.judged.argoproj.io",
            )
            .replace("group: argoproj.io", "group: judged.argoproj.io");
        let ours = fleet.bed().write_file("argo-templates.yaml", text)?;
        let ours = ours.display().to_string();
        fleet.kubectl(&["apply", "--server-side", "-f", &ours]).await?;
        established(fleet, "argo-templates", &ours).await
    }

    fn file() -> Option<PathBuf> {
        let directory = ProgramSet::Crds
            .programs_in(&cache_directory()?)?
            .join("argo-templates");
        let file = directory.join("argoproj.io_workflowtemplates.yaml");
        file.is_file().then_some(file)
    }
}

/// Waits until the API server serves the kinds. `kubectl wait` gives up on an object that has no condition at all yet, as large
/// ones have none for a moment; only then is it asked again.
async fn established(fleet: &Fleet, name: &str, path: &str) -> anyhow::Result<()> {
    let words = ["wait", "--for=condition=Established", "--timeout=60s", "-f", path];
    eventually(
        &format!("kinds of {name} are served"),
        ESTABLISHED_WITHIN,
        || async {
            match fleet.kubectl(&words).await {
                Ok(_) => Ok(Some(())),
                Err(error) if error.to_string().contains("conditions accessor error") => Ok(None),
                Err(error) => Err(error.into()),
            }
        },
    )
    .await
}
