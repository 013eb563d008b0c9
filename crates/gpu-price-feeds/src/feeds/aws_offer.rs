//! AWS's public offer file of EC2: the on-demand prices of a region, hundreds of megabytes, no credentials. It is parsed as it
//! arrives, and read again only when it has changed.

use std::time::Duration;

use gpu_cost::formats::{self, PricePoint};
use gpu_model::Cloud;
use gpu_runtime::http::client::{
    Client, ClientSettings, HeaderMap, HeaderName, HeaderValue, Limits, Request, StatusCode, Url, header,
};

use super::{Answer, Division, Feed, FeedError, FeedSettingsError, ListRequest, Validators, pages, pipe};

/// Where the file is.
#[derive(Debug, Clone)]
pub struct AwsOfferSettings {
    /// The server; that of China has an address of its own.
    pub endpoint: String,
    /// Which of the two forms of the file is read; both say the same.
    pub form: OfferForm,
    /// How it is reached.
    pub client: ClientSettings,
    /// How long the download may take.
    pub timeout: Duration,
}

/// The two forms of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferForm {
    /// `index.json`.
    Json,
    /// `index.csv`.
    Csv,
}

impl Default for AwsOfferSettings {
    fn default() -> Self {
        Self {
            endpoint: "https://pricing.us-east-1.amazonaws.com".to_owned(),
            form: OfferForm::Json,
            client: ClientSettings::default(),
            // Half a gigabyte at four megabits a second.
            timeout: Duration::from_secs(20 * 60),
        }
    }
}

/// The file of each region.
#[derive(Debug)]
pub struct AwsOffer {
    base: Url,
    form: OfferForm,
    client: Client,
    limits: Limits,
}

impl AwsOffer {
    /// Sets up the feed; nothing is fetched yet.
    pub fn new(settings: AwsOfferSettings) -> Result<Self, FeedSettingsError> {
        let most = formats::Limits::default().bytes;
        Ok(Self {
            base: pages::base(&settings.endpoint)?,
            form: settings.form,
            client: Client::new(settings.client)?,
            limits: Limits::new(settings.timeout, most),
        })
    }

    fn address(&self, region: &str) -> Url {
        let file = match self.form {
            OfferForm::Json => "index.json",
            OfferForm::Csv => "index.csv",
        };
        let path = ["offers", "v1.0", "aws", "AmazonEC2", "current", region, file];
        pages::below(&self.base, &path)
    }
}

impl Feed for AwsOffer {
    fn source(&self) -> &'static str {
        "aws-offer"
    }

    fn cloud(&self) -> Cloud {
        Cloud::Aws
    }

    fn division(&self) -> Division {
        Division::ByRegion
    }

    async fn fetch(&self, list: &ListRequest, known: Option<&Validators>) -> Result<Answer, FeedError> {
        let region = list.region.clone().unwrap_or_default();
        let request = conditional(Request::get(self.address(&region)), known);
        let chunks = pages::ask(&self.client, request, self.limits).await?;
        if chunks.status == StatusCode::NOT_MODIFIED {
            return Ok(Answer::Unchanged);
        }
        let validators = validators(&chunks.headers);
        let (form, wanted) = (self.form, list.wanted.clone());
        let points: Vec<PricePoint> = pipe::parse(chunks, move |reader| {
            let limits = formats::Limits::default();
            let is_wanted = |name: &str| wanted.has(Cloud::Aws, &region, name);
            match form {
                OfferForm::Json => formats::aws_offer::read(reader, &is_wanted, limits),
                OfferForm::Csv => formats::aws_offer_csv::read(reader, &is_wanted, limits),
            }
        })
        .await?;
        Ok(Answer::Prices { points, validators })
    }
}

/// Asks for the list only if it is another one than the one that is known.
fn conditional(mut request: Request, known: Option<&Validators>) -> Request {
    let Some(known) = known else { return request };
    let conditions: [(HeaderName, &Option<String>); 2] = [
        (header::IF_NONE_MATCH, &known.etag),
        (header::IF_MODIFIED_SINCE, &known.last_modified),
    ];
    for (name, value) in conditions {
        if let Some(value) = value.as_deref().and_then(|text| HeaderValue::from_str(text).ok()) {
            request = request.header(name, value);
        }
    }
    request
}

fn validators(headers: &HeaderMap) -> Validators {
    let text = |name: HeaderName| {
        let value = headers.get(name)?.to_str().ok()?;
        // A longer one than this nobody sends, and we would have to keep it.
        (value.len() <= 200).then(|| value.to_owned())
    };
    Validators {
        etag: text(header::ETAG),
        last_modified: text(header::LAST_MODIFIED),
    }
}
