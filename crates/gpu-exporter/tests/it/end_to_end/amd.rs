//! The real program on AMD's machines, alone and beside NVIDIA's: golden pages, who holds what, and what goes wrong.

use std::time::{Duration, Instant};

use gpu_exposition::Format;
use gpu_nvml_double::scenario::Scenario;

use super::machine::{Plan, Pod, Shape};
use super::pages::check;
use super::reading::{normalised, normalised_json, parse, value};
use crate::amd_tree::{Gpu, apu, mi100, mi210, mi300x, mi300x_cpx, rx7900xtx};

const GIB: u64 = 1 << 30;
const WHOLE: &str = "amd.com/gpu";
/// A desktop session.
const SESSION: &str = "0::/user.slice/user-1000.slice/session-2.scope\n";
/// Where no counter of the board has a known unit, power is summed up from the start of the program on.
const SUMMED: &[&str] = &["gpu_energy_joules_total", "gpu_energy_consumed"];

/// A machine without NVIDIA's library.
fn amd_alone(gpus: Vec<Gpu>) -> Plan {
    Plan::new(Scenario::none())
        .arguments(&["--nvml-library=/nowhere/libnvidia-ml.so.1"])
        .amd(gpus)
}

/// Eight whole GPUs: a pod with four of them, one with one through a claim's name, and three that nobody holds.
fn mi300x_spx() -> Plan {
    let mut gpus: Vec<Gpu> = (0..8).map(|number| mi300x().at(number)).collect();
    for (pid, gpu) in (5000..).zip(&mut gpus).take(5) {
        *gpu = gpu.clone().process(pid, 0, 40 * GIB, 228);
    }
    let ids: Vec<String> = gpus.iter().map(|gpu| gpu.address.clone()).collect();
    let pods = vec![
        Pod::new(1, "train-0", WHOLE, &ids[..4], &[5000, 5001, 5002, 5003]),
        Pod::new(2, "serve-0", WHOLE, &ids[4..5], &[5004]),
    ];
    amd_alone(gpus).pods(Shape::UnifiedSystemd, pods)
}

/// One GPU in eight partitions, of which three are held: the first by the place of the GPU.
fn mi300x_partitioned() -> Plan {
    let gpu = mi300x_cpx()
        .process(5100, 0, 4 * GIB, 30)
        .process(5101, 1, 3 * GIB, 20)
        .process(5102, 6, 2 * GIB, 0);
    let resource = "amd.com/cpx_nps4";
    let pods = vec![
        Pod::new(1, "infer-0", resource, &["0000:05:00.0"], &[5100]),
        Pod::new(2, "infer-1", resource, &["amdgpu_xcp_1"], &[5101]),
        Pod::new(3, "infer-6", resource, &["amdgpu_xcp_6"], &[5102]),
    ];
    amd_alone(vec![gpu]).pods(Shape::UnifiedPlain, pods)
}

fn mi210_node() -> Plan {
    let gpu = mi210().process(5200, 0, 9 * GIB, 50);
    let pods = vec![Pod::new(1, "train-0", WHOLE, &[&gpu.address], &[5200])];
    amd_alone(vec![gpu]).pods(Shape::UnifiedCriO, pods)
}

fn mi100_node() -> Plan {
    amd_alone(vec![mi100()])
}

/// A desktop draws: it is known from its open files alone.
fn radeon() -> Plan {
    let gpu = rx7900xtx().client(
        1500,
        "drm-driver:\tamdgpu\ndrm-client-id:\t12\ndrm-pdev:\t0000:05:00.0\ndrm-memory-vram:\t524288 KiB\n\
         drm-engine-gfx:\t77000000 ns\n",
    );
    amd_alone(vec![gpu]).host(&[(1500, SESSION)])
}

fn apu_node() -> Plan {
    amd_alone(vec![apu()])
}

/// A workstation with a card of each.
fn two_vendors() -> Plan {
    let amd = rx7900xtx();
    let nvidia = Scenario::rtx3080();
    let pods = vec![
        Pod::new(1, "draw-0", "nvidia.com/gpu", &[&nvidia.gpus[0].uuid], &[4000]),
        Pod::new(2, "draw-1", WHOLE, &[&amd.address], &[5300]),
    ];
    Plan::new(nvidia)
        .amd(vec![amd.process(5300, 0, 2 * GIB, 20)])
        .pods(Shape::UnifiedSystemd, pods)
        .host(&[(1500, SESSION)])
}

/// The page with a `*` for what this machine sums up itself.
fn shown(page: &str, is_summed: bool) -> String {
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((series, _)) if is_summed && SUMMED.iter().any(|name| series.starts_with(name)) => {
            format!("{series} *\n")
        }
        _ => format!("{line}\n"),
    };
    normalised(page).lines().map(line).collect()
}

