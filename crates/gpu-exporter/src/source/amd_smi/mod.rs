//! AMD's driver through `amd-smi ... --json`, for machines where sysfs is not to be seen; only where it is asked for by name. Who
//! the GPUs are is asked once and when their number changes; what they do, and for whom, every time.

mod places;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use super::command::Places;
use super::tool::{Answer, Fallback, Pace, Runner, Tool, ToolDriver, Wish};
use super::{Driver, DriverFault, DriverLoader};

pub use report::{Texts, amd_answer};

/// The name of the source in metrics.
pub const NAME: &str = "amd_smi";
const USUAL: &[&str] = &[
    "/opt/rocm/bin/amd-smi",
    "/usr/bin/amd-smi",
    "/usr/local/bin/amd-smi",
];

/// Starts the source that runs `amd-smi`.
pub struct AmdSmiLoader {
    places: Places,
    pace: Pace,
}

impl AmdSmiLoader {
    /// As what stands in for the driver's files.
    pub fn fallback(given: Option<PathBuf>, pace: Pace) -> Fallback {
        let places = Places { usual: USUAL, given };
        Fallback {
            places: places.clone(),
            loader: Box::new(Self { places, pace }),
            wish: Wish::ByName,
        }
    }
}

impl DriverLoader for AmdSmiLoader {
    fn name(&self) -> &'static str {
        NAME
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let runner = Runner {
            name: "amd-smi",
            places: self.places.clone(),
            patience: self.pace.patience,
        };
        let tool = AmdSmi {
            runner,
            fixed: None,
            count: 0,
        };
        Ok(Arc::new(ToolDriver::start(NAME, Box::new(tool), self.pace)?))
    }
}

struct AmdSmi {
    runner: Runner,
    /// What `static` and `list` printed.
    fixed: Option<(String, String)>,
    /// The GPUs of the last answer.
    count: usize,
}

impl Tool for AmdSmi {
    fn ask(&mut self) -> Result<Answer, DriverFault> {
        let metric = self.runner.run(&["metric", "--json"])?;
        let fixed = match self.fixed.take() {
            Some(fixed) => fixed,
            None => (
                self.runner.run(&["static", "--json"])?.text,
                self.runner.run(&["list", "--json"])?.text,
            ),
        };
        // Without it only the processes are missing.
        let process = self
            .runner
            .run(&["process", "--json"])
            .map(|output| output.text)
            .unwrap_or_default();
        let answer = amd_answer(&Texts {
            metric: &metric.text,
            fixed: &fixed.0,
            list: &fixed.1,
            process: &process,
        });
        let Some(answer) = answer else {
            warn!(code = metric.code, words = %metric.words, "amd-smi printed nothing that can be understood");
            return Err(DriverFault::Failed {
                class: if metric.code == 0 {
                    "unreadable"
                } else {
                    "exit_code"
                },
            });
        };
        let is_same = answer.devices.len() == self.count || self.count == 0;
        self.count = answer.devices.len();
        self.fixed = is_same.then_some(fixed);
        Ok(answer)
    }
}
