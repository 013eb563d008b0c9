//! A page in memory while it is read: the GPUs, parts and holders it names, and one small cell a value.

use super::Dialect;
use super::fields::Metric;

/// A node has at most some tens of GPUs; a page that names more is not one node's.
const MOST_DEVICES: usize = 256;
/// Sixteen GPUs in seven slices, or eight in eight partitions, with room to spare.
const MOST_PARTS: usize = 1024;
/// The kubelet runs 110 pods, at most 500.
const MOST_HOLDERS: usize = 1024;
/// Some fifty values for each of the parts.
const MOST_CELLS: usize = 65_536;

/// The place of something in one of the tables; none stands for the whole GPU, or for nobody.
pub(super) type Slot = Option<u16>;

/// One value of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) device: u16,
    pub(super) part: Slot,
    pub(super) holder: Slot,
    pub(super) dialect: Dialect,
    pub(super) metric: Metric,
    /// A reason, a code or a place in a list, by the metric.
    pub(super) detail: u32,
    pub(super) value: i64,
    /// Milliseconds since 1970, where the sample says when it was taken.
    pub(super) at: Option<i64>,
}

/// What a page said about one GPU besides values.
#[derive(Debug, Clone, Default)]
pub(super) struct DeviceSlot {
    /// The uuid without its prefix, or the serial number, or the index: what lines of the same GPU share.
    pub(super) key: String,
    pub(super) kind: KeyKind,
    pub(super) uuid: String,
    pub(super) serial: String,
    pub(super) index: Option<u16>,
    pub(super) vendor: Option<gpu_model::Vendor>,
    pub(super) model: String,
    pub(super) driver: String,
    pub(super) pci: String,
    pub(super) node: String,
    /// dcgm-exporter counts every sharer of this GPU as a virtual GPU.
    pub(super) is_virtual: bool,
}

/// By what a GPU is told apart from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyKind {
    #[default]
    Uuid,
    Serial,
    Index,
}

#[derive(Debug, Clone)]
pub(super) struct PartSlot {
    pub(super) device: u16,
    /// The words by which lines of the same part are known.
    pub(super) words: [Box<str>; 3],
    pub(super) kind: PartKind,
    pub(super) device_id: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PartKind {
    Slice(gpu_model::Partition),
    /// What no slice holds; it counts for the GPU and is nobody's.
    Rest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HolderSlot {
    pub(super) namespace: Box<str>,
    pub(super) pod: Box<str>,
    pub(super) container: Box<str>,
    pub(super) uid: Box<str>,
    pub(super) origin: HolderOrigin,
}

/// Which label named the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HolderOrigin {
    /// `pod`: the holder, or the exporter's own pod where Prometheus added it.
    Plain,
    /// `exported_pod`: the holder for sure.
    Exported,
}

#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) devices: Vec<DeviceSlot>,
    pub(super) parts: Vec<PartSlot>,
    pub(super) holders: Vec<HolderSlot>,
    pub(super) cells: Vec<Cell>,
    last_device: usize,
    last_part: usize,
    last_holder: usize,
}

impl Tables {
    /// The place of a GPU, made where it is new; none when there are too many.
    pub(super) fn device(&mut self, key: &str, kind: KeyKind) -> Option<u16> {
        let same = |slot: &DeviceSlot| slot.kind == kind && slot.key == key;
        find_or_push(
            &mut self.devices,
            &mut self.last_device,
            MOST_DEVICES,
            same,
            || DeviceSlot {
                key: key.to_owned(),
                kind,
                ..DeviceSlot::default()
            },
        )
    }

    pub(super) fn part(
        &mut self,
        device: u16,
        words: [&str; 3],
        make: impl FnOnce() -> Option<PartKind>,
    ) -> Option<u16> {
        let same = |slot: &PartSlot| {
            slot.device == device && slot.words.iter().zip(words).all(|(known, word)| **known == *word)
        };
        if let Some(at) = position(&self.parts, &mut self.last_part, same) {
            return Some(at);
        }
        let kind = make()?;
        let slot = PartSlot {
            device,
            words: words.map(Box::from),
            kind,
            device_id: None,
        };
        push(&mut self.parts, MOST_PARTS, slot)
    }

    pub(super) fn holder(&mut self, words: [&str; 4], origin: HolderOrigin) -> Option<u16> {
        let [namespace, pod, container, uid] = words;
        let same = |slot: &HolderSlot| {
            *slot.pod == *pod
                && *slot.namespace == *namespace
                && *slot.container == *container
                && *slot.uid == *uid
                && slot.origin == origin
        };
        find_or_push(
            &mut self.holders,
            &mut self.last_holder,
            MOST_HOLDERS,
            same,
            || HolderSlot {
                namespace: namespace.into(),
                pod: pod.into(),
                container: container.into(),
                uid: uid.into(),
                origin,
            },
        )
    }

    /// Whether there was room.
    pub(super) fn push(&mut self, cell: Cell) -> bool {
        let has_room = self.cells.len() < MOST_CELLS;
        if has_room {
            self.cells.push(cell);
        }
        has_room
    }
}

fn find_or_push<T>(
    slots: &mut Vec<T>,
    last: &mut usize,
    most: usize,
    same: impl Fn(&T) -> bool,
    make: impl FnOnce() -> T,
) -> Option<u16> {
    position(slots, last, same).or_else(|| push(slots, most, make()))
}

/// Lines of one GPU come in runs or in turns, so the last place and the one behind it are the likely ones.
fn position<T>(slots: &[T], last: &mut usize, same: impl Fn(&T) -> bool) -> Option<u16> {
    let likely = [*last, *last + 1];
    let near = likely.into_iter().find(|&at| slots.get(at).is_some_and(&same));
    let at = near.or_else(|| slots.iter().position(same))?;
    *last = at;
    u16::try_from(at).ok()
}

fn push<T>(slots: &mut Vec<T>, most: usize, slot: T) -> Option<u16> {
    if slots.len() >= most {
        return None;
    }
    slots.push(slot);
    u16::try_from(slots.len() - 1).ok()
}
