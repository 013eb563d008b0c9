//! A real Prometheus reads both formats and answers by pod.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gpu_testbed::prometheus::{Prometheus, PrometheusOptions, ScrapeJob};
use gpu_testbed::{Bed, eventually, require};

use super::machines;

const SOON: Duration = Duration::from_secs(60);
const WHOLE: Duration = Duration::from_secs(120);

/// Stands between Prometheus and the exporter and takes the wish for OpenMetrics out of every request: older Prometheus and
/// other scrapers ask for text alone.
struct OnlyText {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl OnlyText {
    fn before(exporter: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                // A client that goes away in the middle is Prometheus at its end.
                let _ = forward(client, exporter);
            }
        });
        Self { address, stop }
    }
}

impl Drop for OnlyText {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread up, which then sees that it should end.
        let _ = TcpStream::connect(self.address);
    }
}

fn forward(mut client: TcpStream, exporter: SocketAddr) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let is_kept = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        !lower.starts_with("accept:") && !lower.starts_with("connection:") && !line.is_empty()
    };
    let mut head: Vec<&str> = request.lines().filter(is_kept).collect();
    head.extend(["accept: text/plain;version=0.0.4", "connection: close", "", ""]);
    let mut server = TcpStream::connect(exporter)?;
    server.write_all(head.join("\r\n").as_bytes())?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    client.write_all(&answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_scrapes_both_formats_and_answers_by_pod() -> anyhow::Result<()> {
    require!(Prometheus::need());
    let machine = machines::t4_time_sliced()
        .arguments(&["--vocabulary=gpu,dcgm,nvidia_smi"])
        .start();
    machine.wait(|page| page.contains("pod=\"notebook-3\""));
    let text = OnlyText::before(machine.exporter.address);
    let job = |name: &str, address: SocketAddr| ScrapeJob {
        name: name.to_owned(),
        targets: vec![address.to_string()],
        path: "/metrics".to_owned(),
        ..ScrapeJob::default()
    };
    let bed = Bed::new()?;
    bed.guard(WHOLE, async {
        let mut options = PrometheusOptions::scraping("", "");
        options.scrape_interval = Duration::from_millis(500);
        options.jobs = vec![
            job("open_metrics", machine.exporter.address),
            job("text", text.address),
        ];
        let prometheus = Prometheus::start(&bed, &options).await?;
        for job in ["open_metrics", "text"] {
            let query =
                format!("sum by (namespace, pod) (gpu_container_memory_bytes{{job=\"{job}\"}}) / 2^20");
            let by_pod = eventually("all pods were scraped", SOON, || async {
                Ok(Some(prometheus.query(&query).await?).filter(|found| found.len() == 4))
            })
            .await?;
            for series in &by_pod {
                let n: u32 = series.labels["pod"].trim_start_matches("notebook-").parse()?;
                assert_eq!(series.value, f64::from(1_000 + 500 * n), "{job}: {series:?}");
            }
            // Counters keep their names in both formats, ours and the inherited ones.
            for name in [
                "gpu_energy_joules_total",
                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
                "gpu_info",
            ] {
                let found = prometheus.query(&format!("{name}{{job=\"{job}\"}}")).await?;
                assert_eq!(found.len(), 1, "{job} {name}: {found:?}");
            }
        }
        // The same series came by both ways.
        let differing =
            "count by (__name__) ({job=\"text\"}) unless count by (__name__) ({job=\"open_metrics\"})";
        assert_eq!(prometheus.query(differing).await?, []);
        let differing =
            "count by (__name__) ({job=\"open_metrics\"}) unless count by (__name__) ({job=\"text\"})";
        assert_eq!(prometheus.query(differing).await?, []);
        Ok(())
    })
    .await
}
