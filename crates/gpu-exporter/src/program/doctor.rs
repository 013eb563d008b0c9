//! `doctor`: looks at everything the exporter needs, one by one, and says of each whether it is well, and if not, what to do.

mod amd;

use std::fmt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use gpu_kubelet::podresources::{self, ListPodResourcesRequest};
use gpu_runtime::http::BindError;
use gpu_runtime::{Chain, Terminal};

use super::{Outcome, Parts, bind, fetch, ownership};
use crate::owners::Sight;
use crate::page::Vocabulary;
use crate::settings::{Kubernetes, Settings, SettingsError, Sidecar};
use crate::source::{DriverFault, DriverLoader};
use crate::web::config::WebConfig;

/// A driver or kubelet that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of one check.
struct Finding {
    verdict: Verdict,
    name: String,
    words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    /// It works, with less.
    Poor,
    /// It does not work.
    Bad,
}

impl Finding {
    fn new(verdict: Verdict, name: impl Into<String>, words: impl Into<String>) -> Self {
        Self {
            verdict,
            name: name.into(),
            words: words.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Good => "ok  ",
            Verdict::Poor => "warn",
            Verdict::Bad => "fail",
        };
        writeln!(f, "{verdict}  {}: {}", self.name, self.words)
    }
}

/// Prints a line for each check.
pub(super) async fn examine(settings: Result<Settings, SettingsError>, parts: &Parts) -> Outcome {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            Terminal::Plain.say(Finding::new(Verdict::Bad, "settings", Chain(&error).to_string()));
            return Outcome::Unhealthy;
        }
    };
    let mut findings = vec![Finding::new(Verdict::Good, "settings", "they are valid")];
    findings.extend(counters(&settings));
    findings.extend(amd_config(&settings));
    findings.push(web_config(&settings));
    let loaders = (parts.loaders)(&settings);
    let reads_amd = loaders.iter().any(|loader| loader.name() == "amdgpu");
    findings.extend(drivers(loaders));
    if reads_amd {
        findings.extend(amd::examine(&settings));
    }
    if let Some(sidecar) = &settings.sidecar {
        findings.push(own_pod(sidecar));
    } else {
        findings.push(processes(&settings));
        findings.push(control_groups(&settings));
        findings.push(kubelet(&settings).await);
    }
    findings.extend(settings.job_directories.iter().map(|(_, path)| jobs(path)));
    findings.push(kernel_log(&settings));
    findings.push(port(&settings).await);
    for finding in &findings {
        Terminal::Plain.say(finding);
    }
    if findings.iter().any(|finding| finding.verdict == Verdict::Bad) {
        Outcome::Unhealthy
    } else {
        Outcome::Done
    }
}

fn counters(settings: &Settings) -> Option<Finding> {
    let file = settings.page.counters.as_ref()?;
    let shown = format!("{} families are shown", file.families.len());
    if file.skipped.is_empty() {
        return Some(Finding::new(Verdict::Good, "counters file", shown));
    }
    let skipped: Vec<String> = file.skipped.iter().map(ToString::to_string).collect();
    let words = format!("{shown}; {}", skipped.join("; "));
    Some(Finding::new(Verdict::Poor, "counters file", words))
}

fn jobs(directory: &Path) -> Finding {
    match std::fs::read_dir(directory) {
        Ok(_) => Finding::new(
            Verdict::Good,
            "jobs",
            format!("`{}` can be read", directory.display()),
        ),
        Err(error) => {
            let words = format!(
                "cannot list `{}` ({error}); let the prolog make it, readable for this user",
                directory.display()
            );
            Finding::new(Verdict::Bad, "jobs", words)
        }
    }
}

fn own_pod(sidecar: &Sidecar) -> Finding {
    let (name, directory) = ("pod", &sidecar.pod_info.directory);
    let own = format!("{}/{}", sidecar.pod.namespace.as_str(), sidecar.pod.pod.as_str());
    if directory.join("labels").is_file() && directory.join("annotations").is_file() {
        return Finding::new(Verdict::Good, name, format!("GPUs are those of {own}"));
    }
    let verdict = match sidecar.pod_info.is_named {
        true => Verdict::Bad,
        false => Verdict::Poor,
    };
    let words = format!(
        "GPUs are those of {own}, without labels: mount `labels` and `annotations` at `{}` by a downwardAPI volume",
        directory.display()
    );
    Finding::new(verdict, name, words)
}

