//! What holds for every scene, however strange.

use gpu_model::Reading;
use proptest::prelude::*;

use super::scene::{Scene, gpu_uuid, held};
use crate::owners::device_id::DeviceRef;
use crate::owners::join::Attribution;
use crate::owners::{Given, Held, ProcessOwner, Sight};
use crate::readings::{Field, Parts, ProcessReading, SliceId, SliceReadings, Values};
use gpu_model::{ContainerName, Namespace, PodName, PodUid};

fn reading(range: std::ops::Range<u32>, unit: f64) -> impl Strategy<Value = Reading<f64>> {
    prop_oneof![
        8 => range.prop_map(move |units| Reading::Known(f64::from(units) * unit)),
        1 => Just(Reading::Unsupported),
        1 => Just(Reading::Failed),
    ]
}

fn bytes() -> impl Strategy<Value = Reading<f64>> {
    reading(0..2_000, 1_048_576.0)
}

fn share() -> impl Strategy<Value = Reading<f64>> {
    reading(0..101, 0.01)
}

fn slice() -> impl Strategy<Value = SliceId> {
    (1..4_u32).prop_map(|gi| SliceId { gi, ci: 0 })
}

fn uid() -> impl Strategy<Value = Option<PodUid>> {
    prop::option::of((0..3_u8).prop_map(|uid| PodUid::new(format!("u{uid}")).unwrap()))
}

fn owner() -> impl Strategy<Value = ProcessOwner> {
    let pod = prop::option::of(0..3_u8);
    let container = prop::option::of(0..2_u8);
    prop_oneof![
        6 => (uid(), pod, container).prop_map(|(uid, pod, container)| ProcessOwner::Pod {
            uid,
            pod: pod.map(|pod| (Namespace::new("n").unwrap(), PodName::new(format!("p{pod}")).unwrap())),
            container: container.map(|container| ContainerName::new(format!("c{container}")).unwrap()),
        }),
        1 => Just(ProcessOwner::Outside),
        1 => Just(ProcessOwner::Unreadable),
    ]
}

fn process() -> impl Strategy<Value = (ProcessReading, ProcessOwner)> {
    (prop::option::of(slice()), bytes(), share(), owner()).prop_map(
        |(slice, memory_bytes, utilization, owner)| {
            let reading = ProcessReading {
                pid: 0,
                slice,
                memory_bytes,
                utilization,
            };
            (reading, owner)
        },
    )
}

fn holding() -> impl Strategy<Value = Held> {
    let given = prop_oneof![
        Just(Given::Alone),
        (0..4_u8).prop_map(|replica| Given::Replica(replica.to_string())),
        (0..2_u8, prop::option::of(Just("s".to_owned()))).prop_map(|(claim, share)| Given::Claim {
            claim: format!("claim{claim}"),
            share,
        }),
    ];
    let device = prop_oneof![
        Just(DeviceRef::Gpu(gpu_uuid())),
        slice().prop_map(|id| DeviceRef::Mig(format!("MIG-{}", id.gi))),
        (0..2_u32, prop::option::of(1..5_u32)).prop_map(|(minor, gi)| DeviceRef::Minor { minor, gi }),
    ];
    (0..3_u8, 0..2_u8, uid(), device, given).prop_map(|(pod, container, uid, device, given)| Held {
        uid,
        ..held("n", &format!("p{pod}"), &format!("c{container}"), device, given)
    })
}

fn totals() -> impl Strategy<Value = Values> {
    (bytes(), share()).prop_map(|(memory, utilization)| {
        let mut values = Values::default();
        values.set(Field::MemoryUsed, memory);
        values.set(Field::Utilization, utilization);
        values
    })
}

fn scene() -> impl Strategy<Value = Scene> {
    let slices = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec(totals(), 1..4),
    ];
    let processes = prop::collection::vec(process(), 0..8);
    let listed = prop_oneof![6 => Just(0_u8), 1 => Just(1), 1 => Just(2)];
    let held = prop::collection::vec(holding(), 0..6);
    (totals(), slices, processes, listed, held, any::<bool>()).prop_map(
        |(values, slices, processes, listed, held, host)| {
            let mut scene = Scene::empty();
            scene.readings.values = values;
            scene.readings.slices = (1..)
                .zip(slices)
                .map(|(gi, values)| SliceReadings {
                    render: None,
                    parts: Parts::default(),
                    id: SliceId { gi, ci: 0 },
                    uuid: format!("MIG-{gi}"),
                    profile: "1g.10gb".to_owned(),
                    values,
                })
                .collect();
            let mut list = Vec::new();
            for (pid, (reading, owner)) in (1..).zip(processes) {
                list.push(ProcessReading { pid, ..reading });
                scene.owners.insert(pid, owner);
            }
            scene.readings.processes = match listed {
                0 => Reading::Known(list),
                1 => Reading::Failed,
                _ => Reading::Unsupported,
            };
            scene.held = held;
            scene.sight = if host { Sight::Host } else { Sight::Own };
            scene
        },
    )
}

