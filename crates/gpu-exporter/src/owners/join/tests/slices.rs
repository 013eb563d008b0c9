//! Scenes on sliced devices.

use super::check;

#[test]
fn slices_have_their_own_accounts() {
    check(
        "gpu memory=1000
         slice 1/0 1g.10gb memory=300 util=0.7
         slice 2/0 1g.10gb memory=200 util=0.4
         slice 3/0 2g.20gb memory=100
         held ml/a/main alone on=1/0
         held ml/b/main replica=0 on=2/0
         held ml/c/main replica=1 on=2/0
         process 1 memory=150 on=2/0 of=ml/b/main",
        "ml/a/main 1/0 Slice 300 0.7
         ml/b/main 2/0 Replica(0) 150 unsupported
         ml/c/main 2/0 Replica(1) 0 0
         - Driver 400 absent
         - 2/0 NotMeasured absent 0.4
         - 2/0 Driver 50 absent
         - 3/0 Driver 100 absent",
    );
}

#[test]
fn slices_beyond_the_device_keep_their_figures_and_are_told() {
    check(
        "gpu memory=1000
         slice 1/0 3g.40gb memory=700
         slice 2/0 3g.40gb memory=600
         held ml/a/main alone on=1/0",
        "ml/a/main 1/0 Slice 700 unsupported
         - Driver 0 absent
         - 2/0 Driver 600 absent
         excess 300 0",
    );
}

#[test]
fn a_slice_without_a_figure_is_in_the_remainder_of_its_device() {
    check(
        "gpu memory=1000
         slice 1/0 3g.40gb memory=700
         slice 2/0 3g.40gb memory=?
         held ml/a/main replica=0 on=2/0
         process 1 memory=250 on=2/0 of=ml/a/main",
        "ml/a/main 2/0 Replica(0) 250 unsupported
         - NotMeasured 300 absent
         - 1/0 Driver 700 absent",
    );
}

#[test]
fn a_claimed_slice_is_found_by_its_profile_or_by_its_processes() {
    let gpu = "gpu memory=1000
         slice 1/0 1g.10gb memory=100 util=0.1
         slice 2/0 1g.10gb memory=200 util=0.2
         slice 3/0 2g.20gb memory=300 util=0.3\n";
    check(
        &format!("{gpu} held ml/a/main claim=c published=gpu-0-mig-2g20gb-14-4"),
        "ml/a/main 3/0 Claim(c) 300 0.3
         - Driver 400 absent
         - 1/0 NotMeasured absent 0.1
         - 1/0 Driver 100 absent
         - 2/0 NotMeasured absent 0.2
         - 2/0 Driver 200 absent",
    );
    // Two slices have the profile; the one on which its process runs is meant.
    check(
        &format!(
            "{gpu} held ml/a/main claim=c published=gpu-0-mig-1g10gb-19-0
             process 1 memory=50 on=2/0 of=ml/a/main"
        ),
        "ml/a/main 2/0 Claim(c) 200 0.2
         - Driver 400 absent
         - 1/0 NotMeasured absent 0.1
         - 1/0 Driver 100 absent
         - 3/0 NotMeasured absent 0.3
         - 3/0 Driver 300 absent",
    );
    // Nothing tells which: it holds the device, and no figure is its own.
    check(
        &format!("{gpu} held ml/a/main claim=c published=gpu-0-mig-1g10gb-19-0"),
        "ml/a/main Claim(c) unsupported unsupported
         - Driver 400 absent
         - 1/0 NotMeasured absent 0.1
         - 1/0 Driver 100 absent
         - 2/0 NotMeasured absent 0.2
         - 2/0 Driver 200 absent
         - 3/0 NotMeasured absent 0.3
         - 3/0 Driver 300 absent",
    );
}

#[test]
fn processes_beside_the_slices_are_of_the_device() {
    check(
        "gpu memory=1000
         slice 1/0 1g.10gb memory=300
         process 1 memory=100 of=outside
         process 2 memory=50 on=9/0 of=outside",
        "- OutsideKubernetes 150 absent
         - Driver 550 absent
         - 1/0 Driver 300 absent",
    );
}
