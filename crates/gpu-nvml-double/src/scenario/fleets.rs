//! Whole machines, ready to be used or changed by a test.

use super::faults::Latency;
use super::gpu::{Gpu, Mig, MigInstance, Process, ProcessKind, Utilization};
use super::{Model, Scenario};

const MIB: u64 = 1024 * 1024;

impl Scenario {
    /// A driver and no GPU.
    pub fn none() -> Scenario {
        Scenario::default()
    }

    /// `count` GPUs of one model, each used by one process.
    pub fn of(model: Model, count: usize) -> Scenario {
        let gpus = (0..count)
            .map(|index| {
                let mut gpu = Gpu::preset(model, index);
                let pid = 4000 + gpu.minor;
                gpu.processes = vec![Process::compute(pid, gpu.memory.used, 40 + gpu.minor)];
                gpu
            })
            .collect();
        Scenario {
            gpus,
            ..Scenario::default()
        }
    }

    pub fn h100_x8() -> Scenario {
        Scenario::of(Model::H100, 8)
    }

    /// Two A100: the first sliced into 3g.40gb, 2g.20gb and 1g.10gb with a hole in the list, the second whole.
    pub fn a100_mixed_mig() -> Scenario {
        let mut scenario = Scenario::of(Model::A100Gb80, 2);
        let gpu = &mut scenario.gpus[0];
        // A sliced GPU has no utilisation of its own, and no video engines to ask for.
        gpu.utilization = None;
        gpu.encoder = None;
        gpu.decoder = None;
        gpu.jpeg = None;
        gpu.ofa = None;
        let slice = |profile: &str, gi: u32, slices: u32, processors: u32, mib: u64| MigInstance {
            uuid: format!("MIG-5c1f0b7e-0000-5a00-8000-{gi:012x}"),
            profile: profile.to_owned(),
            gpu_instance: gi,
            compute_instance: 0,
            gpu_slices: slices,
            compute_slices: slices,
            multiprocessors: processors,
            memory_mib: mib,
            memory_used: mib / 2 * MIB,
            gpm: None,
        };
        gpu.mig = Some(Mig {
            enabled: true,
            pending: true,
            max_devices: 7,
            instances: vec![
                Some(slice("3g.40gb", 1, 3, 42, 40_192)),
                Some(slice("2g.20gb", 5, 2, 28, 19_968)),
                None,
                Some(slice("1g.10gb", 13, 1, 14, 9_856)),
            ],
        });
        gpu.processes = vec![
            Process::compute(4100, 20_096 * MIB, 0).inside(1, 0),
            Process::compute(4101, 9_984 * MIB, 0).inside(5, 0),
        ];
        scenario
    }

    /// One T4 shared in turns by the processes of four pods.
    pub fn t4_time_sliced() -> Scenario {
        let mut scenario = Scenario::of(Model::T4, 1);
        let gpu = &mut scenario.gpus[0];
        gpu.utilization = Some(Utilization { gpu: 96, memory: 40 });
        gpu.memory.used = 8_000 * MIB;
        gpu.processes = (0..4)
            .map(|n| Process::compute(4200 + n, (1_000 + 500 * u64::from(n)) * MIB, 30 - 5 * n))
            .collect();
        scenario
    }

    /// One L40S shared at the same time by two clients of an MPS server.
    pub fn l40s_mps() -> Scenario {
        let mut scenario = Scenario::of(Model::L40s, 1);
        let gpu = &mut scenario.gpus[0];
        let client = |pid, mib: u64, sm| Process {
            kind: ProcessKind::Mps,
            ..Process::compute(pid, mib * MIB, sm)
        };
        gpu.processes = vec![
            Process::compute(4300, 30 * MIB, 0),
            client(4301, 6_000, 35),
            client(4302, 4_000, 20),
        ];
        scenario
    }

    /// A workstation: a desktop session and one computation on a GeForce board.
    pub fn rtx3080() -> Scenario {
        let mut scenario = Scenario::of(Model::Rtx3080, 1);
        scenario.gpus[0].processes.push(Process {
            kind: ProcessKind::Graphics,
            ..Process::compute(1500, 350 * MIB, 2)
        });
        scenario
    }

    #[must_use]
    pub fn with_driver(mut self, version: &str) -> Scenario {
        version.clone_into(&mut self.driver);
        self.nvml = format!("13.{version}");
        self
    }

    #[must_use]
    pub fn without_latency(mut self) -> Scenario {
        self.latency = Latency::None;
        self
    }

    /// Counters run with the clock.
    #[must_use]
    pub fn running(mut self) -> Scenario {
        self.frozen = false;
        self
    }
}

impl Gpu {
    /// As some clouds restrict it: utilisation pinned at 0 while processes work and power is drawn.
    pub fn restrict(&mut self) {
        self.utilization = Some(Utilization { gpu: 0, memory: 0 });
    }
}

impl Process {
    pub fn compute(pid: u32, memory: u64, sm: u32) -> Process {
        Process {
            pid,
            kind: ProcessKind::Compute,
            memory: Some(memory),
            sm: Some(sm),
            mem: sm / 2,
            gpu_instance: None,
            compute_instance: None,
        }
    }

    #[must_use]
    pub fn inside(self, gpu_instance: u32, compute_instance: u32) -> Process {
        Process {
            gpu_instance: Some(gpu_instance),
            compute_instance: Some(compute_instance),
            // The driver keeps no utilisation of processes inside a slice.
            sm: None,
            ..self
        }
    }
}
