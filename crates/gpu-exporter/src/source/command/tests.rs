//! Programs that behave and programs that do not: each ends in its time, is reaped, and never runs beside another.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{MOST_OUTPUT, Output, Places, RunError, State, Turn, Unfit, lock, run};

/// The one program at a time is one of the whole process, and these tests count processes.
static ORDER: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A script in a directory of its own.
struct Script {
    directory: tempfile::TempDir,
}

impl Script {
    fn new(body: &str) -> Self {
        let script = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::write(script.path(), format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(script.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        script
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("tool")
    }

    fn run(&self, within: Duration) -> Result<Output, RunError> {
        run(&self.path(), &["one", "$(two)"], within)
    }

    /// The processes that have the script's path among their words.
    fn processes(&self) -> usize {
        let own = self.path().display().to_string();
        let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let words = |path: &Path| std::fs::read(path.join("cmdline")).unwrap_or_default();
        entries
            .filter(|entry| String::from_utf8_lossy(&words(&entry.path())).contains(&own))
            .count()
    }
}

const LONG: Duration = Duration::from_secs(20);

/// Children of this process that have ended and were not reaped.
fn zombies() -> Vec<String> {
    let own = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_ours = |stat: &String| {
        let rest: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        rest.first() == Some(&"Z") && rest.get(1) == Some(&own.as_str())
    };
    stats.filter(is_ours).collect()
}

#[test]
fn what_it_prints_and_how_it_ends_is_told() {
    let _alone = alone();
    let script = Script::new("echo \"$@\"; echo oh >&2; read line || echo no input; exit 9");
    let output = script.run(LONG).unwrap();
    assert_eq!(output.code, 9);
    assert_eq!(output.text, "one $(two)\nno input\n", "arguments pass no shell");
    assert_eq!(output.words, "oh");
    assert_eq!(Script::new("kill -9 $$").run(LONG).unwrap().code, 128 + 9);
}

#[test]
fn its_environment_is_small() {
    let _alone = alone();
    let output = Script::new("/usr/bin/env").run(LONG).unwrap();
    let names: Vec<&str> = output
        .text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    let known = ["PATH", "LC_ALL", "LD_LIBRARY_PATH", "PWD", "_", "OLDPWD", "SHLVL"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert!(output.text.contains("LC_ALL=C\n"));
}

#[test]
fn one_that_hangs_is_killed_with_its_children() {
    let _alone = alone();
    // It ignores requests, starts a child, closes its pipes and stays.
    let script = Script::new(
        "trap '' TERM INT HUP\nsh -c \"while :; do sleep 0.1; done\" \"$0\" &\nexec >&- 2>&-\nwhile :; do sleep 0.1; done",
    );
    let started = Instant::now();
    let patience = Duration::from_millis(300);
    assert!(matches!(script.run(patience), Err(RunError::TimedOut(_))));
    assert!(
        started.elapsed() < patience + Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    let deadline = Instant::now() + LONG;
    while script.processes() > 0 {
        assert!(Instant::now() < deadline, "something stayed behind");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(zombies(), Vec::<String>::new());
}

#[test]
fn endless_output_is_cut_off() {
    let _alone = alone();
    let script = Script::new(
        "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done",
    );
    let started = Instant::now();
    assert!(matches!(
        run(Path::new("/bin/cat"), &["/dev/zero"], LONG),
        Err(RunError::TooMuch)
    ));
    assert!(started.elapsed() < LONG);
    // Complaints without an end are thrown away until the time is over.
    let loud = Script::new("while :; do echo complaint >&2; done");
    assert!(matches!(
        loud.run(Duration::from_millis(200)),
        Err(RunError::TimedOut(_))
    ));
    assert!(matches!(script.run(LONG), Err(RunError::TooMuch)));
    assert_eq!(script.processes() + loud.processes(), 0);
    let enough = run(
        Path::new("/usr/bin/head"),
        &["-c", &MOST_OUTPUT.to_string(), "/dev/zero"],
        LONG,
    )
    .unwrap();
    assert_eq!(enough.text.len(), MOST_OUTPUT);
}

#[test]
fn never_two_at_once() {
    let _alone = alone();
    let script = Script::new("cd \"$(dirname \"$0\")\"\nmkdir busy || exit 7\nsleep 0.1\nrmdir busy");
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| script.run(LONG).unwrap().code))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(codes, [0; 6]);
    let hung = Script::new("sleep 1");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| hung.run(LONG));
        while hung.processes() == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(matches!(
            script.run(Duration::from_millis(50)),
            Err(RunError::Busy)
        ));
        assert_eq!(first.join().unwrap().unwrap().code, 0);
    });
}

#[test]
fn one_that_cannot_be_killed_bars_the_way_until_it_ends() {
    let _alone = alone();
    let turn = Turn::take(Instant::now() + LONG).unwrap();
    let child = Command::new("/bin/sleep").arg("4").spawn().unwrap();
    turn.note(&child);
    // A kill that does not reach it, as it is with one inside the kernel.
    assert!(matches!(turn.finish(child, |_| {}), Err(RunError::Stuck)));
    let other = Script::new("exit 0");
    assert!(
        matches!(other.run(LONG), Err(RunError::Stuck)),
        "no other is started"
    );
    let deadline = Instant::now() + LONG;
    while matches!(*lock(), State::Stuck(_)) {
        assert!(Instant::now() < deadline, "it was never reaped");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(zombies(), Vec::<String>::new());
    assert_eq!(other.run(LONG).unwrap().code, 0);
}

#[test]
fn one_that_is_not_there_is_an_error() {
    let _alone = alone();
    let nowhere = Path::new("/nowhere/tool");
    let error = run(nowhere, &["x"], LONG).unwrap_err();
    assert_eq!(error.class(), "not_started");
    // A text without an interpreter.
    let script = Script::new("");
    std::fs::write(script.path(), "#!/nowhere/interpreter\n").unwrap();
    assert_eq!(script.run(LONG).unwrap_err().class(), "not_started");
}

#[track_caller]
fn check_fit(change: impl FnOnce(&Path), expected: &str) {
    let script = Script::new("exit 0");
    change(&script.path());
    let places = Places {
        usual: &[],
        given: Some(script.path()),
    };
    let found = places.find();
    match expected {
        "" => assert_eq!(found, Ok(script.path().canonicalize().unwrap())),
        words => assert!(found.unwrap_err().to_string().contains(words)),
    }
}

#[test]
fn only_what_nobody_else_can_write_is_run() {
    let mode = |mode: u32| {
        move |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    check_fit(|_| {}, "");
    check_fit(mode(0o777), "others than its owner may write it");
    check_fit(mode(0o775), "others than its owner may write it");
    check_fit(mode(0o644), "can be executed");
    check_fit(|path| std::fs::remove_file(path).unwrap(), "not installed");
    let open_step = |path: &Path| mode(0o777)(path.parent().unwrap());
    check_fit(open_step, "a directory on the way");
    let relative = Places {
        usual: &["tool"],
        given: None,
    };
    assert_eq!(
        relative.find().unwrap_err().to_string(),
        "its path is not absolute"
    );
    let none = Places {
        usual: &["/nowhere/a", "/nowhere/b"],
        given: None,
    };
    assert_eq!(none.find(), Err(Unfit::Missing));
    let first = Places {
        usual: &["/nowhere/a", "/bin/sh"],
        given: None,
    };
    assert_eq!(first.find(), Ok(Path::new("/bin/sh").canonicalize().unwrap()));
}
