//! What the picture of a large cluster costs: a server of ours plays the API server in a process of its own, and the watch of the
//! product lists and watches it. Prints memory and processor time of the watching process alone.
//!
//! `cargo run --release -p gpu-autoscaler --example picture -- --nodes 1000 --gpu-pods 10000 --other-pods 30000`
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a benchmark: it starts a process, opens a socket and reads the clock"
)]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::Uri;
use axum::response::{IntoResponse as _, Response};
use clap::Parser;
use futures::stream;
use gpu_autoscaler::watch;
use gpu_model::ClusterId;
use gpu_runtime::{Shutdown, Tasks};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Parser, Clone, Copy)]
struct Size {
    #[arg(long, default_value_t = 1000)]
    nodes: usize,
    #[arg(long, default_value_t = 10_000)]
    gpu_pods: usize,
    #[arg(long, default_value_t = 30_000)]
    other_pods: usize,
    /// Changes of pods a second while it is watched.
    #[arg(long, default_value_t = 50)]
    changes: u64,
    /// How long it is watched after everything was listed.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Plays the API server.
    #[arg(long, hide = true)]
    serve: bool,
}

/// Pods of one ReplicaSet.
const REPLICAS: usize = 10;

fn main() {
    let size = Size::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    if size.serve {
        return runtime.block_on(serve(size));
    }
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(std::env::args().skip(1))
        .arg("--serve")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    runtime.block_on(measure(size, port.trim()));
    server.kill().unwrap();
    server.wait().unwrap();
}

async fn measure(size: Size, port: &str) {
    let mut config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
    config.default_retry = false;
    let client = kube::Client::try_from(config).unwrap();
    let shutdown = Shutdown::new();
    let mut tasks = Tasks::new(shutdown.clone());
    let (memory, processor, began) = (resident(), processor_time(), Instant::now());
    let watched = watch::start(&mut tasks, client, ClusterId::new("bench").unwrap(), shutdown);
    watched.synced().await;
    println!("{:?}", watched.load());
    println!(
        "listed after {:.1} s, {:.2} s of processor, {:.1} MiB resident ({:.1} before), {:.1} at the peak",
        began.elapsed().as_secs_f64(),
        (processor_time() - processor).as_secs_f64(),
        resident(),
        memory,
        status("VmHWM:")
    );
    // A decision every second, each with a picture of its own that is held until the next.
    let (processor, began) = (processor_time(), Instant::now());
    let mut slowest = Duration::ZERO;
    let mut held = None;
    while began.elapsed().as_secs() < size.seconds {
        let asked = Instant::now();
        held = Some(watched.picture(Timestamp::now()).unwrap());
        slowest = slowest.max(asked.elapsed());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    println!(
        "{} changes a second: {:.1} millicores, {:.1} MiB resident, slowest picture {:.2} ms, {} GPU pods in it",
        size.changes,
        (processor_time() - processor).as_secs_f64() / began.elapsed().as_secs_f64() * 1000.0,
        resident(),
        slowest.as_secs_f64() * 1000.0,
        held.unwrap().gpu_pods.len()
    );
}

fn status(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib / 1024.0
}

fn resident() -> f64 {
    status("VmRSS:")
}

/// Of all threads of this process, in hundredths of a second.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

async fn serve(size: Size) {
    let router = Router::new().fallback(answer).with_state(size);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    axum::serve(listener, router).await.unwrap();
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    watch: bool,
    #[serde(default)]
    limit: usize,
    #[serde(default, rename = "continue")]
    token: Option<usize>,
}

async fn answer(State(size): State<Size>, uri: Uri, Query(asked): Query<Asked>) -> Response {
    let kind = uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    let pods = size.gpu_pods + size.other_pods;
    let count = match kind.as_str() {
        "v1" => {
            return json!({"groupVersion": "resource.k8s.io/v1", "kind": "APIResourceList", "resources": []})
                .to_string()
                .into_response();
        }
        "nodes" => size.nodes,
        "pods" => pods,
        "replicasets" | "deployments" | "services" => pods / REPLICAS,
        "namespaces" => 50,
        _ => 0,
    };
    if asked.watch {
        return if kind == "pods" {
            changes(size).into_response()
        } else {
            silence().into_response()
        };
    }
    let first = asked.token.unwrap_or(0);
    let last = count.min(first + asked.limit.max(1));
    let items: Vec<Value> = (first..last)
        .map(|number| object(&kind, number, size, 0))
        .collect();
    let next = (last < count).then(|| last.to_string());
    json!({"metadata": {"resourceVersion": "1", "continue": next}, "items": items})
        .to_string()
        .into_response()
}

fn silence() -> Body {
    Body::from_stream(stream::pending::<Result<Bytes, std::convert::Infallible>>())
}

/// Pods that change one after the other.
fn changes(size: Size) -> Body {
    let pause = Duration::from_secs_f64(1.0 / size.changes.max(1) as f64);
    let events = stream::unfold(0_usize, move |number| async move {
        tokio::time::sleep(pause).await;
        let pod = number * 7919 % (size.gpu_pods + size.other_pods);
        let object = object("pods", pod, size, number + 1);
        let line = json!({"type": "MODIFIED", "object": object}).to_string() + "\n";
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(line)), number + 1))
    });
    Body::from_stream(events)
}

