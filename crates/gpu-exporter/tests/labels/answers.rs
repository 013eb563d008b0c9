//! An API server of a few lines, which lists one node's pods, then tells what changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpu_testbed::eventually;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;

use crate::SOON;
use crate::pages::{Watching, wanted};

fn object(kind: &str, name: &str, labels: &str) -> String {
    format!(
        r#"{{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{{"name":"{name}","namespace":"ml","uid":"uid-{name}","resourceVersion":"2","labels":{{{labels}}}}},"x":"{kind}"}}"#
    )
}

/// A client of a server that is a function.
pub(crate) fn client(
    answer: impl Fn(&Request<Body>) -> Response<Body> + Clone + Send + Sync + 'static,
) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let answered = answer(&request);
        async move { Ok::<_, std::convert::Infallible>(answered) }
    });
    Client::new(service, "default")
}

/// Answers a list with one object, and the watch after it with a change and then silence.
fn answer(request: &Request<Body>) -> Response<Body> {
    let uri = request.uri().to_string();
    let pods = uri.starts_with("/api/v1/pods?");
    let selector = match pods {
        true => "fieldSelector=spec.nodeName%3Dnode-1",
        false => "fieldSelector=metadata.name%3Dnode-1",
    };
    assert!(uri.contains(selector), "every request names the node: {uri}");
    let accept = request.headers()["accept"].to_str().unwrap();
    assert!(
        accept.contains("PartialObjectMetadata"),
        "only metadata is asked for: {accept}"
    );
    let text = match (pods, uri.contains("watch=true")) {
        (true, false) => list(&object("pod", "a", r#""team":"red","secret":"no""#)),
        (false, false) => list(&object("node", "node-1", r#""pool":"gpu","other":"no""#)),
        (true, true) => format!(
            "{}\n{}\n",
            event("ADDED", &object("pod", "b", r#""team":"blue""#)),
            event("DELETED", &object("pod", "a", "")),
        ),
        (false, true) => String::new(),
    };
    Response::new(Body::from(text.into_bytes()))
}

fn list(item: &str) -> String {
    format!(
        r#"{{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{{"resourceVersion":"1"}},"items":[{item}]}}"#
    )
}

fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn named_labels_of_this_nodes_pods_are_kept() -> anyhow::Result<()> {
    let watching = Watching::start(wanted("node-1", &["team"], &["pool"]), client(answer));
    watching
        .see("b:team=blue node:pool=gpu", &[("ml", "a"), ("ml", "b")])
        .await?;
    watching.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_named_is_asked_for() -> anyhow::Result<()> {
    let only_pods = |request: &Request<Body>| {
        let uri = request.uri().to_string();
        assert!(uri.starts_with("/api/v1/pods?"), "{uri}");
        answer(request)
    };
    let watching = Watching::start(wanted("node-1", &["*"], &[]), client(only_pods));
    watching.see("b:team=blue", &[("ml", "a"), ("ml", "b")]).await?;
    assert!(watching.status().up);
    watching.end().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_told_and_asked_again() -> anyhow::Result<()> {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let at_first_refusing = move |request: &Request<Body>| {
        if counted.fetch_add(1, Ordering::Relaxed) > 1 {
            return answer(request);
        }
        let words = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}"#;
        let mut refused = Response::new(Body::from(words.as_bytes().to_vec()));
        *refused.status_mut() = StatusCode::FORBIDDEN;
        refused
    };
    let watching = Watching::start(wanted("node-1", &["team"], &[]), client(at_first_refusing));
    assert!(!watching.status().up, "nothing is known before the first answer");
    let told = eventually("the refusal is told", SOON, || async {
        let status = watching.status();
        Ok(status.problem.clone().map(|problem| (status.up, problem)))
    });
    let (up, problem) = told.await?;
    assert!(!up && problem.contains("list and watch"), "{problem}");
    watching.see("b:team=blue", &[("ml", "b")]).await?;
    let status = watching.labels.latest().status(Instant::now());
    assert!(status.up && status.problem.is_none(), "{status:?}");
    assert_eq!(status.errors.get("pods"), Some(&2));
    watching.end().await;
    Ok(())
}
