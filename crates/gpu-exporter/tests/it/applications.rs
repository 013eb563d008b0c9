//! Application metrics on the page: which labels they get, who wins, and what they cost.

use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use gpu_exporter::applications::{
    Applications, Content, Owner, PageStatus, Part, Rules, Sheet, SourceState, Way,
};
use gpu_exporter::page::{Encoding, PageCache, PageRequest, PageSettings, StaticLabels, Subset};
use gpu_exporter::readings::SliceId;
use gpu_exporter::snapshot::{DeviceSnapshot, HeldPart, NodeSnapshot, Workload};
use gpu_exposition::Format;
use gpu_model::{ContainerName, Namespace, PodName};
use jiff::Timestamp;

use crate::lint::findings;
use crate::nodes;
use crate::nodes::pieces;

const SERIES: usize = 5_000;

/// The instant of the snapshots of tests.
fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

fn pod(name: &str, container: Option<&str>) -> Owner {
    Owner::Pod {
        namespace: Namespace::new("ml").unwrap(),
        pod: PodName::new(name).unwrap(),
        container: container.map(|name| ContainerName::new(name).unwrap()),
    }
}

fn sheet(applications: &Applications, owner: Owner, name: &str, page: &str) -> Sheet {
    let content = Content::read(page.as_bytes(), Format::Text, &applications.rules()).unwrap();
    Sheet {
        owner,
        way: Way::Textfile,
        name: name.to_owned(),
        valid_until: now() + Duration::from_secs(60),
        content: Arc::new(content),
    }
}

fn put(applications: &Applications, sheets: Vec<Sheet>) {
    let pages = sheets.iter().map(|sheet| PageStatus {
        owner: sheet.owner.clone(),
        way: sheet.way,
        up: true,
        at: Some(now() - Duration::from_secs(5)),
        valid_until: sheet.valid_until,
    });
    let mut pages: Vec<PageStatus> = pages.collect();
    pages.dedup();
    applications.put(
        Way::Textfile,
        Part {
            pages,
            sheets,
            source: SourceState::default(),
        },
    );
}

/// GPUs with these holders, as pod, container and part.
fn node(holders: &[&[(&str, &str, HeldPart)]]) -> NodeSnapshot {
    let device = |(index, holders): (usize, &&[(&str, &str, HeldPart)])| -> DeviceSnapshot {
        let mut device = pieces::device(u32::try_from(index).unwrap(), "T4", "turing", "580.82");
        let readings = Arc::make_mut(&mut device.readings);
        readings.slices = vec![
            pieces::slice(1, 0, "3g.40gb", 1.0, 1.0),
            pieces::slice(2, 0, "2g.20gb", 1.0, 1.0),
        ];
        let holder = |(pod, container, part): &(&str, &str, HeldPart)| {
            pieces::holder("ml", pod, container, part.clone())
        };
        device.holders = holders.iter().map(holder).collect();
        device
    };
    let devices = holders.iter().enumerate().map(device).collect();
    pieces::node("node-a", vec![pieces::up("nvml", 0.01)], devices)
}

fn text(cache: &PageCache, node: &NodeSnapshot, format: Format, subset: Subset) -> String {
    let request = PageRequest {
        format,
        subset,
        encoding: Encoding::Plain,
    };
    let page = cache.page(&Arc::new(node.clone()), request).unwrap();
    String::from_utf8(page.as_ref().to_vec()).unwrap()
}

/// The lines of the page that applications are the reason for, without what is the same on all.
fn lines(cache: &PageCache, node: &NodeSnapshot) -> String {
    let page = text(cache, node, Format::Text, Subset::Full);
    let is_ours = |line: &&str| {
        !line.starts_with('#')
            && (line.contains("application")
                || !["gpu_", "DCGM_", "dcgm_"].iter().any(|own| line.starts_with(own)))
    };
    let shorter = |line: &str| {
        let line = line
            .replace(",namespace=\"ml\"", "")
            .replace("{namespace=\"ml\",", "{");
        line.replace(",node=\"node-a\"", "") + "\n"
    };
    page.lines().filter(is_ours).map(shorter).collect()
}

