//! Trees of `/sys` and `/proc` as an AMD node has them, in a directory of our own: the devices on the bus, the driver's list,
//! the display classes, the sensors, the firmware's table, partitions, and what the compute driver tells of all of them.

mod boards;

pub(crate) use boards::{apu, mi100, mi210, mi300x, mi300x_cpx, rx7900xtx};

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use gpu_exporter::source::amd::tables::Metrics;
use gpu_exporter::source::amd::tables::write::write as table_bytes;

/// A GPU before its files are written.
#[derive(Debug, Clone)]
pub(crate) struct Gpu {
    pub(crate) address: String,
    pub(crate) card: u32,
    /// The render node of the GPU, or of its first partition; the others follow.
    pub(crate) render: u32,
    pub(crate) unique_id: u64,
    /// Files of the device's directory with their text.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Files of the sensors' directory.
    pub(crate) sensors: Vec<(&'static str, String)>,
    pub(crate) table: Option<Metrics>,
    /// How many nodes the compute driver shows: one, or one for each partition.
    pub(crate) partitions: u32,
    /// What a node says of itself beside its place.
    pub(crate) node: Vec<(&'static str, u64)>,
    pub(crate) memory: Memory,
    pub(crate) processes: Vec<Process>,
    /// Processes that draw: what the kernel tells of their open file of the render node.
    pub(crate) clients: Vec<(u32, &'static str)>,
}

/// Memory as the compute driver counts it, of each partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) used: Option<u64>,
}

/// A process that computes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) partition: u32,
    pub(crate) memory: u64,
    pub(crate) compute_units: u32,
}

impl Gpu {
    pub(crate) fn set(&mut self, name: &'static str, text: impl Into<String>) {
        self.files.retain(|(known, _)| *known != name);
        self.files.push((name, text.into()));
    }

    /// The same board at another place.
    pub(crate) fn at(mut self, number: u32) -> Self {
        self.address = format!("0000:{:02x}:00.0", 0x05 + number * 0x10);
        self.card = 1 + number * self.partitions;
        self.render = 128 + number * self.partitions;
        self.unique_id = self.unique_id.wrapping_add(u64::from(number) * 0x0101_0101);
        self
    }

    pub(crate) fn process(mut self, pid: u32, partition: u32, memory: u64, compute_units: u32) -> Self {
        self.processes.push(Process {
            pid,
            partition,
            memory,
            compute_units,
        });
        self
    }

    pub(crate) fn client(mut self, pid: u32, fdinfo: &'static str) -> Self {
        self.clients.push((pid, fdinfo));
        self
    }

    fn bus(&self) -> u64 {
        u64::from(u32::from_str_radix(&self.address[5..7], 16).unwrap())
    }

    /// The compute driver's number of a partition; the real one is a hash.
    pub(crate) fn gpu_id(&self, partition: u32) -> u32 {
        40_000 + self.render + partition
    }
}

/// A tree below a root that has `sys` and `proc`.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) sysfs: PathBuf,
    pub(crate) procfs: PathBuf,
}

impl Tree {
    pub(crate) fn below(root: &Path) -> Self {
        Self {
            sysfs: root.join("sys"),
            procfs: root.join("proc"),
        }
    }

