//! AMD's driver through `rocm-smi --json`, for machines where sysfs is not to be seen; only where it is asked for by name. One
//! object a card; names of keys differ by version, values are mostly texts.

mod card;

use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use super::command::Places;
use super::tool::{Answer, Fallback, Pace, Runner, Tool, ToolDriver, Wish};
use super::{Driver, DriverFault, DriverLoader};

pub use card::rocm_answer;

/// The name of the source in metrics.
pub const NAME: &str = "rocm_smi";
const USUAL: &[&str] = &[
    "/opt/rocm/bin/rocm-smi",
    "/usr/bin/rocm-smi",
    "/usr/local/bin/rocm-smi",
];

/// What is asked for: everything that is a measurement, and who the card is.
const ARGUMENTS: &[&str] = &[
    "--showproductname",
    "--showid",
    "--showuniqueid",
    "--showserial",
    "--showvbios",
    "--showbus",
    "--showdriverversion",
    "--showuse",
    "--showmemuse",
    "--showtemp",
    "--showpower",
    "--showmaxpower",
    "--showenergycounter",
    "--showclocks",
    "--showreplaycount",
    "--showpids",
    "--showmeminfo",
    "vram",
    "vis_vram",
    "gtt",
    "--json",
];

/// Starts the source that runs `rocm-smi`.
pub struct RocmSmiLoader {
    places: Places,
    pace: Pace,
}

impl RocmSmiLoader {
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

impl DriverLoader for RocmSmiLoader {
    fn name(&self) -> &'static str {
        NAME
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let runner = Runner {
            name: "rocm-smi",
            places: self.places.clone(),
            patience: self.pace.patience,
        };
        Ok(Arc::new(ToolDriver::start(
            NAME,
            Box::new(RocmSmi { runner }),
            self.pace,
        )?))
    }
}

struct RocmSmi {
    runner: Runner,
}

impl Tool for RocmSmi {
    fn ask(&mut self) -> Result<Answer, DriverFault> {
        let output = self.runner.run(ARGUMENTS)?;
        if let Some(answer) = rocm_answer(&output.text) {
            return Ok(answer);
        }
        let said = format!("{}\n{}", output.text, output.words);
        if said.contains("No AMD GPUs") || said.contains("initialized (amdgpu not found") {
            return Err(DriverFault::Absent(
                "rocm-smi finds no GPU of AMD: load the module `amdgpu`, and give the container /dev/kfd and /dev/dri".to_owned(),
            ));
        }
        warn!(code = output.code, words = %output.words, "rocm-smi printed nothing that can be understood");
        Err(DriverFault::Failed {
            class: if output.code == 0 {
                "unreadable"
            } else {
                "exit_code"
            },
        })
    }
}
