//! A process that is killed at any moment ends with the same ledger as one that never was.
//!
//! The process here keeps its books in memory and loses them. What lasts is the ledger and a journal of events, and the
//! journal lags behind: what was heard but not yet written is told again by its source.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_cost::{
    Books, Claim, Dimensions, End, Event, Gpu, Grain, Holder, HolderClass, LedgerRow, Machine, Moment,
    PriceBook, RowKey, Settings, Span, correct, standing,
};
use gpu_model::{ClusterId, FleetView, GpuView, MachineId, Owner, PartView, PodUid};
use gpu_sim::{FleetSpec, World};

/// How often the fleet is looked at.
const STEP: i64 = 30_000;
/// How long after its end a window is closed.
const GRACE: i64 = 120_000;

/// What happened on a simulated fleet, in the order in which it was seen.
fn simulated(nodes: u32, seed: u64, steps: i64) -> (Moment, Vec<(Moment, Event)>) {
    let spec = FleetSpec {
        nodes,
        seed,
        ..FleetSpec::default()
    };
    let mut world = World::new(&spec).expect("a fleet");
    let start = Moment::from(world.now());
    let mut watcher = Watcher::default();
    let mut events = Vec::new();
    for step in 0..=steps {
        let view = world.observe();
        watcher.look(&view, start, &mut events);
        if step < steps {
            world.advance(Duration::from_millis(30_000));
        }
    }
    (start, events)
}

/// Turns views of a fleet into events, as an edge would.
#[derive(Default)]
struct Watcher {
    seen: BTreeMap<MachineId, ()>,
    pods: BTreeMap<PodUid, (MachineId, u64)>,
    looks: u64,
}

impl Watcher {
    fn look(&mut self, view: &FleetView, start: Moment, events: &mut Vec<(Moment, Event)>) {
        self.looks += 1;
        let at = Moment::from(view.at);
        let mut tell = |event: Event| events.push((at, event));
        for node in &view.nodes {
            let id = MachineId::new(node.node.name.as_str()).expect("an id");
            if self.seen.insert(id.clone(), ()).is_none() {
                tell(Event::Launched {
                    machine: Arc::new(machine(&id, node)),
                    at: start.plus(-600_000),
                });
                tell(Event::Ready {
                    machine: id.clone(),
                    at: start.plus(-300_000),
                });
            }
            for gpu in &node.gpus {
                if self.looks == 1 {
                    let gpu = Gpu {
                        uuid: gpu.device.uuid.clone(),
                        model: Some(gpu.device.model.clone()),
                        compute_dies: None,
                    };
                    tell(Event::GpuSeen {
                        machine: id.clone(),
                        gpu,
                        at: start.plus(-300_000),
                    });
                }
                for part in &gpu.parts {
                    if let Some(owner) = &part.owner {
                        self.look_at_part(&id, gpu, part, owner, at, &mut tell);
                    }
                }
            }
        }
        let looks = self.looks;
        self.pods.retain(|pod, (machine, look)| {
            if *look < looks {
                tell(Event::Ended {
                    machine: machine.clone(),
                    pod: pod.clone(),
                    end: End::assumed(at),
                });
            }
            *look == looks
        });
    }

    /// A part that somebody holds.
    fn look_at_part(
        &mut self,
        id: &MachineId,
        gpu: &GpuView,
        part: &PartView,
        owner: &Owner,
        at: Moment,
        tell: &mut impl FnMut(Event),
    ) {
        let reference = &owner.pod.reference;
        let uid = reference.uid.clone().expect("simulated pods have uids");
        let began = owner.pod.started_at.map_or(at, Moment::from);
        let known = self.pods.insert(uid.clone(), (id.clone(), self.looks));
        if known.is_none_or(|(_, look)| look == self.looks) {
            let holder = Holder {
                namespace: reference.namespace.clone(),
                pod: reference.name.clone(),
                uid: uid.clone(),
                container: Some(owner.container.clone()),
                dimensions: Dimensions::default(),
            };
            let claim = Claim {
                gpu: gpu.device.uuid.clone(),
                partition: part.partition.clone(),
                holder: Arc::new(holder),
                class: HolderClass::Workload,
                host: None,
            };
            tell(Event::Bound {
                machine: id.clone(),
                claim,
                at: began,
            });
            tell(Event::Running {
                machine: id.clone(),
                pod: uid.clone(),
                at: began,
            });
        }
        if let Some(utilization) = part.usage.utilization.known() {
            tell(Event::Used {
                machine: id.clone(),
                pod: uid,
                gpu: gpu.device.uuid.clone(),
                partition: part.partition.clone(),
                span: Span::new(at, at.plus(STEP)),
                utilization,
            });
        }
    }
}

fn machine(id: &MachineId, node: &gpu_model::NodeView) -> Machine {
    Machine {
        id: id.clone(),
        node: node.node.name.clone(),
        cloud: node.node.cloud,
        instance_type: node.node.instance_type.clone(),
        region: node.node.region.clone(),
        zone: node.node.zone.clone(),
        capacity: node.node.capacity_type,
        pool: node.node.labels.get("gpu-autoscaler.io/node-pool").cloned(),
        gpu_model: node.gpus.first().map(|gpu| gpu.device.model.clone()),
        gpus: u16::try_from(node.gpus.len()).ok(),
        vcpus: None,
        memory: None,
    }
}

