//! The desk: sources come and go, and the book is always whole.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gpu_cost::{Machine, Moment, PriceSource};
use gpu_model::{CapacityType, Cloud, MachineId, NodeName};
use gpu_price_feeds::feeds::Schedule;
use gpu_price_feeds::feeds::aws_offer::{AwsOffer, AwsOfferSettings};
use gpu_price_feeds::{Bundled, DeskSettings, DocumentSource, PriceDesk, SourceStatus, Wanted};
use gpu_runtime::{Clock as _, Shutdown, SystemClock, Tasks};
use gpu_testbed::eventually;

use crate::aws_offer::offer;
use crate::local;
use crate::server::{Server, json, status};

pub(crate) const SOON: Duration = Duration::from_secs(20);
const QUICK: Duration = Duration::from_millis(20);

pub(crate) fn quick() -> Schedule {
    Schedule {
        first_pause: QUICK,
        longest_pause: 4 * QUICK,
        gather: QUICK,
        ..Schedule::every(QUICK)
    }
}

pub(crate) fn machine() -> Machine {
    Machine {
        id: MachineId::new("i-1").unwrap(),
        node: NodeName::new("gpu-1").unwrap(),
        cloud: Cloud::Aws,
        instance_type: Some("p5.48xlarge".to_owned()),
        region: Some("us-east-1".to_owned()),
        zone: None,
        capacity: CapacityType::OnDemand,
        pool: None,
        gpu_model: None,
        gpus: Some(8),
        vcpus: None,
        memory: None,
    }
}

/// A desk with its tasks, which end with it.
pub(crate) struct Running {
    pub(crate) desk: PriceDesk,
    pub(crate) tasks: Tasks,
    pub(crate) shutdown: Shutdown,
}

impl Running {
    pub(crate) fn start(settings: DeskSettings) -> Self {
        let shutdown = Shutdown::new();
        let mut tasks = Tasks::new(shutdown.clone());
        let desk = PriceDesk::start(settings, Arc::new(SystemClock), &mut tasks, &shutdown).unwrap();
        Self {
            desk,
            tasks,
            shutdown,
        }
    }

    pub(crate) fn offer(&mut self, url: &str, state: Option<&std::path::Path>) {
        let feed = AwsOffer::new(AwsOfferSettings {
            endpoint: url.to_owned(),
            client: local(),
            ..AwsOfferSettings::default()
        });
        let state = state.map(ToOwned::to_owned);
        self.desk
            .start_feed(feed.unwrap(), quick(), state, &mut self.tasks, &self.shutdown);
        self.desk.want(Wanted::of([&machine()]));
    }

    /// `source price` of the machine at this moment.
    pub(crate) fn quote(&self) -> String {
        let note = self
            .desk
            .book()
            .quote(&machine(), Moment::from(SystemClock.now()));
        match note {
            gpu_cost::PriceNote::Priced { rate, source, .. } => format!("{} {rate}", source.as_str()),
            gpu_cost::PriceNote::Unpriced { reason } => reason.as_str().to_owned(),
        }
    }

    pub(crate) async fn until(&self, expected: &str) {
        eventually(expected, SOON, || async {
            Ok((self.quote() == expected).then_some(()))
        })
        .await
        .unwrap_or_else(|error| panic!("{error:#}: {} {:?}", self.quote(), self.desk.status()));
    }

    pub(crate) async fn until_status(&self, what: &str, is: impl Fn(&SourceStatus) -> bool) -> SourceStatus {
        let found = eventually(what, SOON, || async {
            Ok(self.desk.status().into_iter().find(|status| is(status)))
        });
        found
            .await
            .unwrap_or_else(|error| panic!("{error:#}: {:?}", self.desk.status()))
    }
}

#[tokio::test]
async fn without_sources_there_is_the_bundled_table_or_nothing() {
    let bundled = Running::start(DeskSettings::default());
    assert!(bundled.quote().starts_with("bundled $"), "{}", bundled.quote());
    let status = &bundled.desk.status()[0];
    assert_eq!((status.source, status.versions > 1000), ("bundled", true));
    assert!(status.age > Some(Duration::from_secs(3600)));
    let nothing = Running::start(DeskSettings {
        bundled: Bundled::Left,
        ..DeskSettings::default()
    });
    assert_eq!(nothing.quote(), "unknown-instance-type");
    assert!(nothing.desk.status().is_empty() && nothing.desk.ages().is_empty());
    assert_eq!(bundled.desk.ages().into_keys().collect::<Vec<_>>(), ["bundled"]);
}

