//! Those who follow the snapshots from the start to the end besides the server: the final report, and systemd.

use std::time::Duration;

use super::report::Chronicle;
use super::systemd::Systemd;
use crate::settings::Settings;
use crate::snapshot::NodeSnapshot;

pub(super) struct Followers {
    report: Option<Chronicle>,
    systemd: Option<Systemd>,
}

impl Followers {
    pub(super) fn new(settings: &Settings) -> anyhow::Result<Self> {
        let report = settings.until.report.clone();
        Ok(Self {
            report: report.map(Chronicle::new),
            systemd: Systemd::from_environment()?,
        })
    }

    /// Takes the newest snapshot in; `quiet` is how long ago one was new.
    pub(super) fn follow(&self, snapshot: &NodeSnapshot, quiet: Duration) {
        if let Some(chronicle) = &self.report {
            chronicle.record(snapshot);
        }
        if let Some(systemd) = &self.systemd {
            systemd.tell(snapshot, quiet);
        }
    }

    /// The end, with the last snapshot there will be.
    pub(super) fn finish(&self, last: &NodeSnapshot) {
        if let Some(systemd) = &self.systemd {
            systemd.stopping();
        }
        if let Some(chronicle) = &self.report {
            chronicle.finish(last);
        }
    }
}
