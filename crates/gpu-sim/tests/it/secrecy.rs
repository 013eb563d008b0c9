//! The truth must not show in what an outsider sees, or detectors would be judged on reading it.

use std::collections::{BTreeMap, BTreeSet};

use gpu_sim::{Condition, WorkloadKind};

use crate::{seconds, world};

/// Words that would give a condition away.
const TELLING: &[&str] = &[
    "zombie",
    "idle",
    "never",
    "stuck",
    "stall",
    "waste",
    "undersized",
    "small",
    "standby",
    "stand-by",
    "dead",
    "orphan",
    "starv",
    "input-bound",
    "unused",
    "busy",
    "warm",
    "held",
];

#[test]
fn no_name_or_label_tells_a_condition() {
    for seed in 0..4 {
        let mut world = world(120, seed);
        for _ in 0..3 {
            world.advance(seconds(60));
            let view = world.observe();
            let pods = view
                .gpus()
                .flat_map(|gpu| gpu.owners())
                .map(|owner| owner.pod.clone());
            for pod in pods.chain(view.pending.iter().cloned()) {
                let text = format!("{} {:?} {:?}", pod.reference, pod.owners, pod.labels).to_lowercase();
                for word in TELLING {
                    assert!(!text.contains(word), "`{word}` shows in {text}");
                }
            }
        }
    }
}

/// Within one kind of workload, every label value, namespace and owner kind that marks an unlucky pod also marks a lucky one.
#[test]
fn the_unlucky_are_called_like_the_lucky() {
    let mut names: BTreeMap<(WorkloadKind, bool), BTreeSet<String>> = BTreeMap::new();
    for seed in 0..6 {
        let world = world(240, seed);
        let truth = world.truth();
        for owner in world.observe().gpus().flat_map(|gpu| gpu.owners()) {
            let pod = truth
                .pod(&owner.pod.reference)
                .expect("a running pod has a truth");
            let lucky = matches!(pod.condition, Condition::Busy | Condition::HeldIdle);
            let words = names.entry((pod.kind, lucky)).or_default();
            words.insert(owner.pod.reference.namespace.to_string());
            words.insert(owner.container.to_string());
            words.extend(owner.pod.owners.iter().map(|owner| owner.kind.clone()));
            let stem = owner
                .pod
                .reference
                .name
                .as_str()
                .split('-')
                .next()
                .expect("a first word");
            words.insert(stem.to_owned());
        }
    }
    for ((kind, lucky), words) in &names {
        if !lucky {
            let lucky_words = &names[&(*kind, true)];
            assert!(
                words.is_subset(lucky_words),
                "{kind:?}: {:?}",
                words.difference(lucky_words)
            );
        }
    }
}
