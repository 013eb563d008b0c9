//! Prices, usage, decisions, intents, refusals and open intervals.

use gpu_cost::{Grain, Template, UsageRow};
use gpu_model::{OwnerRef, Permille};
use gpu_store::entries::{
    Decision, Intent, Memory, Opening, PriceVersion, Refusal, Saving, read_usage, template_subject,
    usage_record,
};
use gpu_store::record::Order;
use gpu_store::{Appended, Batch, Record, RecordKind, RecordQuery, Store, StoreAddress, StoreError};
use serde_json::json;

use super::ledger::all_rows;
use super::opened;
use crate::sample::{DAY, HOUR, at, cluster, pod_row, span};

async fn put(store: &dyn Store, records: Vec<Record>) -> Result<Appended, StoreError> {
    store
        .append(Batch {
            records,
            ..Batch::default()
        })
        .await
}

async fn replace(store: &dyn Store, record: Record) -> Result<Appended, StoreError> {
    store
        .append(Batch {
            replacements: vec![record],
            ..Batch::default()
        })
        .await
}

fn price(scope: &str, from: i64, rate: &str) -> PriceVersion {
    PriceVersion {
        cluster: cluster("blue"),
        scope: scope.to_owned(),
        source: "live".to_owned(),
        valid_from: at(from),
        valid_to: Some(at(from + HOUR)),
        price: json!({ "hourly": rate }),
    }
}

fn decision(number: i64) -> Decision {
    Decision {
        cluster: cluster(if number % 3 == 0 { "green" } else { "blue" }),
        id: format!("decision-{number:04}"),
        // Several at one instant: the page must not lose its place among them.
        at: at(number / 4 * HOUR),
        subject: format!("node/gpu-{}", number % 5),
        verdict: "keep".to_owned(),
        reasons: json!({ "idleFor": number, "weighed": ["a", "b"] }),
    }
}

pub(crate) async fn records_are_written_once_and_found_by_subject_and_time(address: StoreAddress) {
    let store = opened(&address).await;
    let first = price("aws/p5.48xlarge/eu-central-1", 0, "98.32");
    let second = price("aws/p5.48xlarge/eu-central-1", HOUR, "99.00");
    let other = price("aws/g6.xlarge/eu-central-1", 0, "0.8");
    let records: Vec<Record> = [&first, &second, &other]
        .map(|price| price.record().unwrap())
        .to_vec();
    let written = put(&*store, records.clone()).await.unwrap();
    assert_eq!((written.records_written, written.records_known), (3, 0));
    let again = put(&*store, records.clone()).await.unwrap();
    assert_eq!((again.records_written, again.records_known), (0, 3));

    let changed = price("aws/p5.48xlarge/eu-central-1", 0, "1.00").record().unwrap();
    let error = put(&*store, vec![changed.clone()]).await.unwrap_err();
    assert!(error.to_string().contains(&changed.key), "{error}");
    let error = replace(&*store, changed).await.unwrap_err();
    assert!(error.to_string().contains("is final"), "{error}");

    let mut query = RecordQuery::of(RecordKind::Price);
    query.subject = Some("aws/p5.48xlarge/eu-central-1".to_owned());
    let found = store.records(query.clone()).await.unwrap().records;
    let prices: Vec<PriceVersion> = found
        .iter()
        .map(|record| PriceVersion::read(record).unwrap())
        .collect();
    assert_eq!(prices, [second, first.clone()]);
    query.to = Some(at(HOUR));
    let found = store.records(query).await.unwrap().records;
    assert_eq!(found, [first.record().unwrap()]);
}

pub(crate) async fn pages_of_the_decision_log_follow_each_other(address: StoreAddress) {
    let store = opened(&address).await;
    let decisions: Vec<Record> = (0..100)
        .map(|number| decision(number).record().unwrap())
        .collect();
    put(&*store, decisions.clone()).await.unwrap();
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let mut query = RecordQuery::of(RecordKind::Decision);
        query.order = order;
        query.limit = 7;
        let mut seen = Vec::new();
        for _ in 0..30 {
            let page = store.records(query.clone()).await.unwrap();
            seen.extend(page.records);
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 100);
        let mut times: Vec<_> = seen.iter().map(|record| record.at).collect();
        if order == Order::NewestFirst {
            times.reverse();
        }
        assert!(times.is_sorted());
        seen.sort_by(|a, b| a.key.cmp(&b.key));
        assert_eq!(seen, decisions);
    }
    let mut query = RecordQuery::of(RecordKind::Decision);
    query.cluster = Some(cluster("green"));
    query.subject = Some("node/gpu-0".to_owned());
    let found = store.records(query).await.unwrap().records;
    assert_eq!(found.len(), 7);
    assert_eq!(Decision::read(&found[0]).unwrap(), decision(90));
}

pub(crate) async fn usage_history_of_a_template_is_found(address: StoreAddress) {
    let store = opened(&address).await;
    let template = |name: &str| Template {
        cluster: cluster("blue"),
        namespace: "research".parse().unwrap(),
        owner: OwnerRef {
            kind: "Job".to_owned(),
            name: name.to_owned(),
        },
        step: None,
        container: Some("main".parse().unwrap()),
    };
    let mut rows = Vec::new();
    for hour in 0..30 {
        let mut usage = UsageRow::new(template("train"), Grain::Hour, at(hour * HOUR));
        usage.sample(Permille::clamped(u16::try_from(hour * 30).unwrap()));
        rows.push(usage);
    }
    rows.push(UsageRow::new(template("other"), Grain::Hour, at(0)));
    let records: Vec<Record> = rows.iter().map(|usage| usage_record(usage).unwrap()).collect();
    for _ in 0..2 {
        put(&*store, records.clone()).await.unwrap();
    }
    let mut query = RecordQuery::of(RecordKind::Usage);
    query.subject = Some(template_subject(&template("train")));
    query.from = Some(at(10 * HOUR));
    query.order = Order::OldestFirst;
    let found = store.records(query).await.unwrap().records;
    let found: Vec<UsageRow> = found.iter().map(|record| read_usage(record).unwrap()).collect();
    assert_eq!(found, rows[10..30]);
}

