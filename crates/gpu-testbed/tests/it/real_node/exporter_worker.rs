//! Pods that hold GPUs of the double, what its driver says of their processes, and what the page must say of them.

use anyhow::{Context, ensure};
use gpu_nvml_double::scenario::{Gpu, Model, Process, Scenario, Utilization};
use gpu_testbed::real_node::{NODE_NAME, Offers, RealNode, until};

use super::exporter_release::{Metrics, number_on_node, process_named};
use super::pods::{RUNS_WITHIN, RunningPod, run_pod};

pub(super) const GIB: u64 = 1 << 30;
pub(super) const WHOLE: &str = "nvidia.com/gpu";
pub(super) const SHARED: &str = "nvidia.com/gpu.shared";

/// The GPUs whose ids the node's device plugin offers, all idle.
pub(super) fn idle_gpus() -> Scenario {
    let offers = Offers::of_every_kind();
    let mut ids: Vec<&str> = offers.devices(WHOLE).map(|(id, _)| id).collect();
    ids.extend(
        offers
            .devices(SHARED)
            .filter_map(|(id, _)| id.strip_suffix("::0")),
    );
    let mut scenario = Scenario::of(Model::T4, ids.len());
    for (gpu, id) in scenario.gpus.iter_mut().zip(ids) {
        id.clone_into(&mut gpu.uuid);
        gpu.utilization = Some(Utilization { gpu: 0, memory: 0 });
        gpu.memory.used = 0;
        gpu.processes.clear();
    }
    scenario
}

/// What a GPU does beyond what its processes say of themselves.
pub(super) const UNTOLD: (u64, u32) = (GIB / 2, 5);

/// A GPU on which these processes run.
pub(super) fn busy(gpu: &mut Gpu, processes: Vec<Process>) {
    let memory: u64 = processes.iter().filter_map(|process| process.memory).sum();
    let percent: u32 = processes.iter().filter_map(|process| process.sm).sum();
    gpu.memory.used = memory + UNTOLD.0;
    gpu.utilization = Some(Utilization {
        gpu: percent + UNTOLD.1,
        memory: percent / 2,
    });
    gpu.processes = processes;
}

pub(super) fn gpu_of<'a>(scenario: &'a mut Scenario, device: &str) -> anyhow::Result<&'a mut Gpu> {
    let uuid = device.split("::").next().unwrap_or(device);
    let found = scenario.gpus.iter_mut().find(|gpu| gpu.uuid == uuid);
    found.with_context(|| format!("the double has no GPU {uuid}"))
}

/// A pod that holds a device, with what the driver says of its process.
pub(super) struct Worker {
    pub(super) pod: RunningPod,
    pub(super) device: String,
    pub(super) process: Process,
}

impl Worker {
    pub(super) async fn start(
        node: &RealNode,
        name: &str,
        resource: &str,
        (memory, percent): (u64, u32),
    ) -> anyhow::Result<Self> {
        let pod = run_pod(node, name, Some((resource, 1))).await?;
        let device = pod.devices(node, resource).await?.remove(0);
        // The kubelet calls a container ready a moment before its program has taken the runtime's place.
        let program = until("the pod's program runs", RUNS_WITHIN, async || {
            process_named(node, &pod.uid, "answer")
        });
        let pid = number_on_node(program.await?)?;
        Ok(Self {
            pod,
            device,
            process: Process::compute(pid, memory, percent),
        })
    }

    pub(super) fn uuid(&self) -> &str {
        self.device.split("::").next().unwrap_or(&self.device)
    }

    /// Its own figures stand on the page under its own names, and under no others. A container that has a GPU for
    /// itself has all that the GPU does; one that shares it has what was measured of its processes.
    pub(super) fn check(&self, page: &Metrics) -> anyhow::Result<()> {
        let owner = [
            ("uuid", self.uuid()),
            ("node", NODE_NAME),
            ("namespace", "default"),
            ("pod", self.pod.name.as_str()),
            ("container", "worker"),
        ];
        let untold = if self.device == self.uuid() {
            UNTOLD
        } else {
            (0, 0)
        };
        let memory = page.value("gpu_container_memory_bytes", &owner)?;
        let measured = self.process.memory.unwrap_or_default() + untold.0;
        ensure!(memory == measured as f64, "{memory} is not {measured}");
        let share = page.value("gpu_container_utilization_ratio", &owner)?;
        let measured = f64::from(self.process.sm.unwrap_or_default() + untold.1) / 100.0;
        ensure!((share - measured).abs() < 1e-6, "{share} is not {measured}");
        let all = page.samples("gpu_container_memory_bytes", &[("pod", &self.pod.name)]);
        ensure!(all.len() == 1, "{all:?}");
        Ok(())
    }
}

/// What containers used and what nobody did is what the device did; what cannot be divided is there once.
pub(super) fn check_sums(page: &Metrics, uuid: &str) -> anyhow::Result<()> {
    let device = [("uuid", uuid)];
    let memory = page.value("gpu_memory_used_bytes", &device)?;
    let parts =
        page.sum("gpu_container_memory_bytes", &device) + page.sum("gpu_unattributed_memory_bytes", &device);
    ensure!(
        memory == parts,
        "{memory} bytes are used, {parts} are accounted for"
    );
    let share = page.value("gpu_utilization_ratio", &device)?;
    let parts = page.sum("gpu_container_utilization_ratio", &device)
        + page.sum("gpu_unattributed_utilization_ratio", &device);
    ensure!(
        (share - parts).abs() < 1e-9,
        "{share} is used, {parts} is accounted for"
    );
    page.value("gpu_power_watts", &device)?;
    page.value("gpu_clock_hertz", &[("uuid", uuid), ("clock", "sm")])?;
    Ok(())
}