/// What is given out at one place, in the whole units in which it is shared out.
fn given_out(attribution: &Attribution, slice: Option<SliceId>, quantity: Quantity) -> Vec<u64> {
    let holders = attribution
        .holders
        .iter()
        .filter(|holder| holder.slice == slice)
        .map(|holder| quantity.of(holder.memory_bytes, holder.utilization));
    let nobody = attribution
        .unattributed
        .iter()
        .filter(|entry| entry.slice == slice)
        .map(|entry| quantity.of(entry.memory_bytes, entry.utilization));
    holders
        .chain(nobody)
        .filter_map(|reading| reading.known())
        .map(|value| quantity.units(value))
        .collect()
}

#[derive(Debug, Clone, Copy)]
enum Quantity {
    Memory,
    Utilization,
}

impl Quantity {
    fn of(self, memory: Reading<f64>, utilization: Reading<f64>) -> Reading<f64> {
        match self {
            Self::Memory => memory,
            Self::Utilization => utilization,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a test's figures are small and checked to be positive"
    )]
    fn units(self, value: f64) -> u64 {
        assert!(value >= 0.0, "{value} is negative or no number");
        match self {
            Self::Memory => value.round() as u64,
            Self::Utilization => (value * 1e9).round() as u64,
        }
    }

    fn total(self, values: &Values) -> Option<u64> {
        let total = self.of(values.get(Field::MemoryUsed), values.get(Field::Utilization));
        Some(self.units(total.known()?))
    }
}

proptest! {
    #[test]
    fn parts_sum_to_the_whole_and_none_exceeds_it(scene in scene()) {
        let attribution = scene.attribution();
        let places: Vec<(Option<SliceId>, &Values)> = match &scene.readings.slices[..] {
            [] => vec![(None, &scene.readings.values)],
            slices => slices.iter().map(|slice| (Some(slice.id), &slice.values)).collect(),
        };
        for (slice, values) in places {
            for quantity in [Quantity::Memory, Quantity::Utilization] {
                let parts = given_out(&attribution, slice, quantity);
                if let Some(total) = quantity.total(values) {
                    prop_assert_eq!(parts.iter().sum::<u64>(), total, "{:?} {:?}", quantity, attribution);
                }
            }
        }
    }

    #[test]
    fn slices_and_the_rest_sum_to_the_device(scene in scene()) {
        let attribution = scene.attribution();
        let known = |slice: &SliceReadings| Quantity::Memory.total(&slice.values);
        let slices = &scene.readings.slices;
        if let (false, Some(total)) = (slices.is_empty(), Quantity::Memory.total(&scene.readings.values)) {
            let used: u64 = slices.iter().filter_map(known).sum();
            let rest: u64 = given_out(&attribution, None, Quantity::Memory).iter().sum();
            prop_assert_eq!(rest, total.saturating_sub(used));
            prop_assert!(attribution.excess.memory_bytes >= used.saturating_sub(total) as f64);
        }
    }

    #[test]
    fn order_changes_nothing(scene in scene(), seed in any::<u64>()) {
        let mut shuffled = scene.clone();
        let mut state = seed;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for at in (1..shuffled.held.len()).rev() {
            shuffled.held.swap(at, next(at + 1));
        }
        if let Reading::Known(processes) = &mut shuffled.readings.processes {
            for at in (1..processes.len()).rev() {
                processes.swap(at, next(at + 1));
            }
        }
        prop_assert_eq!(scene.join(), shuffled.join());
    }

    #[test]
    fn a_container_stands_once_at_a_place(scene in scene()) {
        let attribution = scene.attribution();
        let mut keys: Vec<_> = attribution
            .holders
            .iter()
            .map(|holder| (holder.slice, &holder.namespace, &holder.pod, &holder.container))
            .collect();
        let count = keys.len();
        keys.dedup();
        prop_assert_eq!(keys.len(), count);
        let mut reasons: Vec<_> = attribution.unattributed.iter().map(|entry| (entry.slice, entry.reason)).collect();
        let count = reasons.len();
        reasons.dedup();
        prop_assert_eq!(reasons.len(), count);
    }

    #[test]
    fn nobody_has_zero_by_silence(scene in scene()) {
        // Without a list of processes that is complete, a sharer's figure is measured or absent.
        let complete = scene.readings.processes.is_known() && scene.sight == Sight::Host;
        let attribution = scene.attribution();
        for holder in &attribution.holders {
            let shared = matches!(holder.part, crate::snapshot::HeldPart::Replica(_));
            let listed = scene.owners.values().any(|owner| matches!(owner, ProcessOwner::Pod { .. }));
            if shared && !complete && (!listed || !scene.readings.processes.is_known()) {
                prop_assert!(!holder.memory_bytes.is_known() && !holder.utilization.is_known());
            }
        }
    }
}