    /// Writes a node with these GPUs.
    pub(crate) fn plant(&self, gpus: &[Gpu]) {
        self.write("proc", "sys/kernel/osrelease", "6.8.0-52-generic\n");
        self.write("sys", "module/amdgpu/version", "6.10.5\n");
        self.dir("module/amdgpu/drivers/pci:amdgpu");
        // The processors are nodes of the compute driver, too.
        self.write("sys", "class/kfd/kfd/topology/generation_id", "2\n");
        self.write(
            "sys",
            "class/kfd/kfd/topology/nodes/0/properties",
            "cpu_cores_count 96\nsimd_count 0\ndrm_render_minor 0\n",
        );
        self.write("sys", "class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
        self.dir("class/kfd/kfd/proc");
        let mut node = 1;
        for gpu in gpus {
            self.plant_device(gpu);
            self.plant_nodes(gpu, gpus, &mut node);
            self.plant_processes(gpu);
            for (pid, fdinfo) in &gpu.clients {
                self.open_render_node(*pid, 7, gpu.render, fdinfo);
            }
        }
        // They are there in every mode; those without a node belong to no partition.
        for number in 0..8 {
            let free = 200 + number;
            self.dir(&format!("devices/platform/amdgpu_xcp_{free}/drm/renderD{free}"));
        }
    }

    /// Changes one file of a device.
    pub(crate) fn change(&self, gpu: &Gpu, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.device(gpu).join(name), content).unwrap();
    }

    /// Puts a device back that was taken from the bus.
    pub(crate) fn replug(&self, gpu: &Gpu) {
        self.link_device(gpu);
    }

    /// Takes a device from the bus.
    pub(crate) fn unplug(&self, gpu: &Gpu) {
        let link = format!("module/amdgpu/drivers/pci:amdgpu/{}", gpu.address);
        fs::remove_file(self.sysfs.join(link)).unwrap();
        fs::remove_file(self.sysfs.join(format!("class/drm/card{}", gpu.card))).unwrap();
    }

    /// A client of a process: a file descriptor of the render node, and what the kernel tells of it.
    fn open_render_node(&self, pid: u32, file: u32, render: u32, fdinfo: &str) {
        let process = self.procfs.join(pid.to_string());
        fs::create_dir_all(process.join("fd")).unwrap();
        fs::create_dir_all(process.join("fdinfo")).unwrap();
        symlink(
            format!("/dev/dri/renderD{render}"),
            process.join(format!("fd/{file}")),
        )
        .unwrap();
        fs::write(process.join(format!("fdinfo/{file}")), fdinfo).unwrap();
    }

    pub(crate) fn device(&self, gpu: &Gpu) -> PathBuf {
        self.sysfs.join("devices/pci0000:00").join(&gpu.address)
    }

    fn dir(&self, path: &str) {
        fs::create_dir_all(self.sysfs.join(path)).unwrap();
    }

    fn write(&self, root: &str, path: &str, text: &str) {
        let root = match root {
            "proc" => &self.procfs,
            _ => &self.sysfs,
        };
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, from: &str, to: &str) {
        let from = self.sysfs.join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(to, from).unwrap();
    }

    fn plant_device(&self, gpu: &Gpu) {
        let (address, card, render) = (&gpu.address, gpu.card, gpu.render);
        let place = format!("devices/pci0000:00/{address}");
        for (name, text) in &gpu.files {
            self.write("sys", &format!("{place}/{name}"), text);
        }
        self.write(
            "sys",
            &format!("{place}/unique_id"),
            &format!("{:016x}\n", gpu.unique_id),
        );
        let uevent = format!("DRIVER=amdgpu\nPCI_SLOT_NAME={address}\n");
        self.write("sys", &format!("{place}/uevent"), &uevent);
        self.write("sys", &format!("{place}/vendor"), "0x1002\n");
        self.write("sys", &format!("{place}/class"), "0x120000\n");
        let hwmon = format!("{place}/hwmon/hwmon{}", card + 3);
        self.write("sys", &format!("{hwmon}/name"), "amdgpu\n");
        for (name, text) in &gpu.sensors {
            self.write("sys", &format!("{hwmon}/{name}"), text);
        }
        if let Some(table) = &gpu.table {
            fs::write(self.device(gpu).join("gpu_metrics"), table_bytes(table).unwrap()).unwrap();
        }
        self.dir(&format!("{place}/drm/card{card}"));
        self.dir(&format!("{place}/drm/renderD{render}"));
        self.link_device(gpu);
        self.link(
            &format!("bus/pci/devices/{address}"),
            &format!("../../../{place}"),
        );
        self.link(&format!("{place}/drm/card{card}/device"), "../..");
        // Connectors stand beside the cards.
        self.dir(&format!("{place}/drm/card{card}/card{card}-DP-1"));
        self.link(
            &format!("class/drm/card{card}-DP-1"),
            &format!("../../{place}/drm/card{card}/card{card}-DP-1"),
        );
    }