fn object(kind: &str, number: usize, size: Size, change: usize) -> Value {
    match kind {
        "nodes" => node(number),
        "pods" => pod(number, size, change),
        "namespaces" => json!({"metadata": {"name": format!("team-{number}"), "labels": {"owner": "x"}}}),
        "replicasets" => {
            json!({"metadata": {"name": format!("web-{number}-5d4f8c7b9"), "namespace": namespace(number),
            "uid": uid("a", number), "ownerReferences": [owner("Deployment", &format!("web-{number}"), "b", number)]}})
        }
        "deployments" => {
            json!({"metadata": {"name": format!("web-{number}"), "namespace": namespace(number), "uid": uid("b", number)},
            "spec": {"replicas": REPLICAS}})
        }
        _ => json!({"metadata": {"name": format!("web-{number}"), "namespace": namespace(number)},
            "spec": {"selector": {"app": format!("web-{number}")}}}),
    }
}

fn namespace(number: usize) -> String {
    format!("team-{}", number % 50)
}

fn uid(kind: &str, number: usize) -> String {
    format!("{kind}0000000-0000-4000-8000-{number:012}")
}

fn owner(kind: &str, name: &str, prefix: &str, number: usize) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid(prefix, number), "controller": true})
}

/// As large as nodes of a cloud are: some 60 labels and 50 images.
fn node(number: usize) -> Value {
    let mut labels: serde_json::Map<String, Value> = (0..55)
        .map(|label| {
            (
                format!("feature.node.kubernetes.io/some-feature-{label}"),
                json!("true"),
            )
        })
        .collect();
    labels.insert(
        "node.kubernetes.io/instance-type".to_owned(),
        json!("p5.48xlarge"),
    );
    labels.insert("topology.kubernetes.io/zone".to_owned(), json!("us-east-1a"));
    labels.insert("karpenter.sh/capacity-type".to_owned(), json!("spot"));
    let images: Vec<Value> = (0..50)
        .map(|image| json!({"names": [format!("registry.example.com/team/image-{image}@sha256:{image:064}")], "sizeBytes": 1_000_000}))
        .collect();
    let resources = json!({"cpu": "192", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": "8"});
    json!({
        "metadata": {"name": node_name(number), "uid": uid("c", number), "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"providerID": format!("aws:///us-east-1a/i-{number:017}"), "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}], "images": images},
    })
}

/// As the pages of the benchmark `scrape` name them, so that both can play one cluster.
fn node_name(number: usize) -> String {
    format!("h100-node-{number:04}")
}

/// Six pods of a node hold GPUs by its page; the others have asked for some.
const HOLDERS: usize = 6;

fn pod_name(number: usize, size: Size) -> (String, String) {
    let (node, slot, set) = (number % size.nodes, number / size.nodes, number / REPLICAS);
    if number < size.gpu_pods && slot < HOLDERS {
        return ("training".to_owned(), format!("llm-{node}-{slot}"));
    }
    (namespace(set), format!("web-{set}-5d4f8c7b9-{number:05}"))
}

/// As large as pods are: some 12 kB, of which we keep little.
fn pod(number: usize, size: Size, change: usize) -> Value {
    let set = number / REPLICAS;
    let resources = match number < size.gpu_pods {
        true => {
            json!({"requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}})
        }
        false => json!({"requests": {"cpu": "100m", "memory": "256Mi"}}),
    };
    let labels: serde_json::Map<String, Value> = (0..7)
        .map(|label| {
            (
                format!("app.kubernetes.io/label-{label}"),
                json!(format!("value-{label}")),
            )
        })
        .chain([("app".to_owned(), json!(format!("web-{set}")))])
        .collect();
    let environment: Vec<Value> = (0..60)
        .map(|variable| json!({"name": format!("SOME_VARIABLE_{variable}"), "value": "a value of some forty characters in all"}))
        .collect();
    let (namespace, name) = pod_name(number, size);
    json!({
        "metadata": {"name": name, "namespace": namespace, "uid": uid("d", number),
            "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": (change + 1).to_string(),
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "x".repeat(3000)},
            "ownerReferences": [owner("ReplicaSet", &format!("web-{set}-5d4f8c7b9"), "a", set)],
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {"f:conditions": "y".repeat(2000)}}}]},
        "spec": {"nodeName": node_name(number % size.nodes), "containers": [{"name": "main", "image": "web:1", "resources": resources, "env": environment}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:05Z", "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "restartCount": change, "state": {"running": {"startedAt": "2026-01-01T00:00:05Z"}}}]},
    })
}