#[track_caller]
fn check(node: &NodeSnapshot, pages: &[(Owner, &str)], expected: &str) {
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    let sheets = pages.iter().enumerate();
    let sheets = sheets.map(|(at, (owner, page))| sheet(&applications, owner.clone(), &at.to_string(), page));
    put(&applications, sheets.collect());
    let shown = lines(&cache, node);
    let own: String = shown
        .lines()
        .filter(|line| !line.starts_with("gpu_exporter_application_up") && !line.contains("_age_seconds"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(own, expected);
}

fn whole(pod: &'static str) -> (&'static str, &'static str, HeldPart) {
    (pod, "main", HeldPart::Whole)
}

const UUID_0: &str = "GPU-0b8a5f1c-77aa-4c1e-9d2e-000000000000";

#[test]
fn a_pod_with_one_gpu_has_its_labels() {
    let node = node(&[&[whole("trainer-0")], &[]]);
    check(
        &node,
        &[(
            pod("trainer-0", None),
            "# TYPE steps_total counter\nsteps_total{phase=\"fit\"} 7\n",
        )],
        &format!(
            "gpu_application_info{{gpu=\"0\",uuid=\"{UUID_0}\",pod=\"trainer-0\"}} 1\n\
             steps_total{{phase=\"fit\",pod=\"trainer-0\",gpu=\"0\",uuid=\"{UUID_0}\"}} 7\n"
        ),
    );
}

#[test]
fn a_pod_with_several_gpus_has_its_value_once() {
    let node = node(&[&[whole("trainer-0")], &[whole("trainer-0")]]);
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    put(
        &applications,
        vec![sheet(&applications, pod("trainer-0", None), "a", "tokens 9\n")],
    );
    let shown = lines(&cache, &node);
    assert_eq!(shown.matches("gpu_application_info{").count(), 2, "{shown}");
    assert!(shown.ends_with("\ntokens{pod=\"trainer-0\"} 9\n"), "{shown}");
}

#[test]
fn slices_containers_and_sharers_are_named_as_far_as_they_are_known() {
    let slice = |gi| HeldPart::Slice(SliceId { gi, ci: 0 });
    let node = node(&[
        &[
            ("infer", "main", slice(1)),
            ("both", "a", slice(1)),
            ("both", "b", slice(2)),
        ],
        &[
            ("share-0", "main", HeldPart::Replica("x::0".to_owned())),
            ("share-1", "main", HeldPart::Replica("x::1".to_owned())),
        ],
    ]);
    let pages = [
        (pod("both", None), "q 1\n"),
        (pod("both", Some("b")), "q 2\n"),
        (pod("infer", None), "q 3\n"),
        (pod("share-0", None), "q 4\n"),
        (pod("share-1", None), "q 5\n"),
        (pod("stranger", None), "q 6\n"),
        (Owner::Node, "q 7\n"),
    ];
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    let sheets = pages
        .iter()
        .map(|(owner, page)| sheet(&applications, owner.clone(), "a", page));
    put(&applications, sheets.collect());
    let shown = lines(&cache, &node);
    let own: Vec<&str> = shown.lines().filter(|line| line.starts_with("q{")).collect();
    let without_uuid: Vec<String> = own
        .iter()
        .map(|line| {
            let (start, rest) = line.split_once(",uuid=\"").unwrap_or((line, ""));
            format!("{start}{}", rest.split_once('"').map_or("", |(_, rest)| rest))
        })
        .collect();
    assert_eq!(
        without_uuid,
        [
            "q{node=\"node-a\"} 7",
            "q{pod=\"both\",gpu=\"0\"} 1",
            "q{pod=\"both\",container=\"b\",gpu=\"0\",partition=\"2g.20gb/2/0\"} 2",
            "q{pod=\"infer\",gpu=\"0\",partition=\"3g.40gb/1/0\"} 3",
            "q{pod=\"share-0\",gpu=\"1\"} 4",
            "q{pod=\"share-1\",gpu=\"1\"} 5",
        ]
    );
}

#[test]
fn the_first_by_name_wins_and_the_others_are_counted() {
    let node = node(&[&[whole("a"), whole("b")]]);
    let dropped = |pages: &[(Owner, &str)]| {
        let applications = Arc::new(Applications::new(Rules::default(), SERIES));
        let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
        let sheets = pages.iter().enumerate();
        let sheets =
            sheets.map(|(at, (owner, page))| sheet(&applications, owner.clone(), &at.to_string(), page));
        put(&applications, sheets.rev().collect());
        let shown = lines(&cache, &node);
        let kept = |line: &&str| {
            !line.starts_with("gpu_application") && !line.contains("_up{") && !line.contains("_age_")
        };
        let kept = shown.lines().filter(kept).map(|line| {
            let (name, rest) = line.split_once('{').unwrap();
            let value = rest.rsplit(' ').next().unwrap();
            let reason = rest
                .split("reason=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            format!("{}={value}", reason.unwrap_or(name))
        });
        kept.collect::<Vec<_>>().join(" ")
    };
    let (a, b) = (pod("a", None), pod("b", None));
    let counter = "# TYPE t counter\nt 1\n";
    let gauge = "# TYPE t gauge\nt 2\nt{x=\"1\"} 3\n";
    assert_eq!(
        dropped(&[(a.clone(), counter), (b.clone(), gauge)]),
        "conflict=2 t=1"
    );
    assert_eq!(dropped(&[(a.clone(), counter), (b.clone(), counter)]), "t=1 t=1");
    // Two files of one pod: series that differ stand beside each other, the same one cannot.
    assert_eq!(
        dropped(&[(a.clone(), "q{w=\"1\"} 1\n"), (a.clone(), "q{w=\"2\"} 2\n")]),
        "q=1 q=2"
    );
    assert_eq!(
        dropped(&[(a.clone(), "q 1\n"), (a.clone(), "q 2\nq{w=\"2\"} 2\n")]),
        "duplicate=2 q=1"
    );
    // The lines of a histogram, and what OpenMetrics calls a counter, are names too.
    let histogram = "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n";
    assert_eq!(
        dropped(&[(a.clone(), histogram), (b.clone(), "h_count 9\n")]),
        "conflict=1 h_bucket=1 h_sum=1 h_count=1"
    );
    assert_eq!(
        dropped(&[
            (a, "# TYPE s_total counter\ns_total 1\n"),
            (b, "# TYPE s gauge\ns 1\n")
        ]),
        "conflict=1 s_total=1"
    );
}

#[test]
fn a_pod_and_all_of_them_have_a_limit() {
    let pods: Vec<String> = (0..4).map(|n| format!("p{n}")).collect();
    let holders: Vec<(&str, &str, HeldPart)> = pods
        .iter()
        .map(|name| (name.as_str(), "main", HeldPart::Whole))
        .collect();
    let node = node(&[&holders]);
    let page = |name: &str| -> String { (0..900).map(|n| format!("{name}{{n=\"{n}\"}} 1\n")).collect() };
    let applications = Arc::new(Applications::new(Rules::default(), 3_000));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    let mut sheets = Vec::new();
    for name in &pods {
        for file in ["a", "b", "c"] {
            sheets.push(sheet(&applications, pod(name, None), file, &page(file)));
        }
    }
    put(&applications, sheets);
    let shown = lines(&cache, &node);
    // Two families of the first pod and one of the second.
    assert_eq!(
        shown
            .lines()
            .filter(|line| line.starts_with(['a', 'b', 'c']))
            .count(),
        2_700,
        "{shown}"
    );
    for counted in ["{reason=\"pod_limit\"} 900", "{reason=\"total_limit\"} 7200"] {
        assert!(shown.contains(counted), "{counted}");
    }
}

#[test]
fn what_is_too_old_is_absent_even_if_nobody_reads_any_more() {
    let mut node = node(&[&[whole("a")]]);
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    put(
        &applications,
        vec![sheet(&applications, pod("a", None), "f", "steps 1\n")],
    );
    assert!(lines(&cache, &node).contains("\nsteps{"));
    node.at = now() + Duration::from_secs(61);
    node.sequence += 1;
    let later = lines(&cache, &node);
    assert!(!later.contains("steps"), "{later}");
    assert!(
        later.contains("gpu_exporter_application_up{pod=\"a\",source=\"textfile\"} 0"),
        "{later}"
    );
    assert!(
        later.contains("gpu_exporter_application_age_seconds{pod=\"a\",source=\"textfile\"} 66"),
        "{later}"
    );
}

#[test]
fn labels_of_the_operator_take_effect_with_the_next_reading() {
    let node = node(&[&[whole("a")]]);
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    let page = "steps{team=\"own\"} 1\n";
    put(
        &applications,
        vec![sheet(&applications, pod("a", None), "f", page)],
    );
    assert!(lines(&cache, &node).contains("steps{team=\"own\",pod=\"a\""));
    cache.set(PageSettings {
        static_labels: StaticLabels::parse(["team=ops"]).unwrap(),
        ..PageSettings::default()
    });
    assert!(!lines(&cache, &node).contains("steps{"));
    put(
        &applications,
        vec![sheet(&applications, pod("a", None), "f", page)],
    );
    let mut node = node;
    node.sequence += 1;
    let shown = lines(&cache, &node);
    assert!(
        shown.contains("steps{exported_team=\"own\",pod=\"a\"") && shown.contains("team=\"ops\"} 1"),
        "{shown}"
    );
}

#[test]
fn the_short_page_and_a_page_without_applications_do_not_speak_of_them() {
    let node = node(&[&[whole("a")]]);
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    assert!(!text(&cache, &node, Format::Text, Subset::Full).contains("application"));
    put(
        &applications,
        vec![sheet(&applications, pod("a", None), "f", "steps 1\n")],
    );
    let core = text(&cache, &node, Format::Text, Subset::Core);
    assert!(!core.contains("application") && !core.contains("steps"), "{core}");
}

/// A page with every kind of family.
fn clean_page() -> &'static str {
    "# HELP train_steps_total Steps of the optimizer.\n# TYPE train_steps_total counter\ntrain_steps_total 120\n\
     # HELP train_loss Last loss.\n# TYPE train_loss gauge\ntrain_loss{head=\"a\\\\b\\\"\\n\"} 0.25\n\
     # HELP step_seconds Time of a step.\n# TYPE step_seconds histogram\nstep_seconds_bucket{le=\"0.5\"} 3\n\
     step_seconds_bucket{le=\"+Inf\"} 4\nstep_seconds_sum 2.5\nstep_seconds_count 4\n\
     # HELP wait_seconds Time in the queue.\n# TYPE wait_seconds summary\nwait_seconds{quantile=\"0.5\"} NaN\nwait_seconds_sum 0\nwait_seconds_count 0\n"
}

#[test]
fn a_clean_page_stays_clean_in_both_formats() {
    gpu_testbed::require!(gpu_testbed::Program::Promtool);
    let node = node(&[&[whole("a"), whole("b")]]);
    let settings = PageSettings {
        vocabularies: [gpu_exporter::page::Vocabulary::Gpu].into(),
        ..PageSettings::default()
    };
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(settings, Arc::clone(&applications));
    let sheets = ["a", "b"].map(|name| sheet(&applications, pod(name, None), "f", clean_page()));
    put(&applications, sheets.into());
    let page = text(&cache, &node, Format::Text, Subset::Full);
    assert_eq!(page.matches("train_steps_total{").count(), 2, "{page}");
    assert_eq!(findings(&page), "");
    let open = text(&cache, &node, Format::OpenMetrics, Subset::Full);
    let parsed = gpu_exposition::Page::parse(
        open.as_bytes(),
        gpu_exposition::ParserOptions::new(Format::OpenMetrics),
    );
    let names: Vec<String> = parsed
        .unwrap()
        .families
        .into_iter()
        .map(|family| family.name)
        .collect();
    for name in ["train_steps_total", "train_loss", "step_seconds", "wait_seconds"] {
        assert_eq!(names.iter().filter(|own| *own == name).count(), 1, "{name}");
    }
}

#[test]
fn neither_a_scrape_nor_a_new_page_allocates_for_applications() {
    let applications = Arc::new(Applications::new(Rules::default(), SERIES));
    let cache = PageCache::with_applications(PageSettings::default(), Arc::clone(&applications));
    let node = nodes::sized(8, 40);
    let pods = node.devices.iter().flat_map(|device| &device.holders);
    let page: String = (0..100)
        .map(|n| format!("queue{{worker=\"{n}\"}} {n}\n"))
        .collect();
    let sheets = pods.map(|holder| {
        let owner = Owner::Pod {
            namespace: holder.namespace.clone(),
            pod: holder.pod.clone(),
            container: None,
        };
        sheet(&applications, owner, "f", &page)
    });
    put(&applications, sheets.collect());
    let request = PageRequest {
        format: Format::Text,
        subset: Subset::Full,
        encoding: Encoding::Gzip,
    };
    let snapshots: Vec<Arc<NodeSnapshot>> = (0..10)
        .map(|sequence| {
            Arc::new(NodeSnapshot {
                sequence,
                ..node.clone()
            })
        })
        .collect();
    assert!(cache.page(&snapshots[0], request).unwrap().as_ref().len() > 10_000);
    let info = measure(|| {
        for snapshot in &snapshots {
            assert!(cache.page(snapshot, request).unwrap().as_ref().len() > 10_000);
        }
    });
    assert_eq!((info.count_total, info.bytes_total), (0, 0));
}

#[test]
fn in_a_sidecar_the_pod_has_what_the_exporter_sees() {
    let mut node = node(&[&[]]);
    node.workload = Some(Arc::new(Workload {
        namespace: Namespace::new("ml").unwrap(),
        pod: PodName::new("step-1").unwrap(),
        workflow: Vec::new(),
        labels: Arc::default(),
    }));
    check(
        &node,
        &[(pod("step-1", None), "q 1\n"), (pod("other", None), "q 2\n")],
        &format!(
            "gpu_application_info{{gpu=\"0\",uuid=\"{UUID_0}\",pod=\"step-1\"}} 1\n\
             q{{pod=\"step-1\",gpu=\"0\",uuid=\"{UUID_0}\"}} 1\n"
        ),
    );
}
