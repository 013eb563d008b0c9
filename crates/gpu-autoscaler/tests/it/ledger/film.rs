//! What was to be seen of a simulated fleet, look by look, with the API's picture of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpu_autoscaler::ledger::{LedgerKeeper, LedgerLook, LedgerSettings};
use gpu_cost::{LedgerRow, Moment, PriceBook, standing};
use gpu_model::{
    ClusterNode, ClusterPicture, FleetView, GpuPod, HostRequest, MachineId, NodeView, Owner, PodSettings,
    Readiness,
};
use gpu_sim::{FleetSpec, World};
use gpu_store::{RowQuery, Store};

pub(super) const STEP: Duration = Duration::from_secs(30);

/// Looks, half a minute apart.
pub(super) struct Film(pub(super) Vec<LedgerLook>);

pub(super) fn film(nodes: u32, seed: u64, looks: usize) -> Film {
    Film(reel(nodes, seed, 0).take(looks).collect())
}

/// The looks of a fleet from one of them on, made as they are asked for.
pub(super) fn reel(nodes: u32, seed: u64, first: usize) -> impl Iterator<Item = LedgerLook> {
    let spec = FleetSpec {
        nodes,
        seed,
        ..FleetSpec::default()
    };
    let mut world = World::new(&spec).expect("a fleet");
    for _ in 0..first {
        world.advance(STEP);
    }
    std::iter::from_fn(move || {
        let view = world.observe();
        let picture = picture(&view, spec.start);
        world.advance(STEP);
        Some(LedgerLook::new(Arc::new(view), Some(Arc::new(picture))))
    })
}

/// What an API would say of the fleet.
pub(super) fn picture(view: &FleetView, start: jiff::Timestamp) -> ClusterPicture {
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

pub(super) fn bundled() -> Arc<PriceBook> {
    Arc::new(PriceBook::with_bundled().expect("the bundled table is sound"))
}

/// A keeper whose rounds end when the store has answered.
pub(super) fn keeper(store: &Arc<dyn Store>, look: &LedgerLook) -> LedgerKeeper {
    let settings = LedgerSettings {
        patience: Duration::from_secs(60),
        ..LedgerSettings::default()
    };
    LedgerKeeper::new(look.view.cluster.clone(), Arc::clone(store), settings)
}

/// Shows one keeper everything.
pub(super) async fn show(keeper: &mut LedgerKeeper, looks: &[LedgerLook], prices: &Arc<PriceBook>) {
    for look in looks {
        let status = keeper.round(look.clone(), prices, look.view.at, true).await;
        assert_eq!(status.check(), Ok(()));
    }
}

/// Every row of the store.
pub(super) async fn rows(store: &dyn Store) -> Vec<LedgerRow> {
    let mut query = RowQuery {
        limit: 10_000,
        ..RowQuery::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = store.rows(query.clone()).await.unwrap();
        rows.extend(page.rows);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return rows,
        }
    }
}

/// What stands in a ledger, without regard to how often it was corrected on the way.
pub(super) fn said(rows: &[LedgerRow]) -> Vec<String> {
    let mut texts: Vec<String> = standing(rows)
        .into_iter()
        .map(|row| {
            let mut row = row.clone();
            row.revision = 0;
            format!("{:?}", row.sealed())
        })
        .collect();
    texts.sort();
    texts
}

/// Both ledgers say the same, row by row.
pub(super) async fn same(a: &dyn Store, b: &dyn Store) {
    let (a, b) = (said(&rows(a).await), said(&rows(b).await));
    assert!(!a.is_empty());
    let differs = a.iter().zip(&b).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(a.len(), b.len());
}
