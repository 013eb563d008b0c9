//! Tools of vendors that are scripts of ours: they print what a fixture says, hang, rave or fail on demand. Nothing of them
//! outlives the exporter that runs them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A fixture in our own words, in the shape of a tool.
pub(super) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/tools")
        .join(name)
}

/// A tool in a directory of its own.
pub(super) struct FakeTool {
    directory: tempfile::TempDir,
}

impl FakeTool {
    /// One that answers arguments with fixtures, and anything else as nvidia-smi does: with code 2.
    pub(super) fn answering(answers: &[(&str, &str)]) -> Self {
        let tool = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        tool.answer(answers);
        tool
    }

    pub(super) fn behaving(body: &str) -> Self {
        let tool = Self::answering(&[]);
        tool.behave(body);
        tool
    }

    pub(super) fn answer(&self, answers: &[(&str, &str)]) {
        let case = |(arguments, name): &(&str, &str)| {
            format!("{arguments}) cat '{}'; exit 0;;\n", fixture(name).display())
        };
        let cases: String = answers.iter().map(case).collect();
        self.behave(&format!(
            "case \"$*\" in\n{cases}esac\necho 'Invalid combination of input arguments.'\nexit 2"
        ));
    }

    /// Exchanges the script as a whole; every run notes its arguments.
    pub(super) fn behave(&self, body: &str) {
        let text = format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\n{body}\n",
            self.runs_file().display()
        );
        let beside = self.directory.path().join("new");
        std::fs::write(&beside, text).unwrap();
        std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&beside, self.path()).unwrap();
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("tool")
    }

    fn runs_file(&self) -> PathBuf {
        self.directory.path().join("runs")
    }

    /// The arguments of every run so far.
    pub(super) fn runs(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.runs_file()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How many runs of it there are now. A shell that starts something is two processes of one group for a moment.
    pub(super) fn processes(&self) -> usize {
        let own = self.path().display().to_string();
        let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let group = |entry: std::fs::DirEntry| {
            let words = std::fs::read(entry.path().join("cmdline")).ok()?;
            // The exporter has the path among its arguments, too; a script is run by its interpreter.
            let is_it = words.starts_with(b"/bin/sh\0") && String::from_utf8_lossy(&words).contains(&own);
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let group = stat.rsplit(')').next()?.split_whitespace().nth(2)?.to_owned();
            is_it.then_some(group)
        };
        entries
            .filter_map(group)
            .collect::<std::collections::BTreeSet<String>>()
            .len()
    }
}
