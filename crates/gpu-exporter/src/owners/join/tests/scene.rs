//! Reads a scene from text, joins it, and writes the result as text.

use std::collections::BTreeMap;

use gpu_model::{ContainerName, Namespace, PodName, PodUid, Reading, Vendor};

use crate::owners::device_id::DeviceRef;
use crate::owners::join::{Attribution, Device, Joined, Owners, join};
use crate::owners::{Given, Held, ProcessOwner, Sight};
use crate::readings::{DeviceReadings, Field, Parts, ProcessReading, SliceId, SliceReadings, Values};
use crate::snapshot::{Board, HeldPart, Identity, Restriction};

/// A device without a name and everything around it.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) identity: Identity,
    pub(super) readings: DeviceReadings,
    pub(super) restricted: Option<Restriction>,
    pub(super) held: Vec<Held>,
    pub(super) owners: BTreeMap<u32, ProcessOwner>,
    pub(super) sight: Sight,
}

pub(super) fn gpu_uuid() -> String {
    "GPU-00000000-0000-0000-0000-000000000001".to_owned()
}

impl Scene {
    pub(super) fn empty() -> Self {
        Self {
            identity: Identity {
                vendor: Vendor::Nvidia,
                index: 0,
                minor: Some(0),
                uuid: gpu_uuid(),
                model: "model".to_owned(),
                pci_bus_id: "00000000:1b:00.0".to_owned(),
                serial: None,
                vbios: None,
                driver_version: "1".to_owned(),
                architecture: None,
                board: Board::default(),
            },
            readings: DeviceReadings {
                processes: Reading::Known(Vec::new()),
                ..DeviceReadings::default()
            },
            restricted: None,
            held: Vec::new(),
            owners: BTreeMap::new(),
            sight: Sight::Host,
        }
    }

    pub(super) fn parse(text: &str) -> Self {
        let mut scene = Self::empty();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words = Words(line.split_whitespace().collect());
            match words.0[0] {
                "gpu" => scene.readings.values = words.values(),
                "slice" => scene.readings.slices.push(SliceReadings {
                    render: None,
                    parts: Parts::default(),
                    id: slice_id(words.0[1]),
                    uuid: format!("MIG-{}", words.0[1]),
                    profile: words.0[2].to_owned(),
                    values: words.values(),
                }),
                "held" => scene.held.push(words.held()),
                "process" => scene.add_process(&words),
                "processes" => {
                    scene.readings.processes = match words.0[1] {
                        "failed" => Reading::Failed,
                        _ => Reading::Unsupported,
                    }
                }
                "sight" => scene.sight = Sight::Own,
                "restricted" => scene.restricted = Some(Restriction::UtilizationPinnedAtZero),
                other => panic!("no such line: {other}"),
            }
        }
        scene
    }

    fn add_process(&mut self, words: &Words<'_>) {
        let pid = words.0[1].parse().unwrap();
        self.owners.insert(pid, words.owner());
        let Reading::Known(processes) = &mut self.readings.processes else {
            panic!("processes are not listed");
        };
        processes.push(ProcessReading {
            pid,
            slice: words.value("on").map(slice_id),
            memory_bytes: words.number("memory"),
            utilization: words.number("util"),
        });
    }

    pub(super) fn join(&self) -> Joined {
        let device = Device {
            identity: &self.identity,
            readings: &self.readings,
            restricted: self.restricted,
        };
        let owners = Owners {
            held: &self.held,
            processes: &self.owners,
            sight: self.sight,
        };
        join(&[device], &owners)
    }

    pub(super) fn attribution(&self) -> Attribution {
        self.join().devices.remove(0)
    }

    pub(super) fn attribution_text(&self) -> Vec<String> {
        let attribution = self.attribution();
        let place =
            |slice: Option<SliceId>| slice.map_or(String::new(), |id| format!(" {}/{}", id.gi, id.ci));
        let mut lines: Vec<String> = attribution
            .holders
            .iter()
            .map(|holder| {
                let part = match &holder.part {
                    HeldPart::Whole => "Whole".to_owned(),
                    HeldPart::Slice(_) => "Slice".to_owned(),
                    HeldPart::Replica(replica) => format!("Replica({replica})"),
                    HeldPart::Claim { claim, share: None } => format!("Claim({claim})"),
                    HeldPart::Claim {
                        claim,
                        share: Some(share),
                    } => format!("Claim({claim} {share})"),
                };
                format!(
                    "{}/{}/{}{} {part} {} {}",
                    holder.namespace,
                    holder.pod,
                    holder.container,
                    place(holder.slice),
                    number_text(holder.memory_bytes),
                    number_text(holder.utilization),
                )
            })
            .collect();
        lines.extend(attribution.unattributed.iter().map(|entry| {
            format!(
                "-{} {:?} {} {}",
                place(entry.slice),
                entry.reason,
                number_text(entry.memory_bytes).replace("unsupported", "absent"),
                number_text(entry.utilization).replace("unsupported", "absent"),
            )
        }));
        let excess = attribution.excess;
        if excess.memory_bytes > 0.0 || excess.utilization > 0.0 {
            lines.push(format!("excess {} {}", excess.memory_bytes, excess.utilization));
        }
        lines
    }
}

