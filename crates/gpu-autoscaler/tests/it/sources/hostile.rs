//! Targets that hang, flood, lie or break, each beside one that answers: they cost their own freshness and nothing else.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use gpu_autoscaler::sources::direct::DirectSettings;
use gpu_autoscaler::sources::{MetricsSource as _, standalone};
use gpu_model::Harvest;
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{class, exporter, golden, target};

/// Takes requests and lets `answer` do with the connection what it likes.
async fn raw<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            tokio::spawn(answer(stream));
        }
    });
    address
}

async fn saying(bytes: Vec<u8>) -> SocketAddr {
    raw(move |mut stream| {
        let bytes = bytes.clone();
        async move {
            let _ = stream.write_all(&bytes).await;
        }
    })
    .await
}

fn answer(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A short leash, so that the test is quick; the page of the good target is far below the bounds.
fn settings() -> DirectSettings {
    DirectSettings {
        timeout: Duration::from_secs(2),
        page_bytes: 4 << 20,
        ..DirectSettings::default()
    }
}

async fn beside_a_good_one(bad: SocketAddr) -> Harvest {
    let good = exporter(golden("t4-time-sliced.prom")).await;
    let mut source = standalone(&format!("{bad},{good}"), settings()).unwrap();
    let harvest = source.collect(Timestamp::now()).await;
    assert_eq!(class(&harvest, good), None);
    assert!(
        harvest.gpus.iter().any(|gpu| gpu.node.as_str() == "t4-node-1"),
        "the good target is there"
    );
    harvest
}

#[track_caller]
fn check(harvest: &Harvest, bad: SocketAddr, expected: &str) {
    assert_eq!(class(harvest, bad), Some(expected), "{:?}", target(harvest, bad));
    assert_eq!(harvest.gpus.len(), 1, "nothing is made up for it");
}

#[tokio::test]
async fn a_target_that_hangs_costs_its_own_timeout() {
    let silent = raw(|stream| async move {
        tokio::time::sleep(Duration::from_secs(600)).await;
        drop(stream);
    })
    .await;
    let began = Instant::now();
    check(&beside_a_good_one(silent).await, silent, "timeout");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let halfway = raw(|mut stream| async move {
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ngpu_up")
            .await;
        tokio::time::sleep(Duration::from_secs(600)).await;
    })
    .await;
    check(&beside_a_good_one(halfway).await, halfway, "timeout");
}

/// As fast as it can, for as long as somebody listens; a gigabyte would be next.
#[tokio::test]
async fn an_endless_page_is_cut_off() {
    let endless = raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        let line = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n\"} 50\n".repeat(1000);
        while stream.write_all(line.as_bytes()).await.is_ok() {}
    })
    .await;
    check(&beside_a_good_one(endless).await, endless, "too_large");
    let announced = saying(b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n".to_vec()).await;
    check(&beside_a_good_one(announced).await, announced, "too_large");
}

#[tokio::test]
async fn a_compressed_gigabyte_is_not_unpacked() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![b'#'; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&zeros).unwrap();
    }
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < 1 << 20, "the bomb is small on the wire");
    let bomb = saying(answer("content-encoding: gzip\r\n", &packed)).await;
    check(&beside_a_good_one(bomb).await, bomb, "too_large");
}

#[tokio::test]
async fn a_page_that_breaks_off_is_not_believed() {
    let page = golden("8xh100.prom");
    let mut cut = answer("", page.as_bytes());
    cut.truncate(page.len() / 2);
    let cut = saying(cut).await;
    check(&beside_a_good_one(cut).await, cut, "other");
    let reset = raw(|stream| async move {
        // Nothing lingers: the peer gets a reset in place of an end.
        stream.set_zero_linger().unwrap();
        drop(stream);
    })
    .await;
    check(&beside_a_good_one(reset).await, reset, "other");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    check(&beside_a_good_one(nobody).await, nobody, "refused");
}

#[tokio::test]
async fn what_is_no_page_is_malformed() {
    for body in [
        "<html><body>Welcome</body></html>\n",
        "",
        "{\"status\":\"ok\"}\n",
        "go_goroutines 7\n",
    ] {
        let strange = saying(answer("", body.as_bytes())).await;
        check(&beside_a_good_one(strange).await, strange, "malformed");
    }
    let binary: Vec<u8> = (0..100_000_u32)
        .map(|byte| u8::try_from(byte % 251).unwrap())
        .collect();
    let binary = saying(answer("", &binary)).await;
    check(&beside_a_good_one(binary).await, binary, "malformed");
    let refusing = saying(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
    check(&beside_a_good_one(refusing).await, refusing, "status");
    let other = saying(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()).await;
    check(&beside_a_good_one(other).await, other, "other");
}

#[tokio::test]
async fn values_that_cannot_be_true_are_absent_and_counted() {
    let labels = "{gpu=\"0\",UUID=\"GPU-9\",modelName=\"Tesla T4\",Hostname=\"odd\"}";
    let page = format!(
        "DCGM_FI_DEV_GPU_UTIL{labels} NaN\nDCGM_FI_DEV_POWER_USAGE{labels} -4\nDCGM_FI_DEV_FB_USED{labels} +Inf\n\
         DCGM_FI_DEV_GPU_TEMP{labels} 4000\nDCGM_FI_DEV_SM_CLOCK{labels} fast\nDCGM_FI_DEV_MEM_CLOCK{labels} 405\n"
    );
    let odd = saying(answer("", page.as_bytes())).await;
    let harvest = beside_a_good_one(odd).await;
    let report = target(&harvest, odd);
    assert_eq!(
        (report.skipped_lines, report.gpus, report.failure.is_none()),
        (5, 1, true)
    );
    let gpu = harvest
        .gpus
        .iter()
        .find(|gpu| gpu.node.as_str() == "odd")
        .unwrap();
    let sample = &gpu.sample;
    assert!(sample.memory_clock.is_known());
    assert!(!sample.utilization.is_known() && !sample.power.is_known() && !sample.temperature.is_known());
}

#[tokio::test]
async fn what_is_simulated_is_not_taken_among_measured_values() {
    let labels = "{gpu=\"0\",uuid=\"GPU-9\",vendor=\"nvidia\",node=\"dream\",source=\"sim\"}";
    let page = format!("gpu_utilization_ratio{labels} 0.5\ngpu_memory_used_bytes{labels} 1024\n");
    let dream = saying(answer("", page.as_bytes())).await;
    check(&beside_a_good_one(dream).await, dream, "simulated");
}

/// More targets hang than are asked at the same time, and the round still ends in time, with the good one in it.
#[tokio::test]
async fn a_round_ends_although_most_targets_hang() {
    let silent = raw(|stream| async move {
        tokio::time::sleep(Duration::from_secs(600)).await;
        drop(stream);
    })
    .await;
    let good = exporter(golden("t4-time-sliced.prom")).await;
    let many: Vec<String> = (0..40)
        .map(|number| format!("http://{silent}/{number}"))
        .collect();
    let targets = format!("{},{good}", many.join(","));
    let settings = DirectSettings {
        round: Duration::from_secs(4),
        concurrency: 8,
        ..settings()
    };
    let mut source = standalone(&targets, settings).unwrap();
    let mut seen = 0;
    for _ in 0..6 {
        let began = Instant::now();
        let harvest = source.collect(Timestamp::now()).await;
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        assert_eq!(harvest.targets.len(), 41, "each target is accounted for");
        seen += harvest.gpus.len();
    }
    // Once it has answered it is asked first, so at most the first rounds can miss it.
    assert!(seen >= 1, "the good target was never reached");
}
