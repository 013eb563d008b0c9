//! From what is watched to the page: labels joined with holders, and shown where they belong.

use std::sync::Arc;
use std::time::Instant;

use gpu_exporter::collect::Attribution;
use gpu_exporter::owners::labels::Labels;
use gpu_exporter::page::{PageSettings, StaticLabels, Subset, page_text};
use gpu_exporter::program::Labelled;
use gpu_exporter::readings::Field;
use gpu_exporter::settings::{AllowList, ApiLabels};
use gpu_exporter::snapshot::{DeviceSnapshot, HeldPart, Holder, NodeSnapshot, SourceStatus};
use gpu_exposition::Format;
use gpu_model::{Namespace, NodeName, PodName, PodUid};
use gpu_runtime::Shutdown;
use gpu_testbed::eventually;
use kube::Client;
use tokio::task::JoinHandle;

use crate::SOON;

#[expect(dead_code, reason = "the golden pages use the rest")]
#[path = "../it/pieces.rs"]
mod pieces;

pub(crate) fn wanted(node: &str, of_pods: &[&str], of_node: &[&str]) -> ApiLabels {
    let list = |names: &[&str]| AllowList::parse(names.iter().copied()).unwrap();
    ApiLabels {
        node: NodeName::new(node).unwrap(),
        of_pods: list(of_pods),
        of_node: list(of_node),
    }
}

/// Labels that are being watched.
pub(crate) struct Watching {
    pub(crate) labels: Arc<Labels>,
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl Watching {
    pub(crate) fn start(wanted: ApiLabels, client: Client) -> Self {
        let (labels, shutdown) = (Arc::new(Labels::new(wanted)), Shutdown::new());
        let (own, until) = (Arc::clone(&labels), shutdown.clone());
        Self {
            labels,
            shutdown,
            task: tokio::spawn(async move { own.run(client, &until).await }),
        }
    }

    pub(crate) fn status(&self) -> SourceStatus {
        self.labels.latest().status(Instant::now())
    }

    /// Waits until the labels of these pods, found by name, and of the node are as given.
    pub(crate) async fn see(&self, expected: &str, pods: &[(&str, &str)]) -> anyhow::Result<()> {
        let seen = |(): ()| {
            let book = self.labels.latest();
            let mut words = Vec::new();
            for (namespace, pod) in pods {
                let (namespace, name) = (Namespace::new(namespace).unwrap(), PodName::new(pod).unwrap());
                let labels = book.pod(None, &namespace, &name);
                words.extend(labels.iter().map(|(name, value)| format!("{pod}:{name}={value}")));
            }
            words.extend(
                book.node()
                    .iter()
                    .map(|(name, value)| format!("node:{name}={value}")),
            );
            words.join(" ")
        };
        let waited = eventually(expected, SOON, || async {
            Ok((seen(()) == expected).then_some(()))
        });
        waited.await.map_err(|error| error.context(seen(())))
    }

    pub(crate) async fn end(self) {
        self.shutdown.trigger();
        tokio::time::timeout(SOON, self.task).await.unwrap().unwrap();
    }
}

/// The kubelet's word, as it always is.
struct Always(Vec<Holder>);

impl Attribution for Always {
    fn attribute(&mut self, devices: &mut [DeviceSnapshot]) {
        for (device, holder) in devices.iter_mut().zip(&self.0) {
            device.holders = vec![holder.clone()];
        }
    }

    fn status(&self) -> Vec<SourceStatus> {
        Vec::new()
    }
}

pub(crate) fn holder(namespace: &str, pod: &str, uid: Option<&str>) -> Holder {
    Holder {
        uid: uid.map(|uid| PodUid::new(uid).unwrap()),
        ..pieces::holder(namespace, pod, "main", HeldPart::Whole)
    }
}

/// The lines of a page that begin with one of the names, for a node with one GPU a holder.
pub(crate) fn lines(labels: &Arc<Labels>, holders: &[Holder], names: &[&str]) -> String {
    let count = u32::try_from(holders.len()).unwrap();
    let mut devices: Vec<DeviceSnapshot> = (0..count)
        .map(|index| {
            let mut device = pieces::device(index, "NVIDIA H100", "hopper", "580.82");
            device.readings = Arc::new(pieces::basic(&[
                (Field::Utilization, 0.5),
                (Field::Temperature, 40.0),
            ]));
            device
        })
        .collect();
    let mut labelled = Labelled::new(Box::new(Always(holders.to_vec())), Arc::clone(labels));
    labelled.attribute(&mut devices);
    let snapshot = NodeSnapshot {
        node_labels: labelled.node_labels(),
        ..pieces::node("node-1", labelled.status(), devices)
    };
    let settings = PageSettings {
        static_labels: StaticLabels::parse(["team=ops"]).unwrap(),
        ..PageSettings::default()
    };
    let page = page_text(&snapshot, &settings, Format::Text, Subset::Full).unwrap();
    let is_named = |line: &&str| names.iter().any(|name| line.starts_with(&format!("{name}{{")));
    let lines = page.lines().filter(is_named).map(shortened);
    lines.collect()
}

/// Without what every line of the test's node has.
fn shortened(line: &str) -> String {
    let (start, rest) = line.split_once('{').unwrap();
    let known = [
        "uuid=",
        "UUID=",
        "vendor=",
        "node=",
        "pci_bus_id=",
        "device=",
        "modelName=",
        "Hostname=",
        "DCGM_FI_",
        "namespace=",
        "container=",
        "sensor=",
    ];
    let (labels, value) = rest.split_once('}').unwrap();
    let kept: Vec<&str> = labels
        .split(',')
        .filter(|label| !known.iter().any(|known| label.starts_with(known)))
        .collect();
    format!("{start}{{{}}}{value}\n", kept.join(","))
}
