//! Scenes in a few words a line, and what the join makes of them.
//!
//! `gpu` and `slice` lines give totals, `held` lines containers, `process` lines what the driver lists. `?` is a number that
//! failed, a missing one is unsupported.

mod amd;
mod properties;
mod scene;
mod slices;

use scene::Scene;

#[track_caller]
fn check(scene: &str, expected: &str) {
    let expected: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(Scene::parse(scene).attribution_text(), expected);
}

#[test]
fn who_holds_a_device_alone_has_its_figures() {
    check(
        "gpu memory=1000 util=0.5
         held ml/train/main alone",
        "ml/train/main Whole 1000 0.5",
    );
    // The same where processes are not listed at all, and for a claim that shares with nobody.
    check(
        "gpu memory=1000 util=0.5
         processes failed
         held ml/train/main claim=c",
        "ml/train/main Claim(c) 1000 0.5",
    );
}

#[test]
fn what_others_are_proven_to_use_is_not_the_holders() {
    check(
        "gpu memory=1000 util=0.5
         held ml/train/main alone
         process 1 memory=700 util=0.3 of=ml/train/main
         process 2 memory=100 util=0.1 of=outside
         process 3 memory=50 util=0 of=kube-system/dcgm/agent
         process 4 memory=20 util=0 of=ml/train/sidecar",
        "ml/train/main Whole 830 0.4
         - OutsideKubernetes 100 0.1
         - UnknownPod 70 0",
    );
    // What is not proven to be another's stays with the only holder.
    check(
        "gpu memory=1000 util=0.5
         held ml/train/main alone
         process 1 memory=700 util=0.3 of=unreadable",
        "ml/train/main Whole 1000 0.5",
    );
}

#[test]
fn a_foreigner_without_measurement_leaves_the_holder_without_a_figure() {
    check(
        "gpu memory=1000 util=0.5
         held ml/train/main alone
         process 1 memory=700 of=ml/train/main
         process 2 memory=100 of=outside",
        "ml/train/main Whole 900 unsupported
         - NotMeasured absent 0.5
         - OutsideKubernetes 100 absent",
    );
}

#[test]
fn sharers_have_what_was_measured_for_them() {
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main replica=0
         held ml/b/main replica=1
         held ml/c/main replica=2
         process 1 memory=300 util=0.5 of=ml/a/main
         process 2 memory=100 util=0.1 of=ml/a/main
         process 3 memory=200 util=0.2 of=ml/b/main",
        "ml/a/main Replica(0) 400 0.6
         ml/b/main Replica(1) 200 0.2
         ml/c/main Replica(2) 0 0
         - NotMeasured absent 0.1
         - Driver 400 absent",
    );
}

#[test]
fn one_sharer_alone_is_still_a_sharer() {
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main replica=3
         process 1 memory=300 util=0.5 of=ml/a/main",
        "ml/a/main Replica(3) 300 0.5
         - NotMeasured absent 0.4
         - Driver 700 absent",
    );
}

#[test]
fn a_claim_of_two_pods_is_shared() {
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main claim=c
         held ml/b/main claim=c
         process 1 memory=300 util=0.5 of=ml/a/main",
        "ml/a/main Claim(c) 300 0.5
         ml/b/main Claim(c) 0 0
         - NotMeasured absent 0.4
         - Driver 700 absent",
    );
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main claim=c share=s1",
        "ml/a/main Claim(c s1) 0 0
         - NotMeasured absent 0.9
         - Driver 1000 absent",
    );
}

#[test]
fn nothing_is_zero_without_proof() {
    let held = "gpu memory=1000 util=0.9
         held ml/a/main replica=0
         held ml/b/main replica=1\n";
    let nobody = "ml/a/main Replica(0) failed failed
         ml/b/main Replica(1) failed failed
         - NotMeasured 1000 0.9";
    // The exporter sees its own processes only.
    check(&format!("{held} sight own"), nobody);
    check(&format!("{held} processes failed"), nobody);
    check(
        &format!("{held} processes unsupported"),
        "ml/a/main Replica(0) unsupported unsupported
         ml/b/main Replica(1) unsupported unsupported
         - NotMeasured 1000 0.9",
    );
    check(
        &format!("{held} process 1 memory=600 util=0.5 of=unreadable"),
        "ml/a/main Replica(0) failed failed
         ml/b/main Replica(1) failed failed
         - NotMeasured absent 0.4
         - UnreadableProcess 600 0.5
         - Driver 400 absent",
    );
    // The process is of a pod of which only the uid is known, and the holders' uids are not.
    check(
        &format!("{held} process 1 memory=600 util=0.5 of=uid:u1"),
        "ml/a/main Replica(0) failed failed
         ml/b/main Replica(1) failed failed
         - NotMeasured absent 0.4
         - UnknownPod 600 0.5
         - Driver 400 absent",
    );
}

#[test]
fn unmeasured_processes_leave_their_container_without_a_figure() {
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main replica=0
         held ml/b/main replica=1
         process 1 memory=300 of=ml/a/main
         process 2 memory=? of=ml/a/main
         process 3 memory=200 of=ml/b/main",
        "ml/a/main Replica(0) failed unsupported
         ml/b/main Replica(1) 200 unsupported
         - NotMeasured 800 0.9",
    );
}

