//! Finding exporters in a real API server.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use gpu_autoscaler::sources::discover::{
    PodSelector, Scheme, ServiceRef, TargetBook, follow_pods, follow_service,
};
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_secs(180);

fn slice(name: &str, family: &str, endpoints: &Value) -> EndpointSlice {
    let object = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "dcgm-exporter"}},
        "addressType": family,
        "ports": [{"name": "health", "port": 8080}, {"name": "metrics", "port": 9400}],
        "endpoints": endpoints,
    });
    serde_json::from_value(object).unwrap()
}

fn pod_of(uid: &str) -> Value {
    json!({"kind": "Pod", "name": uid, "uid": uid})
}

async fn expect(book: &TargetBook, expected: &[&str]) -> anyhow::Result<()> {
    eventually("the book says what the cluster says", SOON, || async {
        let found: Vec<String> = book
            .current()
            .iter()
            .map(|target| {
                let node = target.node.as_ref().map_or("", |node| node.as_str());
                format!("{} {node}", target.url)
            })
            .collect();
        Ok((found == expected).then_some(()))
    })
    .await
}

#[tokio::test]
async fn endpoints_of_a_service_come_and_go() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("sources").await?;
            let slices: Api<EndpointSlice> = namespace.api();
            let post = PostParams::default();
            let endpoints = json!([
                {"addresses": ["10.1.0.1"], "nodeName": "node-a", "targetRef": pod_of("a")},
                {"addresses": ["10.1.0.2"], "nodeName": "node-b", "targetRef": pod_of("b"), "conditions": {"ready": false}},
            ]);
            slices.create(&post, &slice("four", "IPv4", &endpoints)).await?;
            let book = Arc::new(TargetBook::default());
            let service: ServiceRef = format!("{}/dcgm-exporter", namespace.name()).parse()?;
            let follower = tokio::spawn(follow_service(namespace.client(), service, book.clone()));
            expect(&book, &["http://10.1.0.1:9400/metrics node-a"]).await?;

            // The same pod in the other address family is no second target; a pod of that family alone is one.
            let endpoints = json!([
                {"addresses": ["fd00::1"], "nodeName": "node-a", "targetRef": pod_of("a")},
                {"addresses": ["fd00::3"], "nodeName": "node-c", "targetRef": pod_of("c")},
            ]);
            slices.create(&post, &slice("six", "IPv6", &endpoints)).await?;
            let both = ["http://10.1.0.1:9400/metrics node-a", "http://[fd00::3]:9400/metrics node-c"];
            expect(&book, &both).await?;
            slices.delete("six", &DeleteParams::default()).await?;
            expect(&book, &both[..1]).await?;
            ensure!(!follower.is_finished(), "the follower goes on");
            follower.abort();
            Ok(())
        })
        .await
}

#[tokio::test]
async fn pods_are_found_by_their_labels() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("sources-pods").await?;
            let pods: Api<Pod> = namespace.api();
            let pod: Pod = serde_json::from_value(json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "exporter-1", "labels": {"app": "gpu-exporter"}},
                "spec": {
                    "nodeName": "no-such-node",
                    "containers": [{"name": "main", "image": "none", "ports": [{"name": "metrics", "containerPort": 9401}]}],
                },
            }))?;
            pods.create(&PostParams::default(), &pod).await?;
            let book = Arc::new(TargetBook::default());
            let selector = PodSelector {
                namespace: Some(namespace.name().to_owned()),
                labels: "app=gpu-exporter".to_owned(),
                port: None,
                scheme: Scheme::Https,
                path: "/metrics".to_owned(),
            };
            let follower = tokio::spawn(follow_pods(namespace.client(), selector, book.clone()));
            let status = json!({"status": {"phase": "Running", "podIP": "10.2.0.1", "podIPs": [{"ip": "10.2.0.1"}]}});
            pods.patch_status("exporter-1", &PatchParams::default(), &Patch::Merge(&status)).await?;
            expect(&book, &["https://10.2.0.1:9401/metrics no-such-node"]).await?;
            follower.abort();
            Ok(())
        })
        .await
}
