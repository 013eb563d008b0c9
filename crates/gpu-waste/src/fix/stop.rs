//! Giving back what is not used: scale down, suspend, stop, delete, or ask for nothing in the next run.

use crate::Cause;
use crate::Fix;
use crate::FixKind;
use crate::fix::target::{Target, quoted, target, yaml};
use crate::group::Group;
use crate::holders::{Holder, Holders};

pub(crate) fn stop(group: &Group<'_>, holders: &Holders<'_>) -> Option<Fix> {
    let holder = group.holder?;
    let namespace = quoted(holder.pod.reference.namespace.as_str());
    let name = holder
        .workload
        .as_ref()
        .map_or("", |workload| workload.name.as_str());
    let fix = match target(holder) {
        Target::Replicated { resource, kind } => scale(group, holders, holder, resource, kind),
        Target::Job => suspend_job(&namespace, name),
        Target::TrainingJob(resource) => Fix {
            kind: FixKind::ScaleToZero,
            text: format!(
                "Suspend {resource} {name}. Its pods end and the job can be resumed from its last checkpoint."
            ),
            commands: vec![format!(
                "kubectl -n {namespace} patch {resource} {} --type merge -p '{{\"spec\":{{\"runPolicy\":{{\"suspend\":true}}}}}}'",
                quoted(name)
            )],
            manifest: Some("spec:\n  runPolicy:\n    suspend: true\n".to_owned()),
            saves: None,
        },
        Target::Notebook => Fix {
            kind: FixKind::ScaleToZero,
            text: format!(
                "Stop notebook {name}. Its volume stays, and its owner can start it again from the notebook page."
            ),
            commands: vec![format!(
                "kubectl -n {namespace} annotate notebook {} kubeflow-resource-stopped=by-hand --overwrite",
                quoted(name)
            )],
            manifest: Some(
                "metadata:\n  annotations:\n    kubeflow-resource-stopped: \"by-hand\"\n".to_owned(),
            ),
            saves: None,
        },
        Target::InferenceService => Fix {
            kind: FixKind::ScaleToZero,
            text: format!("Let inference service {name} go to no replica while nobody asks."),
            commands: vec![format!(
                "kubectl -n {namespace} patch inferenceservice {} --type merge -p '{{\"spec\":{{\"predictor\":{{\"minReplicas\":0}}}}}}'",
                quoted(name)
            )],
            manifest: Some("spec:\n  predictor:\n    minReplicas: 0\n".to_owned()),
            saves: None,
        },
        Target::Workflow => next_run(group, holder, name),
        Target::BarePod => delete_pod(holder, "It has no owner that would start it again."),
        Target::Other => delete_pod(
            holder,
            "Its owner may start it again: change the owner if it does.",
        ),
    };
    Some(fix)
}

fn scale(group: &Group<'_>, holders: &Holders<'_>, holder: &Holder<'_>, resource: &str, kind: &str) -> Fix {
    let namespace = holder.pod.reference.namespace.clone();
    let workload = holder.workload.as_ref();
    let name = workload.map_or("", |workload| workload.name.as_str());
    let (siblings, working) = holders.siblings(holder);
    let asked = workload.and_then(|workload| workload.replicas);
    let asked = asked.map_or(siblings, |asked| usize::try_from(asked).unwrap_or(usize::MAX));
    // Only what is seen to be idle may go; replicas that have no GPU yet are not idle.
    let idle = siblings.saturating_sub(working);
    let left = if working == 0 {
        0
    } else {
        asked.saturating_sub(idle).max(working)
    };
    let text = if left == 0 {
        format!(
            "Scale {resource} {name} to 0 until it is needed again. If it has to stay warm, declare it with the annotation gpu-autoscaler.io/workload-type: standby."
        )
    } else {
        format!("Scale {resource} {name} to {left}: {idle} of its replicas have nothing to do.")
    };
    let text = match group.cause {
        Cause::Zombie => format!("{text} Its logs say why it died."),
        _ => text,
    };
    Fix {
        kind: FixKind::ScaleToZero,
        text,
        commands: vec![format!(
            "kubectl -n {} scale {resource} {} --replicas={left}",
            quoted(namespace.as_str()),
            quoted(name)
        )],
        manifest: Some(format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  replicas: {left}\n",
            yaml(name),
            yaml(namespace.as_str())
        )),
        saves: None,
    }
}

fn suspend_job(namespace: &str, name: &str) -> Fix {
    Fix {
        kind: FixKind::ScaleToZero,
        text: format!(
            "Suspend job {name}, or delete it if its work is done. A suspended job gives its pods and their GPUs back and keeps its definition."
        ),
        commands: vec![
            format!(
                "kubectl -n {namespace} patch job {} --type merge -p '{{\"spec\":{{\"suspend\":true}}}}'",
                quoted(name)
            ),
            format!("kubectl -n {namespace} delete job {}", quoted(name)),
        ],
        manifest: Some("spec:\n  suspend: true\n".to_owned()),
        saves: None,
    }
}

fn delete_pod(holder: &Holder<'_>, note: &str) -> Fix {
    let reference = &holder.pod.reference;
    Fix {
        kind: FixKind::Delete,
        text: format!("Delete pod {reference}. {note}"),
        commands: vec![format!(
            "kubectl -n {} delete pod {}",
            quoted(reference.namespace.as_str()),
            quoted(reference.name.as_str())
        )],
        manifest: None,
        saves: None,
    }
}

fn next_run(group: &Group<'_>, holder: &Holder<'_>, name: &str) -> Fix {
    let resource = &group.first().part.resource;
    Fix {
        kind: FixKind::NextRun,
        text: format!(
            "For the next run of workflow {name}: this step does not use {resource}, so leave it out of its template. The step that runs now ends by itself."
        ),
        commands: vec![format!(
            "kubectl -n {} get workflow {} -o yaml",
            quoted(holder.pod.reference.namespace.as_str()),
            quoted(name)
        )],
        manifest: Some(format!(
            "container:\n  resources:\n    limits:\n      {}: 0\n",
            yaml(resource.as_str())
        )),
        saves: None,
    }
}
