//! All that a round tells about one pod or one node, in words: the answer to "why", and to "why not". Pure.

use std::fmt::Write as _;

use gpu_model::{FleetView, GpuPod, GpuView, NodeView, Owner, PartView, PodKey, Reading, Source};
use gpu_waste::{Finding, Subject};
use jiff::Timestamp;

use crate::pages::Round;
use crate::wire::decisions::{DecisionLine, Explanation, Fact};
use crate::wire::waste::{FindingLine, age, percent, usd};

/// What to explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    Pod { namespace: String, name: String },
    Node { name: String },
}

impl Question {
    /// Reads `pod/NAMESPACE/NAME` or `node/NAME`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            ["pod", namespace, name] if !namespace.is_empty() && !name.is_empty() => Some(Self::Pod {
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
            }),
            ["node", name] if !name.is_empty() => Some(Self::Node {
                name: (*name).to_owned(),
            }),
            _ => None,
        }
    }

    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Pod { namespace, name } => format!("pod/{namespace}/{name}"),
            Self::Node { name } => format!("node/{name}"),
        }
    }
}

/// The answer, or nothing where the round has never heard of it and no decision was ever made about it.
pub(crate) fn explain(
    round: &Round,
    question: &Question,
    decisions: Vec<DecisionLine>,
    now: Timestamp,
) -> Option<Explanation> {
    let facts = match question {
        Question::Pod { namespace, name } => pod_facts(round, namespace, name, now),
        Question::Node { name } => node_facts(round, name, now),
    };
    if facts.is_empty() && decisions.is_empty() {
        return None;
    }
    let about = |finding: &&Finding| is_about(finding, question);
    let findings: Vec<FindingLine> = round
        .report
        .findings
        .iter()
        .filter(about)
        .map(|finding| FindingLine::new(finding, now))
        .collect();
    let without_finding = if findings.is_empty() {
        reasons(round, question, now)
    } else {
        Vec::new()
    };
    Some(Explanation {
        timestamp: round.report.at,
        source: (round.view.source == Source::Simulated).then(|| "sim".to_owned()),
        subject: question.subject(),
        facts,
        findings,
        without_finding,
        decisions,
    })
}

fn is_about(finding: &Finding, question: &Question) -> bool {
    match (question, &finding.subject) {
        (Question::Pod { namespace, name }, Subject::Pod { pod, .. }) => {
            pod.namespace.as_str() == namespace && pod.name.as_str() == name
        }
        (Question::Node { name }, Subject::Node { name: node }) => node.as_str() == name,
        (Question::Node { name }, Subject::Gpu { node, .. }) => node.as_str() == name,
        (Question::Node { name }, Subject::Pod { .. }) => {
            finding.node.as_ref().is_some_and(|node| node.as_str() == name)
        }
        (Question::Pod { .. }, Subject::Gpu { .. } | Subject::Node { .. }) => false,
    }
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.into(),
    }
}

fn known_pod<'a>(round: &'a Round, namespace: &str, name: &str) -> Option<&'a GpuPod> {
    let picture = round.picture.as_ref()?;
    let mut pods = picture.gpu_pods.iter();
    let is_it = |key: &PodKey| key.namespace.as_str() == namespace && key.name.as_str() == name;
    pods.find(|(key, _)| is_it(key)).map(|(_, pod)| pod.as_ref())
}

/// The parts a pod holds, with their GPU and node.
fn held<'a>(
    view: &'a FleetView,
    namespace: &'a str,
    name: &'a str,
) -> impl Iterator<Item = (&'a NodeView, &'a GpuView, &'a PartView)> {
    let is_its = move |owner: &Owner| {
        owner.pod.reference.namespace.as_str() == namespace && owner.pod.reference.name.as_str() == name
    };
    view.nodes.iter().flat_map(move |node| {
        node.gpus.iter().flat_map(move |gpu| {
            gpu.parts
                .iter()
                .filter(move |part| part.owner.as_ref().is_some_and(is_its))
                .map(move |part| (node, gpu, part))
        })
    })
}

fn pod_facts(round: &Round, namespace: &str, name: &str, now: Timestamp) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(pod) = known_pod(round, namespace, name) {
        let requests: Vec<String> = pod
            .requests
            .iter()
            .map(|request| format!("{} {} for {}", request.count, request.resource, request.container))
            .collect();
        facts.push(fact("asks for", requests.join(", ")));
        if let Some(workload) = &pod.workload {
            let replicas = workload
                .replicas
                .map_or_else(String::new, |count| format!(", {count} replicas"));
            facts.push(fact(
                "made by",
                format!("{}/{}{replicas}", workload.kind, workload.name),
            ));
        }
        facts.push(fact("phase", pod_phase(pod)));
        if let Some(until) = pod.settings.exempt_until {
            facts.push(fact("exempt until", until.to_string()));
        }
        for problem in &pod.settings.problems {
            facts.push(fact("annotation", problem.clone()));
        }
    }
    for (node, gpu, part) in held(&round.view, namespace, name) {
        if let (Some(pod), true) = (&part.owner, facts.is_empty())
            && let Some(owner) = pod.pod.workload()
        {
            facts.push(fact("made by", format!("{}/{}", owner.kind, owner.name)));
        }
        facts.push(fact("holds", part_words(node, gpu, part)));
    }
    if !facts.is_empty()
        && let Some(at) = round.data_at
    {
        facts.push(fact("measured", format!("{:.0} s ago", age(at, now))));
    }
    facts
}