fn number_text(reading: Reading<f64>) -> String {
    match reading {
        Reading::Known(number) => number.to_string(),
        Reading::Unsupported => "unsupported".to_owned(),
        Reading::Failed => "failed".to_owned(),
    }
}

fn slice_id(text: &str) -> SliceId {
    let (gi, ci) = text.split_once('/').unwrap();
    SliceId {
        gi: gi.parse().unwrap(),
        ci: ci.parse().unwrap(),
    }
}

pub(super) fn held(namespace: &str, pod: &str, container: &str, device: DeviceRef, given: Given) -> Held {
    Held {
        namespace: Namespace::new(namespace).unwrap(),
        pod: PodName::new(pod).unwrap(),
        container: ContainerName::new(container).unwrap(),
        uid: None,
        device,
        given,
    }
}

/// One line, with `key=value` words.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Reading<f64> {
        match self.value(key) {
            None => Reading::Unsupported,
            Some("?") => Reading::Failed,
            Some(number) => Reading::Known(number.parse().unwrap()),
        }
    }

    fn values(&self) -> Values {
        let mut values = Values::default();
        values.set(Field::MemoryUsed, self.number("memory"));
        values.set(Field::Utilization, self.number("util"));
        values
    }

    fn held(&self) -> Held {
        let name: Vec<&str> = self.0[1].split('/').collect();
        let given = match (self.value("replica"), self.value("claim")) {
            (Some(replica), _) => Given::Replica(replica.to_owned()),
            (None, Some(claim)) => Given::Claim {
                claim: claim.to_owned(),
                share: self.value("share").map(str::to_owned),
            },
            (None, None) => Given::Alone,
        };
        let device = match (self.value("on"), self.value("published")) {
            (Some(slice), _) => DeviceRef::Mig(format!("MIG-{slice}")),
            (None, Some(name)) => {
                crate::owners::device_id::parse_claimed("gpu.nvidia.com", name, std::iter::empty())
            }
            (None, None) => DeviceRef::Gpu(gpu_uuid()),
        };
        Held {
            uid: self.value("uid").map(|uid| PodUid::new(uid).unwrap()),
            ..held(name[0], name[1], name[2], device, given)
        }
    }

    fn owner(&self) -> ProcessOwner {
        let uid = self.value("uid").map(|uid| PodUid::new(uid).unwrap());
        let of = self.value("of").unwrap();
        match of.split('/').collect::<Vec<_>>()[..] {
            ["outside"] => ProcessOwner::Outside,
            ["unreadable"] => ProcessOwner::Unreadable,
            [namespace, pod, container] => ProcessOwner::Pod {
                uid,
                pod: Some((Namespace::new(namespace).unwrap(), PodName::new(pod).unwrap())),
                container: (container != "?").then(|| ContainerName::new(container).unwrap()),
            },
            _ => ProcessOwner::Pod {
                uid: Some(PodUid::new(of.strip_prefix("uid:").unwrap()).unwrap()),
                pod: None,
                container: None,
            },
        }
    }
}
