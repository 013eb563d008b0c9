//! A program is used as it lies there only when nothing it was made of has changed since.

use std::fs::File;
use std::time::{Duration, SystemTime};

use super::is_fresh;
use crate::Bed;

/// What lies beside the program.
enum Notes {
    Absent,
    /// Sources and their age relative to the program in seconds; none for one that is gone.
    Sources(&'static [(&'static str, Option<i64>)]),
}

#[track_caller]
fn check(notes: Notes, expected: bool) {
    let bed = Bed::new().unwrap();
    let built = SystemTime::now() - Duration::from_secs(1000);
    let touch = |name: &str, later: i64| {
        let path = bed.path(name);
        let time = if later < 0 {
            built - Duration::from_secs(later.unsigned_abs())
        } else {
            built + Duration::from_secs(later.unsigned_abs())
        };
        File::create(&path)
            .and_then(|file| file.set_modified(time))
            .unwrap();
        path
    };
    let program = touch("program", 0);
    if let Notes::Sources(sources) = notes {
        let mut line = format!("{}:", program.display());
        for (name, later) in sources {
            if let Some(later) = later {
                touch(name, *later);
            }
            line.push_str(&format!(
                " {}",
                bed.path(name).display().to_string().replace(' ', "\\ ")
            ));
        }
        bed.write_file("program.d", line + "\n").unwrap();
    }
    assert_eq!(is_fresh(&program), expected);
}

#[test]
fn older_sources_are_fine() {
    check(
        Notes::Sources(&[("a.rs", Some(-5)), ("with blank.rs", Some(0))]),
        true,
    );
}

#[test]
fn one_newer_source_is_enough() {
    check(
        Notes::Sources(&[("a.rs", Some(-5)), ("with blank.rs", Some(1))]),
        false,
    );
}

#[test]
fn a_source_that_is_gone_was_a_change() {
    check(Notes::Sources(&[("a.rs", None)]), false);
}

#[test]
fn without_notes_nothing_is_known() {
    check(Notes::Absent, false);
}
