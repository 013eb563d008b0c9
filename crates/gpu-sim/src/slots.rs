//! The parts of a GPU that a pod can be given, with the names the device plugins give them.

use gpu_model::{
    AmdComputeMode, Device, DeviceId, GpuModel, MigProfileName, Partition, ResourceName, Vendor,
};

use crate::naming::uuid;
use crate::noise::{Dice, Question};
use crate::shapes::{Class, Division};

pub(crate) struct Slot {
    pub(crate) machine: u32,
    pub(crate) class: Class,
    pub(crate) partition: Partition,
    pub(crate) device_id: DeviceId,
    pub(crate) resource: ResourceName,
    pub(crate) memory_bytes: u64,
    /// Thousandths of the chip's multiprocessors.
    pub(crate) share: i64,
    pub(crate) occupant: Option<Occupant>,
    pub(crate) now: SlotUse,
}

/// Which pod of which stream has a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occupant {
    pub(crate) stream: u32,
    pub(crate) pod: u16,
    /// Which of the pod's slots it is.
    pub(crate) rank: u16,
}

/// What happens on a slot in the present second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SlotUse {
    pub(crate) utilization: i64,
    pub(crate) sm: i64,
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u32,
}

const SLICE: Question = 901;
const UUID_HIGH: Question = 902;
const UUID_LOW: Question = 903;

/// The compute dies of an MI300X.
const CPX_PARTS: u8 = 8;

/// One part before it is put on its machine.
struct Part {
    class: Class,
    partition: Partition,
    id: String,
    resource: String,
    memory_bytes: u64,
    share: i64,
}

pub(crate) fn divide(
    machine: u32,
    device: &Device,
    model: &GpuModel,
    division: Division,
    dice: Dice,
) -> impl Iterator<Item = Slot> {
    let parts = match division {
        Division::Whole(class) => vec![whole(device, model, class)],
        Division::Mig(layout) => (1u8..)
            .zip(layout)
            .map(|(gi, (name, class))| mig_slice(model, gi, name, *class, dice))
            .collect(),
        Division::TimeShared(class, of) => (0..of)
            .map(|replica| {
                replicated(
                    device,
                    model,
                    class,
                    of,
                    Partition::TimeShared { replica, of },
                    replica,
                )
            })
            .collect(),
        Division::Mps(class, of) => (0..of)
            .map(|replica| replicated(device, model, class, of, Partition::Mps { replica, of }, replica))
            .collect(),
        Division::Cpx(class) => (0..CPX_PARTS)
            .map(|index| cpx_part(device, model, class, index))
            .collect(),
    };
    parts.into_iter().map(move |part: Part| Slot {
        machine,
        class: part.class,
        partition: part.partition,
        device_id: DeviceId::new(part.id).expect("generated device ids are valid"),
        resource: ResourceName::new(part.resource).expect("resource names are valid"),
        memory_bytes: part.memory_bytes,
        share: part.share,
        occupant: None,
        now: SlotUse::default(),
    })
}

/// Every simulated GPU has one.
fn address(device: &Device) -> &str {
    device.pci_address.as_ref().map_or("", |address| address.as_str())
}

fn whole(device: &Device, model: &GpuModel, class: Class) -> Part {
    let (id, resource) = match model.vendor {
        Vendor::Nvidia => (device.uuid.as_str(), "nvidia.com/gpu"),
        Vendor::Amd => (address(device), "amd.com/gpu"),
        Vendor::Intel => (address(device), "gpu.intel.com/xe"),
    };
    Part {
        class,
        partition: Partition::Whole,
        id: id.to_owned(),
        resource: resource.to_owned(),
        memory_bytes: model.memory.0,
        share: 1000,
    }
}

fn mig_slice(model: &GpuModel, gi: u8, name: &str, class: Class, dice: Dice) -> Part {
    let table = model.mig().expect("only models with MIG are divided so");
    let profile = table
        .profile(name)
        .expect("the layout uses the model's own profiles");
    // Where the driver's figure is not documented, an equal share of the memory slices is close to it.
    let equal_share = model.memory.0 / u64::from(table.memory_slices) * u64::from(profile.memory_slices);
    let slice = dice.of(SLICE, u64::from(gi));
    Part {
        class,
        partition: Partition::MigSlice {
            profile: MigProfileName::new(name).expect("profile names are valid"),
            gi,
            ci: 0,
        },
        id: format!("MIG-{}", uuid(slice.bits(UUID_HIGH, 0), slice.bits(UUID_LOW, 0))),
        resource: format!("nvidia.com/mig-{name}"),
        memory_bytes: profile.memory.map_or(equal_share, |known| known.0),
        share: i64::from(profile.compute_slices) * 1000 / i64::from(table.compute_slices),
    }
}

fn replicated(
    device: &Device,
    model: &GpuModel,
    class: Class,
    of: u16,
    partition: Partition,
    replica: u16,
) -> Part {
    Part {
        class,
        partition,
        id: format!("{}::{replica}", device.uuid),
        resource: "nvidia.com/gpu.shared".to_owned(),
        memory_bytes: model.memory.0 / u64::from(of),
        share: 1000,
    }
}

fn cpx_part(device: &Device, model: &GpuModel, class: Class, index: u8) -> Part {
    // The first part keeps the bus address; the others are platform devices, numbered over the node.
    let id = match index {
        0 => address(device).to_owned(),
        _ => format!(
            "amdgpu_xcp_{}",
            u16::from(index) + device.index.0 * u16::from(CPX_PARTS)
        ),
    };
    Part {
        class,
        partition: Partition::AmdPartition {
            mode: AmdComputeMode::Cpx,
            index,
        },
        id,
        resource: "amd.com/cpx_nps4".to_owned(),
        memory_bytes: model.memory.0 / u64::from(CPX_PARTS),
        share: 1000 / i64::from(CPX_PARTS),
    }
}