/// A machine's name, how it is made, and whether its energy is summed up here.
type Named = (&'static str, fn() -> Plan, bool);

const MACHINES: [Named; 7] = [
    ("8xmi300x", mi300x_spx, false),
    ("mi300x-cpx", mi300x_partitioned, false),
    ("mi210", mi210_node, false),
    ("mi100", mi100_node, false),
    ("rx7900xtx", radeon, true),
    ("apu", apu_node, true),
    ("two-vendors", two_vendors, true),
];

#[test]
fn seven_machines_in_two_vocabularies() {
    for (name, plan, is_summed) in MACHINES {
        let machine = plan().arguments(&["--vocabulary=gpu,amd"]).start();
        check(&format!("{name}.prom"), || shown(&machine.page(), is_summed));
        check(&format!("{name}.json"), || {
            normalised_json(&machine.exporter.get("/api/v1/monitoring/gpu-metrics").text())
        });
        parse(&machine.page(), Format::Text);
    }
}

#[test]
fn a_node_of_one_vendor_lacks_nothing_without_the_others_driver() {
    let up =
        |page: &str, source: &str| value(page, "gpu_exporter_source_up", &[&format!("source=\"{source}\"")]);
    let machine = mi210_node().start();
    let page = machine.wait(|page| up(page, "amdgpu") == Some(1.0) && up(page, "nvml").is_none());
    assert_eq!(value(&page, "dcgm_up", &[]), Some(1.0));
    let ready = machine.exporter.get("/readyz").text();
    assert!(ready.contains("\"amdgpu\"") && !ready.contains("nvml"), "{ready}");
    // NVIDIA's hardware without NVIDIA's driver is something that a person must know.
    let device = machine.tree().sysfs.join("bus/pci/devices/0000:99:00.0");
    std::fs::create_dir_all(&device).unwrap();
    std::fs::write(device.join("vendor"), "0x10de\n").unwrap();
    std::fs::write(device.join("class"), "0x030200\n").unwrap();
    machine.wait(|page| up(page, "nvml") == Some(0.0));
}

#[test]
fn a_gpu_that_falls_off_the_bus_is_lost_and_comes_back() {
    let machine = mi300x_spx().start();
    let gpu = mi300x().at(3);
    let uuid = format!("uuid=\"{:016x}\"", gpu.unique_id);
    machine.wait(|page| value(page, "gpu_up", &[&uuid]) == Some(1.0));
    let tree = machine.tree();
    tree.unplug(&gpu);
    let page = machine.wait(|page| value(page, "gpu_up", &[&uuid]) == Some(0.0));
    let others = page
        .lines()
        .filter(|line| line.starts_with("gpu_up{") && line.ends_with(" 1"));
    assert_eq!(others.count(), 7);
    tree.replug(&gpu);
    machine.wait(|page| value(page, "gpu_up", &[&uuid]) == Some(1.0));
}

#[test]
fn the_doctor_looks_at_amd() {
    let machine = mi210_node().start();
    let tree = machine.tree();
    let output = crate::exporter::command(&[
        "--kubernetes=false",
        "--nvml-library=/nowhere",
        "--address=127.0.0.1:0",
    ])
    .arg(format!("--path.sysfs={}", tree.sysfs.display()))
    .arg(format!("--path.procfs={}", tree.procfs.display()))
    .arg("doctor")
    .output()
    .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("ok    driver amdgpu: it answers and lists 1 GPUs"),
        "{text}"
    );
    assert!(text.contains("ok    driver nvml: it is not needed"), "{text}");
    assert!(text.contains("ok    AMD GPU 0"), "{text}");
}

/// Processor time of all threads so far, in nanoseconds.
fn busy_nanoseconds(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    threads.filter_map(of).sum()
}

/// The limits hold in optimised builds; what a build without optimisation takes is only printed. `GPU_SOAK_SECONDS` lengthens
/// the look.
#[test]
fn soak_eight_amd_gpus_at_one_sample_a_second_cost_little() {
    let seconds = std::env::var("GPU_SOAK_SECONDS").ok();
    let window = seconds.and_then(|text| text.parse().ok()).unwrap_or(4);
    // Looking for processes goes through the machine's own /proc, and may cost more.
    let nodes = [
        (
            "8 GPUs",
            mi300x_spx as fn() -> Plan,
            "--host-processes=false",
            0.002,
        ),
        ("8 GPUs, by process", mi300x_spx, "--host-processes=true", 0.01),
        ("64 partitions, by process", cpx_x8, "--host-processes=true", 0.01),
    ];
    for (name, plan, sight, most_share) in nodes {
        let machine = plan()
            .arguments(&["--sample-interval=1s", "--path.procfs=/proc", sight])
            .start();
        machine.wait(|page| page.matches("\ngpu_up{").count() == 8);
        let pid = machine.exporter.pid();
        let (before, started) = (busy_nanoseconds(pid), Instant::now());
        std::thread::sleep(Duration::from_secs(window));
        let busy = Duration::from_nanos(busy_nanoseconds(pid) - before);
        let share = busy.as_secs_f64() / started.elapsed().as_secs_f64();
        let (resident, files) = (machine.exporter.resident(), machine.open_files());
        println!(
            "{name}: {:.3} % of a core, {} KiB, {files} files, {} threads",
            share * 100.0,
            resident / 1024,
            machine.threads()
        );
        assert!(files < 600, "{files} files");
        if !cfg!(debug_assertions) {
            assert!(resident < 12 << 20, "{name}: {resident} bytes");
            assert!(share < most_share, "{name}: {share} of a core");
        }
    }
}

/// A node of eight GPUs in sixty-four partitions, each with a process.
fn cpx_x8() -> Plan {
    let gpu = |number: u32| {
        (0..8).fold(mi300x_cpx().at(number), |gpu: Gpu, partition| {
            gpu.process(9_000 + number * 8 + partition, partition, GIB, 10)
        })
    };
    amd_alone((0..8).map(gpu).collect())
}
