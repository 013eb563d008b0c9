//! What is remembered of a template.

use std::sync::Arc;

use gpu_cost::{Event, Grain, Moment, Settings, Span, UsageRow};
use gpu_model::{OwnerRef, Partition, Permille};

use crate::fleet::{Node, books, hour, machine, minute, prices, settle};

#[test]
fn pods_of_one_template_are_remembered_together() {
    let mut node = Node::ready(machine("i-1", 4), minute(-60));
    for (gpu, pod) in ["web-1", "web-2", "alone"].into_iter().enumerate() {
        node.bind(pod, gpu, Partition::Whole, Span::new(minute(0), minute(30)));
        for at in 0..10 {
            let load = if at == 9 { 900 } else { 100 };
            node.used(
                pod,
                gpu,
                Partition::Whole,
                Span::new(minute(at), minute(at + 1)),
                load,
            );
        }
    }
    for event in &mut node.events {
        if let Event::Bound { claim, .. } = event
            && claim.holder.pod.as_str().starts_with("web")
        {
            Arc::make_mut(&mut claim.holder).dimensions.owner = Some(OwnerRef {
                kind: "Deployment".to_owned(),
                name: "web".to_owned(),
            });
        }
    }
    let rows = settle(&node, &prices("8"));
    let usage = books(&node.events).usage(hour(), Grain::Hour, &rows);
    let names: Vec<_> = usage
        .iter()
        .map(|row| {
            (
                row.template.owner.kind.as_str(),
                row.pods,
                row.samples,
                row.held_ms,
            )
        })
        .collect();
    assert_eq!(
        names,
        [("Deployment", 2, 20, 3_600_000), ("Pod", 1, 10, 1_800_000)]
    );
    let web = &usage[0];
    assert_eq!(web.utilization_mean(), Permille::new(180).ok());
    assert_eq!(web.utilization_max, Permille::new(900).ok());
    assert_eq!(web.utilization_percentile(50), Permille::new(100).ok());
    assert_eq!(web.utilization_percentile(95), Permille::new(900).ok());
    assert_eq!(web.memory_max, None, "nobody read it");
}

#[test]
fn rows_add_up_in_any_order_and_nothing_measured_is_no_number() {
    let mut node = Node::ready(machine("i-1", 1), minute(-60));
    node.bind("a", 0, Partition::Whole, Span::new(minute(0), Moment(i64::MAX)));
    let rows = books(&node.events).settle(hour(), &prices("1"), &Settings::default());
    let empty = books(&node.events).usage(hour(), Grain::Hour, &rows).remove(0);
    assert_eq!(
        (empty.utilization_mean(), empty.utilization_percentile(95)),
        (None, None)
    );
    let sampled = |load: u16| -> UsageRow {
        let mut row = empty.clone();
        row.sample(Permille::clamped(load));
        row
    };
    let (mut a, mut b) = (sampled(0), sampled(1000));
    a.merge(&sampled(1000));
    b.merge(&sampled(0));
    assert_eq!(a, b);
    assert_eq!(a.utilization_percentile(50), Some(Permille::ZERO));
    assert_eq!(a.utilization_percentile(51), Some(Permille::ONE));
}
