//! The machines: nodes, GPUs and the slots a pod can be given, built once from the spec and never changed in number.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gpu_model::{Device, GpuIndex, GpuModel, GpuUuid, Node, NodeName, PciAddress, Vendor};

use crate::naming::uuid;
use crate::noise::{Dice, Question};
use crate::physics::Body;
use crate::shapes::{Division, SHAPES, Shape};
use crate::slots::{self, Slot};
use crate::trouble::Mood;
use crate::truth::{Health, Misreport};

pub(crate) struct Machine {
    pub(crate) node: Arc<Node>,
    pub(crate) gpus: Range<usize>,
}

pub(crate) struct Gpu {
    pub(crate) device: Arc<Device>,
    pub(crate) body: Body,
    pub(crate) mode: Mode,
    pub(crate) slots: Range<usize>,
    pub(crate) misreport: Option<Misreport>,
}

/// How the parts of a GPU share it, which decides what can be read of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Whole,
    /// Every part has its own piece of the chip.
    Sliced,
    /// All parts take turns on the whole chip.
    Shared,
}

#[derive(Default)]
pub(crate) struct Hardware {
    pub(crate) machines: Vec<Machine>,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) slots: Vec<Slot>,
}

const NODE: Question = 501;
const GPU: Question = 502;
const ZONE: Question = 503;
const UUID_HIGH: Question = 504;
const UUID_LOW: Question = 505;
const SICK: Question = 506;

/// One GPU in so many is faulty, and another one hot.
const SICK_ONE_IN: usize = 96;

impl Hardware {
    pub(crate) fn build(nodes: u32, world: Dice) -> Self {
        let mut plan: Vec<(String, &Shape, Dice)> = (0..nodes)
            .zip(SHAPES.iter().cycle())
            .map(|(number, shape)| {
                let name = format!("{}-{number:04}", shape.pool);
                (name, shape, world.of(NODE, u64::from(number)))
            })
            .collect();
        plan.sort_by(|a, b| a.0.cmp(&b.0));
        let mut hardware = Self::default();
        for (name, shape, dice) in plan {
            hardware.add_machine(&name, shape, dice);
        }
        hardware.make_some_sick(world);
        hardware
    }

    fn add_machine(&mut self, name: &str, shape: &Shape, dice: Dice) {
        let model = GpuModel::find(shape.model).expect("every shape names a model of the catalogue");
        let first = self.gpus.len();
        let number = u32::try_from(self.machines.len()).expect("at most 5000 nodes");
        let divisions = shape
            .gpus
            .iter()
            .flat_map(|(count, division)| (0..*count).map(move |_| *division));
        for (index, division) in (0u16..).zip(divisions) {
            self.add_gpu(number, index, model, division, dice.of(GPU, u64::from(index)));
        }
        let gpus = first..self.gpus.len();
        self.machines.push(Machine {
            node: Arc::new(node(name, shape, model, gpus.len(), dice)),
            gpus,
        });
    }

    fn add_gpu(
        &mut self,
        machine: u32,
        index: u16,
        model: &'static GpuModel,
        division: Division,
        dice: Dice,
    ) {
        let (high, low) = (dice.bits(UUID_HIGH, 0), dice.bits(UUID_LOW, 0));
        let id = match model.vendor {
            Vendor::Nvidia => format!("GPU-{}", uuid(high, low)),
            Vendor::Amd | Vendor::Intel => format!("{high:016x}"),
        };
        let device = Arc::new(Device {
            uuid: GpuUuid::new(id).expect("generated uuids are valid"),
            index: GpuIndex(index),
            vendor: model.vendor,
            model: model.name.to_owned(),
            driver: Some(driver(model.vendor).to_owned()),
            pci_address: Some(bus_address(index)),
        });
        let first = self.slots.len();
        let mode = match division {
            Division::Whole(_) => Mode::Whole,
            Division::Mig(_) | Division::Cpx(_) => Mode::Sliced,
            Division::TimeShared(..) | Division::Mps(..) => Mode::Shared,
        };
        self.slots
            .extend(slots::divide(machine, &device, model, division, dice));
        let body = Body::new(model, Health::Sound, dice);
        self.gpus.push(Gpu {
            device,
            body,
            mode,
            slots: first..self.slots.len(),
            misreport: None,
        });
    }

