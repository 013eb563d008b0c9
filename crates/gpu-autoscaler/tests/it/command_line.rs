//! Words and exit codes: 0 done, 1 failed, 2 wrong usage.

use std::net::TcpListener;
use std::process::Stdio;

use crate::program::{Demo, Killed, program, run, wait};

/// Runs the program and compares its exit code; `words` must be on the stream that goes with it.
#[track_caller]
fn check(args: &[&str], code: i32, words: &str) {
    let output = run(args);
    let text = String::from_utf8(if code == 0 { output.stdout } else { output.stderr }).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    assert!(
        text.contains(words),
        "{args:?} says:\n{text}\nand lacks:\n{words}"
    );
}

#[test]
fn without_a_command_it_teaches() {
    check(&[], 0, "gpu-autoscaler demo ");
    check(
        &["--help"],
        0,
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 findings",
    );
    check(&["demo", "--help"], 0, "Nothing here is measured");
    check(&["serve", "--help"], 0, "it needs no Kubernetes");
    check(
        &["--version"],
        0,
        concat!("gpu-autoscaler ", env!("CARGO_PKG_VERSION")),
    );
}

#[test]
fn wrong_usage_is_named_with_the_way_out() {
    check(&["dmeo"], 2, "similar subcommand exists: 'demo'");
    check(&["demo", "--node", "3"], 2, "similar argument exists: '--nodes'");
    check(&["demo", "--nodes", "0"], 2, "0 is not in 1..=5000");
    check(
        &["demo", "--nodes", "many"],
        2,
        "invalid value 'many' for '--nodes <NODES>'",
    );
    check(&["demo", "--speed", "0"], 2, "0 is not in 1..=3600");
    check(&["serve", "--standalone"], 2, "--targets");
    check(&["serve", "--analysis-window", "1s"], 2, "give 10s to 24h");
    check(
        &["serve", "--waste-threshold", "50"],
        2,
        "give a share from 0 to 1",
    );
    check(&["optimize", "--cause", "idle"], 2, "held-idle");
    check(&["explain", "deployment/a"], 1, "give pod/NAME");
    check(
        &["demo", "--seed", "-1"],
        2,
        "invalid value '-1' for '--seed <SEED>'",
    );
    check(
        &["demo", "--listen", "8080"],
        2,
        "give an address and a port, 127.0.0.1:8080 for this machine alone",
    );
    check(
        &["demo", "--listen", "localhost:99999"],
        2,
        "`99999` is no port: give a number from 0 to 65535",
    );
}

#[test]
fn a_setting_that_cannot_work_fails_with_words() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    check(
        &["demo", "--listen", &taken],
        1,
        "another program holds this port; stop that program, or choose another",
    );
    check(
        &["demo", "--listen", "192.0.2.1:8080"],
        1,
        "this machine has no such address; give --listen one of its own",
    );
    check(
        &["demo", "--log-level", "loud"],
        2,
        "unknown log level `loud`: say `error`",
    );
    check(
        &["demo", "--log-format", "xml"],
        2,
        "unknown log format `xml`: say `text` or `json`",
    );
}

#[test]
fn the_welcome_says_simulated_and_has_no_colours_in_a_pipe() {
    let demo = Demo::start(&["--nodes", "3", "--seed", "9"]);
    for words in [
        "SIMULATED",
        "3 nodes, seed 9",
        "/metrics",
        "--speed 600",
        "--nodes 100",
        "Nothing shown is measured",
    ] {
        assert!(demo.welcome.contains(words), "{words}: {}", demo.welcome);
    }
    assert!(!demo.welcome.contains('\u{1b}'), "{}", demo.welcome);
}

#[test]
fn nobody_reading_its_words_is_no_reason_to_panic() {
    // The reading end is closed before the program writes, as `| head -0` would.
    for (args, code) in [
        (&["--help"][..], 0),
        (&[], 0),
        (&["demo", "--listen", "192.0.2.1:0"], 1),
    ] {
        let child = program()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = Killed(child.unwrap());
        drop(child.0.stdout.take());
        drop(child.0.stderr.take());
        assert_eq!(wait(&mut child.0).code(), Some(code), "{args:?}");
    }
}
