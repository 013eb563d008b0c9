//! The API server calls us: an admission webhook and an aggregated API, both over TLS.

use axum::Json;
use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use gpu_testbed::pki::Authority;
use gpu_testbed::{Fleet, Program, eventually, require};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use super::objects::{create, gpu_pod};
use super::tls_server::TlsServer;
use super::{SOON, WHOLE};

/// The answer of a webhook that sets one annotation.
async fn mutate(Json(review): Json<Value>) -> Json<Value> {
    // `[{"op":"add","path":"/metadata/annotations","value":{"seen-by":"our-webhook"}}]`
    let patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2Fubm90YXRpb25zIiwidmFsdWUiOnsic2Vlbi1ieSI6Im91ci13ZWJob29rIn19XQ==";
    Json(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": review["request"]["uid"],
            "allowed": true,
            "patchType": "JSONPatch",
            "patch": patch,
        },
    }))
}

fn webhook(
    name: &str,
    namespace: &str,
    url: &str,
    authority: &Authority,
) -> anyhow::Result<MutatingWebhookConfiguration> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name},
        "webhooks": [{
            "name": "pods.testbed.gpu-autoscaler.io",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
            "clientConfig": {"url": url, "caBundle": ByteString(authority.certificate().into_bytes())},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }],
    }))?)
}

#[tokio::test]
async fn an_admission_webhook_of_ours_is_called_over_tls() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("webhook").await?;
            let authority = Authority::new("webhook")?;
            let identity = authority.server(&["127.0.0.1"])?;
            let server = TlsServer::start(&identity, Router::new().route("/mutate", post(mutate))).await?;
            let url = format!("https://127.0.0.1:{}/mutate", server.port());
            let configurations: Api<MutatingWebhookConfiguration> = Api::all(namespace.client());
            let configuration = webhook(namespace.name(), namespace.name(), &url, &authority)?;
            configurations
                .create(&PostParams::default(), &configuration)
                .await?;

            let pods = namespace.api::<Pod>();
            eventually("a new pod bears the webhook's annotation", SOON, || async {
                // The API server takes up a new webhook a moment after it is created.
                let pod = create(&namespace, gpu_pod("guinea-pig", 1)).await?;
                pods.delete("guinea-pig", &DeleteParams::default().grace_period(0))
                    .await?;
                let annotations = pod.metadata.annotations.unwrap_or_default();
                Ok(annotations.get("seen-by").map(|by| assert_eq!(by, "our-webhook")))
            })
            .await?;

            drop(server);
            let refused = create(&namespace, gpu_pod("orphan", 1))
                .await
                .expect_err("the webhook is gone and must fail");
            let text = format!("{refused:#}");
            assert!(text.contains("failed calling webhook"), "{text}");
            configurations
                .delete(namespace.name(), &DeleteParams::default())
                .await?;
            Ok(())
        })
        .await
}

const GROUP: &str = "custom.testbed.gpu-autoscaler.io";

/// What our aggregated API answers: the caller's name, as the API server vouches for it.
async fn greet(headers: HeaderMap) -> Json<Value> {
    let user = headers.get("x-remote-user").and_then(|user| user.to_str().ok());
    Json(json!({"kind": "Greeting", "apiVersion": format!("{GROUP}/v1"), "user": user}))
}

async fn resources() -> Json<Value> {
    let greeting = json!({"name": "greetings", "singularName": "greeting", "namespaced": false, "kind": "Greeting", "verbs": ["get"]});
    Json(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/v1"), "resources": [greeting]}),
    )
}

#[tokio::test]
async fn an_aggregated_api_of_ours_is_served_through_the_api_server() -> anyhow::Result<()> {
    require!(Fleet::need(), Program::Kubectl);
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("aggregated").await?;
            let authority = Authority::new("aggregated")?;
            let identity = authority.server(&[&format!("greeter.{}.svc", namespace.name())])?;
            let base = format!("/apis/{GROUP}/v1");
            let router = Router::new().route(&base, get(resources)).route(&format!("{base}/greetings"), get(greet));
            let server = TlsServer::start(&identity, router).await?;
            // A service by name, because an endpoint on loopback is not valid.
            let service = serde_json::from_value(json!({
                "metadata": {"name": "greeter"},
                "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": server.port()}]},
            }))?;
            namespace.api::<Service>().create(&PostParams::default(), &service).await?;
            let api_services: Api<APIService> = Api::all(namespace.client());
            let name = format!("v1.{GROUP}");
            let api_service = serde_json::from_value(json!({
                "metadata": {"name": name},
                "spec": {
                    "group": GROUP,
                    "version": "v1",
                    "groupPriorityMinimum": 1000,
                    "versionPriority": 15,
                    "caBundle": ByteString(authority.certificate().into_bytes()),
                    "service": {"namespace": namespace.name(), "name": "greeter", "port": server.port()},
                },
            }))?;
            api_services.create(&PostParams::default(), &api_service).await?;
            eventually("the API server finds the aggregated API available", SOON, || async {
                let status = api_services.get(&name).await?.status.unwrap_or_default();
                let conditions = status.conditions.unwrap_or_default();
                Ok(conditions.iter().any(|found| found.type_ == "Available" && found.status == "True").then_some(()))
            })
            .await?;
            let answer: Value = serde_json::from_str(&fleet.kubectl(&["get", "--raw", &format!("{base}/greetings")]).await?)?;
            assert_eq!(answer["kind"], "Greeting");
            assert_eq!(answer["user"], "testbed-admin");
            api_services.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        })
        .await
}