fn pod_phase(pod: &GpuPod) -> String {
    let mut text = pod.pod.phase.as_str().to_owned();
    if let Some(node) = &pod.node {
        let _ = write!(text, " on {node}");
    }
    if let Some(reason) = &pod.waiting_reason {
        let _ = write!(text, ", {reason}");
    }
    if pod.is_terminating {
        text.push_str(", ending");
    }
    if pod.restarts > 0 {
        let _ = write!(text, ", {} restarts", pod.restarts);
    }
    text
}

fn part_words(node: &NodeView, gpu: &GpuView, part: &PartView) -> String {
    let mut text = format!(
        "{} {} of {} on {} ({})",
        part.partition, gpu.device.index, gpu.device.model, node.node.name, gpu.device.uuid
    );
    let _ = write!(
        text,
        ": utilisation {}",
        reading(part.usage.utilization, |share| format!("{} %", percent(share)))
    );
    let _ = write!(
        text,
        ", memory {}",
        reading(part.usage.memory_used, |bytes| format!(
            "{} MiB",
            bytes.whole_mib()
        ))
    );
    let _ = write!(
        text,
        ", processes {}",
        reading(part.usage.processes, |count| count.to_string())
    );
    let _ = write!(
        text,
        ", board {}",
        reading(gpu.sample.power, |power| format!("{} W", power.0 / 1000))
    );
    text
}

fn reading<T: Copy>(reading: Reading<T>, words: impl Fn(T) -> String) -> String {
    match reading {
        Reading::Known(value) => words(value),
        Reading::Unsupported => "not offered".to_owned(),
        Reading::Failed => "not read".to_owned(),
    }
}

fn node_facts(round: &Round, name: &str, now: Timestamp) -> Vec<Fact> {
    let mut facts = Vec::new();
    let Some(view) = round
        .view
        .nodes
        .iter()
        .find(|view| view.node.name.as_str() == name)
    else {
        return facts;
    };
    let node = &view.node;
    let machine = node.instance_type.as_deref().unwrap_or("no machine type");
    let place = node
        .zone
        .as_deref()
        .or(node.region.as_deref())
        .unwrap_or("no zone");
    facts.push(fact(
        "machine",
        format!(
            "{machine}, {}, {place}, {}",
            node.cloud.as_str(),
            node.capacity_type.as_str()
        ),
    ));
    if let Some(rate) = round.rates.get(&node.name) {
        let hour = rate
            .per_gpu_hour
            .map_or_else(|| "not known".to_owned(), |rate| format!("${:.2}", usd(rate)));
        facts.push(fact("GPU-hour", format!("{hour}; {}", rate.note)));
    }
    for gpu in &view.gpus {
        for part in &gpu.parts {
            let holder = part.owner.as_ref().map_or_else(
                || "free".to_owned(),
                |owner| format!("held by {}", owner.pod.reference),
            );
            facts.push(fact("GPU", format!("{}; {holder}", part_words(view, gpu, part))));
        }
    }
    if view.gpus.is_empty() {
        facts.push(fact("GPUs", "none reported: no exporter of this node answers"));
    }
    if let Some(at) = round.data_at {
        facts.push(fact("measured", format!("{:.0} s ago", age(at, now))));
    }
    facts
}

/// Why there is no finding.
fn reasons(round: &Round, question: &Question, now: Timestamp) -> Vec<String> {
    let mut reasons = Vec::new();
    for (name, problem) in &round.problems {
        reasons.push(format!("Not judged by all signals: {name}: {problem}"));
    }
    if let Question::Pod { namespace, name } = question {
        if let Some(pod) = known_pod(round, namespace, name) {
            if pod.settings.is_opted_out {
                reasons.push("Not judged: the pod or its namespace opted out.".to_owned());
            }
            if pod.settings.exempt_until.is_some_and(|until| until > now) {
                reasons.push("Not judged: the pod is exempt for now.".to_owned());
            }
        }
        if held(&round.view, namespace, name).next().is_none() {
            reasons.push("Not judged: no exporter names this pod as the holder of a GPU.".to_owned());
        }
    }
    if reasons.is_empty() {
        reasons.push("No waste: no rule found the signals of the window to agree on any.".to_owned());
    }
    reasons
}
