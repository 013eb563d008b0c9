//! A real API server takes the definitions, takes what is right and refuses what is wrong, in words.

use std::time::Duration;

use anyhow::Context as _;
use gpu_k8s::kinds::{AutoscalingPolicy, CostBudget};
use gpu_testbed::{Fleet, require};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// A start of the fleet and some dozens of calls.
const WHOLE: Duration = Duration::from_secs(180);

fn object(kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": "gpu-autoscaler.io/v1alpha1", "kind": kind, "metadata": {"name": "judged"}, "spec": spec})
}

/// Replaces the one object of its kind, and has fields refused that the definition does not know.
async fn apply(client: &Client, kind: &str, spec: &Value) -> Result<DynamicObject, kube::Error> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("gpu-autoscaler.io", "v1alpha1", kind));
    let api: Api<DynamicObject> = match kind {
        "WorkloadAutoscaler" => Api::namespaced_with(client.clone(), "default", &resource),
        _ => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply("test").force().validation_strict();
    api.patch("judged", &params, &Patch::Apply(object(kind, spec)))
        .await
}

/// What is right, by kind.
fn good() -> Vec<(&'static str, Value)> {
    vec![
        ("AutoscalingPolicy", json!({"provider": "aws"})),
        (
            "AutoscalingPolicy",
            json!({"provider": "dry-run", "minNodes": 1, "maxNodes": 4, "nodePools": [{
                "name": "h100", "maxSize": 4, "gpuType": "H100", "instanceTypes": ["p5.48xlarge"], "capacityType": "on-demand",
                "spotMaxPrice": 12.5, "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
                "groups": [{"name": "asg-1", "zone": "us-east-1a"}],
            }]}),
        ),
        (
            "GPUSharingPolicy",
            json!({"strategy": "mig", "migConfig": {"profile": "1g.10gb"}}),
        ),
        (
            "GPUSharingPolicy",
            json!({"strategy": "timeslicing", "timeSlicingConfig": {"replicasPerGPU": 8},
            "podSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}),
        ),
        (
            "WorkloadAutoscaler",
            json!({"workloadRef": {"name": "web", "kind": "Deployment"}, "maxReplicas": 4, "targetGPUPercent": 70}),
        ),
        (
            "WorkloadAutoscaler",
            json!({"workloadRef": {"name": "web", "kind": "Deployment"}, "minReplicas": 0, "maxReplicas": 4, "scaleToZero": true,
                "wakeUpQuery": "sum(rate(requests[1m]))", "customQuery": {"query": "sum(queue)", "target": 2.5},
                "scaleDownPolicy": {"stabilizationWindowSeconds": 300}}),
        ),
        (
            "CostBudget",
            json!({"monthlyLimit": 5000.25, "scope": {"namespaces": ["ml"]}, "alerts": [{"name": "half", "thresholdPercent": 50,
                "channels": [{"type": "slack", "configSecretRefs": {"url": {"name": "hooks", "key": "slack"}}}]}],
                "enforcement": {"action": "block"}, "startDate": "2026-07-01"}),
        ),
        ("CostAttribution", json!({"team": "research"})),
    ]
}

/// What is wrong, and the words that say so.
fn bad() -> Vec<(&'static str, Value, &'static str)> {
    let mut bad = bad_policies();
    bad.extend(bad_scalers_and_costs());
    bad
}

fn bad_policies() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "AutoscalingPolicy",
            json!({"provider": "moon"}),
            "supported values",
        ),
        ("AutoscalingPolicy", json!({}), "spec.provider: Required value"),
        (
            "AutoscalingPolicy",
            json!({"provider": "aws", "minNodes": 5, "maxNodes": 4}),
            "minNodes must not be above maxNodes",
        ),
        (
            "AutoscalingPolicy",
            json!({"provider": "aws", "scaleUpThreshold": 80}),
            "should be less than or equal to 1",
        ),
        (
            "AutoscalingPolicy",
            json!({"provider": "aws", "scaleUpThreshold": 0.1}),
            "grow and shrink for ever",
        ),
        (
            "AutoscalingPolicy",
            json!({"provider": "aws", "nodePools": [{"name": "a", "minSize": 3, "maxSize": 1}]}),
            "minSize must not be above maxSize",
        ),
        (
            "AutoscalingPolicy",
            json!({"provider": "aws", "nodePools": [{"name": "a", "maxSize": 1}, {"name": "a", "maxSize": 1}]}),
            "duplicate entries for key",
        ),
        (
            "GPUSharingPolicy",
            json!({"strategy": "mig"}),
            "needs migConfig.profile",
        ),
        (
            "GPUSharingPolicy",
            json!({"strategy": "mig", "migConfig": {"profile": "large"}}),
            "should match",
        ),
        (
            "GPUSharingPolicy",
            json!({"strategy": "mps", "timeSlicingConfig": {"replicasPerGPU": 2}}),
            "only with the strategy timeslicing",
        ),
        (
            "GPUSharingPolicy",
            json!({"strategy": "timeslicing", "timeSlicingConfig": {"replicasPerGPU": 17}}),
            "should be less than or equal to 16",
        ),
    ]
}

