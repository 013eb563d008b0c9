//! The document of `GET /api/v1/openapi.json`: every path of the API, its questions and its answers.

use axum::Json;
use serde_json::{Value, json};

/// One path: what it answers, and which questions it takes.
struct Path {
    path: &'static str,
    summary: &'static str,
    parameters: &'static [(&'static str, &'static str)],
}

const PATHS: &[Path] = &[
    Path {
        path: "/api/v1/status",
        summary: "The control plane and the fleet in a few numbers",
        parameters: &[],
    },
    Path {
        path: "/api/v1/cluster",
        summary: "Nodes, their GPUs and pods that wait",
        parameters: &[],
    },
    Path {
        path: "/api/v1/monitoring/gpu-metrics",
        summary: "Every GPU with its readings, its node and its owner",
        parameters: &[],
    },
    Path {
        path: "/api/v1/waste",
        summary: "What is wasted, why, whose it is, what it costs and what to do, the dearest first",
        parameters: &[
            ("namespace", "only findings of pods of this namespace"),
            ("cause", "only findings of this cause, such as held-idle"),
            ("min_score", "only findings with at least this score, 0 to 100"),
            ("limit", "at most so many findings; 500 by default, at most 10000"),
        ],
    },
    Path {
        path: "/api/v1/explain",
        summary: "All that is known about one pod or node, and why it was judged as it was",
        parameters: &[("subject", "pod/NAMESPACE/NAME or node/NAME")],
    },
    Path {
        path: "/api/v1/decisions",
        summary: "What was decided and why, the newest first",
        parameters: &[
            ("subject", "only decisions about pod/NAMESPACE/NAME or node/NAME"),
            ("limit", "at most so many; 100 by default, at most 500"),
        ],
    },
    Path {
        path: "/api/v1/cost",
        summary: "What GPU time cost over a window, who carried it, and how much of it was used",
        parameters: &[
            ("last", "the time up to now: 90m, 24h, 7d; a week by default"),
            ("from", "the start of the window, in place of `last`"),
            ("to", "its end; now by default"),
            (
                "by",
                "up to six dimensions, apart by commas: namespace, team, workload, node, gpu-model, label:KEY and more",
            ),
            ("namespace", "only what pods of this namespace carried"),
            ("team", "only what this team carried"),
            ("step", "a line for each 5m, 1h or 1d"),
            ("limit", "at most so many lines; 500 by default, at most 20000"),
        ],
    },
    Path {
        path: "/api/v1/prices",
        summary: "What a GPU-hour costs on every node, and where the price comes from",
        parameters: &[],
    },
];

pub(super) async fn document() -> Json<Value> {
    let paths: serde_json::Map<String, Value> = PATHS
        .iter()
        .map(|path| (path.path.to_owned(), describe(path)))
        .collect();
    Json(json!({
        "openapi": "3.1.0",
        "info": { "title": "gpu-autoscaler", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": { "Error": {
            "type": "object",
            "required": ["error", "details"],
            "properties": { "error": { "type": "string" }, "details": { "type": "string" } },
        } } },
    }))
}

fn describe(path: &Path) -> Value {
    let parameters: Vec<Value> = path
        .parameters
        .iter()
        .map(|(name, words)| {
            json!({ "name": name, "in": "query", "description": words, "schema": { "type": "string" } })
        })
        .collect();
    let content = |schema: Value| json!({ "application/json": { "schema": schema } });
    let error = json!({ "$ref": "#/components/schemas/Error" });
    json!({ "get": {
        "summary": path.summary,
        "parameters": parameters,
        "responses": {
            "200": { "description": path.summary, "content": content(json!({ "type": "object" })) },
            "default": { "description": "What went wrong, and what to do", "content": content(error) },
        },
    } })
}