#[tokio::test]
async fn a_live_price_comes_before_the_table_and_its_failure_changes_nothing() {
    let mode = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&mode);
    let server = Server::start(move |_, _| match served.load(Ordering::SeqCst) {
        0 => json(offer("55.04")),
        1 => status(403),
        2 => json(r#"{"products": {}, "terms": {"OnDemand": {}}}"#),
        _ => json(offer("56.5").replace("2026-08-01", "2026-11-01")),
    })
    .await;
    let mut running = Running::start(DeskSettings::default());
    running.offer(&server.url, None);
    running.until("live $55.040000000").await;
    let fine = running
        .until_status("it is fine", |status| status.source == "aws-offer")
        .await;
    assert_eq!(
        (fine.region.as_deref(), fine.versions, fine.failures),
        (Some("us-east-1"), 1, 0)
    );
    mode.store(1, Ordering::SeqCst);
    let failed = running
        .until_status("it fails", |status| status.failures > 2)
        .await;
    assert_eq!(failed.last_error.as_ref().unwrap().class, "status");
    assert_eq!(
        (running.quote().as_str(), failed.versions),
        ("live $55.040000000", 1)
    );
    assert!(failed.age.is_some() && running.desk.ages().get("aws-offer") >= failed.age.as_ref());
    // A list that suddenly knows nothing of what is asked is a fault of the list.
    mode.store(2, Ordering::SeqCst);
    let is_empty = |status: &SourceStatus| {
        status
            .last_error
            .as_ref()
            .is_some_and(|problem| problem.class == "empty")
    };
    running.until_status("it is empty", is_empty).await;
    assert_eq!(running.quote(), "live $55.040000000");
    mode.store(3, Ordering::SeqCst);
    running.until("live $56.500000000").await;
    let again = running
        .until_status("it is fine", |status| {
            status.source == "aws-offer" && status.failures == 0
        })
        .await;
    // The price before the change still holds for the time before it.
    assert_eq!((again.versions, again.last_error), (2, None));
    let before: jiff::Timestamp = "2026-10-31T23:00:00Z".parse().unwrap();
    let note = running.desk.book().quote(&machine(), Moment::from(before));
    assert_eq!(note.rate().unwrap().to_string(), "$55.040000000");
}

#[tokio::test]
async fn only_what_the_fleet_has_is_asked_for() {
    let server = Server::start(|_, _| json(offer("55.04"))).await;
    let mut running = Running::start(DeskSettings::default());
    running.offer(&server.url, None);
    running.desk.want(Wanted::new());
    let book = running.desk.book();
    tokio::time::sleep(5 * QUICK).await;
    assert!(server.seen().len() <= 1);
    running.desk.want(Wanted::of([&machine()]));
    running.until("live $55.040000000").await;
    assert!(!Arc::ptr_eq(&book, &running.desk.book()));
    let paths = server.seen();
    assert!(paths.iter().all(|seen| seen.path.contains("/us-east-1/")));
}

#[tokio::test]
async fn an_unchanged_price_leaves_the_very_same_book() {
    let server = Server::start(|_, _| json(offer("55.04"))).await;
    let mut running = Running::start(DeskSettings::default());
    running.offer(&server.url, None);
    running.until("live $55.040000000").await;
    let (book, revision) = (running.desk.book(), *running.desk.revisions().borrow());
    let reads = server.seen().len();
    eventually("it was read again", SOON, || async {
        Ok((server.seen().len() > reads + 3).then_some(()))
    })
    .await
    .unwrap();
    assert!(Arc::ptr_eq(&book, &running.desk.book()));
    assert_eq!(*running.desk.revisions().borrow(), revision);
}

#[tokio::test]
async fn a_server_that_comes_late_is_found() {
    let address: SocketAddr = format!("127.0.0.1:{}", gpu_testbed::free_port()).parse().unwrap();
    let mut running = Running::start(DeskSettings::default());
    running.offer(&format!("http://{address}"), None);
    let refused = running
        .until_status("nobody is there", |status| status.failures > 1)
        .await;
    assert_eq!(refused.last_error.unwrap().class, "refused");
    assert_eq!((refused.age, refused.versions), (None, 0));
    let server = Server::at(address, |_, _| json(offer("55.04"))).await;
    running.until("live $55.040000000").await;
    drop(server);
}

#[tokio::test]
async fn a_document_comes_before_everything_and_a_bad_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.yaml");
    let write = |text: &str| {
        // As the kubelet does it: the link is turned to another file.
        let next = folder.path().join("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(&next, &path).unwrap();
    };
    write(
        "overrides: [{name: contract, instanceType: p5.48xlarge, nodeHour: 41.50}]\nsplit: {ratio: {gpu: 80%}}",
    );
    let source = DocumentSource::File {
        path: path.clone(),
        every: QUICK,
    };
    let running = Running::start(DeskSettings {
        document: Some(source),
        ..DeskSettings::default()
    });
    running.until("override $41.500000000").await;
    assert_ne!(running.desk.split(), gpu_cost::prices::NodeSplit::AllToGpu);
    write("overrides: [{name: contract, gpuHour: 5}]");
    running.until("override $40.000000000").await;
    write("overrides: [{name: contract, gpuHour: five}]");
    let refused = |status: &SourceStatus| status.source == "document" && status.last_error.is_some();
    let status = running.until_status("it is refused", refused).await;
    let problem = status.last_error.unwrap();
    assert_eq!(problem.class, "format");
    assert!(
        problem
            .message
            .starts_with("overrides[0].gpuHour: `five` is no amount"),
        "{}",
        problem.message
    );
    assert_eq!(running.quote(), "override $40.000000000");
    std::fs::remove_file(&path).unwrap();
    let gone = |status: &SourceStatus| {
        status
            .last_error
            .as_ref()
            .is_some_and(|problem| problem.class == "file")
    };
    running.until_status("it is gone", gone).await;
    assert_eq!(running.quote(), "override $40.000000000");
    write("# nothing any more\n");
    running
        .until_status("it is fine", |status| {
            status.source == "document" && status.last_error.is_none()
        })
        .await;
    assert!(running.quote().starts_with(PriceSource::Bundled.as_str()));
}
