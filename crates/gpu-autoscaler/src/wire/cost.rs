//! The document of `GET /api/v1/cost`: what GPU time cost over a window, who carried it, and how much of it was used.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_cost::{Grain, Moment, Part, Span};
use gpu_model::ClusterId;
use gpu_store::error::ErrorClass;
use gpu_store::{CostLine as StoredLine, CostQuery, Dimension, Filter, Step, Store, StoreError, Sums};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostDocument {
    pub timestamp: Timestamp,
    pub cluster: String,
    pub from: Timestamp,
    pub to: Timestamp,
    /// The ledger is whole up to here; what lies after it is not in the sums yet. Absent where no ledger was begun.
    pub settled_until: Option<Timestamp>,
    /// The dimensions of each line's values.
    pub by: Vec<String>,
    /// Over everything that matches.
    pub total: CostSums,
    /// The dearest first, or in the order of time where steps were asked for. Cut to the limit; `found` counts all.
    pub lines: Vec<CostLine>,
    pub found: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostLine {
    /// The start of the step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<Timestamp>,
    /// One for each dimension of `by`. Null is what nobody carries, or what does not say.
    pub values: Vec<Option<String>>,
    #[serde(flatten)]
    pub sums: CostSums,
}

/// Money in dollars, times in hours of a whole GPU. `cost_usd` is the sum of `allocated_usd` and of the parts that no workload carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CostSums {
    pub cost_usd: f64,
    /// What workloads held. It is used, gap and unmeasured together.
    pub allocated_usd: f64,
    pub used_usd: f64,
    /// Held by workloads and known not to be used.
    pub gap_usd: f64,
    /// Held by workloads, and nobody measured whether it was used.
    pub unmeasured_usd: f64,
    /// Held by nobody, though somebody could have.
    pub idle_usd: f64,
    /// Held by the cluster itself, or withheld from scheduling.
    pub system_usd: f64,
    pub boot_usd: f64,
    pub drain_usd: f64,
    /// Nobody knows who held it.
    pub unknown_usd: f64,
    pub unused_commitment_usd: f64,
    /// The part of `cost_usd` that rests on an assumed share or price.
    pub estimated_usd: f64,
    pub gpu_hours: f64,
    pub allocated_gpu_hours: f64,
    pub used_gpu_hours: f64,
    /// The part of `gpu_hours` that has no price and is in no sum of money.
    pub unpriced_gpu_hours: f64,
}

/// What is asked. A window is `from` and `to`, or `last`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostQuestion {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// `90m`, `24h`, `7d`.
    pub last: Option<String>,
    /// Up to six dimensions, apart by commas.
    pub by: Option<String>,
    pub namespace: Option<String>,
    pub team: Option<String>,
    /// `5m`, `1h` or `1d`.
    pub step: Option<String>,
    pub limit: Option<usize>,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CostRefusal {
    #[error("{0}")]
    Question(String),
    #[error(transparent)]
    Store(StoreError),
}

/// A week, as people ask for it.
const USUAL_WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);
/// What people scroll.
const USUAL_LIMIT: usize = 500;
const MOST_LINES: usize = 20_000;
/// Rows are kept for seven days and hours for thirty. Edges that lie beyond are moved to where sums begin.
const ROWS_FOR_MS: i64 = 6 * 86_400_000;
const HOURS_FOR_MS: i64 = 29 * 86_400_000;

