//! An API server of a few lines, which lists one node's pods, then tells what changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_model::{NodeName, PodUid};
use gpu_runtime::Shutdown;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;

use super::{AllowList, LabelBook, Labels};

const DEADLINE: Duration = Duration::from_secs(20);

fn object(kind: &str, name: &str, labels: &str) -> String {
    format!(
        r#"{{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{{"name":"{name}","namespace":"ml","uid":"uid-{name}","resourceVersion":"2","labels":{{{labels}}}}},"x":"{kind}"}}"#
    )
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

fn text(book: &LabelBook) -> String {
    let mut words: Vec<String> = Vec::new();
    for pod in ["a", "b"] {
        let uid = PodUid::new(format!("uid-{pod}")).unwrap();
        words.extend(
            book.pod(&uid)
                .map(|(name, value)| format!("{pod}:{name}={value}")),
        );
    }
    words.extend(book.node().map(|(name, value)| format!("node:{name}={value}")));
    words.join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn named_labels_of_this_nodes_pods_are_kept() {
    let service = tower::service_fn(|request: Request<Body>| async move {
        Ok::<_, std::convert::Infallible>(answer(&request))
    });
    let client = Client::new(service, "default");
    let allowed = AllowList::new(vec!["team".into()], vec!["pool".into()]).unwrap();
    let labels = Arc::new(Labels::new(NodeName::new("node-1").unwrap(), allowed));
    let shutdown = Shutdown::new();
    let watching = {
        let (labels, shutdown) = (Arc::clone(&labels), shutdown.clone());
        tokio::spawn(async move { labels.run(client, &shutdown).await })
    };
    let started = Instant::now();
    while text(&labels.latest()) != "b:team=blue node:pool=gpu" {
        assert!(started.elapsed() < DEADLINE, "{:?}", labels.latest());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    shutdown.trigger();
    tokio::time::timeout(DEADLINE, watching).await.unwrap().unwrap();
}

#[test]
fn the_allow_list_is_bounded() {
    let names = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    assert!(AllowList::new(names(16), names(16)).is_ok());
    let error = AllowList::new(names(17), Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "17 label names are allowed for pods, at most 16 can be: name fewer"
    );
}