pub(crate) async fn open_intervals_are_found_after_a_restart(address: StoreAddress) {
    let store = opened(&address).await;
    let opening = |machine: &str, settled: i64, is_closed: bool| Opening {
        cluster: cluster("blue"),
        id: format!("{machine}/launch"),
        machine: machine.to_owned(),
        since: at(0),
        settled_until: at(settled),
        is_closed,
        holding: json!({ "gpus": 8 }),
    };
    // The place up to which is settled moves with the rows, or not at all.
    let settle = async |store: &dyn Store, machine: &str, hour: i64, is_closed: bool| {
        let rows = vec![pod_row(1, span((hour - 1) * HOUR, hour * HOUR))];
        let record = opening(machine, hour * HOUR, is_closed).record().unwrap();
        store
            .append(Batch {
                rows,
                replacements: vec![record],
                ..Batch::default()
            })
            .await
            .unwrap();
    };
    settle(&*store, "i-1", 1, false).await;
    settle(&*store, "i-1", 2, false).await;
    settle(&*store, "i-2", 2, false).await;
    settle(&*store, "i-2", 3, true).await;
    drop(store);
    let store = opened(&address).await;
    let mut query = RecordQuery::of(RecordKind::Opening);
    query.is_open = Some(true);
    let open = store.records(query).await.unwrap().records;
    let open: Vec<Opening> = open.iter().map(|record| Opening::read(record).unwrap()).collect();
    assert_eq!(open, [opening("i-1", 2 * HOUR, false)]);
    assert_eq!(all_rows(&*store).await.len(), 3);
}

pub(crate) async fn intents_and_refusals_go_on(address: StoreAddress) {
    let store = opened(&address).await;
    let mut intent = Intent {
        cluster: cluster("blue"),
        id: "intent-1".to_owned(),
        at: at(0),
        subject: "group/h100".to_owned(),
        outcome: None,
        act: json!({ "resize": 3 }),
    };
    put(&*store, vec![intent.record().unwrap()]).await.unwrap();
    let mut open = RecordQuery::of(RecordKind::Intent);
    open.is_open = Some(true);
    assert_eq!(store.records(open.clone()).await.unwrap().records.len(), 1);
    intent.outcome = Some("done".to_owned());
    replace(&*store, intent.record().unwrap()).await.unwrap();
    assert_eq!(store.records(open).await.unwrap().records, []);
    let all = store
        .records(RecordQuery::of(RecordKind::Intent))
        .await
        .unwrap()
        .records;
    assert_eq!(Intent::read(&all[0]).unwrap(), intent);

    let mut refusal = Refusal {
        cluster: cluster("blue"),
        offering: "aws/p5.48xlarge/euc1-az2/spot".to_owned(),
        at: at(0),
        until: at(HOUR),
        times: 1,
        class: "no-capacity".to_owned(),
    };
    replace(&*store, refusal.record().unwrap()).await.unwrap();
    refusal.times = 2;
    refusal.until = at(DAY);
    replace(&*store, refusal.record().unwrap()).await.unwrap();
    let found = store
        .records(RecordQuery::of(RecordKind::Refusal))
        .await
        .unwrap()
        .records;
    assert_eq!(found.len(), 1);
    assert_eq!(Refusal::read(&found[0]).unwrap(), refusal);
}

pub(crate) async fn memories_of_two_terms_stand_beside_each_other_until_they_may_go(address: StoreAddress) {
    let store = opened(&address).await;
    let memory = |term: u64, said: &str| Memory {
        cluster: cluster("blue"),
        room: "told".to_owned(),
        id: "0a1b".to_owned(),
        term,
        at: at(0),
        until: at(30 * DAY),
        body: json!({ "said": said }),
    };
    // The old leader writes last, and not over what the new one wrote.
    for memory in [
        memory(1, "once"),
        memory(2, "twice"),
        memory(1, "late"),
        memory(2, "thrice"),
    ] {
        replace(&*store, memory.record().unwrap()).await.unwrap();
    }
    let saving = Saving {
        cluster: cluster("blue"),
        id: "held-idle/1".to_owned(),
        at: at(0),
        subject: "ml/Deployment/trainer".to_owned(),
        body: json!({ "before": 7, "after": 0 }),
    };
    put(&*store, vec![saving.record().unwrap()]).await.unwrap();
    let error = replace(&*store, saving.record().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("is final"), "{error}");

    let mut query = RecordQuery::of(RecordKind::Memory);
    query.subject = Some("told".to_owned());
    let found = store.records(query.clone()).await.unwrap().records;
    let mut found: Vec<Memory> = found.iter().map(|record| Memory::read(record).unwrap()).collect();
    found.sort_by_key(|memory| memory.term);
    assert_eq!(found, [memory(1, "late"), memory(2, "thrice")]);

    super::retention::retain(&*store, gpu_store::Retention::default(), at(31 * DAY)).await;
    assert_eq!(store.records(query).await.unwrap().records, []);
    let kept = store
        .records(RecordQuery::of(RecordKind::Saving))
        .await
        .unwrap()
        .records;
    assert_eq!(Saving::read(&kept[0]).unwrap(), saving);
}
