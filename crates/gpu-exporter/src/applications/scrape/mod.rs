//! Pages that pods serve, asked for only where an operator said so. Each pod that holds a GPU has one page, asked for once an
//! interval, at a time of its own; a few at a time, and what does not answer costs nobody else.

mod get;
#[cfg(feature = "kubernetes-labels")]
mod pods;
mod target;

pub use get::ScrapeProblem;
#[cfg(feature = "kubernetes-labels")]
pub use pods::AnnotatedPods;
pub use target::{Host, ScrapeRule, Target};

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_model::{Namespace, PodName};
use gpu_runtime::Shutdown;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::{Applications, Content, HoldingPods, Owner, PageStatus, Part, Sheet, SourceState, Way};
use crate::snapshot::NodeSnapshot;

/// Pages that are asked for at the same time.
const MOST_AT_ONCE: usize = 4;
/// Pods that come and pages that are due are noticed within this time.
const LOOK: Duration = Duration::from_millis(500);
/// After so many intervals without an answer a page is too old to be shown.
const STALE_AFTER: u32 = 3;
/// The most pods whose pages are asked for; a node has far fewer GPUs to hold.
const MOST_PODS: usize = 512;

/// Who knows where pods' pages are besides the rules.
pub trait Finder: Send + Sync {
    fn target(&self, namespace: &Namespace, pod: &PodName) -> Option<Target>;
    /// Why it does not know, and what to do.
    fn problem(&self) -> Option<Arc<str>>;
}

/// Gives the newest snapshot.
pub type Newest = Arc<dyn Fn() -> Arc<NodeSnapshot> + Send + Sync>;

/// What the scraping needs to know.
#[derive(Clone)]
pub struct Scraper {
    pub rules: Vec<ScrapeRule>,
    /// For pods without a rule.
    pub finder: Option<Arc<dyn Finder>>,
    pub interval: Duration,
    pub applications: Arc<Applications>,
    pub newest: Newest,
}

type Key = (Namespace, PodName);
type Answer = (Key, Timestamp, Result<Content, ScrapeProblem>);

/// A pod whose page is asked for.
struct Tracked {
    target: Target,
    due: Instant,
    is_asked: bool,
    /// What the last question came to.
    is_well: Option<bool>,
    sheet: Option<Sheet>,
}

#[derive(Default)]
struct Round {
    pods: BTreeMap<Key, Tracked>,
    asked: JoinSet<Answer>,
    source: SourceState,
}

impl Scraper {
    /// Runs until the program stops.
    pub async fn run(&self, shutdown: &Shutdown) {
        let mut round = Round::default();
        self.publish(&round);
        loop {
            tokio::select! {
                () = shutdown.triggered() => return,
                Some(answer) = round.asked.join_next() => {
                    round.take(answer.ok(), self.interval);
                    self.publish(&round);
                }
                () = tokio::time::sleep(LOOK.min(self.interval)) => {}
            }
            if self.refresh(&mut round) {
                self.publish(&round);
            }
            self.ask(&mut round);
        }
    }

    fn target(&self, namespace: &Namespace, pod: &PodName) -> Option<Target> {
        let by_rule = self.rules.iter().find_map(|rule| rule.target(namespace, pod));
        by_rule.or_else(|| self.finder.as_ref()?.target(namespace, pod))
    }

    /// Follows which pods hold GPUs and where their pages are; says whether something is to be shown otherwise.
    fn refresh(&self, round: &mut Round) -> bool {
        let holding = HoldingPods::of(&(self.newest)());
        let problem = self.finder.as_ref().and_then(|finder| finder.problem());
        let is_changed = problem != round.source.problem;
        round.source.problem = problem;
        let mut gone = std::mem::take(&mut round.pods);
        for key in holding.iter().take(MOST_PODS) {
            let Some(target) = self.target(&key.0, &key.1) else {
                continue;
            };
            let tracked = match gone.remove(key) {
                Some(tracked) if tracked.target == target => tracked,
                _ => Tracked {
                    due: Instant::now() + offset(key, self.interval),
                    target,
                    is_asked: false,
                    is_well: None,
                    sheet: None,
                },
            };
            round.pods.insert(key.clone(), tracked);
        }
        is_changed || !gone.is_empty()
    }

    fn ask(&self, round: &mut Round) {
        let now = Instant::now();
        for (key, tracked) in &mut round.pods {
            if round.asked.len() >= MOST_AT_ONCE {
                return;
            }
            if tracked.is_asked || tracked.due > now {
                continue;
            }
            tracked.is_asked = true;
            tracked.due = now + self.interval;
            let (key, target, rules) = (key.clone(), tracked.target.clone(), self.applications.rules());
            round.asked.spawn(async move {
                let content = get::get(&target, &rules).await;
                (key, Timestamp::now(), content)
            });
        }
    }

    fn publish(&self, round: &Round) {
        let mut part = Part {
            source: round.source.clone(),
            ..Part::default()
        };
        for (key, tracked) in &round.pods {
            let Some(is_well) = tracked.is_well else {
                continue;
            };
            let sheet = tracked.sheet.as_ref();
            part.pages.push(PageStatus {
                owner: owner(key),
                way: Way::Scrape,
                up: is_well,
                at: sheet.map(|sheet| earlier(sheet.valid_until, self.interval * STALE_AFTER)),
                valid_until: sheet.map_or(Timestamp::MAX, |sheet| sheet.valid_until),
            });
            part.sheets.extend(sheet.cloned());
        }
        self.applications.put(Way::Scrape, part);
    }
}

impl Round {
    /// Notes an answer; none is a question that ended in a way that it must not.
    fn take(&mut self, answer: Option<Answer>, interval: Duration) {
        let Some((key, at, content)) = answer else {
            self.count("panic");
            self.pods
                .values_mut()
                .for_each(|tracked| tracked.is_asked = false);
            return;
        };
        if let Err(problem) = &content {
            self.count(problem.class());
        } else {
            self.source.succeeded_at = Some(Instant::now());
        }
        let Some(tracked) = self.pods.get_mut(&key) else {
            return;
        };
        tracked.is_asked = false;
        let was_well = tracked.is_well.replace(content.is_ok());
        let (namespace, pod) = &key;
        match content {
            Ok(content) => {
                if was_well == Some(false) {
                    info!(%namespace, %pod, "the pod's page is there again");
                }
                tracked.sheet = Some(Sheet {
                    owner: owner(&key),
                    way: Way::Scrape,
                    name: String::new(),
                    valid_until: at
                        .saturating_add(interval * STALE_AFTER)
                        .unwrap_or(Timestamp::MAX),
                    content: Arc::new(content),
                });
            }
            // What was read before stays until it is too old: one question that got lost makes no gap.
            Err(problem) if was_well != Some(false) => {
                warn!(%namespace, %pod, %problem, "cannot take the pod's page");
            }
            Err(_) => {}
        }
    }

    fn count(&mut self, class: &'static str) {
        *self.source.errors.entry(class).or_default() += 1;
    }
}

fn owner((namespace, pod): &Key) -> Owner {
    Owner::Pod {
        namespace: namespace.clone(),
        pod: pod.clone(),
        container: None,
    }
}

/// Where in the interval a pod's turn is, so that they do not all come at once: the same after a restart.
fn offset(key: &Key, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let permille = u32::try_from(hasher.finish() % 1_000).unwrap_or_default();
    interval * permille / 1_000
}

fn earlier(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
