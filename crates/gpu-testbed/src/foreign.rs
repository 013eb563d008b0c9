//! Object kinds of other projects, as those projects publish them. Their controllers do not run here: what is proven with
//! these is that our objects are accepted, not that somebody acts on them.

use std::path::PathBuf;

use crate::cache_layout::{ProgramSet, cache_directory};
use crate::fleet::{Fleet, FleetError};
use crate::requirement::Need;

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
    pub async fn install(self, fleet: &Fleet) -> Result<(), FleetError> {
        let directory = self.directory().unwrap_or_default();
        let directory = directory.display().to_string();
        fleet
            .kubectl(&["apply", "--server-side", "--force-conflicts", "-f", &directory])
            .await?;
        fleet
            .kubectl(&[
                "wait",
                "--for=condition=Established",
                "--timeout=60s",
                "-f",
                &directory,
            ])
            .await?;
        Ok(())
    }

    fn directory(self) -> Option<PathBuf> {
        let directory = ProgramSet::Crds
            .programs_in(&cache_directory()?)?
            .join(self.name());
        directory.is_dir().then_some(directory)
    }
}
