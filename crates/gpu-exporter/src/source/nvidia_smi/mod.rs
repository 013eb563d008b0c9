//! NVIDIA's driver through `nvidia-smi`, where its library cannot be loaded. The XML report has everything; where it cannot be
//! understood, the table of `--query-gpu` has most of it. The uuids of slices are in neither: `-L` tells them, and is asked
//! when the slices change.

mod csv;
mod csv_tool;
mod fields;
mod filler;
mod health;
mod identity;
mod slices;
mod xml;
mod xml_report;

use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use super::command::{Output, Places};
use super::tool::{Answer, Fallback, Pace, Runner, Tool, ToolDriver, Wish};
use super::{Driver, DriverFault, DriverLoader};
use csv_tool::CsvTool;
use identity::Acquaintances;
use slices::SliceNames;

pub use csv::{Table, csv_answer, known_fields};
pub use slices::{SliceName, SliceTable, slice_names};
pub use xml_report::xml_answer;

/// The name of the source in metrics.
pub const NAME: &str = "nvidia_smi";
/// Where drivers and clouds put it.
const USUAL: &[&str] = &[
    "/usr/bin/nvidia-smi",
    "/usr/local/nvidia/bin/nvidia-smi",
    "/opt/nvidia/bin/nvidia-smi",
    "/usr/local/bin/nvidia-smi",
    "/opt/bin/nvidia-smi",
    "/usr/lib/wsl/lib/nvidia-smi",
    "/run/nvidia/driver/usr/bin/nvidia-smi",
    "/home/kubernetes/bin/nvidia/bin/nvidia-smi",
];

/// Starts the source that runs `nvidia-smi`.
pub struct NvidiaSmiLoader {
    places: Places,
    pace: Pace,
}

impl NvidiaSmiLoader {
    pub fn new(given: Option<PathBuf>, pace: Pace) -> Self {
        let places = Places { usual: USUAL, given };
        Self { places, pace }
    }

    /// As what stands in for NVML.
    pub fn fallback(given: Option<PathBuf>, pace: Pace, wish: Wish) -> Fallback {
        let loader = Self::new(given, pace);
        Fallback {
            places: loader.places.clone(),
            loader: Box::new(loader),
            wish,
        }
    }
}

impl DriverLoader for NvidiaSmiLoader {
    fn name(&self) -> &'static str {
        NAME
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let runner = Runner {
            name: "nvidia-smi",
            places: self.places.clone(),
            patience: self.pace.patience,
        };
        let tool = NvidiaSmi {
            runner,
            way: Way::Xml,
            slices: SliceNames::default(),
            known: Acquaintances::default(),
        };
        Ok(Arc::new(ToolDriver::start(NAME, Box::new(tool), self.pace)?))
    }
}

/// How it is asked.
enum Way {
    Xml,
    /// With the runs since the report was last tried.
    Csv(Box<CsvTool>, u32),
}

/// A report that was cut short once, by a GPU that fell off the bus, is whole again later; every minute is soon enough.
const REPORT_AGAIN_AFTER: u32 = 12;

/// The exit code of a query that this user may not make.
const NO_PERMISSION: i32 = 4;

struct NvidiaSmi {
    runner: Runner,
    way: Way,
    slices: SliceNames,
    known: Acquaintances,
}

impl Tool for NvidiaSmi {
    fn ask(&mut self) -> Result<Answer, DriverFault> {
        let mut answer = match &mut self.way {
            Way::Csv(tool, runs) if *runs < REPORT_AGAIN_AFTER => {
                *runs += 1;
                tool.ask(&self.runner)?
            }
            Way::Csv(..) | Way::Xml => match self.ask_xml()? {
                Some(answer) => {
                    self.way = Way::Xml;
                    answer
                }
                None => self.ask_table()?,
            },
        };
        self.known.recall(&mut answer);
        Ok(answer)
    }
}

impl NvidiaSmi {
    fn ask_table(&mut self) -> Result<Answer, DriverFault> {
        let (mut tool, is_new) = match std::mem::replace(&mut self.way, Way::Xml) {
            Way::Csv(tool, _) => (tool, false),
            Way::Xml => (Box::default(), true),
        };
        let answer = tool.ask(&self.runner)?;
        if is_new {
            warn!(
                "cannot understand the report of nvidia-smi; asks for its table instead, which has no slices"
            );
        }
        self.way = Way::Csv(tool, 0);
        Ok(answer)
    }

    /// The report; none where it cannot be understood.
    fn ask_xml(&mut self) -> Result<Option<Answer>, DriverFault> {
        let output = self.runner.run(&["-q", "-x"])?;
        let Ok(mut answer) = xml_answer(&output.text) else {
            // Who may not have the report may still be given single values.
            if output.code != NO_PERMISSION {
                refuse(&output)?;
            }
            return Ok(None);
        };
        self.slices.name(&mut answer, &self.runner);
        Ok(Some(answer))
    }
}

/// What an exit code means, where nothing was printed that can be used. The codes are those of NVML.
fn refuse(output: &Output) -> Result<(), DriverFault> {
    let absent = |words: &str| Err(DriverFault::Absent(words.to_owned()));
    let failed = |class| Err(DriverFault::Failed { class });
    match output.code {
        // Not a failure; a flag it does not know: what it printed has to be understood in another way.
        0 | 2 | 3 => Ok(()),
        NO_PERMISSION => failed("no_permission"),
        6 => absent("nvidia-smi finds no GPU: give the container its devices"),
        8 => failed("no_external_power"),
        9 => absent(
            "nvidia-smi says that NVIDIA's driver is not loaded: install it, or load the module `nvidia`",
        ),
        10 => failed("interrupt_issue"),
        12 => absent("nvidia-smi finds no libnvidia-ml.so.1: give the container the driver's libraries"),
        14 => failed("corrupted_inforom"),
        15 => failed("lost"),
        18 => failed("version_mismatch"),
        127 => absent("nvidia-smi cannot be started: its libraries are not there"),
        code => {
            warn!(code, words = %output.words, "nvidia-smi failed");
            failed("exit_code")
        }
    }
}