    pub(crate) fn make_some_lie(&mut self, mood: Mood) {
        for gpu in &mut self.gpus {
            gpu.misreport = mood.misreport(gpu, gpu.body.model);
            gpu.body.is_stuck = gpu.misreport == Some(Misreport::StuckBusy);
        }
    }

    fn make_some_sick(&mut self, world: Dice) {
        for (block, gpus) in (0u64..).zip(self.gpus.chunks_mut(SICK_ONE_IN)) {
            let dice = world.of(SICK, block);
            make_one_sick(gpus.iter_mut().collect(), Health::Hot, dice);
            // The fault codes are NVIDIA's own.
            let sound = gpus.iter_mut().filter(|gpu| gpu.body.health == Health::Sound);
            let nvidia = sound.filter(|gpu| gpu.device.vendor == Vendor::Nvidia);
            make_one_sick(nvidia.collect(), Health::Faulty, dice);
        }
    }
}

fn make_one_sick(mut gpus: Vec<&mut Gpu>, health: Health, dice: Dice) {
    let count = i64::try_from(gpus.len()).expect("a short block");
    if count > 0 {
        let chosen = usize::try_from(dice.between(SICK, 0, 0, count - 1)).expect("drawn from zero up");
        let body = &mut gpus[chosen].body;
        *body = Body::new(body.model, health, body.dice);
    }
}

fn driver(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Nvidia => "580.82.07",
        Vendor::Amd | Vendor::Intel => "6.10.5",
    }
}

fn node(name: &str, shape: &Shape, model: &GpuModel, gpus: usize, dice: Dice) -> Node {
    let last = i64::try_from(shape.zones.len()).expect("few zones") - 1;
    let zone = usize::try_from(dice.between(ZONE, 0, 0, last.max(0))).expect("drawn from zero up");
    let zone = shape.zones.get(zone).copied();
    let mut labels = BTreeMap::new();
    let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
    label("kubernetes.io/hostname", name);
    label("gpu-autoscaler.io/node-pool", shape.pool);
    label("gpu-autoscaler.io/capacity-type", shape.capacity.as_str());
    if let Some(instance_type) = shape.instance_type {
        label("node.kubernetes.io/instance-type", instance_type);
    }
    if let Some(region) = shape.region {
        label("topology.kubernetes.io/region", region);
    }
    if let Some(zone) = zone {
        label("topology.kubernetes.io/zone", zone);
    }
    if model.vendor == Vendor::Nvidia {
        label("nvidia.com/gpu.present", "true");
        label("nvidia.com/gpu.product", &model.name.replace(' ', "-"));
        label("nvidia.com/gpu.count", &gpus.to_string());
        label("nvidia.com/gpu.memory", &model.memory.whole_mib().to_string());
        label("nvidia.com/gpu.sharing-strategy", sharing(shape));
    }
    Node {
        name: NodeName::new(name).expect("generated node names are valid"),
        cloud: shape.cloud,
        instance_type: shape.instance_type.map(str::to_owned),
        region: shape.region.map(str::to_owned),
        zone: zone.map(str::to_owned),
        capacity_type: shape.capacity,
        labels,
    }
}

fn sharing(shape: &Shape) -> &'static str {
    match shape.gpus.first() {
        Some((_, Division::TimeShared(..))) => "time-slicing",
        Some((_, Division::Mps(..))) => "mps",
        _ => "none",
    }
}

fn bus_address(index: u16) -> PciAddress {
    PciAddress::new(format!("0000:{:02x}:00.0", 0x10 + index * 8)).expect("a valid address")
}
