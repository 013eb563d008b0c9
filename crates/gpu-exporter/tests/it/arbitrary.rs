//! Random nodes: any text, any float, repeated slices, holders, links and codes, as no collector should make them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_exporter::page::{
    AmdConfig, Companions, DcgmStyle, FamilyChoice, HostnameLabel, LabelChoice, LabelNames, PageSettings,
    PodUidLabel, SeriesCap, StaticLabels, Vocabulary,
};
use gpu_exporter::readings::{
    BlockErrors, DeviceReadings, ErrorBlock, Field, LinkReadings, PartField, Parts, Path, PeerPath,
    ProcessOccupancy, SliceId, SliceReadings, ThrottleReason, Values,
};
use gpu_exporter::snapshot::{
    Board, DeviceSnapshot, DeviceState, HeldPart, Holder, Identity, Job, LabelSet, NodeSnapshot, Origin,
    Restriction, SourceStatus, Totals, Unattributed, UnattributedReason,
};
use gpu_model::{ContainerName, Namespace, PodName, PodUid, Reading, Vendor};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::nodes;

fn reading() -> impl Strategy<Value = Reading<f64>> {
    prop_oneof![
        4 => (0.0..1.0_f64).prop_map(Reading::Known),
        2 => (0.0..1e11_f64).prop_map(Reading::Known),
        1 => any::<f64>().prop_map(Reading::Known),
        1 => Just(Reading::Unsupported),
        1 => Just(Reading::Failed),
    ]
}

fn values() -> impl Strategy<Value = Values> {
    vec((0..Field::COUNT, reading()), 0..40).prop_map(|readings| {
        let mut values = Values::default();
        for (at, reading) in readings {
            values.set(Field::ALL[at], reading);
        }
        values
    })
}

fn slice_id() -> impl Strategy<Value = SliceId> {
    (0..3_u32, 0..2_u32).prop_map(|(gi, ci)| SliceId { gi, ci })
}

fn slice() -> impl Strategy<Value = SliceReadings> {
    (
        slice_id(),
        any::<String>(),
        "[1-7]g\\.[0-9]{1,2}gb",
        values(),
        parts(),
    )
        .prop_map(|(id, uuid, profile, values, parts)| SliceReadings {
            render: None,
            parts,
            id,
            uuid,
            profile,
            values,
        })
}

fn parts() -> impl Strategy<Value = Parts> {
    vec((0..PartField::ALL.len(), 0..3_u16, reading()), 0..8).prop_map(|readings| {
        let mut parts = Parts::default();
        for (at, index, reading) in readings {
            parts.push(PartField::ALL[at], index, reading);
        }
        parts
    })
}

fn block() -> impl Strategy<Value = BlockErrors> {
    (0..ErrorBlock::ALL.len(), reading(), reading()).prop_map(|(at, corrected, uncorrected)| BlockErrors {
        block: ErrorBlock::ALL[at],
        corrected,
        uncorrected,
        deferred: corrected,
    })
}

fn occupancy() -> impl Strategy<Value = ProcessOccupancy> {
    (0..3_u32, option::of(slice_id()), 0..304_u16).prop_map(|(pid, slice, units)| ProcessOccupancy {
        pid,
        slice,
        compute_units: f64::from(units),
    })
}

fn link() -> impl Strategy<Value = LinkReadings> {
    (0..4_u32, reading(), reading(), reading()).prop_map(|(link, sent_bytes, received_bytes, errors)| {
        LinkReadings {
            link,
            active: errors.map(|_| true),
            sent_bytes,
            received_bytes,
            replay_errors: errors,
            recovery_errors: sent_bytes,
            crc_errors: received_bytes,
        }
    })
}

fn part() -> impl Strategy<Value = HeldPart> {
    prop_oneof![
        Just(HeldPart::Whole),
        slice_id().prop_map(HeldPart::Slice),
        any::<String>().prop_map(HeldPart::Replica),
        (any::<String>(), option::of(any::<String>()))
            .prop_map(|(claim, share)| HeldPart::Claim { claim, share }),
    ]
}

