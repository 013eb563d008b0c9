//! Whose a file is, and which files are not read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gpu_model::{ContainerName, Namespace, PodName};
use jiff::Timestamp;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{Layout, Textfiles, owner_of};
use crate::applications::{HoldingPods, Owner, Part, Rules};

const MAX_AGE: Duration = Duration::from_secs(300);

struct Scene {
    root: tempfile::TempDir,
    files: Textfiles,
    layout: Layout,
    rules: Arc<Rules>,
}

fn pod(namespace: &str, name: &str, container: Option<&str>) -> Owner {
    Owner::Pod {
        namespace: Namespace::new(namespace).unwrap(),
        pod: PodName::new(name).unwrap(),
        container: container.map(|name| ContainerName::new(name).unwrap()),
    }
}

impl Scene {
    fn new(layout: Layout) -> Self {
        let root = tempfile::tempdir().unwrap();
        let files = Textfiles::new(root.path().to_owned(), MAX_AGE);
        Self {
            root,
            files,
            layout,
            rules: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&mut self) -> Part {
        let holding =
            ["trainer-0", "server"].map(|name| (Namespace::new("ml").unwrap(), PodName::new(name).unwrap()));
        let holding = HoldingPods(holding.into());
        self.files
            .read(&self.layout, &holding, &self.rules, Timestamp::now())
    }

    /// The files that were taken, as `owner file`, and the classes of errors so far.
    fn seen(&mut self) -> (Vec<String>, String) {
        let part = self.read();
        let name = |owner: &Owner| match owner {
            Owner::Node => "node".to_owned(),
            Owner::Pod { pod, container, .. } => match container {
                Some(container) => format!("{pod}/{container}"),
                None => pod.to_string(),
            },
        };
        let taken = part
            .sheets
            .iter()
            .map(|sheet| format!("{} {}", name(&sheet.owner), sheet.name));
        let errors = part
            .source
            .errors
            .iter()
            .map(|(class, count)| format!("{class}={count}"));
        (taken.collect(), errors.collect::<Vec<_>>().join(" "))
    }
}

fn age(path: &Path, seconds: i64) {
    let at = if seconds >= 0 {
        SystemTime::now() - Duration::from_secs(seconds.unsigned_abs())
    } else {
        SystemTime::now() + Duration::from_secs(seconds.unsigned_abs())
    };
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(at)
        .unwrap();
}

#[test]
fn directories_are_named_after_pods() {
    for (name, owner) in [
        ("ml_trainer-0", Some(pod("ml", "trainer-0", None))),
        ("ml_a.b_main", Some(pod("ml", "a.b", Some("main")))),
        ("ml", None),
        ("ml_", None),
        ("_trainer", None),
        ("ml_.._x", None),
        ("ml_..", None),
        ("a_b_c_d", None),
        ("ML_trainer", None),
    ] {
        assert_eq!(owner_of(name), owner, "{name}");
    }
}

#[test]
fn files_belong_to_the_node_to_a_pod_or_to_a_container() {
    let mut scene = Scene::new(Layout::Node);
    scene.write("node.prom", "a 1\n");
    scene.write("ml_trainer-0/b.prom", "a 1\n");
    scene.write("ml_trainer-0/a.prom", "a 1\n");
    scene.write("ml_trainer-0/.c.prom", "half a ");
    scene.write("ml_trainer-0/notes.txt", "not a page");
    scene.write("ml_server_main/x.prom", "a 1\n");
    scene.write("ml_stranger/x.prom", "a 1\n");
    scene.write("elsewhere/x.prom", "a 1\n");
    let expected = [
        "server/main x.prom",
        "trainer-0 a.prom",
        "trainer-0 b.prom",
        "node node.prom",
    ];
    assert_eq!(
        scene.seen(),
        (expected.map(str::to_owned).to_vec(), String::new())
    );
}

#[test]
fn in_a_sidecar_the_whole_directory_is_the_pods() {
    let mut scene = Scene::new(Layout::Whole(pod("ml", "own", None)));
    scene.write("a.prom", "a 1\n");
    scene.write("ml_server/x.prom", "a 1\n");
    assert_eq!(scene.seen(), (vec!["own a.prom".to_owned()], String::new()));
}

#[test]
fn only_regular_files_are_opened_and_no_link_is_followed() {
    let mut scene = Scene::new(Layout::Node);
    scene.write("secret", "a 1\n");
    symlink(scene.path("secret"), scene.path("link.prom")).unwrap();
    symlink("/etc/shadow", scene.path("ml_trainer-0/shadow.prom")).unwrap();
    mkfifo(&scene.path("pipe.prom"), Mode::S_IRWXU).unwrap();
    fs::create_dir(scene.path("directory.prom")).unwrap();
    std::os::unix::net::UnixListener::bind(scene.path("socket.prom")).unwrap();
    symlink(scene.path("ml_trainer-0"), scene.path("ml_server")).unwrap();
    assert_eq!(scene.seen(), (vec![], "not_regular=5 unreadable=1".to_owned()));
}

#[test]
fn one_bad_file_costs_no_other() {
    let mut scene = Scene::new(Layout::Node);
    scene.write("ml_trainer-0/good.prom", "a 1\n");
    scene.write("ml_trainer-0/torn.prom", "a 1\nb 2");
    scene.write("ml_trainer-0/wrong.prom", "a one\n");
    scene.write("ml_server/large.prom", &"a 1\n".repeat(10 * 1024 * 1024 / 4));
    let part = scene.read();
    let classes: Vec<&str> = part.source.errors.keys().copied().collect();
    assert_eq!(classes, ["malformed", "too_large", "torn"]);
    assert_eq!(part.sheets.len(), 1);
    assert!(part.pages.iter().all(|page| !page.up) && part.pages.len() == 2);
    assert_eq!(part.source.problem, None);
}

#[test]
fn old_files_and_those_of_the_future_are_left_out() {
    let mut scene = Scene::new(Layout::Node);
    for (name, seconds) in [
        ("old.prom", 400),
        ("fresh.prom", 200),
        ("ahead.prom", -200),
        ("far.prom", -400),
    ] {
        scene.write(name, "a 1\n");
        age(&scene.path(name), seconds);
    }
    let (taken, errors) = scene.seen();
    assert_eq!(taken, ["node ahead.prom", "node fresh.prom"]);
    assert_eq!(errors, "stale=2");
    // Written again it is back.
    scene.write("old.prom", "a 2\n");
    assert_eq!(scene.seen().0.len(), 3);
}

#[test]
fn number_and_weight_of_an_owners_files_are_bounded() {
    let mut scene = Scene::new(Layout::Node);
    for n in 0..20 {
        scene.write(&format!("ml_trainer-0/{n:02}.prom"), "a 1\n");
    }
    let page = format!("# {}\n", "x".repeat(60_000)).repeat(8);
    for n in 0..4 {
        scene.write(&format!("ml_server/{n}.prom"), &page);
    }
    let (taken, errors) = scene.seen();
    assert_eq!(taken.len(), 16 + 2, "{taken:?}");
    assert_eq!(errors, "too_many=6");
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let mut scene = Scene::new(Layout::Node);
    scene.write("a.prom", "a 1\n");
    let content = |part: Part| Arc::clone(&part.sheets[0].content);
    let (first, second) = (content(scene.read()), content(scene.read()));
    assert!(Arc::ptr_eq(&first, &second));
    scene.rules = Arc::default();
    let third = content(scene.read());
    assert!(!Arc::ptr_eq(&second, &third));
    fs::remove_file(scene.path("a.prom")).unwrap();
    assert_eq!(scene.seen(), (vec![], String::new()));
    assert!(scene.files.kept.is_empty());
}

#[test]
fn a_directory_that_is_missing_is_told_and_found_later() {
    let mut scene = Scene::new(Layout::Node);
    let there = scene.root.path().join("later");
    scene.files = Textfiles::new(there.clone(), MAX_AGE);
    let part = scene.read();
    assert!(part.source.problem.unwrap().contains("--textfile-dir"));
    fs::create_dir(there).unwrap();
    assert_eq!(scene.read().source.problem, None);
}