fn amd_config(settings: &Settings) -> Option<Finding> {
    let name = "configuration of AMD's exporter";
    let config = settings.page.amd.as_ref()?;
    if !settings.page.vocabularies.contains(&Vocabulary::Amd) {
        let words = "it is read in vain: add `amd` to --vocabulary";
        return Some(Finding::new(Verdict::Poor, name, words));
    }
    if config.notes.is_empty() {
        return Some(Finding::new(Verdict::Good, name, "all of it is taken"));
    }
    Some(Finding::new(Verdict::Poor, name, config.notes.join("; ")))
}

fn web_config(settings: &Settings) -> Finding {
    let name = "web configuration";
    let Some(path) = &settings.web_config_file else {
        let words = "none: everybody who reaches the port may read it; see --web-config-file";
        return Finding::new(Verdict::Good, name, words);
    };
    match WebConfig::load(path) {
        Ok(config) if config.notes.is_empty() => Finding::new(Verdict::Good, name, "it is valid"),
        Ok(config) => Finding::new(Verdict::Poor, name, config.notes.join("; ")),
        Err(error) => Finding::new(Verdict::Bad, name, Chain(&error).to_string()),
    }
}

fn drivers(loaders: Vec<Box<dyn DriverLoader>>) -> Vec<Finding> {
    if loaders.is_empty() {
        let words = "this build reads none: there will be no GPU on the page";
        return vec![Finding::new(Verdict::Poor, "drivers", words)];
    }
    let needed: Vec<bool> = loaders.iter().map(|loader| loader.sees_hardware()).collect();
    let mut findings: Vec<(Finding, Presence)> = loaders.into_iter().map(driver).collect();
    let answers = findings.iter().any(|(_, presence)| *presence == Presence::Here);
    for ((finding, presence), is_needed) in findings.iter_mut().zip(needed) {
        if answers && !is_needed && *presence == Presence::Absent {
            finding.verdict = Verdict::Good;
            finding.words = "it is not needed: this machine has no GPU for it".to_owned();
        }
    }
    findings.into_iter().map(|(finding, _)| finding).collect()
}

/// Whether a driver is on the machine at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    Absent,
}

/// Loads the driver and lists its devices, on a thread that is left behind should it hang.
fn driver(loader: Box<dyn DriverLoader>) -> (Finding, Presence) {
    let name = format!("driver {}", loader.name());
    let (sender, listed) = mpsc::channel();
    let started = std::thread::Builder::new().spawn(move || {
        let outcome = loader.load().and_then(|driver| {
            let count = driver.list()?.len();
            Ok((count, driver.stands_in()))
        });
        // Nobody waits any more when the time is over.
        let _ = sender.send(outcome);
    });
    if let Err(error) = started {
        let words = format!("no thread could be started: {error}");
        return (Finding::new(Verdict::Bad, name, words), Presence::Here);
    }
    let finding = match listed.recv_timeout(PATIENCE) {
        Ok(Ok((count, Some(stands_in)))) => {
            let words = format!(
                "{} stands in for it and lists {count} GPUs, with fewer figures and less often, because {}",
                stands_in.name, stands_in.because
            );
            Finding::new(Verdict::Poor, name, words)
        }
        Ok(Ok((0, None))) => {
            let words =
                "it answers and lists no GPU; does the container see the devices (NVIDIA_VISIBLE_DEVICES)?";
            Finding::new(Verdict::Poor, name, words)
        }
        Ok(Ok((count, None))) => {
            Finding::new(Verdict::Good, name, format!("it answers and lists {count} GPUs"))
        }
        Ok(Err(DriverFault::Absent(words))) => {
            return (Finding::new(Verdict::Bad, name, words), Presence::Absent);
        }
        Ok(Err(fault)) => Finding::new(
            Verdict::Bad,
            name,
            format!("{fault}; restart the exporter, and look at the kernel's log if that does not help"),
        ),
        Err(_) => {
            let words = "it does not answer; a GPU may hang: look at the kernel's log for `NVRM` or `amdgpu`";
            Finding::new(Verdict::Bad, name, words)
        }
    };
    (finding, Presence::Here)
}