fn holder() -> impl Strategy<Value = Holder> {
    (
        "[ab]",
        "[ab\"]{1,2}",
        "[ab]",
        option::of(slice_id()),
        part(),
        reading(),
        reading(),
        labels(),
    )
        .prop_map(
            |(namespace, pod, container, slice, part, memory_bytes, utilization, labels)| Holder {
                labels,
                namespace: Namespace::new(namespace).unwrap(),
                uid: slice.map(|_| PodUid::new(format!("uid-{pod}")).unwrap()),
                slice,
                pod: PodName::new(pod).unwrap(),
                container: ContainerName::new(container).unwrap(),
                part,
                memory_bytes,
                utilization,
            },
        )
}

/// Labels of the API server, and such as it would never let through.
fn labels() -> impl Strategy<Value = LabelSet> {
    let name = prop_oneof![
        "[a-c./-]{1,3}",
        Just("pod".to_owned()),
        Just("err_code".to_owned()),
        any::<String>()
    ];
    vec((name, any::<String>()), 0..4).prop_map(LabelSet::from)
}

fn unattributed() -> impl Strategy<Value = Unattributed> {
    let reasons = [
        UnattributedReason::NotMeasured,
        UnattributedReason::OutsideKubernetes,
        UnattributedReason::Driver,
    ];
    (option::of(slice_id()), 0..3_usize, reading(), reading()).prop_map(
        move |(slice, reason, memory_bytes, utilization)| Unattributed {
            slice,
            reason: reasons[reason],
            memory_bytes,
            utilization,
        },
    )
}

fn readings() -> impl Strategy<Value = DeviceReadings> {
    let peer = (0..3_u32, 0..30_u32).prop_map(|(peer, links)| PeerPath {
        peer,
        path: if links == 0 {
            Path::System
        } else {
            Path::Links(links)
        },
    });
    let few = (vec(link(), 0..5), vec(slice(), 0..5), vec(peer, 0..4));
    let several = (parts(), vec(block(), 0..6), vec(occupancy(), 0..4));
    (
        values(),
        vec(reading(), ThrottleReason::ALL.len()),
        few,
        several,
        option::of(0..200_u32),
    )
        .prop_map(
            |(values, throttled, (links, slices, peers), (parts, blocks, occupancy), last_fault)| {
                DeviceReadings {
                    values,
                    parts,
                    blocks,
                    occupancy,
                    throttle_seconds: std::array::from_fn(|at| throttled[at]),
                    links,
                    slices,
                    peers,
                    last_fault: last_fault.map_or(Reading::Unsupported, Reading::Known),
                    ..DeviceReadings::default()
                }
            },
        )
}

fn identity() -> impl Strategy<Value = Identity> {
    let texts = (
        any::<String>(),
        any::<String>(),
        any::<String>(),
        option::of(any::<String>()),
    );
    (0..3_u32, 0..2_u32, 0..2_usize, texts).prop_map(
        |(index, uuid, vendor, (model, pci_bus_id, driver, serial))| Identity {
            vendor: [Vendor::Nvidia, Vendor::Amd][vendor],
            index,
            minor: (uuid > 0).then_some(index),
            uuid: format!("GPU-{uuid}"),
            model,
            pci_bus_id,
            serial,
            vbios: None,
            driver_version: driver,
            architecture: None,
            board: Board {
                compute_partition: (uuid > 0).then(|| "CPX".to_owned()),
                ..Board::default()
            },
        },
    )
}

