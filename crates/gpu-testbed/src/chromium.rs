//! A real browser without a window: what a page becomes, as text and as a picture.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::programs::ProgramMissing;
use crate::{Bed, BedError, Need, PartSpec, Program};

/// A page of ours is drawn in three seconds; a browser that hangs is killed after this.
const DRAWN_WITHIN: Duration = Duration::from_secs(90);

/// How much of the page's own time passes before it is looked at, so that its scripts and requests are done.
const VIRTUAL_MILLIS: u32 = 5_000;

/// Why a page could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ChromiumError {
    /// The browser is missing.
    #[error(transparent)]
    Program(#[from] ProgramMissing),
    /// It failed or took too long.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// It ended well and wrote nothing.
    #[error("the browser wrote no `{path}`")]
    NothingWritten {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// The browser without which none of this works.
pub fn need() -> Need {
    Program::Chromium.into()
}

/// The document after its scripts have run, as HTML.
pub async fn dump_dom(bed: &Bed, url: &str) -> Result<String, ChromiumError> {
    let look = Look::new(bed);
    let file = look.path("dom.html");
    look.run(&["--dump-dom"], url).await?;
    std::fs::read_to_string(&file).map_err(|source| ChromiumError::NothingWritten { path: file, source })
}

/// A picture of the page in a window of that size, as a PNG file of the bed.
pub async fn screenshot(bed: &Bed, url: &str, width: u32, height: u32) -> Result<PathBuf, ChromiumError> {
    let look = Look::new(bed);
    let file = look.path("page.png");
    let to_file = format!("--screenshot={}", file.display());
    look.run(
        &[
            &to_file,
            &format!("--window-size={width},{height}"),
            "--hide-scrollbars",
        ],
        url,
    )
    .await?;
    match std::fs::metadata(&file) {
        Ok(_) => Ok(file),
        Err(source) => Err(ChromiumError::NothingWritten { path: file, source }),
    }
}

/// One start of the browser with a profile of its own.
struct Look<'a> {
    bed: &'a Bed,
    number: usize,
}

impl<'a> Look<'a> {
    fn new(bed: &'a Bed) -> Self {
        Self {
            bed,
            number: LOOKS.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bed
            .path(Path::new(&format!("chromium-{}", self.number)).join(name))
    }

    async fn run(&self, flags: &[&str], url: &str) -> Result<(), ChromiumError> {
        let home = self.bed.make_directory(format!("chromium-{}", self.number))?;
        let profile = self.bed.make_directory(self.path("profile"))?;
        // The document goes to a file of its own, away from what the browser says about itself.
        let spec = PartSpec::new(format!("chromium-{}", self.number), "/bin/sh")
            .args(["-c", "exec \"$0\" \"$@\" > dom.html"])
            .arg(Program::Chromium.path()?.display().to_string())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            // Shared memory of this kind outlives a killed browser.
            .arg("--disable-dev-shm-usage")
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--virtual-time-budget={VIRTUAL_MILLIS}"))
            .args(flags.iter().copied())
            .arg(url)
            // Everything else that a browser keeps for its user stays on the bed, too.
            .env("HOME", home.display().to_string())
            .cwd(&home);
        self.bed.run(spec, DRAWN_WITHIN).await?;
        Ok(())
    }
}