#[test]
fn containers_of_one_pod_are_told_apart_where_possible() {
    let held = "gpu memory=1000 util=0.9
         held ml/a/left replica=0
         held ml/a/right replica=1
         process 1 memory=300 util=0.5 of=ml/a/left\n";
    check(
        held,
        "ml/a/left Replica(0) 300 0.5
         ml/a/right Replica(1) 0 0
         - NotMeasured absent 0.4
         - Driver 700 absent",
    );
    check(
        &format!("{held} process 2 memory=100 util=0.1 of=ml/a/?"),
        "ml/a/left Replica(0) 300 0.5
         ml/a/right Replica(1) failed failed
         - NotMeasured absent 0.3
         - UnknownContainer 100 0.1
         - Driver 600 absent",
    );
    // The only container of its pod on this device needs no name.
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main replica=0
         process 1 memory=300 util=0.5 of=ml/a/?",
        "ml/a/main Replica(0) 300 0.5
         - NotMeasured absent 0.4
         - Driver 700 absent",
    );
}

#[test]
fn a_uid_is_stronger_than_a_name() {
    // The pod of yesterday had the same name.
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main replica=0 uid=u2
         process 1 memory=300 util=0.5 of=ml/a/main uid=u1
         process 2 memory=100 util=0.1 of=uid:u2",
        "ml/a/main Replica(0) 100 0.1
         - NotMeasured absent 0.3
         - UnknownPod 300 0.5
         - Driver 600 absent",
    );
}

#[test]
fn several_replicas_in_one_container_are_one_use() {
    check(
        "gpu memory=1000 util=0.9
         held ml/a/main replica=10
         held ml/a/main replica=2
         process 1 memory=300 util=0.5 of=ml/a/main",
        "ml/a/main Replica(2,10) 300 0.5
         - NotMeasured absent 0.4
         - Driver 700 absent",
    );
}

#[test]
fn shares_that_exceed_the_device_are_scaled_and_told() {
    check(
        "gpu memory=900 util=0.9
         held ml/a/main replica=0
         held ml/b/main replica=1
         process 1 memory=600 util=0.8 of=ml/a/main
         process 2 memory=400 util=0.4 of=ml/b/main",
        "ml/a/main Replica(0) 540 0.6
         ml/b/main Replica(1) 360 0.3
         - NotMeasured absent 0
         - Driver 0 absent
         excess 100 0.3",
    );
    check(
        "gpu memory=900 util=0.4
         held ml/a/main alone
         process 1 memory=600 util=0.6 of=ml/a/main
         process 2 memory=100 util=0.2 of=outside",
        "ml/a/main Whole 800 0.3
         - OutsideKubernetes 100 0.1
         excess 0 0.4",
    );
    // Foreigners fill the device, and nothing was measured for the holder: 0 would be a guess.
    check(
        "gpu util=0.4
         held ml/a/main alone
         process 2 util=0.5 of=outside",
        "ml/a/main Whole unsupported failed
         - NotMeasured absent 0
         - OutsideKubernetes absent 0.4
         excess 0 0.1",
    );
}

#[test]
fn without_kubernetes_there_are_no_holders() {
    check(
        "gpu memory=1000 util=0.9
         process 1 memory=300 util=0.5 of=outside",
        "- NotMeasured absent 0.4
         - OutsideKubernetes 300 0.5
         - Driver 700 absent",
    );
    check("gpu", "");
    check("gpu memory=? util=?", "");
}

#[test]
fn a_withheld_utilisation_is_not_shared_out() {
    check(
        "gpu memory=1000 util=0
         restricted
         held ml/a/main alone
         process 1 memory=300 util=0 of=ml/a/main",
        "ml/a/main Whole 1000 failed",
    );
}

#[test]
fn a_held_device_that_is_not_here_is_counted() {
    let mut scene = Scene::parse("gpu memory=1000 util=0.5");
    for id in [
        "GPU-00000000-0000-0000-0000-000000000002",
        "nvidia7",
        "0000:1b:00.0",
        "amdgpu_xcp_3",
        "tegra",
    ] {
        let device = crate::owners::device_id::parse(id).device;
        scene.held.push(scene::held(
            "ml",
            "a",
            "main",
            device,
            crate::owners::Given::Alone,
        ));
    }
    assert_eq!(scene.join().unmatched, 5);
    let text = scene.attribution_text();
    assert_eq!(text, ["- NotMeasured absent 0.5", "- Driver 1000 absent"]);
}

#[test]
fn a_device_is_found_by_every_form_of_its_id() {
    for id in ["GPU-00000000-0000-0000-0000-000000000001", "nvidia0"] {
        let mut scene = Scene::parse("gpu memory=1000 util=0.5");
        let device = crate::owners::device_id::parse(id).device;
        scene.held.push(scene::held(
            "ml",
            "a",
            "main",
            device,
            crate::owners::Given::Alone,
        ));
        assert_eq!(scene.attribution_text(), ["ml/a/main Whole 1000 0.5"], "{id}");
    }
}
