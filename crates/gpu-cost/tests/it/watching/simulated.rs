//! Simulated fleets, watched by processes that die and by leaders that take turns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gpu_cost::watching::{MachineMemo, Notes, PodMemo};
use gpu_cost::{
    Books, Event, Grain, LedgerRow, Look, Moment, Noted, PriceBook, Settings, Span, WatchSettings, Watcher,
    charge,
};
use gpu_model::{
    ClusterNode, ClusterPicture, FleetView, GpuPod, HostRequest, MachineId, NodeView, Owner, PodSettings,
    Readiness,
};
use gpu_sim::{FleetSpec, World};
use proptest::prelude::*;

use super::scene::cluster;

const STEP: i64 = 30_000;
/// How long after its end a window is closed: two looks that miss something, and one to spare.
const LATENESS: i64 = 120_000;

/// What was to be seen of a fleet.
struct Film {
    looks: Vec<(FleetView, ClusterPicture)>,
}

fn film(nodes: u32, seed: u64, looks: usize) -> Film {
    let spec = FleetSpec {
        nodes,
        seed,
        ..FleetSpec::default()
    };
    let mut world = World::new(&spec).expect("a fleet");
    let mut film = Film { looks: Vec::new() };
    for _ in 0..looks {
        let view = world.observe();
        let picture = picture(&view, spec.start);
        film.looks.push((view, picture));
        world.advance(Duration::from_millis(30_000));
    }
    film
}

/// What an API would say of the fleet.
fn picture(view: &FleetView, start: jiff::Timestamp) -> ClusterPicture {
    let mut picture = ClusterPicture::empty(view.cluster.clone(), view.at);
    for node in &view.nodes {
        let name = &node.node.name;
        let known = ClusterNode {
            node: node.node.clone(),
            uid: format!("uid-{name}"),
            machine: MachineId::new(format!("i-{name}")).expect("an id"),
            created_at: Moment::from(start).plus(-600_000).timestamp(),
            readiness: Readiness::Ready,
            is_cordoned: false,
            taints: Vec::new(),
            host: HostRequest::default(),
            gpus: BTreeMap::new(),
            gpu_capacity: node.gpus[0]
                .parts
                .iter()
                .map(|part| (part.resource.clone(), 8))
                .collect(),
        };
        picture.nodes.insert(name.clone(), Arc::new(known));
        for owner in node.gpus.iter().flat_map(|gpu| gpu.owners()) {
            let pod = asker(node, owner);
            picture.gpu_pods.insert(pod.key(), Arc::new(pod));
        }
    }
    picture
}

fn asker(node: &NodeView, owner: &Owner) -> GpuPod {
    GpuPod {
        pod: owner.pod.clone(),
        node: Some(node.node.name.clone()),
        requests: Vec::new(),
        host: HostRequest::default(),
        is_ready: true,
        is_terminating: false,
        waiting_reason: None,
        restarts: 0,
        workload: None,
        settings: PodSettings::default(),
    }
}

/// What lasts, as a store would keep it: text.
#[derive(Default, Clone)]
struct Kept {
    machines: BTreeMap<String, String>,
    pods: BTreeMap<String, String>,
    notes: Vec<String>,
    blind: Vec<Span>,
    last: Option<Moment>,
    settled: Option<Moment>,
    ledger: Vec<LedgerRow>,
}

/// A process that watches and, when it may, writes.
struct Process {
    watcher: Watcher,
    books: Books,
}

impl Process {
    fn new() -> Self {
        Self {
            watcher: Watcher::new(WatchSettings::every(STEP)),
            books: Books::new(cluster()),
        }
    }

    fn record(&mut self, events: &[Event]) {
        for event in events {
            self.books.record(event).expect("a sound event");
        }
    }

    /// Goes on from what was kept.
    fn load(&mut self, kept: &Kept) {
        let Some(last) = kept.last else { return };
        let machines: Vec<MachineMemo> = kept.machines.values().map(|text| read(text)).collect();
        let pods: Vec<PodMemo> = kept.pods.values().map(|text| read(text)).collect();
        let notes: Vec<Notes> = kept.notes.iter().map(|text| read(text)).collect();
        let noted = self.watcher.absorb(machines, pods, &notes, last);
        self.record(&noted.events);
        let mut events = Vec::new();
        for span in &kept.blind {
            self.watcher.tell_blind(*span, &mut events);
        }
        self.record(&events);
    }

    fn look(&mut self, (view, picture): &(FleetView, ClusterPicture)) -> Noted {
        let noted = self.watcher.look(&Look {
            view,
            picture: Some(picture),
            unhealthy: &BTreeSet::new(),
        });
        self.record(&noted.events);
        noted
    }

