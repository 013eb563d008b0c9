//! Hundreds of nodes and pods are cheap.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use gpu_testbed::fleet::nodes::NodeSpec;
use gpu_testbed::{Fleet, eventually, require};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;

use super::WHOLE;
use super::objects::{create, gpu_pod, phase_of};

const NODES: usize = 300;

/// One pod for each node, because every pod takes all GPUs of its node.
const PODS: usize = NODES;

/// It takes a fifth of this on two quiet cores.
const RUNNING_WITHIN: Duration = Duration::from_secs(120);

/// Requests of the test at once.
const AT_ONCE: usize = 16;

#[tokio::test]
async fn three_hundred_nodes_run_three_hundred_pods() -> anyhow::Result<()> {
    require!(Fleet::need());
    let fleet = Fleet::shared();
    fleet
        .guard(WHOLE, async {
            let namespace = fleet.namespace("scale").await?;
            let began = Instant::now();
            let adding = (0..NODES).map(|number| {
                let spec = NodeSpec::new(format!("n{number}"))
                    .gpus(8)
                    .instance_type("p4d.24xlarge");
                namespace.nodes().add(spec)
            });
            futures::stream::iter(adding)
                .buffer_unordered(AT_ONCE)
                .try_collect::<Vec<_>>()
                .await?;
            println!("{NODES} nodes after {:.1} s", began.elapsed().as_secs_f64());
            let creating = (0..PODS).map(|number| create(&namespace, gpu_pod(&format!("p{number}"), 8)));
            futures::stream::iter(creating)
                .buffer_unordered(AT_ONCE)
                .try_collect::<Vec<_>>()
                .await?;
            let pods = namespace.api::<Pod>();
            eventually("all pods run", RUNNING_WITHIN, || async {
                let list = pods.list(&ListParams::default()).await?;
                let running = list.iter().filter(|pod| phase_of(pod) == "Running").count();
                Ok((running == PODS).then_some(()))
            })
            .await?;
            println!("{PODS} pods running after {:.1} s", began.elapsed().as_secs_f64());
            Ok(())
        })
        .await
}
