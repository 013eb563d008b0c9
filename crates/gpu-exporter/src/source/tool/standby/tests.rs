//! When the tool is taken, when it is let go, and what is said of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Fallback, When, Wish, WithFallback};
use crate::source::command::Places;
use crate::source::tool::Pace;
use crate::source::{Driver, DriverFault, DriverLoader, FaultStream, Listed, Readers};

type Outcome = Result<usize, DriverFault>;

/// Loads or not, as it is told, and lists so many devices.
#[derive(Clone)]
struct Scripted(&'static str, Arc<Mutex<Outcome>>);

struct Lists(usize);

impl Driver for Lists {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        Ok((0..self.0)
            .map(|_| super::super::tests::told("a", 0.0).listed)
            .collect())
    }

    fn open(&self, _device: &Listed) -> Result<Readers, DriverFault> {
        Err(DriverFault::DeviceLost)
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        None
    }
}

impl DriverLoader for Scripted {
    fn name(&self) -> &'static str {
        self.0
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let outcome = self.1.lock().unwrap().clone();
        outcome.map(|count| Arc::new(Lists(count)) as Arc<dyn Driver>)
    }
}

fn scripted(name: &'static str, outcome: Outcome) -> Scripted {
    Scripted(name, Arc::new(Mutex::new(outcome)))
}

fn absent() -> Outcome {
    Err(DriverFault::Absent("no library".to_owned()))
}

fn with(
    primary: &Scripted,
    when: When,
    tool: &Scripted,
    place: &'static [&'static str],
    wish: Wish,
) -> WithFallback {
    let fallback = Fallback {
        loader: Box::new(tool.clone()),
        places: Places {
            usual: place,
            given: None,
        },
        wish,
    };
    let pace = Pace {
        interval: Duration::from_millis(1),
        patience: Duration::from_secs(1),
    };
    WithFallback::new(Box::new(primary.clone()), when, vec![fallback], pace)
}

const THERE: &[&str] = &["/bin/sh"];
const NOWHERE: &[&str] = &["/nowhere/tool"];

fn who(driver: &dyn Driver) -> &'static str {
    driver.stands_in().map_or("primary", |stands_in| stands_in.name)
}

#[test]
fn the_library_comes_first_and_comes_back() {
    let (primary, tool) = (scripted("nvml", absent()), scripted("nvidia_smi", Ok(1)));
    let loader = with(&primary, When::Unloadable, &tool, THERE, Wish::ByDefault);
    assert_eq!(loader.name(), "nvml");
    let driver = loader.load().unwrap();
    assert_eq!(who(driver.as_ref()), "nvidia_smi");
    assert_eq!(driver.stands_in().unwrap().because.as_ref(), "no library");
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(driver.list().unwrap().len(), 1);
    *primary.1.lock().unwrap() = Ok(0);
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(driver.list(), Err(DriverFault::Gone), "the tool makes way");
    assert_eq!(
        who(loader.load().unwrap().as_ref()),
        "primary",
        "NVML that lists nothing is believed"
    );
    *primary.1.lock().unwrap() = Err(DriverFault::VersionChanged);
    assert_eq!(
        loader.load().err(),
        Some(DriverFault::VersionChanged),
        "only a new process helps"
    );
}

#[test]
fn files_that_show_nothing_leave_room_for_a_tool() {
    let (primary, tool) = (scripted("amdgpu", Ok(0)), scripted("rocm_smi", Ok(2)));
    let loader = with(&primary, When::Empty, &tool, THERE, Wish::ByName);
    assert_eq!(who(loader.load().unwrap().as_ref()), "rocm_smi");
    *primary.1.lock().unwrap() = Ok(1);
    assert_eq!(who(loader.load().unwrap().as_ref()), "primary");
    *primary.1.lock().unwrap() = Ok(0);
    *tool.1.lock().unwrap() = absent();
    let driver = loader.load().unwrap();
    assert_eq!(
        (who(driver.as_ref()), driver.list().unwrap().len()),
        ("primary", 0)
    );
}

#[track_caller]
fn check_words(place: &'static [&'static str], wish: Wish, expected: &str) {
    let (primary, tool) = (
        scripted("nvml", absent()),
        scripted("nvidia_smi", Err(DriverFault::Absent("no driver".to_owned()))),
    );
    let loader = with(&primary, When::Unloadable, &tool, place, wish);
    assert_eq!(loader.load().err().unwrap().to_string(), expected);
    assert_eq!(
        loader.load().err().unwrap().to_string(),
        expected,
        "between two runs the words stay"
    );
}

#[test]
fn what_is_wrong_with_the_tool_is_said_when_it_matters() {
    check_words(THERE, Wish::ByDefault, "no library; nvidia_smi: no driver");
    check_words(NOWHERE, Wish::ByDefault, "no library");
    check_words(NOWHERE, Wish::ByName, "no library; nvidia_smi: no driver");
}
