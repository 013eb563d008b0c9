//! A machine of the test's own: a copy of the double with a scenario, in a directory that goes with it.

use std::time::{Duration, Instant};

use gpu_nvml::{Device, LoadError, Nvml};
use gpu_nvml_double::Installed;
use gpu_nvml_double::scenario::Scenario;
use tempfile::TempDir;

pub(crate) struct Machine {
    pub(crate) installed: Installed,
    pub(crate) scenario: Scenario,
    _directory: TempDir,
}

impl Machine {
    /// Answers at once, unless the scenario is made to wait by `with_latency`.
    pub(crate) fn new(scenario: Scenario) -> Machine {
        Machine::with_latency(scenario.without_latency())
    }

    pub(crate) fn with_latency(scenario: Scenario) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let installed = Installed::into(directory.path(), &scenario).unwrap();
        Machine {
            installed,
            scenario,
            _directory: directory,
        }
    }

    pub(crate) fn load(&self) -> Result<Nvml, LoadError> {
        Nvml::load(Some(&self.installed.library()))
    }

    pub(crate) fn nvml(&self) -> Nvml {
        self.load().unwrap()
    }

    pub(crate) fn first(&self) -> Device {
        self.nvml().device(0).unwrap()
    }

    pub(crate) fn uuid(&self, index: usize) -> String {
        self.scenario.gpus[index].uuid.clone()
    }

    /// Changes the machine under a running program.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Scenario)) {
        change(&mut self.scenario);
        self.installed.change(&self.scenario).unwrap();
    }
}

/// Looks again until it is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what} within 20 s");
        std::thread::sleep(Duration::from_millis(1));
    }
}
