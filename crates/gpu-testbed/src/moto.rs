//! moto, a double of AWS that others wrote: it keeps what it is told and answers in AWS's own formats.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;

use crate::http::{self, HttpError};
use crate::programs::ProgramMissing;
use crate::{Bed, BedError, Need, Part, PartSpec, Program, StopBy, free_port};

/// It is written in Python and loads for some seconds, longer on a machine that compiles.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// The region of everything that a test asks for.
const REGION: &str = "us-east-1";

/// Why moto could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum MotoError {
    /// The program is missing.
    #[error(transparent)]
    Program(#[from] ProgramMissing),
    /// It could not be started or died.
    #[error(transparent)]
    Bed(#[from] BedError),
    /// It did not answer.
    #[error("failed to ask moto")]
    Http(#[from] HttpError),
    /// It answered with an error.
    #[error("moto refused `{action}` with {status}: {body}")]
    Refused {
        /// The action.
        action: String,
        /// The status of the answer.
        status: ::http::StatusCode,
        /// The answer.
        body: String,
    },
}

/// A running moto. It lives as long as its bed.
#[derive(Debug)]
pub struct Moto {
    part: Part,
    url: String,
}

impl Moto {
    /// The program without which none of this works.
    pub fn need() -> Need {
        Program::MotoServer.into()
    }

    /// Starts an empty AWS.
    pub async fn start(bed: &Bed) -> Result<Self, MotoError> {
        let port = free_port();
        let spec = PartSpec::new("moto", Program::MotoServer.path()?)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stop_by(StopBy::Kill);
        let url = format!("http://127.0.0.1:{port}");
        let page = format!("{url}/moto-api/data.json");
        let part = bed.start(spec, READY_WITHIN, || http::probe(&page)).await?;
        Ok(Self { part, url })
    }

    /// The part, for its log or its death.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The address that clients of AWS take as their endpoint.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Calls an action of a service with a query interface (`autoscaling`, `ec2`) and answers with its XML.
    ///
    /// The signature names the service and proves nothing: moto does not check it.
    pub async fn call(
        &self,
        service: &str,
        version: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> Result<String, MotoError> {
        let mut form = vec![("Action", action), ("Version", version)];
        form.extend_from_slice(parameters);
        let scope = format!("Credential=test/20260101/{REGION}/{service}/aws4_request");
        let request = ::http::Request::post(format!("{}/", self.url))
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=none"),
            )
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(http::form(&form))))
            .map_err(|_| HttpError::Address {
                uri: self.url.clone(),
            })?;
        let answer = http::send(request).await?;
        if !answer.status.is_success() {
            return Err(MotoError::Refused {
                action: action.to_owned(),
                status: answer.status,
                body: answer.body,
            });
        }
        Ok(answer.body)
    }
}
