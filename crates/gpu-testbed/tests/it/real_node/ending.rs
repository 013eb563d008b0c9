//! A real node that breaks says which part broke, and one that ends leaves nothing, however it ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use gpu_testbed::real_node::{REAL_NODE_ALLOWED, RealNode, until};
use gpu_testbed::{BedId, Leftovers, require};
use nix::sys::signal::Signal;

use super::pods::{TEST_WITHIN, run_pod};

/// Killing some dozen processes and removing their control groups.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// Whether any process of the machine still lives in that network namespace.
fn is_inhabited(network: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let networks = processes.filter_map(|process| std::fs::read_link(process.path().join("ns/net")).ok());
    networks
        .into_iter()
        .any(|found| found.to_string_lossy() == network)
}

fn network_of(pid: i32) -> anyhow::Result<String> {
    let link = std::fs::read_link(format!("/proc/{pid}/ns/net"))?;
    Ok(link.to_string_lossy().into_owned())
}

async fn check_gone(bed: &BedId, network: &str) -> anyhow::Result<()> {
    until("nothing of the node is left", GONE_WITHIN, async || {
        let left = Leftovers::of(bed);
        ensure!(left.is_empty(), "this is left:\n{left}");
        ensure!(!is_inhabited(network), "a process is left in {network}");
        Ok(())
    })
    .await
}

/// Kills a part and waits until the bed says so.
async fn check_named(node: &RealNode, part: &str) -> anyhow::Result<()> {
    node.part(part)?.signal(Signal::SIGKILL)?;
    until("the death is noticed", GONE_WITHIN, async || {
        let text = node.bed().watch().await.to_string();
        let expected = format!("part `{part}` of the test bed died by signal SIGKILL");
        ensure!(text.contains(&expected), "{text}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_dead_part_is_named_and_the_node_still_ends_well() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let node = RealNode::start().await?;
    let id = node.bed().id().clone();
    let network = network_of(i32::try_from(node.bed().process_id())?)?;
    let pod = node
        .bed()
        .guard(TEST_WITHIN, run_pod(&node, "orphan", Some(("nvidia.com/gpu", 2))))
        .await?;
    ensure!(
        is_inhabited(&network) && !Leftovers::of(&id).cgroups.is_empty(),
        "the node is not where it should be"
    );

    // Of several dead parts the bed names the first by name, so this order shows both.
    check_named(&node, "kubelet").await?;
    check_named(&node, "containerd").await?;
    let unguarded = node
        .bed()
        .guard(TEST_WITHIN, std::future::pending::<anyhow::Result<()>>())
        .await;
    ensure!(unguarded.is_err(), "a test went on with a dead node");
    // The container outlives its runtime, and only the end of the node ends it.
    ensure!(
        !node.processes_of_pod(&pod.uid).is_empty(),
        "the container died with its runtime"
    );
    drop(node);
    let left = Leftovers::of(&id);
    ensure!(
        left.is_empty(),
        "the drop waits for the clean-up, yet this is left:\n{left}"
    );
    check_gone(&id, &network).await
}

#[tokio::test]
async fn a_killed_test_leaves_nothing() -> anyhow::Result<()> {
    require!(RealNode::needs());
    let mut holder = Command::new(env!("CARGO_BIN_EXE_testbed-up"))
        .arg("real-node")
        .env(REAL_NODE_ALLOWED, "1")
        // Cargo has just built these for this very test.
        .env("TESTBED_PAUSE_BIN", env!("CARGO_BIN_EXE_testbed-pause"))
        .env(
            "TESTBED_DEVICE_PLUGIN_BIN",
            env!("CARGO_BIN_EXE_testbed-device-plugin"),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = holder.stdout.take().context("the output is piped")?;
    let lines = tokio::task::spawn_blocking(move || {
        // The bed, then how to reach the cluster: with the second line the node is up.
        BufReader::new(output)
            .lines()
            .take(2)
            .collect::<Result<Vec<String>, _>>()
    });
    let lines = tokio::time::timeout(TEST_WITHIN, lines).await???;
    let id = lines
        .first()
        .and_then(|line| BedId::parse(line.split(' ').nth(1)?))
        .with_context(|| format!("no bed in {lines:?}"))?;
    let left = Leftovers::of(&id);
    let kubelet = left
        .processes
        .iter()
        .find(|process| process.command.contains("/kubelet "));
    let network = network_of(kubelet.context("a kubelet runs")?.pid)?;
    holder.kill()?;
    holder.wait()?;
    check_gone(&id, &network).await
}
