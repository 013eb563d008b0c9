//! The routes of the documents that are made for each question: waste, status, prices, decisions and explanations.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse as _, Response};
use gpu_model::Source;
use gpu_runtime::Chain;
use gpu_runtime::http::Refusal;
use jiff::Timestamp;
use serde::Serialize;
use tracing::warn;

use super::{Served, newest};
use crate::explain::{Question, explain as explanation};
use crate::fleet::Totals;
use crate::pages::Round;
use crate::wire::decisions::{DecisionsDocument, DecisionsQuery, ExplainQuery};
use crate::wire::prices::{NodePrice, PricesDocument};
use crate::wire::status::{FleetLine, LeadershipLine, MetricsLine, StatusDocument};
use crate::wire::waste::{WasteDocument, WasteQuery, age, percent, usd};

type Asked<T> = Result<Query<T>, axum::extract::rejection::QueryRejection>;

/// A page of decisions unless a number is asked for.
const USUAL_DECISIONS: usize = 100;

pub(super) async fn waste(
    State(served): State<Served>,
    query: Asked<WasteQuery>,
) -> Result<Response, Refusal> {
    let query = asked(query, "namespace, cause, min_score and limit")?;
    let snapshot = newest(&served)?;
    let round = snapshot.round().clone();
    let now = now(&served, &round);
    // Thousands of findings with their evidence are no work for a thread that answers probes.
    let made = tokio::task::spawn_blocking(move || {
        let problems = round
            .problems
            .iter()
            .map(|(name, problem)| format!("{name}: {problem}"))
            .collect();
        let cluster = round.view.cluster.as_str();
        let document = WasteDocument::new(&round.report, cluster, round.view.source, problems, now, &query);
        serde_json::to_vec(&document)
    });
    match made.await {
        Ok(Ok(text)) => Ok(super::json(text)),
        _ => Err(Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the document could not be rendered",
        )),
    }
}

pub(super) async fn status(State(served): State<Served>) -> Result<Response, Refusal> {
    let snapshot = newest(&served)?;
    let round = snapshot.round();
    let now = now(&served, round);
    let mut problems = round.problems.clone();
    problems.extend(served.control.problems());
    let failing = round
        .targets
        .iter()
        .filter(|target| target.failure.is_some())
        .count();
    Ok(document(&StatusDocument {
        timestamp: now,
        source: source(round),
        cluster: round.view.cluster.to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        fleet: fleet_line(round),
        metrics: MetricsLine {
            kind: served.control.metrics_kind().to_owned(),
            targets: round.targets.len(),
            failing,
            age_seconds: round.data_at.map(|at| age(at, now)),
        },
        leadership: LeadershipLine {
            role: served.control.role().to_owned(),
            holder: served.control.holder(),
        },
        paused: served.control.paused(),
        problems,
    }))
}

fn fleet_line(round: &Round) -> FleetLine {
    let totals = Totals::of(&round.view);
    let mut hourly: Option<i128> = None;
    let mut unpriced = 0;
    for node in &round.view.nodes {
        let rate = round
            .rates
            .get(&node.node.name)
            .and_then(|rate| rate.per_gpu_hour);
        match rate {
            Some(rate) => {
                let gpus = i128::try_from(node.gpus.len()).unwrap_or(0);
                hourly = Some(hourly.unwrap_or(0) + i128::from(rate.0) * gpus);
            }
            None => unpriced += 1,
        }
    }
    let hourly = hourly.map(|nanos| gpu_model::NanoUsd(i64::try_from(nanos).unwrap_or(i64::MAX)));
    FleetLine {
        nodes: round.view.nodes.len(),
        gpus: totals.gpus,
        allocated: totals.allocated,
        utilization: totals.utilization.map(percent),
        running_pods: totals.running_pods,
        pending_pods: totals.pending_pods,
        hourly_usd: hourly.map(usd),
        unpriced_nodes: unpriced,
    }
}

pub(super) async fn prices(State(served): State<Served>) -> Result<Response, Refusal> {
    let snapshot = newest(&served)?;
    let round = snapshot.round();
    let nodes = round.rates.iter().map(|(node, rate)| NodePrice {
        node: node.to_string(),
        gpu_hour_usd: rate.per_gpu_hour.map(usd),
        price: rate.note.clone(),
    });
    Ok(document(&PricesDocument {
        timestamp: round.view.at,
        source: source(round),
        cluster: round.view.cluster.to_string(),
        nodes: nodes.collect(),
    }))
}

pub(super) async fn decisions(
    State(served): State<Served>,
    query: Asked<DecisionsQuery>,
) -> Result<Response, Refusal> {
    let query = asked(query, "subject and limit")?;
    let limit = query.limit.unwrap_or(USUAL_DECISIONS);
    let read = served.decisions.read(query.subject.as_deref(), limit).await;
    let decisions = read.map_err(store_failed)?;
    Ok(document(&DecisionsDocument {
        cluster: served.decisions.cluster().to_string(),
        decisions,
    }))
}

pub(super) async fn explain(
    State(served): State<Served>,
    query: Asked<ExplainQuery>,
) -> Result<Response, Refusal> {
    let query = asked(query, "subject")?;
    let details = "give ?subject=pod/NAMESPACE/NAME or ?subject=node/NAME";
    let question =
        Question::parse(&query.subject).ok_or_else(|| Refusal::new(StatusCode::BAD_REQUEST, details))?;
    let snapshot = newest(&served)?;
    let round = snapshot.round();
    let subject = question.subject();
    let read = served.decisions.read(Some(&subject), USUAL_DECISIONS).await;
    // The log being away does not hide what the newest round knows.
    let decisions = read.unwrap_or_else(|error| {
        warn!(error = %Chain(&error), "failed to read decisions");
        Vec::new()
    });
    let answer = explanation(round, &question, decisions, now(&served, round));
    let details = format!(
        "nothing is known of {subject}: it holds no GPU, asks for none, and nothing was decided about it"
    );
    let answer = answer.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, details))?;
    Ok(document(&answer))
}

/// The time by which ages are told: in a simulated fleet its own.
fn now(served: &Served, round: &Round) -> Timestamp {
    match round.view.source {
        Source::Simulated => round.view.at,
        Source::Measured => served.clock.now(),
    }
}

fn source(round: &Round) -> Option<String> {
    (round.view.source == Source::Simulated).then(|| "sim".to_owned())
}

fn asked<T>(query: Asked<T>, known: &str) -> Result<T, Refusal> {
    match query {
        Ok(Query(query)) => Ok(query),
        Err(error) => {
            let details = format!(
                "the query cannot be read ({}); it takes {known}",
                error.body_text()
            );
            Err(Refusal::new(StatusCode::BAD_REQUEST, details))
        }
    }
}

fn store_failed(error: gpu_store::StoreError) -> Refusal {
    warn!(error = %Chain(&error), "failed to read decisions");
    let details = "the store does not answer; /readyz says more";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, details)
}

fn document<T: Serialize>(document: &T) -> Response {
    ([(CACHE_CONTROL, "no-store")], Json(document)).into_response()
}
