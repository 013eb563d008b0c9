//! Devices with the jobs that a batch system gave them, beside whatever else owns them.

use std::sync::Arc;
use std::time::Instant;

use tracing::error;

use crate::collect::Attribution;
use crate::owners::jobs::{self, watch::Jobs};
use crate::settings::Settings;
use crate::snapshot::{DeviceSnapshot, LabelSet, SourceStatus, Workload};

/// Starts to look at the directories of job files if the settings name any.
pub(super) fn with_jobs(inner: Box<dyn Attribution>, settings: &Settings) -> Box<dyn Attribution> {
    if settings.job_directories.is_empty() {
        return inner;
    }
    match Jobs::start(settings.job_directories.clone()) {
        Ok(jobs) => Box::new(WithJobs { inner, jobs }),
        Err(error) => {
            error!(%error, "cannot start to look for jobs; GPUs are shown without them");
            inner
        }
    }
}

struct WithJobs {
    inner: Box<dyn Attribution>,
    jobs: Jobs,
}

impl Attribution for WithJobs {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        self.inner.attribute(devices);
        jobs::assign(&self.jobs.latest().book, devices);
    }

    fn status(&self) -> Vec<SourceStatus> {
        let mut all = self.inner.status();
        all.push(self.jobs.latest().status(Instant::now()));
        all
    }

    fn node_labels(&self) -> Option<LabelSet> {
        self.inner.node_labels()
    }

    fn workload(&self) -> Option<Arc<Workload>> {
        self.inner.workload()
    }

    fn shows(&self, device: &DeviceSnapshot) -> bool {
        self.inner.shows(device)
    }
}