/// Answers from the ledger.
pub async fn cost_document(
    store: Arc<dyn Store>,
    cluster: &ClusterId,
    question: &CostQuestion,
    now: Timestamp,
) -> Result<CostDocument, CostRefusal> {
    let query = question.query(cluster, now).map_err(CostRefusal::Question)?;
    let settled_until = crate::ledger::settled_until(store.clone(), cluster.clone());
    let settled_until = settled_until.await.map_err(refused)?;
    let answer = store.cost(query.clone()).await.map_err(refused)?;
    let mut total = Adding::default();
    let mut lines: BTreeMap<(Option<Moment>, Vec<Option<String>>), Adding> = BTreeMap::new();
    for line in &answer.lines {
        total.add(line);
        lines.entry((line.at, line.values.clone())).or_default().add(line);
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    if query.step == Step::Whole {
        lines.sort_by(|a, b| b.1.cost.cmp(&a.1.cost).then_with(|| a.0.cmp(&b.0)));
    }
    let limit = question.limit.unwrap_or(USUAL_LIMIT).min(MOST_LINES);
    Ok(CostDocument {
        timestamp: now,
        cluster: cluster.to_string(),
        from: query.window.start.timestamp(),
        to: query.window.end.timestamp(),
        settled_until: settled_until.map(Moment::timestamp),
        by: query.group_by.iter().map(spoken).collect(),
        total: total.sums(),
        found: lines.len(),
        lines: lines
            .into_iter()
            .take(limit)
            .map(|((at, values), adding)| CostLine {
                at: at.map(Moment::timestamp),
                values,
                sums: adding.sums(),
            })
            .collect(),
    })
}

fn refused(error: StoreError) -> CostRefusal {
    match error.class() {
        // Its words say what to ask instead.
        ErrorClass::Refused => CostRefusal::Question(error.to_string()),
        ErrorClass::Again | ErrorClass::Broken => CostRefusal::Store(error),
    }
}

impl CostQuestion {
    fn query(&self, cluster: &ClusterId, now: Timestamp) -> Result<CostQuery, String> {
        let step = match self.step.as_deref() {
            None => Step::Whole,
            Some(text) => {
                let grain =
                    Grain::parse(text).ok_or_else(|| format!("`{text}` is no step: give 5m, 1h or 1d"))?;
                Step::Every(grain)
            }
        };
        let mut query = CostQuery::by(self.window(step, now)?, self.dimensions()?);
        query.cluster = Some(cluster.clone());
        query.step = step;
        let filters = [
            (Dimension::Namespace, &self.namespace),
            (Dimension::Team, &self.team),
        ];
        for (dimension, value) in filters {
            if let Some(value) = value {
                query.filters.push(Filter {
                    dimension,
                    values: vec![Some(value.clone())],
                });
            }
        }
        Ok(query)
    }

    fn dimensions(&self) -> Result<Vec<Dimension>, String> {
        let names = self.by.as_deref().unwrap_or("namespace").split(',');
        let mut dimensions = Vec::new();
        for name in names.map(str::trim).filter(|name| !name.is_empty()) {
            let dimension = match name {
                "workload" => Some(Dimension::Owner),
                name => Dimension::parse(name),
            };
            dimensions.push(dimension.ok_or_else(|| {
                let known: Vec<String> = Dimension::FIXED.iter().map(spoken).collect();
                format!(
                    "`{name}` is nothing to ask by: give some of {}, label:KEY",
                    known.join(", ")
                )
            })?);
        }
        Ok(dimensions)
    }

    fn window(&self, step: Step, now: Timestamp) -> Result<Span, String> {
        let now = Moment::from(now);
        let window = match (self.from, self.to, self.last.as_deref()) {
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                return Err("give `last`, or `from` and `to`, not both".to_owned());
            }
            (Some(from), to, None) => {
                return Ok(Span::new(Moment::from(from), to.map_or(now, Moment::from)));
            }
            (None, Some(_), None) => return Err("`to` needs a `from`".to_owned()),
            (None, None, last) => {
                let last = last.map_or(Ok(USUAL_WINDOW), duration)?;
                let length = i64::try_from(last.as_millis()).map_err(|_| "`last` is too long".to_owned())?;
                Span::new(now.plus(-length), now)
            }
        };
        let age = window.milliseconds();
        let kept = match age {
            age if age <= ROWS_FOR_MS => None,
            age if age <= HOURS_FOR_MS => Some(Grain::Hour),
            _ => Some(Grain::Day),
        };
        let step = match step {
            Step::Whole => None,
            Step::Every(grain) => Some(grain),
        };
        let start = match kept.max(step) {
            Some(grain) => grain.bucket(window.start).start,
            None => window.start,
        };
        // The step that has begun is shown as far as it is settled.
        let end = step.map_or(window.end, |grain| grain.bucket(window.end).end);
        Ok(Span::new(start, end))
    }
}

/// `90m`, `24h`, `7d`, `2w`.
pub fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("`{text}` is no time: give 90m, 24h or 7d");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    let hours = match &text[digits.len()..] {
        "m" => return Ok(SignedDuration::from_mins(number.clamp(1, MOST_MINUTES))),
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return Err(wrong()),
    };
    let hours = number
        .checked_mul(hours)
        .filter(|hours| (1..=MOST_MINUTES / 60).contains(hours));
    Ok(SignedDuration::from_hours(hours.ok_or_else(wrong)?))
}

/// Ten years: longer than anything is kept.
const MOST_MINUTES: i64 = 3660 * 24 * 60;

/// The name by which people ask.
fn spoken(dimension: &Dimension) -> String {
    match dimension {
        Dimension::Owner => "workload".to_owned(),
        other => other.name().into_owned(),
    }
}

/// Whole units until the end; dollars are made once.
#[derive(Debug, Default)]
struct Adding {
    cost: i64,
    estimated: i64,
    parts: BTreeMap<Part, Sums>,
}

