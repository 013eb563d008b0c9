//! The check set, seeds, and traces of somebody's own.

use super::set::{self, Outcome};
use super::*;

/// A smaller set than the command's own, so that the tests stay quick; the seeds are those of the check set.
fn check_set() -> Outcome {
    set::play(&Plan {
        seeds: CHECK_SEEDS.take(3).collect(),
        nodes: 12,
        left_out: Vec::new(),
    })
    .expect("a valid plan")
}

#[test]
fn on_the_check_set_recall_and_precision_hold_and_the_naive_rule_fails() {
    let outcome = check_set();
    let text = table::table(&outcome, true);
    let ours = outcome.ours.held;
    assert!(outcome.labelled > 1500, "{text}");
    assert!(ours.recall() >= Some(0.95), "{text}");
    assert!(ours.precision() >= Some(0.98), "{text}");
    assert!(table::is_valid(&outcome), "{text}");
}

#[test]
fn every_signal_that_is_left_out_costs_recall_and_none_costs_precision() {
    let plan = Plan {
        seeds: CHECK_SEEDS.take(1).collect(),
        nodes: 12,
        left_out: Mask::ALL.to_vec(),
    };
    let outcome = set::play(&plan).expect("a valid plan");
    assert_eq!(outcome.without.len(), Mask::ALL.len());
    for (mask, marks) in &outcome.without {
        assert!(marks.held.recall() <= outcome.ours.held.recall(), "{mask:?}");
        if *mask != Mask::Picture {
            assert!(marks.held.precision() >= Some(0.98), "{mask:?}: {:?}", marks.held);
        }
    }
    let json = table::json(&outcome).expect("plain figures");
    assert!(json.contains("ours without power"), "{json}");
}

#[test]
fn seeds_are_lists_and_ranges() {
    assert_eq!(parse_seeds("1-3,9"), Ok(Seeds(vec![1, 2, 3, 9])));
    for wrong in ["", "a", "3-1", "0-5000"] {
        assert!(parse_seeds(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn tuning_and_checking_never_share_a_seed() {
    let mut tune = TUNE_SEEDS;
    assert!(tune.all(|seed| !CHECK_SEEDS.contains(&seed)));
}

/// Two GPUs of one node for two hours, a line a minute: one works, one is held idle from the beginning.
fn small_trace() -> String {
    let mut text = String::from(
        "time,node,gpu,model,namespace,pod,owner_kind,owner_name,started,utilization_percent,memory_used_mib,memory_total_mib,power_watts,processes\n",
    );
    for minute in 0..120 {
        let time = 1_767_600_000 + minute * 60;
        let pods = "1767500000";
        text += &format!(
            "{time},n1,GPU-a,NVIDIA L4,ml,train-0,Job,train,{pods},{},18000,23034,65,1\n",
            90 + minute % 5
        );
        text += &format!("{time},n1,GPU-b,NVIDIA L4,ml,lab-0,Notebook,lab,{pods},0,4000,23034,28,1\n");
    }
    text
}

#[test]
fn a_trace_of_ones_own_is_judged_by_its_labels() {
    let labels = "gpu,from,to,label,cause\nGPU-a,1767600000,1767610000,fine,\nGPU-b,1767600000,1767610000,waste,held-idle\n";
    let outcome = trace::play(&small_trace(), labels, &[]).expect("a sound trace");
    let ours = outcome.ours.held;
    assert_eq!(
        (ours.wrong, ours.missed),
        (0, 0),
        "{}",
        table::table(&outcome, true)
    );
    assert!(ours.right >= 8, "{ours:?}");
}

#[test]
fn a_broken_trace_is_refused_with_the_place() {
    let check = |samples: &str, labels: &str, expected: &str| {
        let error = trace::play(samples, labels, &[]).expect_err("broken");
        assert!(format!("{error:#}").contains(expected), "{error:#}");
    };
    check("time,node\n", "gpu,from,to,label\n", "no column `gpu`");
    check(
        "time,node,gpu,model,utilization_percent\n1,n,g\n",
        "gpu,from,to,label\n",
        "line 2 has 3 values",
    );
    check(
        &small_trace(),
        "gpu,from,to,label\ng,1,2,bad\n",
        "`bad` is no label",
    );
    check(
        "time,node,gpu,model,utilization_percent\n1,n,g,m,-4\n",
        "gpu,from,to,label\n",
        "is no amount",
    );
}