/// A process that hears events, keeps a journal, and closes windows.
struct Process<'a> {
    prices: &'a PriceBook,
    settings: Settings,
    books: Books,
    /// Lasts.
    ledger: BTreeMap<RowKey, LedgerRow>,
    /// Lasts: how many events are surely written.
    journal: usize,
    /// Lasts: up to where the books are closed.
    closed: Moment,
    heard: usize,
}

impl Process<'_> {
    fn hear(&mut self, events: &[(Moment, Event)], now: Moment) {
        while let Some((_, event)) = events.get(self.heard).filter(|(told, _)| *told <= now) {
            self.books.record(event).expect("a sound event");
            self.heard += 1;
        }
    }

    /// Closes every window that ended long enough ago, and the one before once more, should something have come late.
    fn close(&mut self, start: Moment, now: Moment) {
        let again = self.closed.plus(-self.settings.grain.milliseconds()).max(start);
        let due = Span::new(again, now.plus(-GRACE));
        let windows: Vec<Span> = self
            .settings
            .grain
            .buckets(due)
            .filter(|window| window.end <= due.end)
            .collect();
        if windows.iter().all(|window| window.end <= self.closed) {
            return;
        }
        for window in &windows {
            let written: Vec<LedgerRow> = self
                .ledger
                .values()
                .filter(|row| row.span.overlap(*window) == row.span)
                .cloned()
                .collect();
            let fresh = self.books.settle(*window, self.prices, &self.settings);
            for row in correct(&written, fresh) {
                self.ledger.insert(row.key, row);
            }
            self.closed = self.closed.max(window.end);
        }
    }

    /// All that was in memory is gone; the journal is read again, and what it lacks is told again.
    fn die(&mut self, events: &[(Moment, Event)]) {
        self.books = Books::new(ClusterId::new("test").expect("an id"));
        self.heard = 0;
        for (_, event) in &events[..self.journal] {
            self.books.record(event).expect("a sound event");
        }
        self.heard = self.journal;
    }
}

/// Runs through the events. At each step a number from the dice decides whether the process dies, for how long it stays away
/// and how far its journal lags.
fn run(
    prices: &PriceBook,
    start: Moment,
    steps: i64,
    events: &[(Moment, Event)],
    mut dice: impl FnMut() -> u64,
) -> Vec<LedgerRow> {
    let mut process = Process {
        prices,
        settings: Settings {
            grain: Grain::FiveMinutes,
            ..Settings::default()
        },
        books: Books::new(ClusterId::new("test").expect("an id")),
        ledger: BTreeMap::new(),
        journal: 0,
        closed: start,
        heard: 0,
    };
    let mut away_until = -1;
    for step in 0..=steps + GRACE / STEP + 20 {
        let now = start.plus(step * STEP);
        let draw = dice();
        // The day ends with a process that lives, or nobody would close its last windows.
        if step <= steps && draw % 7 == 1 {
            let lag = usize::try_from(draw / 7 % 400).expect("small");
            process.journal = process.journal.max(process.heard.saturating_sub(lag));
            process.die(events);
            away_until = step + i64::try_from(draw / 2800 % 9).expect("small");
        }
        if step < away_until {
            continue;
        }
        process.hear(events, now);
        process.close(start, now);
    }
    process.ledger.into_values().collect()
}

/// What stands in the end, without regard to how often it was corrected on the way.
fn books_of(ledger: &[LedgerRow]) -> Vec<String> {
    let mut rows: Vec<String> = standing(ledger)
        .into_iter()
        .map(|row| {
            let mut row = row.clone();
            row.revision = 0;
            format!("{:?}", row.sealed())
        })
        .collect();
    rows.sort();
    rows
}

fn check(nodes: u32, steps: i64, kills: u64) {
    let prices = PriceBook::with_bundled().expect("the bundled table is sound");
    let (start, events) = simulated(nodes, 7, steps);
    let undisturbed = run(&prices, start, steps, &events, || 0);
    assert!(!undisturbed.is_empty());
    assert!(
        undisturbed.iter().all(|row| row.revision == 0),
        "nothing came late, so nothing was corrected"
    );
    for seed in 1..=kills {
        let mut state = seed;
        let disturbed = run(&prices, start, steps, &events, || {
            // An odd multiplier and the high bits: enough for choosing when to die.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        });
        let (disturbed, undisturbed) = (books_of(&disturbed), books_of(&undisturbed));
        let differs = disturbed.iter().zip(&undisturbed).find(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(disturbed.len(), undisturbed.len(), "seed {seed}");
    }
}

#[test]
fn killed_at_random_moments_the_ledger_is_the_same() {
    check(12, 120, 4);
}

/// The whole day, with many more deaths; as long as asked for.
#[test]
fn soak_a_day_with_kills_ends_in_the_same_ledger() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the long run says by the environment how long it is"
    )]
    let seconds: u64 = std::env::var("GPU_SOAK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if seconds == 0 {
        check(3, 40, 1);
    } else {
        // A day with four hundred deaths takes some ten seconds, most of them for reading the journal again.
        check(12, 2880, (seconds / 30).clamp(1, 200));
    }
}