impl Adding {
    fn add(&mut self, line: &StoredLine) {
        self.cost = self.cost.saturating_add(line.sums.allocated);
        self.estimated = self.estimated.saturating_add(line.sums.estimated);
        let sums = self.parts.entry(line.part).or_default();
        if sums.add(&line.sums).is_none() {
            // Nine billion dollars: the store refuses such sums before they come here.
            *sums = Sums::default();
        }
    }

    fn sums(&self) -> CostSums {
        let none = Sums::default();
        let of = |part: Part| self.parts.get(&part).unwrap_or(&none);
        let money = |part: Part| usd(of(part).allocated);
        let over_all = |pick: fn(&Sums) -> i64| self.parts.values().map(pick).sum::<i64>();
        let pods = of(Part::Pod);
        CostSums {
            cost_usd: usd(self.cost),
            allocated_usd: usd(pods.allocated),
            used_usd: usd(pods.used),
            gap_usd: usd(pods.unused),
            unmeasured_usd: usd(pods.unmeasured),
            idle_usd: money(Part::Idle),
            system_usd: money(Part::System),
            boot_usd: money(Part::Boot),
            drain_usd: money(Part::Drain),
            unknown_usd: money(Part::Unknown),
            unused_commitment_usd: money(Part::UnusedCommitment),
            estimated_usd: usd(self.estimated),
            gpu_hours: hours(over_all(|sums| sums.held_ms)),
            allocated_gpu_hours: hours(pods.held_ms),
            used_gpu_hours: hours(pods.used_ms),
            unpriced_gpu_hours: hours(over_all(|sums| sums.unpriced_ms)),
        }
    }
}

/// Billionths for people. A float is fine here: nothing is computed with it.
fn usd(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

fn hours(milliseconds: i64) -> f64 {
    milliseconds as f64 / 3.6e6
}

#[cfg(test)]
mod tests {
    use super::{CostQuestion, duration};
    use gpu_cost::Moment;
    use gpu_model::ClusterId;
    use jiff::Timestamp;

    fn check(question: CostQuestion, expected: &str) {
        let now: Timestamp = "2026-11-16T10:17:30Z".parse().expect("a time");
        let cluster = ClusterId::new("test").expect("an id");
        let said = match question.query(&cluster, now) {
            Ok(query) => {
                let by: Vec<_> = query.group_by.iter().map(|by| by.name().into_owned()).collect();
                format!(
                    "{} to {} by {}",
                    query.window.start,
                    query.window.end,
                    by.join(" ")
                )
            }
            Err(words) => words,
        };
        assert_eq!(said, expected);
    }

    fn asked(last: &str, by: &str, step: Option<&str>) -> CostQuestion {
        CostQuestion {
            last: Some(last.to_owned()),
            by: Some(by.to_owned()),
            step: step.map(str::to_owned),
            ..CostQuestion::default()
        }
    }

    #[test]
    fn windows_begin_where_sums_are_still_kept() {
        check(
            asked("24h", "workload,node", None),
            "2026-11-15T10:17:30Z to 2026-11-16T10:17:30Z by owner node",
        );
        check(
            asked("7d", "team", None),
            "2026-11-09T10:00:00Z to 2026-11-16T10:17:30Z by team",
        );
        check(
            asked("90d", "team", None),
            "2026-08-18T00:00:00Z to 2026-11-16T10:17:30Z by team",
        );
        check(
            asked("24h", "team", Some("1h")),
            "2026-11-15T10:00:00Z to 2026-11-16T11:00:00Z by team",
        );
    }

    #[test]
    fn wrong_questions_are_told_what_is_right() {
        check(asked("7", "team", None), "`7` is no time: give 90m, 24h or 7d");
        check(
            asked("7d", "team", Some("2h")),
            "`2h` is no step: give 5m, 1h or 1d",
        );
        let mut both = asked("7d", "team", None);
        both.from = Some(Moment(0).timestamp());
        check(both, "give `last`, or `from` and `to`, not both");
        let words =
            asked("7d", "tea", None).query(&ClusterId::new("test").expect("an id"), Moment(0).timestamp());
        assert!(words.is_err_and(|words| {
            words.contains("`tea` is nothing to ask by: give some of cluster, namespace")
        }));
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, minutes) in [
            ("90m", Some(90)),
            ("24h", Some(1440)),
            ("7d", Some(10_080)),
            ("1w", Some(10_080)),
            ("-1d", None),
            ("d", None),
            ("", None),
        ] {
            assert_eq!(duration(text).ok().map(|time| time.as_mins()), minutes, "{text}");
        }
    }
}
