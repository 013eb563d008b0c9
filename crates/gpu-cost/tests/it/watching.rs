//! What a watcher makes of looks at a fleet, by the bill that follows from it.

mod scene;
mod simulated;

use scene::{check, check_ended};

#[test]
fn a_pod_is_charged_from_its_start_by_the_api_to_the_last_look_that_saw_it() {
    check(
        "   0 a:2
           30 a:2 p@0=500
           60 a:2 p@0=500
           90 a:2
          120 a:2
          300 a:2",
        "idle 195, pod p 45 used 22, unknown 360",
    );
}

#[test]
fn a_look_that_misses_a_pod_once_ends_nothing() {
    check(
        "   0 a:1
           30 a:1 p@0=1000
           60 a:1
           90 a:1 p@0=1000
          120 a:1 p@0=1000
          150 a:1 p@0=1000
          180 a:1 p@0=1000
          210 a:1 p@0=1000
          240 a:1 p@0=1000
          270 a:1 p@0=1000
          300 a:1 p@0=1000",
        "idle 15, pod p 285 used 255 unmeasured 30",
    );
}

#[test]
fn a_reading_that_is_absent_tells_no_use() {
    check(
        "   0 a:1 p@0=-
           60 a:1 p@0=-
          120 a:1 p@0=500
          180 a:1 p@0=-
          240 a:1 p@0=-
          300 a:1 p@0=-",
        "pod p 300 used 30 unmeasured 240",
    );
}

#[test]
fn time_in_which_nobody_looked_is_unknown_where_nobody_held_it() {
    check(
        "   0 a:2 p@0=1000
           60 a:2 p@0=1000
          240 a:2 p@0=1000
          300 a:2 p@0=1000",
        "idle 120, pod p 300 used 150 unmeasured 150, unknown 180",
    );
}

#[test]
fn a_machine_costs_from_its_creation_and_boots_until_it_is_ready() {
    check(
        "   0 a:1
           60 a:1 b:0!notready
          120 a:1 b:0!notready
          180 a:1 b:0
          240 a:1 b:2
          300 a:1 b:2",
        "boot 390, idle 420",
    );
}

#[test]
fn a_machine_that_two_looks_miss_ended_when_it_was_last_seen() {
    check(
        "   0 a:1 b:2
           60 a:1 b:2
          120 a:1
          180 a:1
          240 a:1
          300 a:1",
        "idle 420",
    );
}

#[test]
fn a_name_with_another_machine_behind_it_is_another_machine() {
    check(
        "   0 a:1
           60 a:1
          120 a/second:1
          180 a/second:1
          240 a/second:1
          300 a/second:1",
        "boot 15, idle 240",
    );
}

#[test]
fn a_silent_page_makes_free_gpus_unknown_and_keeps_pods_that_the_api_has() {
    check(
        "   0 a:2 p@0=1000
           60 a:2 p@0=1000
          120 a:0 ~p
          180 a:0 ~p
          240 a:2 p@0=1000
          300 a:2 p@0=1000",
        "idle 180, pod p 300 used 180 unmeasured 120, unknown 120",
    );
}

#[test]
fn a_pod_whose_devices_no_page_names_makes_free_gpus_unknown_and_never_idle() {
    check(
        "   0 a:2
           60 a:2 ~p
          120 a:2 ~p
          180 a:2 ~p
          240 a:2 ~p
          300 a:2 ~p",
        "idle 90, unknown 510",
    );
}

#[test]
fn a_cordon_can_be_taken_back() {
    check(
        "   0 a:2
           60 a:2!cordoned
          120 a:2!cordoned
          180 a:2
          240 a:2
          300 a:2",
        "drain 240, idle 360",
    );
}

#[test]
fn gpus_that_cannot_be_had_are_withheld() {
    // Not ready for a minute, then one GPU lost for another.
    check(
        "   0 a:2
           60 a:2!notready
          120 a:2
          180 a:1
          240 a:2
          300 a:2",
        "idle 420, system 180",
    );
}

#[test]
fn a_page_that_names_a_pod_after_its_end_does_not_revive_it() {
    check(
        "   0 a:1 p@0=1000
           60 a:1 p@0=1000
          120 a:1 p@0=1000!gone
          180 a:1 p@0=1000!gone
          240 a:1 p@0=1000!gone
          300 a:1 p@0=1000!gone",
        "idle 240, pod p 60 used 60",
    );
}

#[test]
fn a_pod_of_five_seconds_between_two_looks_has_a_row_of_five_seconds() {
    check_ended(
        "   0 a:2 p@0=1000
           60 a:2 p@0=1000
          120 a:2 p@0=1000
          180 a:2 p@0=1000
          240 a:2 p@0=1000
          300 a:2 p@0=1000",
        &[("short", 1, 130, 135)],
        "idle 295, pod p 300 used 300, pod short 5 unmeasured 5",
    );
}

#[test]
fn a_short_pod_for_which_no_gpu_was_free_is_not_invented_one() {
    check_ended(
        "   0 a:1 p@0=1000
          120 a:1 p@0=1000
          300 a:1 p@0=1000",
        &[("short", 1, 130, 135)],
        "pod p 300 used 60 unmeasured 240",
    );
}

#[test]
fn an_end_that_the_api_tells_beats_the_last_look() {
    check_ended(
        "   0 a:1 p@0=1000
           60 a:1 p@0=1000
          120 a:1
          180 a:1
          240 a:1
          300 a:1",
        &[("p", 1, 0, 77)],
        "idle 223, pod p 77 used 60 unmeasured 17",
    );
}
