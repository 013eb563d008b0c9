//! What the books hold while a window is open.

use gpu_cost::{Event, Span};
use gpu_model::Partition;

use crate::fleet::{Node, books, machine, minute};

/// A thousand pods with two samples a minute for an hour.
fn events() -> Vec<Event> {
    let mut events = Vec::new();
    for number in 0..125 {
        let mut node = Node::ready(machine(&format!("i-{number}"), 8), minute(-60));
        for gpu in 0..8 {
            let pod = format!("pod-{number}-{gpu}");
            node.bind(&pod, gpu, Partition::Whole, Span::new(minute(0), minute(600)));
            for half in 0..120 {
                let from = minute(0).plus(half * 30_000);
                node.used(
                    &pod,
                    gpu,
                    Partition::Whole,
                    Span::new(from, from.plus(30_000)),
                    500,
                );
            }
        }
        events.extend(node.events);
    }
    events
}

#[test]
fn an_open_hour_of_a_thousand_pods_is_a_few_megabytes() {
    let events = events();
    let mut kept = None;
    let used = allocation_counter::measure(|| kept = Some(books(&events)));
    let bytes = used.bytes_current;
    println!("{bytes} bytes for 1,000 pods with 120 samples each");
    assert!(kept.is_some());
    assert!((1_000_000..4_500_000).contains(&bytes), "{bytes} bytes are held");
}