    fn keep(&mut self, noted: &Noted, at: Moment, prices: &PriceBook, kept: &mut Kept) {
        for id in &noted.machines {
            kept.machines.insert(
                id.to_string(),
                write(self.watcher.machine(id).expect("it is known")),
            );
        }
        for uid in &noted.pods {
            kept.pods.insert(
                uid.to_string(),
                write(self.watcher.pod(uid).expect("it is known")),
            );
        }
        kept.notes.extend(noted.notes.as_ref().map(write));
        kept.blind.extend(noted.blind);
        kept.last = Some(at);
        let settled = kept.settled.get_or_insert(Grain::FiveMinutes.bucket(at).start);
        let due = Span::new(*settled, at.plus(-LATENESS));
        for window in Grain::FiveMinutes
            .buckets(due)
            .filter(|window| window.end <= due.end)
        {
            let settings = Settings {
                grain: Grain::FiveMinutes,
                ..Settings::default()
            };
            kept.ledger.extend(self.books.settle(window, prices, &settings));
            *settled = window.end;
        }
    }
}

fn write<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("it can be written")
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("what was written can be read")
}

/// One process sees all of the film, but for the looks at which it is away after it died.
fn run(film: &Film, prices: &PriceBook, dies_at: &[usize], away: usize) -> Kept {
    let mut kept = Kept::default();
    let mut process = Process::new();
    let mut back_at = 0;
    for (number, look) in film.looks.iter().enumerate() {
        if dies_at.contains(&number) {
            process = Process::new();
            process.load(&kept);
            back_at = number + away;
        }
        if number < back_at {
            continue;
        }
        let noted = process.look(look);
        process.keep(&noted, Moment::from(look.0.at), prices, &mut kept);
    }
    kept
}

fn texts(ledger: &[LedgerRow]) -> Vec<String> {
    let mut texts: Vec<String> = ledger.iter().map(|row| format!("{row:?}")).collect();
    texts.sort();
    texts
}

fn same(a: &Kept, b: &Kept) {
    let (a, b) = (texts(&a.ledger), texts(&b.ledger));
    let differs = a.iter().zip(&b).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(a.len(), b.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_parts_of_every_machine_sum_to_its_price_times_its_time(seed in 0u64..1000, nodes in 1u32..14) {
        let prices = PriceBook::with_bundled().expect("the bundled table is sound");
        let kept = run(&film(nodes, seed, 40), &prices, &[], 0);
        let mut sums: BTreeMap<(String, Span), (i64, i64)> = BTreeMap::new();
        for row in &kept.ledger {
            let window = Grain::FiveMinutes.bucket(row.span.start);
            let sum = sums.entry((row.subject.id().to_owned(), window)).or_default();
            sum.0 += row.amounts.map_or(0, |amounts| amounts.allocated.0);
            sum.1 = row.price.rate().map_or(0, |rate| charge(rate, window).0);
        }
        prop_assert!(sums.values().any(|(_, price)| *price > 0));
        for ((machine, window), (parts, price)) in sums {
            prop_assert_eq!(parts, price, "{} in {:?}", machine, window);
        }
    }

    #[test]
    fn a_restart_at_any_look_gives_the_same_ledger(seed in 0u64..1000, dies in prop::collection::vec(1usize..60, 1..6)) {
        let prices = PriceBook::with_bundled().expect("the bundled table is sound");
        let film = film(5, seed, 60);
        same(&run(&film, &prices, &dies, 0), &run(&film, &prices, &[], 0));
    }

    #[test]
    fn leaders_that_take_turns_write_the_same_ledger(seed in 0u64..1000, turns in prop::collection::vec(any::<bool>(), 60)) {
        let prices = PriceBook::with_bundled().expect("the bundled table is sound");
        let film = film(5, seed, 60);
        let mut kept = Kept::default();
        let mut replicas = [Process::new(), Process::new()];
        let mut leader = 0;
        for (look, turn) in film.looks.iter().zip(&turns) {
            let next = usize::from(*turn);
            let noted = replicas.each_mut().map(|replica| replica.look(look));
            if next != leader {
                leader = next;
                replicas[leader].load(&kept);
            }
            replicas[leader].keep(&noted[leader], Moment::from(look.0.at), &prices, &mut kept);
        }
        same(&kept, &run(&film, &prices, &[], 0));
    }
}

#[test]
fn time_away_is_unknown_only_where_nobody_held_it_and_no_second_is_lost() {
    let prices = PriceBook::new();
    let film = film(6, 3, 60);
    let (whole, torn) = (run(&film, &prices, &[], 0), run(&film, &prices, &[25], 10));
    let held = |kept: &Kept, part: &str| -> i64 {
        let rows = kept
            .ledger
            .iter()
            .filter(|row| part.is_empty() || row.part.as_str() == part);
        rows.map(|row| row.time.held_ms).sum()
    };
    assert_eq!(held(&torn, ""), held(&whole, ""));
    assert_eq!(held(&whole, "unknown"), 0);
    assert!(held(&torn, "unknown") > 0);
    assert!(held(&torn, "idle") < held(&whole, "idle"));
}
