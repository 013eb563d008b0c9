//! The six machines of the golden pages.

use gpu_nvml_double::scenario::{Process, ProcessKind, Scenario};

use super::machine::{Plan, Pod, Shape};

const MIB: u64 = 1024 * 1024;
const GPU: &str = "nvidia.com/gpu";
const SHARED: &str = "nvidia.com/gpu.shared";
/// A service of the machine, which is no pod.
const HOST: &str = "0::/system.slice/nvidia-mps.service\n";
/// A desktop session.
const SESSION: &str = "0::/user.slice/user-1000.slice/session-2.scope\n";

/// A machine's name, which is that of its golden files, and how it is made.
type Named = (&'static str, fn() -> Plan);

pub(super) fn all() -> [Named; 6] {
    [
        ("8xh100", h100_x8),
        ("a100-mixed-mig", a100_mixed_mig),
        ("t4-time-sliced", t4_time_sliced),
        ("l40s-mps", l40s_mps),
        ("rtx3080-workstation", rtx3080),
        ("no-gpu", no_gpu),
    ]
}

/// Eight GPUs: a pod with four, three with one each, and one that nobody holds.
pub(super) fn h100_x8() -> Plan {
    let scenario = Scenario::h100_x8();
    let uuid = |index: usize| scenario.gpus[index].uuid.clone();
    let mut pods = vec![Pod::new(
        1,
        "train-0",
        GPU,
        &[uuid(0), uuid(1), uuid(2), uuid(3)],
        &[4000, 4001, 4002, 4003],
    )];
    for index in 4..7 {
        let number = u32::try_from(index).unwrap();
        pods.push(Pod::new(
            number,
            &format!("serve-{index}"),
            GPU,
            &[uuid(index)],
            &[4000 + number],
        ));
    }
    Plan::new(scenario)
        .pods(Shape::UnifiedPlain, pods)
        .host(&[(4007, SESSION)])
}

/// Three slices, of which two are held, beside a whole GPU.
pub(super) fn a100_mixed_mig() -> Plan {
    let mut scenario = Scenario::a100_mixed_mig();
    let mig = scenario.gpus[0].mig.as_ref().unwrap();
    let of_slices: u64 = mig
        .instances
        .iter()
        .flatten()
        .map(|slice| slice.memory_used)
        .sum();
    scenario.gpus[0].memory.used = of_slices + 500 * MIB;
    let slice = |at: usize| {
        let mig = scenario.gpus[0].mig.as_ref().unwrap();
        mig.instances[at].as_ref().unwrap().uuid.clone()
    };
    let whole = scenario.gpus[1].uuid.clone();
    let pods = vec![
        Pod::new(1, "infer-large", "nvidia.com/mig-3g.40gb", &[slice(0)], &[4100]),
        Pod::new(2, "infer-small", "nvidia.com/mig-2g.20gb", &[slice(1)], &[4101]),
        Pod::new(3, "train-0", GPU, &[whole], &[4001]),
    ];
    Plan::new(scenario).pods(Shape::UnifiedCriO, pods)
}

/// Four pods take turns on one GPU.
pub(super) fn t4_time_sliced() -> Plan {
    let scenario = Scenario::t4_time_sliced();
    let uuid = scenario.gpus[0].uuid.clone();
    let pods = (0..4)
        .map(|n| {
            let id = format!("{uuid}::{n}");
            Pod::new(n + 1, &format!("notebook-{n}"), SHARED, &[id], &[4200 + n])
        })
        .collect();
    Plan::new(scenario).pods(Shape::UnifiedSystemd, pods)
}

/// Three pods compute at the same time through a server that is the machine's own.
pub(super) fn l40s_mps() -> Plan {
    let mut scenario = Scenario::l40s_mps();
    scenario.gpus[0].utilization.as_mut().unwrap().gpu = 80;
    scenario.gpus[0].memory.used = 14_000 * MIB;
    scenario.gpus[0].processes.push(Process {
        kind: ProcessKind::Mps,
        ..Process::compute(4303, 2_000 * MIB, 15)
    });
    let uuid = scenario.gpus[0].uuid.clone();
    let pods = (1..=3)
        .map(|n| {
            let id = format!("{uuid}::{n}");
            Pod::new(n, &format!("mps-{n}"), SHARED, &[id], &[4300 + n])
        })
        .collect();
    Plan::new(scenario)
        .pods(Shape::Legacy, pods)
        .host(&[(4300, HOST)])
}

/// A workstation without Kubernetes.
pub(super) fn rtx3080() -> Plan {
    Plan::new(Scenario::rtx3080()).host(&[(4000, SESSION), (1500, SESSION)])
}

/// No driver at all.
pub(super) fn no_gpu() -> Plan {
    Plan::new(Scenario::none()).arguments(&["--nvml-library=/nowhere/libnvidia-ml.so.1"])
}