fn bad_scalers_and_costs() -> Vec<(&'static str, Value, &'static str)> {
    let scaler = |more: Value| {
        let mut spec = json!({"workloadRef": {"name": "web", "kind": "Deployment"}, "maxReplicas": 4});
        spec.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        spec
    };
    vec![
        (
            "WorkloadAutoscaler",
            scaler(json!({})),
            "at least one target is needed",
        ),
        (
            "WorkloadAutoscaler",
            scaler(json!({"targetGPUPercent": 70, "minReplicas": 0})),
            "nothing would ever start the workload again",
        ),
        (
            "WorkloadAutoscaler",
            scaler(json!({"targetGPUPercent": 70, "minReplicas": 9})),
            "minReplicas must not be above maxReplicas",
        ),
        (
            "WorkloadAutoscaler",
            scaler(json!({"targetGPUPercent": 170})),
            "should be less than or equal to 100",
        ),
        (
            "CostBudget",
            json!({"monthlyLimit": 0}),
            "monthlyLimit must be above 0",
        ),
        (
            "CostBudget",
            json!({"monthlyLimit": 10, "enforcement": {"action": "explode"}}),
            "supported values",
        ),
        ("CostAttribution", json!({}), "say whose costs"),
        (
            "CostAttribution",
            json!({"team": "a", "retentionDays": 1000}),
            "should be less than or equal to 365",
        ),
        (
            "CostAttribution",
            json!({"teem": "a", "project": "b"}),
            "field not declared in schema",
        ),
    ]
}

#[tokio::test]
async fn a_real_server_judges_our_kinds() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    let work = async {
        let definitions = super::definitions::directory().display().to_string();
        fleet
            .kubectl(&["apply", "--server-side", "-f", &definitions])
            .await?;
        let wait = [
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "-f",
            &definitions,
        ];
        fleet.kubectl(&wait).await?;
        let client = fleet.client().await?;
        for (kind, spec) in good() {
            apply(&client, kind, &spec)
                .await
                .with_context(|| format!("{kind} {spec}"))?;
        }
        for (kind, spec, words) in bad() {
            let refused = apply(&client, kind, &spec).await;
            let Err(refused) = refused else {
                anyhow::bail!("{kind} {spec} was accepted")
            };
            let refused = refused.to_string();
            anyhow::ensure!(
                refused.contains(words),
                "{kind} {spec}: `{words}` is not in: {refused}"
            );
        }
        // What the server filled in can be read with our types.
        let policy = Api::<AutoscalingPolicy>::all(client.clone())
            .get("judged")
            .await?;
        assert_eq!(policy.spec.pending_pod_timeout_seconds, 120);
        assert_eq!(policy.spec.node_pools[0].min_size, 0);
        let budget = Api::<CostBudget>::all(client).get("judged").await?;
        assert_eq!(budget.spec.monthly_limit.0.0, 5_000_250_000_000);
        assert!(budget.spec.enabled);
        let columns = fleet.kubectl(&["get", "gap,gsp,gcb,gca"]).await?;
        for column in ["PROVIDER", "STRATEGY", "LIMIT", "TEAM"] {
            assert!(columns.contains(column), "{column} is not in:\n{columns}");
        }
        Ok(())
    };
    fleet.guard(WHOLE, work).await
}
