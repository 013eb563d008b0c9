//! Object kinds of other projects judge our objects in the real API server.

use gpu_testbed::foreign::Foreign;
use gpu_testbed::{Fleet, require};

use super::WHOLE;

/// An object of each project, with one field that its schema must judge.
fn object(project: Foreign, namespace: &str, judged: &str) -> String {
    let (version, kind, spec) = match project {
        Foreign::PrometheusOperator => (
            "monitoring.coreos.com/v1",
            "ServiceMonitor",
            format!(r#"{{"selector": {{}}, "endpoints": [{{"port": {judged}}}]}}"#),
        ),
        Foreign::CertManager => (
            "cert-manager.io/v1",
            "Certificate",
            format!(r#"{{"secretName": {judged}, "issuerRef": {{"name": "ours"}}}}"#),
        ),
        Foreign::Keda => (
            "keda.sh/v1alpha1",
            "ScaledObject",
            format!(
                r#"{{"scaleTargetRef": {{"name": {judged}}}, "triggers": [{{"type": "cron", "metadata": {{}}}}]}}"#
            ),
        ),
        // The published form for clusters leaves the inside of a workflow open; what it keeps is that it is an object.
        Foreign::ArgoWorkflows => (
            "argoproj.io/v1alpha1",
            "Workflow",
            format!(r#"{{"entrypoint": {judged}}}"#),
        ),
        Foreign::ArgoCd => (
            "argoproj.io/v1alpha1",
            "Application",
            format!(
                r#"{{"project": {judged}, "destination": {{}}, "source": {{"repoURL": "https://example.invalid"}}}}"#
            ),
        ),
    };
    let metadata = format!(r#"{{"name": "judged", "namespace": "{namespace}"}}"#);
    format!(r#"{{"apiVersion": "{version}", "kind": "{kind}", "metadata": {metadata}, "spec": {spec}}}"#)
}

#[tokio::test]
async fn schemas_of_other_projects_judge_our_objects() -> anyhow::Result<()> {
    require!(
        Fleet::need(),
        Foreign::PrometheusOperator.need(),
        Foreign::CertManager.need(),
        Foreign::Keda.need(),
        Foreign::ArgoWorkflows.need(),
        Foreign::ArgoCd.need(),
    );
    let fleet = Fleet::shared();
    let namespace = fleet.namespace("foreign").await?;
    fleet
        .guard(WHOLE, async {
            for project in Foreign::ALL {
                project.install(fleet).await?;
                let good = fleet.bed().write_file(
                    format!("{}-good.json", project.name()),
                    object(project, namespace.name(), "\"a\""),
                )?;
                fleet
                    .kubectl(&["apply", "-f", &good.display().to_string()])
                    .await?;
                if project == Foreign::ArgoWorkflows {
                    continue;
                }
                let bad = fleet.bed().write_file(
                    format!("{}-bad.json", project.name()),
                    object(project, namespace.name(), "{}"),
                )?;
                let refused = fleet.kubectl(&["apply", "-f", &bad.display().to_string()]).await;
                let words = refused.expect_err("an object where a text belongs").to_string();
                assert!(
                    words.contains("Invalid value") || words.contains("must be of type string"),
                    "{}: {words}",
                    project.name()
                );
            }
            Ok(())
        })
        .await
}
