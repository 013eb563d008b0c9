//! Asking for less: fewer GPUs, a slice that exists on that GPU, a share of one, or a smaller model.

use gpu_model::GpuModel;

use crate::fix::target::{Target, quoted, target, yaml};
use crate::group::Group;
use crate::holders::Holder;
use crate::sizes::{self, Smaller, Way};
use crate::{Fix, FixKind};

pub(crate) fn fewer_gpus(group: &Group<'_>) -> Option<Fix> {
    let holder = group.holder?;
    let resource = group.first().part.resource.as_str();
    let idle = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
    // What the container asked for, where the cluster tells it: a pod may have several that ask.
    let asked = holder
        .listed
        .and_then(|listed| {
            listed
                .requests
                .iter()
                .find(|request| request.container == holder.container)
        })
        .map_or(holder.parts, |request| request.count);
    let left = asked.saturating_sub(idle).max(1);
    let limits = [(resource, Some(left))];
    Some(change(
        holder,
        FixKind::FewerGpus,
        &format!("Ask for {left} instead of {asked} of {resource}"),
        &limits,
        &[],
        &[],
    ))
}

/// A slice or a share of the same GPU, or a smaller GPU where there is neither.
pub(crate) fn smaller(group: &Group<'_>) -> Option<Fix> {
    let holder = group.holder?;
    let first = group.first();
    let memory = group.peak_memory_mib();
    let effort = group.peak_effort_permille().unwrap_or(1000);
    let Some(Smaller { way, .. }) = sizes::smaller_part(first.gpu, first.part, memory, effort) else {
        return model(group, holder, memory, effort);
    };
    let held = first.part.resource.as_str();
    let model = &first.gpu.device.model;
    Some(match way {
        Way::Slice(profile) => {
            let slice = format!("nvidia.com/mig-{}", profile.name);
            change(
                holder,
                FixKind::MigSlice,
                &format!(
                    "Ask for one {slice} instead of {held}. It peaked at {memory} MiB, and a {} slice of {model} holds that; the node has to offer it",
                    profile.name
                ),
                &[(held, None), (slice.as_str(), Some(1))],
                &[
                    ("gpu-autoscaler.io/sharing", "enabled"),
                    ("gpu-autoscaler.io/sharing-mode", "mig"),
                    ("gpu-autoscaler.io/mig-profile", profile.name),
                ],
                &[],
            )
        }
        Way::Replica(of) => change(
            holder,
            FixKind::Share,
            &format!(
                "Share the GPU: {of} such workloads fit on one {model}. Ask for one nvidia.com/gpu.shared on a node that offers {of} by time-slicing or MPS, and keep those apart that must not see each other's faults"
            ),
            &[(held, None), ("nvidia.com/gpu.shared", Some(1))],
            &[
                ("gpu-autoscaler.io/sharing", "enabled"),
                ("gpu-autoscaler.io/sharing-mode", "time-slicing"),
            ],
            &[],
        ),
    })
}

/// Another model of GPU, chosen by the label that NVIDIA's discovery puts on nodes.
fn model(group: &Group<'_>, holder: &Holder<'_>, memory: u32, effort: u16) -> Option<Fix> {
    let first = group.first();
    let held = GpuModel::find(&first.gpu.device.model)?;
    let other = sizes::smaller_model(held, memory, effort)?;
    Some(onto(holder, held, other, memory))
}

pub(crate) fn less_memory(group: &Group<'_>) -> Option<Fix> {
    let holder = group.holder?;
    let held = GpuModel::find(&group.first().gpu.device.model)?;
    let memory = group.peak_memory_mib();
    let other = sizes::less_memory(held, memory)?;
    Some(onto(holder, held, other, memory))
}

fn onto(holder: &Holder<'_>, held: &GpuModel, other: &GpuModel, memory: u32) -> Fix {
    let product = other.name.replace(' ', "-");
    change(
        holder,
        FixKind::SmallerModel,
        &format!(
            "Run it on {} instead of {}: it peaked at {memory} MiB and that one has {} MiB",
            other.name,
            held.name,
            other.memory.whole_mib()
        ),
        &[],
        &[],
        &[("nvidia.com/gpu.product", &product)],
    )
}

