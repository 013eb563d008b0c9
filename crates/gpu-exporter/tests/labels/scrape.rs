//! Pods that ask to be scraped, as an API server of a few lines tells of them.

use std::sync::Arc;

use gpu_exporter::applications::scrape::{AnnotatedPods, Finder as _};
use gpu_model::{Namespace, NodeName, PodName};
use gpu_runtime::Shutdown;
use gpu_testbed::eventually;
use http::{Request, Response, StatusCode};
use kube::client::Body;

use crate::SOON;
use crate::answers::client;

fn pod(name: &str, ip: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"ml","uid":"uid-{name}","resourceVersion":"2","annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"8000"}}}},"spec":{{"containers":[]}},"status":{{"phase":"Running","podIP":"{ip}","hostIP":"10.9.0.1"}}}}"#
    )
}

/// Lists one pod, then adds another and deletes the first.
fn answer(request: &Request<Body>) -> Response<Body> {
    let uri = request.uri().to_string();
    let asked = "fieldSelector=spec.nodeName%3Dnode-1";
    assert!(uri.starts_with("/api/v1/pods?") && uri.contains(asked), "{uri}");
    let text = if uri.contains("watch=true") {
        let event = |kind: &str, pod: String| format!("{{\"type\":\"{kind}\",\"object\":{pod}}}\n");
        event("ADDED", pod("b", "10.0.0.8")) + &event("DELETED", pod("a", "10.0.0.7"))
    } else {
        let item = pod("a", "10.0.0.7");
        format!(
            r#"{{"apiVersion":"v1","kind":"PodList","metadata":{{"resourceVersion":"1"}},"items":[{item}]}}"#
        )
    };
    Response::new(Body::from(text.into_bytes()))
}

fn target(pods: &AnnotatedPods, name: &str) -> Option<u16> {
    let (namespace, pod) = (Namespace::new("ml").unwrap(), PodName::new(name).unwrap());
    pods.target(&namespace, &pod).map(|target| target.port)
}

#[tokio::test(flavor = "multi_thread")]
async fn annotated_pods_of_this_node_are_found_by_their_own_address() -> anyhow::Result<()> {
    let pods = Arc::new(AnnotatedPods::new(NodeName::new("node-1")?));
    let shutdown = Shutdown::new();
    let (watched, until) = (Arc::clone(&pods), shutdown.clone());
    let task = tokio::spawn(async move { watched.run(client(answer), &until).await });
    eventually("the second pod is known and the first is gone", SOON, || async {
        let seen = (target(&pods, "a"), target(&pods, "b"));
        Ok((seen == (None, Some(8_000))).then_some(()))
    })
    .await?;
    assert_eq!(pods.problem(), None);
    shutdown.trigger();
    tokio::time::timeout(SOON, task).await??;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_a_problem_of_the_source() -> anyhow::Result<()> {
    let refuse = |_: &Request<Body>| {
        let words = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}"#;
        let mut refused = Response::new(Body::from(words.as_bytes().to_vec()));
        *refused.status_mut() = StatusCode::FORBIDDEN;
        refused
    };
    let pods = Arc::new(AnnotatedPods::new(NodeName::new("node-1")?));
    let shutdown = Shutdown::new();
    let (watched, until) = (Arc::clone(&pods), shutdown.clone());
    let task = tokio::spawn(async move { watched.run(client(refuse), &until).await });
    let problem = eventually("the refusal is told", SOON, || async { Ok(pods.problem()) }).await?;
    assert!(problem.contains("list and watch pods"), "{problem}");
    shutdown.trigger();
    tokio::time::timeout(SOON, task).await??;
    Ok(())
}
