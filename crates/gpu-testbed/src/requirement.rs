//! What a test needs, and how a test that cannot have it says so instead of passing.

use std::io::Write;

use crate::programs::Program;

/// Names the file to which a skipped test adds its name and what it missed.
const SKIPPED_VARIABLE: &str = "GPU_TESTBED_SKIPPED";

/// With the value `all`, a test that misses something fails.
const REQUIRE_VARIABLE: &str = "TESTBED_REQUIRE";

/// One thing that a test needs, and what of it is missing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    missing: Option<String>,
}

impl Need {
    /// Programs that must all be there.
    pub fn programs(programs: &[Program]) -> Self {
        let missing: Vec<&str> = programs
            .iter()
            .filter(|program| program.find().is_none())
            .map(|program| program.file_name())
            .collect();
        Self {
            missing: (!missing.is_empty()).then(|| missing.join(", ")),
        }
    }

    /// The rights of root.
    pub fn root() -> Self {
        Self::that("the rights of root", || nix::unistd::geteuid().is_root())
    }

    /// Both needs as one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let missing: Vec<String> = [self.missing, other.missing].into_iter().flatten().collect();
        Self {
            missing: (!missing.is_empty()).then(|| missing.join(", ")),
        }
    }

    /// Anything else that can be looked for.
    pub fn that(what: &str, is_there: impl FnOnce() -> bool) -> Self {
        Self {
            missing: (!is_there()).then(|| what.to_owned()),
        }
    }
}

impl From<Program> for Need {
    fn from(program: Program) -> Self {
        Self::programs(&[program])
    }
}

/// Ends the test as skipped unless everything named is there; with `TESTBED_REQUIRE=all` a missing part fails it.
///
/// Takes programs and [`Need`]s. For tests that return nothing or a `Result` of nothing.
#[macro_export]
macro_rules! require {
    ($($need:expr),+ $(,)?) => {
        fn place() {}
        let needs = [$($crate::requirement::Need::from($need)),+];
        if $crate::requirement::is_missing(std::any::type_name_of_val(&place), &needs) {
            return $crate::requirement::Skipped::skipped();
        }
    };
}

/// What a skipped test returns.
pub trait Skipped {
    /// The value that ends the test quietly; the skip itself has been written down.
    fn skipped() -> Self;
}

impl Skipped for () {
    fn skipped() -> Self {}
}

impl<E> Skipped for Result<(), E> {
    fn skipped() -> Self {
        Ok(())
    }
}

/// The work of [`require!`](crate::require): whether something is missing, after having written it down.
///
/// # Panics
/// When something is missing and the run requires everything.
pub fn is_missing(place: &str, needs: &[Need]) -> bool {
    let missing: Vec<&str> = needs.iter().filter_map(|need| need.missing.as_deref()).collect();
    if missing.is_empty() {
        return false;
    }
    let (test, missing) = (test_name(place), missing.join(", "));
    let required = std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "all");
    assert!(
        !required,
        "{test} needs {missing}, and this run requires everything"
    );
    println!("skipped {test}: missing {missing}");
    if let Some(file) = std::env::var_os(SKIPPED_VARIABLE) {
        let written = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .and_then(|mut file| file.write_all(format!("{test}\t{missing}\n").as_bytes()));
        // A skip that is not written down would be counted as passed.
        written.unwrap_or_else(|error| panic!("failed to note the skip of {test} in {file:?}: {error}"));
    }
    true
}

/// The name that the test runner prints, from the path of a function inside the test: without the crate before it
/// and without what the compiler adds after it.
fn test_name(place: &str) -> String {
    let path = place
        .strip_suffix("::place")
        .unwrap_or(place)
        .replace("::{{closure}}", "");
    match path.split_once("::") {
        Some((_, name)) => name.to_owned(),
        None => path,
    }
}

#[cfg(test)]
mod tests;