/// A change to the pod template of whatever made the pod; `None` takes a limit away.
fn change(
    holder: &Holder<'_>,
    kind: FixKind,
    text: &str,
    limits: &[(&str, Option<u32>)],
    annotations: &[(&str, &str)],
    selector: &[(&str, &str)],
) -> Fix {
    let container = holder.container.as_str();
    let template = template(container, limits, annotations, selector);
    let name = holder
        .workload
        .as_ref()
        .map_or("", |workload| workload.name.as_str());
    let namespace = quoted(holder.pod.reference.namespace.as_str());
    match target(holder) {
        Target::Replicated {
            resource,
            kind: object,
        } => Fix {
            kind,
            text: format!("{text}. Its pods are replaced one by one."),
            commands: vec![format!(
                "kubectl -n {namespace} patch {resource} {} --type strategic --patch-file fix.yaml",
                quoted(name)
            )],
            manifest: Some(format!(
                "apiVersion: apps/v1\nkind: {object}\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  template:\n{}",
                yaml(name),
                yaml(holder.pod.reference.namespace.as_str()),
                indented(&template, 4)
            )),
            saves: None,
        },
        Target::Workflow => Fix {
            kind: FixKind::NextRun,
            text: format!(
                "For the next run of workflow {name}: {}. Put it into the template of the step.",
                lower(text)
            ),
            commands: Vec::new(),
            manifest: Some(step(limits, annotations, selector)),
            saves: None,
        },
        Target::Job | Target::TrainingJob(_) => Fix {
            kind: FixKind::NextRun,
            text: format!(
                "For the next run: {}. The template of a job that runs cannot be changed.",
                lower(text)
            ),
            commands: Vec::new(),
            manifest: Some(template),
            saves: None,
        },
        Target::Notebook => Fix {
            kind,
            text: format!("{text}. The notebook restarts: save first."),
            commands: Vec::new(),
            manifest: Some(format!("spec:\n  template:\n{}", indented(&template, 4))),
            saves: None,
        },
        Target::InferenceService | Target::BarePod | Target::Other => Fix {
            kind,
            text: format!("{text}, in the template of its pods."),
            commands: Vec::new(),
            manifest: Some(template),
            saves: None,
        },
    }
}

/// Metadata and spec of a pod template.
fn template(
    container: &str,
    limits: &[(&str, Option<u32>)],
    annotations: &[(&str, &str)],
    selector: &[(&str, &str)],
) -> String {
    let mut text = String::new();
    if !annotations.is_empty() {
        text.push_str("metadata:\n  annotations:\n");
        text.push_str(&pairs(annotations, 4));
    }
    text.push_str("spec:\n");
    if !selector.is_empty() {
        text.push_str("  nodeSelector:\n");
        text.push_str(&pairs(selector, 4));
    }
    if !limits.is_empty() {
        text.push_str(&format!(
            "  containers:\n    - name: {}\n      resources:\n        limits:\n",
            yaml(container)
        ));
        text.push_str(&amounts(limits, 10));
        text.push_str("        requests:\n");
        text.push_str(&amounts(limits, 10));
    }
    text
}

/// The same for a template of Argo Workflows, whose container has no list around it.
fn step(limits: &[(&str, Option<u32>)], annotations: &[(&str, &str)], selector: &[(&str, &str)]) -> String {
    let mut text = String::new();
    if !annotations.is_empty() {
        text.push_str("metadata:\n  annotations:\n");
        text.push_str(&pairs(annotations, 4));
    }
    if !selector.is_empty() {
        text.push_str("nodeSelector:\n");
        text.push_str(&pairs(selector, 2));
    }
    let asked: Vec<(&str, Option<u32>)> = limits
        .iter()
        .filter(|(_, count)| count.is_some())
        .copied()
        .collect();
    if !asked.is_empty() {
        text.push_str("container:\n  resources:\n    limits:\n");
        text.push_str(&amounts(&asked, 6));
    }
    text
}

fn amounts(limits: &[(&str, Option<u32>)], indent: usize) -> String {
    let space = " ".repeat(indent);
    let lines = limits.iter().map(|(resource, count)| {
        let count = count.map_or_else(|| "null".to_owned(), |count| count.to_string());
        format!("{space}{}: {count}\n", yaml(resource))
    });
    lines.collect()
}

fn pairs(pairs: &[(&str, &str)], indent: usize) -> String {
    let space = " ".repeat(indent);
    let lines = pairs
        .iter()
        .map(|(key, value)| format!("{space}{}: {}\n", yaml(key), yaml(value)));
    lines.collect()
}

fn indented(text: &str, by: usize) -> String {
    let space = " ".repeat(by);
    text.lines().map(|line| format!("{space}{line}\n")).collect()
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}
