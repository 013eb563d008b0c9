//! Counting: what test programs print becomes numbers and names, and the numbers become the closing line.

/// What one test program came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    title: String,
    passed: usize,
    failures: Vec<String>,
}

impl Outcome {
    pub(super) fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            ..Self::default()
        }
    }

    /// Reads one line of a test program's output.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            let failed = number_before(counts, " failed");
            // A failed test is named on a line of its own; one that is only counted still counts.
            for unnamed in self.failures.len()..failed {
                self.fail(&format!("failed test number {}", unnamed + 1));
            }
        } else if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.fail(name);
        }
    }

    pub(super) fn fail(&mut self, what: &str) {
        self.failures.push(format!("{}: {what}", self.title));
    }

    pub(super) fn failed(&self) -> usize {
        self.failures.len()
    }
}

/// The number that stands directly before a word, 0 where the word is not there.
fn number_before(text: &str, word: &str) -> usize {
    text.split(word)
        .next()
        .filter(|before| before.len() < text.len())
        .and_then(|before| before.rsplit([' ', ';']).next())
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// The whole run.
#[derive(Debug, Default)]
pub(super) struct Report {
    passed: usize,
    failures: Vec<String>,
    /// One line a skipped test: its name and what was missing. Such a test returned early, so its program counted it as passed.
    pub(super) skipped: Vec<String>,
}

impl Report {
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.passed += outcome.passed;
        self.failures.extend(outcome.failures);
    }

    pub(super) fn add_failure_if(&mut self, failure: Option<String>) {
        self.failures.extend(failure);
    }

    pub(super) fn passed(&self) -> usize {
        self.passed.saturating_sub(self.skipped.len())
    }

    pub(super) fn failed(&self) -> usize {
        self.failures.len()
    }

    /// Names what failed and what was skipped, then the one line that counts.
    pub(super) fn print(&self) {
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        for skipped in &self.skipped {
            println!("skipped: {skipped}");
        }
        println!("{}", self.closing_line());
    }

    fn closing_line(&self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed(),
            self.failed(),
            self.skipped.len()
        )
    }
}

#[cfg(test)]
mod tests {
    //! The closing line says what the programs printed, with skipped tests taken off the passed ones.

    use super::{Outcome, Report};

    #[track_caller]
    fn check(lines: &[&str], skipped: &[&str], expected: &str) {
        let mut outcome = Outcome::new("it");
        lines.iter().for_each(|line| outcome.read(line));
        let mut report = Report::default();
        report.add(outcome);
        report.skipped = skipped.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(report.closing_line(), expected);
    }

    #[test]
    fn results_are_summed() {
        let ok =
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        check(&[ok, ok], &[], "24 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn failures_are_counted_once() {
        let lines = [
            "test a ... FAILED",
            "test b ... ok",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored",
        ];
        check(&lines, &[], "1 passed, 1 failed, 0 skipped");
        check(
            &["test result: FAILED. 1 passed; 2 failed; 0 ignored"],
            &[],
            "1 passed, 2 failed, 0 skipped",
        );
    }

    #[test]
    fn a_skipped_test_is_not_a_passed_one() {
        check(
            &["test result: ok. 3 passed; 0 failed"],
            &["a: no etcd"],
            "2 passed, 0 failed, 1 skipped",
        );
    }
}
