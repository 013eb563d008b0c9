//! The workflow templates that are shipped, judged by Argo's own schema in the real API server.

use std::path::Path;

use gpu_testbed::foreign::ArgoTemplates;
use gpu_testbed::{Fleet, require};

use super::WHOLE;

/// A shipped template under the group that judges it.
fn template(name: &str) -> anyhow::Result<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/argo");
    let text = std::fs::read_to_string(directory.join(name))?;
    Ok(text.replace("argoproj.io/v1alpha1", ArgoTemplates::VERSION))
}

#[tokio::test]
async fn argos_whole_schema_accepts_the_shipped_templates() -> anyhow::Result<()> {
    require!(Fleet::need(), ArgoTemplates::need());
    let fleet = Fleet::shared();
    let namespace = fleet.namespace("templates").await?;
    fleet
        .guard(WHOLE, async {
            ArgoTemplates::install(fleet).await?;
            for name in ["sidecar-native.yaml", "sidecar.yaml"] {
                let text = template(name)?;
                let good = fleet.bed().write_file(name, &text)?.display().to_string();
                let words = ["apply", "--validate=strict", "-n", namespace.name(), "-f", &good];
                fleet.kubectl(&words).await?;
                // The schema judges the inside of containers too: a typo and a wrong kind of value are refused.
                for (from, to, expected) in [
                    (
                        "readOnlyRootFilesystem:",
                        "readOnlyRootFileSystem:",
                        "unknown field",
                    ),
                    ("runAsUser: 65532", "runAsUser: nobody", "must be of type integer"),
                ] {
                    let bad = text
                        .replace(from, to)
                        .replace("name: gpu-step-", "name: gpu-bad-step-");
                    let bad = fleet
                        .bed()
                        .write_file(format!("bad-{name}"), bad)?
                        .display()
                        .to_string();
                    let words = ["apply", "--validate=strict", "-n", namespace.name(), "-f", &bad];
                    let refused = fleet.kubectl(&words).await.expect_err(to).to_string();
                    assert!(refused.contains(expected), "{refused}");
                }
            }
            Ok(())
        })
        .await
}
