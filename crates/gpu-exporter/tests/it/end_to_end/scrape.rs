//! Pods whose pages are scraped by the real program: those that answer, and those that do whatever a server can do wrong.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gpu_exposition::Format;

use super::machine::Machine;
use super::machines;
use super::reading::{parse, value};

const PAGE: &str = "# HELP tokens_total Tokens.\n# TYPE tokens_total counter\ntokens_total 7\n";
/// Far above what the program has otherwise.
const MOST_RESIDENT: u64 = 64 * 1024 * 1024;

/// What the server of a pod does with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Good,
    OpenMetrics,
    Chunked,
    Silent,
    Dripping,
    Endless,
    Redirect,
    HugeHeader,
    ManyHeaders,
    WrongType,
    Packed,
    Broken,
    Cut,
    Torn,
    NotHttp,
    Wrong,
}

/// A pod's server. It ends with the value.
struct Server {
    address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    requests: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
}

impl Server {
    fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            behaviour: Arc::new(Mutex::new(behaviour)),
            requests: Arc::default(),
            heads: Arc::default(),
            stop: Arc::default(),
        };
        let (behaviour, requests) = (Arc::clone(&server.behaviour), Arc::clone(&server.requests));
        let (heads, stop) = (Arc::clone(&server.heads), Arc::clone(&server.stop));
        let own = server.address;
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                requests.fetch_add(1, Ordering::Relaxed);
                let (behaviour, heads, stop) =
                    (*behaviour.lock().unwrap(), Arc::clone(&heads), Arc::clone(&stop));
                // The client may go away in the middle; that is what it should do.
                std::thread::spawn(move || drop(answer(client, behaviour, own, &heads, &stop)));
            }
        });
        server
    }

    fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    fn rule(&self, pod: &str) -> String {
        format!("--scrape-rule=ml/{pod}=http://{}/metrics", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread up, which then sees that it should end.
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(
    mut client: TcpStream,
    behaviour: Behaviour,
    own: SocketAddr,
    heads: &Mutex<Vec<String>>,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    heads
        .lock()
        .unwrap()
        .push(String::from_utf8_lossy(&head).into_owned());
    let ok = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    let text = "content-type: text/plain; version=0.0.4\r\n";
    let whole = |head: &str, body: &str| format!("{ok}{head}content-length: {}\r\n\r\n{body}", body.len());
    let said = match behaviour {
        Behaviour::Good => whole(text, PAGE),
        Behaviour::OpenMetrics => whole(
            "content-type: application/openmetrics-text; version=1.0.0\r\n",
            "# TYPE tokens counter\ntokens_total 8 # {trace=\"a\"} 1\ntokens_created 1\n# EOF\n",
        ),
        Behaviour::Chunked => format!(
            "{ok}{text}transfer-encoding: chunked\r\n\r\n{:x}\r\n{PAGE}\r\n0\r\n\r\n",
            PAGE.len()
        ),
        Behaviour::Redirect => {
            format!("HTTP/1.1 302 Found\r\nlocation: http://{own}/elsewhere\r\ncontent-length: 0\r\n\r\n")
        }
        Behaviour::WrongType => whole("content-type: text/html\r\n", PAGE),
        Behaviour::Packed => whole(&format!("{text}content-encoding: gzip\r\n"), PAGE),
        Behaviour::Broken => "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n".to_owned(),
        Behaviour::Cut => format!("{ok}{text}content-length: 1000\r\n\r\n{PAGE}"),
        Behaviour::Torn => whole(
            "content-type: application/openmetrics-text; version=1.0.0\r\n",
            "# TYPE tokens counter\ntokens_total 9\n",
        ),
        Behaviour::NotHttp => "220 mail.example ESMTP\r\n".to_owned(),
        Behaviour::Wrong => whole(text, "tokens_total many\n"),
        Behaviour::ManyHeaders => {
            let many: String = (0..1_000).map(|n| format!("x-{n}: 1\r\n")).collect();
            whole(&format!("{text}{many}"), PAGE)
        }
        Behaviour::Silent | Behaviour::Dripping | Behaviour::Endless | Behaviour::HugeHeader => {
            return go_on(&mut client, behaviour, stop);
        }
    };
    client.write_all(said.as_bytes())
}

/// Never comes to an end by itself.
fn go_on(client: &mut TcpStream, behaviour: Behaviour, stop: &AtomicBool) -> std::io::Result<()> {
    let start: &[u8] = match behaviour {
        Behaviour::Endless | Behaviour::Dripping => b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n",
        Behaviour::HugeHeader => b"HTTP/1.1 200 OK\r\nx-large: ",
        _ => b"",
    };
    client.write_all(start)?;
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        match behaviour {
            Behaviour::Endless => client.write_all(&b"endless 1\n".repeat(1_000))?,
            Behaviour::HugeHeader if sent < 10 * 1024 * 1024 => client.write_all(&[b'x'; 10_000])?,
            Behaviour::Dripping => {
                client.write_all(b"#")?;
                std::thread::sleep(Duration::from_millis(200));
            }
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
        sent += 10_000;
    }
    Ok(())
}

fn machine(rules: &[String]) -> Machine {
    let plan = machines::t4_time_sliced().arguments(&["--application-interval=500ms"]);
    let plan = rules.iter().fold(plan, |plan, rule| plan.argument(rule.clone()));
    let machine = plan.start();
    machine.wait(|page| page.contains("pod=\"notebook-3\""));
    machine
}

fn tokens(page: &str, pod: &str) -> Option<f64> {
    value(page, "tokens_total", &[&format!("pod=\"{pod}\"")])
}

fn errors(page: &str, class: &str) -> f64 {
    let class = format!("class=\"{class}\"");
    value(
        page,
        "gpu_exporter_source_errors_total",
        &["source=\"scrape\"", &class],
    )
    .unwrap_or(0.0)
}

#[test]
fn a_pods_page_stands_beside_its_gpu() {
    let server = Server::start(Behaviour::Good);
    let machine = machine(&[server.rule("notebook-*")]);
    let page = machine.wait(|page| (0..4).all(|n| tokens(page, &format!("notebook-{n}")) == Some(7.0)));
    let uuid = format!("uuid=\"{}\"", machine.scenario.gpus[0].uuid);
    assert!(
        value(&page, "tokens_total", &["namespace=\"ml\"", "gpu=\"0\"", &uuid]).is_some(),
        "{page}"
    );
    assert_eq!(
        value(
            &page,
            "gpu_exporter_application_up",
            &["notebook-0", "source=\"scrape\""]
        ),
        Some(1.0)
    );
    assert_eq!(
        value(&page, "gpu_exporter_source_up", &["source=\"scrape\""]),
        Some(1.0)
    );
    parse(&page, Format::Text);
    let head = server.heads.lock().unwrap()[0].clone();
    assert!(head.starts_with("GET /metrics HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("accept: text/plain;version=0.0.4") && head.contains("user-agent: gpu-exporter/"),
        "{head}"
    );
    // Once an interval and pod, however often the exporter's own page is asked for.
    let before = server.requests.load(Ordering::Relaxed);
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2) {
        machine.page();
    }
    let asked = server.requests.load(Ordering::Relaxed) - before;
    assert!((4..=20).contains(&asked), "{asked} requests in two seconds");
    for behaviour in [Behaviour::OpenMetrics, Behaviour::Chunked] {
        server.behave(behaviour);
        let expected = if behaviour == Behaviour::OpenMetrics {
            8.0
        } else {
            7.0
        };
        machine.wait(|page| tokens(page, "notebook-1") == Some(expected));
    }
}

#[test]
fn hostile_servers_cost_only_their_own_pod() {
    let (good, hostile) = (Server::start(Behaviour::Good), Server::start(Behaviour::Silent));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let machine = machine(&[
        good.rule("notebook-0"),
        hostile.rule("notebook-1"),
        format!("--scrape-rule=ml/notebook-2=http://{closed}/metrics"),
        format!(
            "--scrape-rule=ml/notebook-3=http://localhost:{}/metrics",
            good.address.port()
        ),
    ]);
    machine.wait(|page| errors(page, "connect") > 0.0 && errors(page, "address") > 0.0);
    for (behaviour, class) in [
        (Behaviour::Silent, "timeout"),
        (Behaviour::Dripping, "timeout"),
        (Behaviour::Endless, "too_large"),
        (Behaviour::Redirect, "redirect"),
        (Behaviour::HugeHeader, "protocol"),
        (Behaviour::ManyHeaders, "protocol"),
        (Behaviour::WrongType, "content_type"),
        (Behaviour::Packed, "content_type"),
        (Behaviour::Broken, "status"),
        (Behaviour::Cut, "protocol"),
        (Behaviour::Torn, "torn"),
        (Behaviour::NotHttp, "protocol"),
        (Behaviour::Wrong, "malformed"),
    ] {
        hostile.behave(behaviour);
        // One that began before may still be on its way.
        let before = errors(&machine.page(), class) + 1.0;
        let page = machine.wait(|page| errors(page, class) > before);
        assert_eq!(tokens(&page, "notebook-0"), Some(7.0), "{behaviour:?}\n{page}");
        for pod in ["notebook-1", "notebook-2", "notebook-3"] {
            assert_eq!(tokens(&page, pod), None, "{behaviour:?}");
            assert_eq!(
                value(&page, "gpu_exporter_application_up", &[pod]),
                Some(0.0),
                "{behaviour:?}\n{page}"
            );
        }
        parse(&page, Format::Text);
    }
    let asked = hostile.heads.lock().unwrap().clone();
    assert!(
        !asked.iter().any(|head| head.contains("/elsewhere")),
        "a redirect was followed"
    );
    let resident = machine.exporter.resident();
    assert!(resident < MOST_RESIDENT, "{resident} bytes");
    let log = machine.exporter.log();
    assert_eq!(
        log.matches("cannot take the pod's page").count(),
        3,
        "once a pod: {log}"
    );
    // It is forgiven as soon as it behaves.
    hostile.behave(Behaviour::Good);
    machine.wait(|page| tokens(page, "notebook-1") == Some(7.0));
}

#[test]
fn a_page_that_is_no_longer_served_goes_after_three_intervals() {
    let server = Server::start(Behaviour::Good);
    let machine = machine(&[server.rule("notebook-0")]);
    machine.wait(|page| tokens(page, "notebook-0") == Some(7.0));
    server.behave(Behaviour::Broken);
    let page = machine.wait(|page| value(page, "gpu_exporter_application_up", &["notebook-0"]) == Some(0.0));
    // One lost answer makes no gap.
    assert_eq!(tokens(&page, "notebook-0"), Some(7.0), "{page}");
    machine.wait(|page| tokens(page, "notebook-0").is_none());
}
