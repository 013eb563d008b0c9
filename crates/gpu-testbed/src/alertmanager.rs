//! A real Alertmanager that keeps what Prometheus sends to it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, HttpError};
use crate::programs::ProgramMissing;
use crate::{Bed, BedError, Need, Part, PartSpec, Program, StopBy, free_port};

/// A start takes less than a second; this is for a machine that compiles beside it.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Why Alertmanager could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum AlertmanagerError {
    /// The program is missing.
    #[error(transparent)]
    Program(#[from] ProgramMissing),
    /// It could not be started or died.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// It did not answer.
    #[error("failed to ask Alertmanager")]
    Http(#[from] HttpError),
    /// Its answer is not what its API promises.
    #[error("Alertmanager answered {answer}")]
    Answer {
        /// What came back.
        answer: String,
    },
}

/// A running Alertmanager. It lives as long as its bed.
#[derive(Debug)]
pub struct Alertmanager {
    part: Part,
    address: String,
}

impl Alertmanager {
    /// The program without which none of this works.
    pub fn need() -> Need {
        Program::Alertmanager.into()
    }

    /// Starts it with one receiver, which tells nobody.
    pub async fn start(bed: &Bed) -> Result<Self, AlertmanagerError> {
        let config = json!({"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]});
        let config = bed.write_file("alertmanager.yml", config.to_string())?;
        let address = format!("127.0.0.1:{}", free_port());
        let spec = PartSpec::new("alertmanager", Program::Alertmanager.path()?)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.path={}",
                bed.path("alertmanager-data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            // No peers: a listener on all addresses would be opened for them.
            .arg("--cluster.listen-address=")
            .stop_by(StopBy::Kill);
        let page = format!("http://{address}/-/ready");
        let part = bed.start(spec, READY_WITHIN, || http::probe(&page)).await?;
        Ok(Self { part, address })
    }

    /// The part, for its log or its death.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// HOST:PORT, as Prometheus wants it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The names of the alerts that it holds now.
    pub async fn alerts(&self) -> Result<Vec<String>, AlertmanagerError> {
        let answer = http::get(&format!("http://{}/api/v2/alerts", self.address)).await?;
        let wrong = || AlertmanagerError::Answer {
            answer: answer.body.clone(),
        };
        let alerts: Vec<Value> = serde_json::from_str(&answer.body).map_err(|_| wrong())?;
        let name = |alert: &Value| {
            alert["labels"]["alertname"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(wrong)
        };
        alerts.iter().map(name).collect()
    }
}
