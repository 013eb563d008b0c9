//! System packages, on Debian and its relatives, as root only. Nothing is installed when every program is already there.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A program and the Debian package that has it; the directories are Debian's, outside the usual search path.
struct Wanted {
    program: &'static str,
    package: &'static str,
    directories: &'static [&'static str],
}

const SBIN: &[&str] = &["/usr/sbin", "/sbin"];

const WANTED: &[Wanted] = &[
    Wanted {
        program: "etcd",
        package: "etcd-server",
        directories: &[],
    },
    Wanted {
        program: "prometheus",
        package: "prometheus",
        directories: &[],
    },
    Wanted {
        program: "promtool",
        package: "prometheus",
        directories: &[],
    },
    Wanted {
        program: "prometheus-alertmanager",
        package: "prometheus-alertmanager",
        directories: &[],
    },
    Wanted {
        program: "chromium",
        package: "chromium",
        directories: &[],
    },
    Wanted {
        program: "containerd",
        package: "containerd",
        directories: SBIN,
    },
    Wanted {
        program: "runc",
        package: "runc",
        directories: SBIN,
    },
    Wanted {
        program: "bridge",
        package: "containernetworking-plugins",
        directories: &["/usr/lib/cni"],
    },
    Wanted {
        program: "iptables",
        package: "iptables",
        directories: SBIN,
    },
    Wanted {
        program: "conntrack",
        package: "conntrack",
        directories: SBIN,
    },
    Wanted {
        program: "ip",
        package: "iproute2",
        directories: SBIN,
    },
    Wanted {
        program: "unshare",
        package: "util-linux",
        directories: &[],
    },
    Wanted {
        program: "mount",
        package: "mount",
        directories: &[],
    },
];

/// Package scripts start the services they bring, on fixed ports. Debian's agreed way to prevent this is a policy that
/// answers 101; it is placed only where none exists and removed again.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs the packages of the programs that are missing.
pub(super) fn install() -> Result<()> {
    let missing = missing_packages();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if shell::find_program("apt-get", &[]).is_none() {
        bail!("this is not Debian; install the programs of these packages yourself: {list}");
    }
    if !is_root()? {
        bail!("not root; run `apt-get install --no-install-recommends {list}` yourself");
    }
    shell::step(&format!("installing system packages: {list}"), || {
        let _policy = ServicePolicy::place()?;
        shell::run(apt(&["update", "-qq"]).stdout(std::process::Stdio::null()))?;
        let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
        arguments.extend(&missing);
        // Package scripts write pages of text; what went wrong comes on standard error.
        shell::run(apt(&arguments).stdout(std::process::Stdio::null()))
    })
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn missing_packages() -> Vec<&'static str> {
    let mut packages: Vec<&str> = WANTED
        .iter()
        .filter(|wanted| shell::find_program(wanted.program, wanted.directories).is_none())
        .map(|wanted| wanted.package)
        .collect();
    if !has_postgres_server() {
        packages.push("postgresql");
    }
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// The server's programs lie in a directory named after the major version.
fn has_postgres_server() -> bool {
    std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .any(|version| version.path().join("bin/initdb").is_file())
}

fn is_root() -> Result<bool> {
    let answer = shell::read(Command::new("id").arg("-u"))?;
    Ok(answer.trim() == "0")
}

struct ServicePolicy {
    placed: bool,
}

impl ServicePolicy {
    fn place() -> Result<Self> {
        if Path::new(POLICY).exists() {
            return Ok(Self { placed: false });
        }
        std::fs::write(POLICY, "#!/bin/sh\nexit 101\n")
            .with_context(|| format!("failed to write `{POLICY}`"))?;
        shell::run(Command::new("chmod").args(["755", POLICY]))?;
        Ok(Self { placed: true })
    }
}

impl Drop for ServicePolicy {
    fn drop(&mut self) {
        if self.placed
            && let Err(error) = std::fs::remove_file(POLICY)
        {
            eprintln!("failed to remove `{POLICY}`, please remove it: {error}");
        }
    }
}