fn processes(settings: &Settings) -> Finding {
    let name = "processes";
    if ownership::sight(settings) == Sight::Own {
        let words = "those of the host are not visible, so that containers that share a GPU are not told apart; \
                     set hostPID, or say with --host-processes that they are";
        return Finding::new(Verdict::Poor, name, words);
    }
    match std::fs::read(settings.procfs.join("1/cgroup")) {
        Ok(_) => Finding::new(Verdict::Good, name, "those of the host are visible"),
        Err(error) => Finding::new(
            Verdict::Poor,
            name,
            format!(
                "their control groups cannot be read ({error}); run as root to tell apart who shares a GPU"
            ),
        ),
    }
}

fn control_groups(settings: &Settings) -> Finding {
    let name = "control groups";
    let own = std::fs::read(settings.procfs.join("self/cgroup"));
    let tree = std::fs::read_dir(settings.sysfs.join("fs/cgroup"));
    match (own, tree) {
        (Ok(_), Ok(_)) => Finding::new(Verdict::Good, name, "they can be read"),
        (Err(error), _) | (_, Err(error)) => Finding::new(
            Verdict::Poor,
            name,
            format!("they cannot be read ({error}); mount the host's /sys/fs/cgroup or set --path.sysfs"),
        ),
    }
}

async fn kubelet(settings: &Settings) -> Finding {
    let name = "kubelet";
    let socket = &settings.kubelet_socket;
    let missing = match settings.kubernetes {
        Kubernetes::Off => {
            return Finding::new(Verdict::Good, name, "it is not asked, as --kubernetes says");
        }
        Kubernetes::On => Verdict::Bad,
        Kubernetes::WhenPresent => Verdict::Poor,
    };
    if !socket.exists() {
        let words = format!(
            "there is no socket at {}; outside Kubernetes that is as it should be, inside mount the directory",
            socket.display()
        );
        return Finding::new(missing, name, words);
    }
    let asked = async {
        let mut client = podresources::client(socket)
            .await
            .map_err(|error| Chain(&error).to_string())?;
        let listed = client.list(ListPodResourcesRequest {}).await;
        listed.map_err(|status| status.message().to_owned())
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => {
            let words = format!(
                "it answers and lists {} pods",
                answer.get_ref().pod_resources.len()
            );
            Finding::new(Verdict::Good, name, words)
        }
        Ok(Err(problem)) => Finding::new(
            Verdict::Bad,
            name,
            format!("{problem}; the socket is root's: run as uid 0"),
        ),
        Err(_) => Finding::new(Verdict::Bad, name, "it does not answer; look at its log"),
    }
}

fn kernel_log(settings: &Settings) -> Finding {
    let name = "kernel log";
    let path = settings.kernel_log.as_deref().unwrap_or(Path::new("/dev/kmsg"));
    match crate::kmsg::KernelLog::start(path, |_| {}) {
        Ok(_) => Finding::new(Verdict::Good, name, "it can be read"),
        Err(error) => Finding::new(
            Verdict::Poor,
            name,
            format!(
                "{} cannot be read ({error}), so that faults come from the driver alone; mount it and grant CAP_SYSLOG",
                path.display()
            ),
        ),
    }
}

async fn port(settings: &Settings) -> Finding {
    let name = "port";
    match bind::bind(settings.address).await {
        Ok(listener) => Finding::new(Verdict::Good, name, format!("{} is free", listener.address())),
        Err(error @ BindError::Taken { .. }) => match fetch::get(settings, "/healthz", None) {
            Ok(answer) if answer.status == 200 && answer.body == b"ok\n" => {
                let words = format!("an exporter runs on {} and is well", settings.address);
                Finding::new(Verdict::Good, name, words)
            }
            Ok(_) | Err(_) => Finding::new(Verdict::Bad, name, error.to_string()),
        },
        Err(error) => Finding::new(Verdict::Bad, name, Chain(&error).to_string()),
    }
}
