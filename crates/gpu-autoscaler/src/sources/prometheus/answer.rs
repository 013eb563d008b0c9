//! An answer of the query API as it arrives: its series go to `each`, its status and its warnings come out at the end.

use gpu_model::TargetFailure;
use gpu_runtime::Chain;
use gpu_runtime::http::client::{Chunks, FetchError, Limits, StatusCode};
use serde::Deserialize;

use super::super::cut;
use super::PrometheusSource;
use super::query::Question;
use super::series::Series;
use super::splitter::Splitter;

/// More are more of the same.
const MOST_WARNINGS: usize = 5;

/// What stands around the series.
#[derive(Debug, Deserialize)]
struct Frame {
    status: String,
    #[serde(default, rename = "errorType")]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    infos: Vec<String>,
    /// VictoriaMetrics says so where storage nodes did not answer.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
}

/// What was said about the answer.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) warnings: Vec<String>,
    /// Series that could not be read.
    pub(super) skipped: u64,
}

/// Asks, and hands every series to `each`.
pub(super) async fn ask(
    source: &PrometheusSource,
    question: &Question,
    mut each: impl FnMut(&Series<'_>),
) -> Result<Said, TargetFailure> {
    let settings = &source.settings;
    let limits = Limits {
        timeout: settings.timeout,
        stall_time: settings.timeout,
        max_bytes: settings.max_bytes,
    };
    let fetch = async |request| {
        source
            .client
            .stream(request, limits)
            .await
            .map_err(|error| failure(&error))
    };
    let mut chunks = fetch(question.post(&settings.url)).await?;
    if chunks.status == StatusCode::METHOD_NOT_ALLOWED {
        chunks = fetch(question.get(&settings.url)).await?;
    }
    let status = chunks.status;
    let mut said = Said::default();
    match read(&mut chunks, &mut said, &mut each).await {
        Ok(frame) => judge(frame, said),
        // What is no answer of the API comes from something in front of it, whose status says more.
        Err(Unread::Malformed(_)) if !status.is_success() => Err(chunks
            .success()
            .map_or_else(|error| failure(&error), |_| malformed("no answer"))),
        Err(Unread::Malformed(failure) | Unread::Fetch(failure)) => Err(failure),
    }
}

enum Unread {
    Fetch(TargetFailure),
    Malformed(TargetFailure),
}

async fn read(
    chunks: &mut Chunks,
    said: &mut Said,
    each: &mut impl FnMut(&Series<'_>),
) -> Result<Frame, Unread> {
    let mut splitter = Splitter::default();
    while let Some(piece) = chunks
        .next()
        .await
        .map_err(|error| Unread::Fetch(failure(&error)))?
    {
        let fed = splitter.feed(&piece, |bytes| {
            match serde_json::from_slice::<Series<'_>>(bytes) {
                Ok(series) => each(&series),
                Err(_) => said.skipped += 1,
            }
        });
        fed.map_err(|error| Unread::Malformed(malformed(&error.to_string())))?;
    }
    let frame = splitter.finish();
    let frame = frame.map_err(|error| Unread::Malformed(malformed(&error.to_string())))?;
    serde_json::from_slice(&frame).map_err(|error| Unread::Malformed(malformed(&error.to_string())))
}

fn judge(frame: Frame, mut said: Said) -> Result<Said, TargetFailure> {
    if frame.status != "success" {
        let class = if frame.error_type == "timeout" {
            "timeout"
        } else {
            "status"
        };
        let message = format!("the query failed ({}): {}", frame.error_type, frame.error);
        return Err(TargetFailure {
            class,
            message: cut(&message),
        });
    }
    let partial = frame.is_partial.then(|| "the answer is partial".to_owned());
    let warnings = partial.into_iter().chain(frame.warnings).chain(frame.infos);
    said.warnings = warnings
        .take(MOST_WARNINGS)
        .map(|warning| cut(&warning))
        .collect();
    Ok(said)
}

fn malformed(message: &str) -> TargetFailure {
    TargetFailure {
        class: "malformed",
        message: cut(message),
    }
}

fn failure(error: &FetchError) -> TargetFailure {
    TargetFailure {
        class: error.class(),
        message: cut(&Chain(error).to_string()),
    }
}
