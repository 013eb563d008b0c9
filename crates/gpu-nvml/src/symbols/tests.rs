//! The sources call what the list says and nothing else, and nothing on the list writes to a GPU.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{LOOKED_FOR, SYMBOLS};

/// Verbs by which NVML's functions change something.
const WRITING: &[&str] = &[
    "Set", "Reset", "Clear", "Create", "Destroy", "Modify", "Remove", "Freeze", "Write", "Activate",
    "Update", "Discover", "Validate",
];
/// Here `Set` is a noun: a set of events lives in this process and touches no GPU.
const NOUNS: &[&str] = &["nvmlEventSetCreate", "nvmlEventSetFree", "nvmlEventSetWait_v2"];

#[test]
fn the_sources_name_no_other_function() {
    let mut named = BTreeSet::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/raw"), &mut named);
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/raw.rs"),
        &mut named,
    );
    let listed: BTreeSet<String> = SYMBOLS
        .iter()
        .chain(LOOKED_FOR)
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(named, listed);
}

#[test]
fn no_function_changes_a_gpu() {
    for name in SYMBOLS.iter().filter(|name| !NOUNS.contains(name)) {
        assert!(
            !WRITING.iter().any(|verb| name.contains(verb)),
            "{name} changes something"
        );
    }
}

/// Every word of the sources that looks like a function of NVML. Types end with `_t`, and one member has such a name.
fn collect(path: &Path, named: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), named);
        }
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    named.extend(
        words
            .filter(|word| {
                word.strip_prefix("nvml")
                    .is_some_and(|rest| rest.starts_with(char::is_uppercase))
            })
            .filter(|word| !word.ends_with("_t") && *word != "nvmlReturn")
            .map(str::to_owned),
    );
}