    /// What makes a device the driver's.
    fn link_device(&self, gpu: &Gpu) {
        let (address, card) = (&gpu.address, gpu.card);
        let place = format!("devices/pci0000:00/{address}");
        self.link(
            &format!("module/amdgpu/drivers/pci:amdgpu/{address}"),
            &format!("../../../../{place}"),
        );
        self.link(
            &format!("class/drm/card{card}"),
            &format!("../../{place}/drm/card{card}"),
        );
    }

    fn plant_nodes(&self, gpu: &Gpu, all: &[Gpu], next: &mut u32) {
        let first = *next;
        for partition in 0..gpu.partitions {
            let node = format!("class/kfd/kfd/topology/nodes/{next}");
            let render = gpu.render + partition;
            let place = [
                ("location_id", gpu.bus() << 8 | u64::from(partition)),
                ("domain", 0),
                ("drm_render_minor", u64::from(render)),
                ("unique_id", gpu.unique_id),
            ];
            let properties = gpu.node.iter().chain(&place);
            let text: String = properties
                .map(|(name, value)| format!("{name} {value}\n"))
                .collect();
            self.write("sys", &format!("{node}/properties"), &text);
            self.write(
                "sys",
                &format!("{node}/gpu_id"),
                &format!("{}\n", gpu.gpu_id(partition)),
            );
            let bank = format!(
                "heap_type 1\nsize_in_bytes {}\nflags 0\nwidth 8192\n",
                gpu.memory.total
            );
            self.write("sys", &format!("{node}/mem_banks/0/properties"), &bank);
            if let Some(used) = gpu.memory.used {
                self.write(
                    "sys",
                    &format!("{node}/mem_banks/0/used_memory"),
                    &format!("{used}\n"),
                );
            }
            if partition > 0 {
                let number = render - 128;
                self.dir(&format!(
                    "devices/platform/amdgpu_xcp_{number}/drm/renderD{render}"
                ));
            }
            *next += 1;
        }
        // Links between the first nodes of all GPUs, as boards with links of their own have them.
        if !gpu.node.contains(&("hive_id", 0)) {
            let mut to = 1;
            for (number, other) in all.iter().enumerate() {
                if other.address != gpu.address {
                    let link = format!("class/kfd/kfd/topology/nodes/{first}/io_links/{number}/properties");
                    self.write(
                        "sys",
                        &link,
                        &format!("type 11\nnode_from {first}\nnode_to {to}\nweight 15\n"),
                    );
                }
                to += other.partitions;
            }
        }
    }

    fn plant_processes(&self, gpu: &Gpu) {
        for process in &gpu.processes {
            // The runtime opens every partition that it sees, and most of them for nothing.
            for partition in 0..gpu.partitions {
                let is_own = partition == process.partition;
                let gpu_id = gpu.gpu_id(partition);
                let root = format!("class/kfd/kfd/proc/{}", process.pid);
                let memory = if is_own { process.memory } else { 0 };
                let units = if is_own { process.compute_units } else { 0 };
                self.write("sys", &format!("{root}/vram_{gpu_id}"), &format!("{memory}\n"));
                self.write("sys", &format!("{root}/sdma_{gpu_id}"), "0\n");
                self.write(
                    "sys",
                    &format!("{root}/stats_{gpu_id}/cu_occupancy"),
                    &format!("{units}\n"),
                );
                if is_own {
                    self.write("sys", &format!("{root}/queues/0/gpuid"), &format!("{gpu_id}\n"));
                }
            }
        }
    }
}