fn device() -> impl Strategy<Value = DeviceSnapshot> {
    let states = prop_oneof![
        Just(DeviceState::Up),
        Just(DeviceState::Stuck),
        Just(DeviceState::Lost),
        Just(DeviceState::Failing("x"))
    ];
    let totals = vec(reading(), 4 + ThrottleReason::ALL.len()).prop_map(|numbers| Totals {
        busy_seconds: numbers[0],
        energy_joules: numbers[1],
        pcie_sent_bytes: numbers[2],
        pcie_received_bytes: numbers[3],
        throttle_seconds: std::array::from_fn(|at| numbers[4 + at]),
    });
    let owners = (vec(holder(), 0..6), vec(job(), 0..4), vec(unattributed(), 0..4));
    let rest = (
        vec((0..5_u32, any::<u64>()), 0..4),
        any::<bool>(),
        option::of(0..5000_u64),
    );
    (identity(), states, readings(), totals, owners, rest).prop_map(
        |(identity, state, readings, totals, (holders, jobs, unattributed), (faults, restricted, age))| {
            DeviceSnapshot {
                identity: Arc::new(identity),
                state,
                age: age.map(Duration::from_millis),
                slow_age: age.map(Duration::from_millis),
                readings: Arc::new(readings),
                totals,
                faults,
                restricted: restricted.then_some(Restriction::UtilizationPinnedAtZero),
                holders,
                jobs: jobs.into(),
                unattributed,
                errors: BTreeMap::from([("timeout", 1)]),
                rejected_total: 0,
            }
        },
    )
}

fn job() -> impl Strategy<Value = Job> {
    (option::of(0..3_u32), "[0-9a-c]?", option::of(any::<String>())).prop_map(|(instance, id, user)| Job {
        instance,
        id,
        partition: user.clone(),
        user,
        cluster: None,
    })
}

pub(crate) fn node() -> impl Strategy<Value = NodeSnapshot> {
    let source = (0..3_usize, any::<bool>()).prop_map(|(name, up)| SourceStatus {
        up,
        ..nodes::up(["nvml", "kubelet", "amdgpu"][name], 0.1)
    });
    (
        any::<String>(),
        any::<bool>(),
        vec(source, 0..4),
        vec(device(), 0..5),
        option::of(labels()),
    )
        .prop_map(|(name, simulated, sources, devices, node_labels)| NodeSnapshot {
            node_labels,
            origin: if simulated {
                Origin::Simulated
            } else {
                Origin::Measured
            },
            ..nodes::node(&name, sources, devices)
        })
}

const AMD_CONFIG: &str = r#"{
    "CommonConfig": {"MetricsFieldPrefix": "amd_"},
    "GPUConfig": {"Labels": ["POD_UUID", "GPU_UUID"], "CustomLabels": {"SITE": "y", "CLUSTER_NAME": "c"}}
}"#;

pub(crate) fn settings() -> impl Strategy<Value = PageSettings> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let vocabularies = vec(0..Vocabulary::ALL.len(), 0..5);
    (vocabularies, any::<bool>(), 100..3000_usize, switches).prop_map(
        |(vocabularies, all, cap, (old, uid, few_labels, tagged))| PageSettings {
            companions: Companions::Shown,
            vocabularies: vocabularies.into_iter().map(|at| Vocabulary::ALL[at]).collect(),
            families: if all {
                FamilyChoice::all()
            } else {
                FamilyChoice::default()
            },
            labels: if few_labels {
                LabelChoice::parse("node,pod,Hostname")
            } else {
                LabelChoice::All
            },
            dcgm: DcgmStyle {
                hostname: if old {
                    HostnameLabel::Lower
                } else {
                    HostnameLabel::Capital
                },
                names: if old { LabelNames::Old } else { LabelNames::Current },
                pod_uid: if uid {
                    PodUidLabel::Shown
                } else {
                    PodUidLabel::Absent
                },
                ..DcgmStyle::default()
            },
            counters: None,
            amd: uid.then(|| AmdConfig::parse(AMD_CONFIG).unwrap()),
            static_labels: StaticLabels::parse(tagged.then_some("site=\"x\\")).unwrap(),
            series_cap: SeriesCap::new(cap).unwrap(),
        },
    )
}
