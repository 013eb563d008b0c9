//! The program from its first to its last moment: settings, logging, what was asked for, and the exit code.

mod applications;
mod batch;
mod bind;
mod doctor;
mod fetch;
mod followers;
#[cfg(feature = "kubernetes-labels")]
mod labelled;
mod notes;
mod once;
mod ownership;
mod reload;
mod report;
mod serve;
mod sidecar;
mod systemd;
mod until;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use gpu_runtime::{Shutdown, SystemClock, Tasks, complain, run_on_one_thread, start_logging};

use crate::collect::{Attribution, Collector, Intervals, Surroundings};
use crate::owners::own_pod::OwnGpus;
use crate::settings::{Cli, Command, Flags, OwnGpusFrom, Settings, Sidecar, Source};
use crate::snapshot::Origin;
use crate::source::amd::AmdLoader;
use crate::source::intel::IntelLoader;
use crate::source::nvidia::NvidiaLoader;
use crate::source::{DriverLoader, command, fallbacks};
#[cfg(feature = "kubernetes-labels")]
pub use labelled::Labelled;
use notes::{Notes, WithNotes};
pub use ownership::ownership;

/// The driver's library no longer fits the kernel module: a new process, and in a container only a new container, finds the
/// right one. The number is that of sysexits' `EX_TEMPFAIL`: try again.
pub const EXIT_DRIVER_CHANGED: u8 = 75;
/// Something failed; the words are on standard error.
pub const EXIT_FAILED: u8 = 1;

/// The parts that differ between builds and tests.
pub struct Parts {
    /// The drivers to read.
    pub loaders: fn(&Settings) -> Vec<Box<dyn DriverLoader>>,
    /// Who holds what; what has to run for it is one of the tasks.
    pub attribution: fn(&Settings, &mut Tasks, &Shutdown) -> Box<dyn Attribution>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            loaders: |_| Vec::new(),
            attribution: ownership,
        }
    }
}

/// The drivers of all vendors, side by side: those that are not there cost a look at a directory every two seconds.
pub fn drivers(settings: &Settings) -> Vec<Box<dyn DriverLoader>> {
    let (sysfs, procfs) = (devices_root(settings), settings.procfs.clone());
    let nvidia = NvidiaLoader::new(settings.nvml_library.clone()).looking_at(sysfs.clone());
    let mut amd = AmdLoader::new(sysfs.clone(), procfs.clone(), ownership::sight(settings));
    let intel = IntelLoader { sysfs, procfs };
    // Few machines have such a card and none gets one while it runs: the others are spared the thread.
    let mut has_intel = intel.sees_hardware();
    // A sidecar whose GPUs nobody names takes what it sees for its pod's.
    let is_unnamed = |sidecar: &Sidecar| sidecar.own_gpus == OwnGpusFrom::Settings(OwnGpus::All);
    if settings.sidecar.as_ref().is_some_and(is_unnamed) {
        amd = amd.granted_in(PathBuf::from("/dev/dri"));
        // Every container's `/sys` has all cards of the machine.
        has_intel = false;
    }
    let mut loaders = vec![
        fallbacks::of_nvidia(Box::new(nvidia), &settings.fallback),
        fallbacks::of_amd(Box::new(amd), &settings.fallback),
    ];
    if has_intel {
        loaders.push(Box::new(intel));
    }
    loaders
}

/// Where the machine's devices are. A root with nothing but control groups is what a pod is given of the host, and devices are
/// in every container's own `/sys`.
fn devices_root(settings: &Settings) -> PathBuf {
    let has = |name: &str| settings.sysfs.join(name).is_dir();
    match has("fs") && !has("devices") {
        true => PathBuf::from("/sys"),
        false => settings.sysfs.clone(),
    }
}

/// How the program ended without failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The doctor found something that has to be mended.
    Unhealthy,
    DriverChanged,
}

/// Does what was asked for and returns the exit code.
pub fn run(cli: &Cli, parts: &Parts) -> ExitCode {
    let outcome = dispatch(cli, parts);
    command::end_all();
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Unhealthy) => ExitCode::from(EXIT_FAILED),
        Ok(Outcome::DriverChanged) => ExitCode::from(EXIT_DRIVER_CHANGED),
        Err(error) => {
            complain(format_args!("{error:#}"));
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn dispatch(cli: &Cli, parts: &Parts) -> anyhow::Result<Outcome> {
    let flags = &cli.flags;
    let host = host_name();
    let settings = Settings::resolve(flags, &host);
    if let Some(Command::Doctor) = cli.command {
        return run_on_one_thread(doctor::examine(settings, parts)).context("failed to start the runtime");
    }
    let settings = settings?;
    if settings.source == Source::Sim && !cfg!(feature = "sim") {
        anyhow::bail!("this build has no simulated source; build it with `--features sim`");
    }
    let asked_to_serve = cli.command.is_none() && !flags.once;
    log(flags, &settings, asked_to_serve)?;
    if let Some(Command::Fetch {
        path,
        user,
        password_file,
    }) = &cli.command
    {
        let caller = user.as_deref().zip(password_file.as_deref());
        fetch::fetch(&settings, path.as_deref(), caller)?;
        return Ok(Outcome::Done);
    }
    let outcome = run_on_one_thread(async {
        if flags.once {
            once::once(settings, parts).await
        } else {
            serve::serve(flags, settings, &host, parts).await
        }
    });
    outcome.context("failed to start the runtime")?
}

/// What prints something and ends logs only what went wrong, unless more was asked for.
fn log(flags: &Flags, settings: &Settings, asked_to_serve: bool) -> anyhow::Result<()> {
    let asked = asked_to_serve || flags.debug || flags.log_level.is_some();
    let level = if asked { &*settings.log_level } else { "warn" };
    start_logging(level.parse()?, settings.log_format.parse()?)?;
    Ok(())
}

fn host_name() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "localhost".to_owned())
}

fn start_collector(
    settings: &Settings,
    parts: &Parts,
    attribution: Box<dyn Attribution>,
) -> anyhow::Result<Arc<Collector>> {
    let surroundings = Surroundings {
        node: settings.node.clone(),
        origin: match settings.source {
            Source::Drivers => Origin::Measured,
            Source::Sim => Origin::Simulated,
        },
        clock: Arc::new(SystemClock),
    };
    let intervals = Intervals {
        sample: settings.sample_interval,
        slow: settings.collection_interval,
        ..Intervals::default()
    };
    let loaders = (parts.loaders)(settings);
    let collector = Collector::start(loaders, attribution, surroundings, intervals);
    Ok(Arc::new(collector.context("failed to start the collection")?))
}
