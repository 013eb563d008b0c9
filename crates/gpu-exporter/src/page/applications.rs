//! Applications beside the GPUs they use: whose page may be shown, which of its families, and with which labels. It is worked out
//! when pages or owners change; a metrics page then only copies bytes.
//!
//! A value stands once. A pod with one GPU has that GPU's labels on its series; one with several has its own alone, and
//! `gpu_application_info` says which GPUs it holds, because the same value on each of them would be a sum too many.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gpu_exposition::{LabelBlock, MetricKind, WriteError};
use jiff::Timestamp;

use super::catalog;
use super::labeller::partition;
use super::labels::held_slice;
use super::settings::PageSettings;
use super::sink::Sink;
use crate::applications::{Line, Owner, PageStatus, Reason, Sheet, Shelf};
use crate::snapshot::{DeviceSnapshot, Holder, NodeSnapshot};

/// The most series of one pod, whatever the number of its pages.
const MOST_SERIES_OF_POD: usize = 2_000;
/// The most that all lines may weigh, without the labels of their owners. Twice as much is a page that takes long to send.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// What of the applications' pages goes on the metrics page.
#[derive(Debug, Default)]
pub(super) struct Joined {
    shelf: Arc<Shelf>,
    /// The labels of each sheet's owner; none for one that is not shown.
    owners: Vec<Option<LabelBlock>>,
    /// By name.
    families: BTreeMap<String, Shown>,
    /// Which GPUs the pods hold.
    infos: Vec<LabelBlock>,
    pages: Vec<(LabelBlock, PageStatus)>,
    dropped: BTreeMap<Reason, usize>,
}

/// One family and the sheets it is on, by their places.
#[derive(Debug)]
struct Shown {
    kind: MetricKind,
    parts: Vec<(usize, usize)>,
}

impl Joined {
    /// Whether it was made from this shelf.
    pub(super) fn is_of(&self, shelf: &Arc<Shelf>) -> bool {
        Arc::ptr_eq(&self.shelf, shelf)
    }

    pub(super) fn new(
        shelf: &Arc<Shelf>,
        snapshot: &NodeSnapshot,
        settings: &PageSettings,
    ) -> Result<Self, WriteError> {
        let mut joined = Self {
            shelf: Arc::clone(shelf),
            ..Self::default()
        };
        let labelled = |owner: &Owner| -> Result<Option<LabelBlock>, WriteError> {
            let Some(mut block) = of_owner(owner, snapshot)? else {
                return Ok(None);
            };
            for (name, value) in settings.static_labels.iter() {
                block.push(name, value)?;
            }
            Ok(Some(block))
        };
        let has_room = |sheet: &Sheet| {
            let names = settings.static_labels.iter().map(|(name, _)| name);
            sheet.content.rules().keep_free(names)
        };
        for sheet in &shelf.sheets {
            let block = if has_room(sheet) {
                labelled(&sheet.owner)?
            } else {
                None
            };
            joined.owners.push(block);
        }
        for page in &shelf.pages {
            if let Some(mut block) = named(&page.owner, snapshot)? {
                block.push("source", page.way.as_str())?;
                for (name, value) in settings.static_labels.iter() {
                    block.push(name, value)?;
                }
                joined.pages.push((block, page.clone()));
            }
        }
        joined.choose();
        joined.inform(snapshot, settings)?;
        Ok(joined)
    }

    /// Takes families in the order of the sheets, as long as there is room and nobody before them said otherwise.
    fn choose(&mut self) {
        let shelf = Arc::clone(&self.shelf);
        let mut claims: BTreeMap<String, String> = BTreeMap::new();
        let mut seen: BTreeSet<(&str, u64)> = BTreeSet::new();
        let mut room = Room::new(shelf.most_series);
        for (at, sheet) in shelf.sheets.iter().enumerate() {
            if self.owners[at].is_none() {
                continue;
            }
            let before = at.checked_sub(1).map(|before| &shelf.sheets[before].owner);
            if before != Some(&sheet.owner) {
                // Other labels of ours tell their series apart.
                seen.clear();
            }
            if before.is_none_or(|before| !is_same_pod(before, &sheet.owner)) {
                room.next_pod();
            }
            for (reason, series) in &sheet.content.dropped {
                *self.dropped.entry(*reason).or_default() += series;
            }
            for (place, family) in sheet.content.families.iter().enumerate() {
                let is_taken = |name: String| claims.get(&name).is_some_and(|owner| *owner != family.name);
                let has_other_kind = |shown: &Shown| shown.kind != family.kind;
                let is_twice = |line: Line<'_>| seen.contains(&(family.name.as_str(), line.key));
                let verdict = if family.claims().any(is_taken)
                    || self.families.get(&family.name).is_some_and(has_other_kind)
                {
                    Err(Reason::Conflict)
                } else if sheet.content.lines(family).any(is_twice) {
                    Err(Reason::Duplicate)
                } else {
                    room.take(family.series, sheet.content.bytes(family))
                };
                if let Err(reason) = verdict {
                    *self.dropped.entry(reason).or_default() += family.series;
                    continue;
                }
                claims.extend(family.claims().map(|name| (name, family.name.clone())));
                let keys = sheet.content.lines(family).map(|line| line.key);
                seen.extend(keys.map(|key| (family.name.as_str(), key)));
                let shown = self.families.entry(family.name.clone()).or_insert(Shown {
                    kind: family.kind,
                    parts: Vec::new(),
                });
                shown.parts.push((at, place));
            }
        }
    }

    /// Says which GPUs the pods hold whose pages are shown.
    fn inform(&mut self, snapshot: &NodeSnapshot, settings: &PageSettings) -> Result<(), WriteError> {
        let shelf = Arc::clone(&self.shelf);
        let mut seen = BTreeSet::new();
        for (sheet, _) in shelf
            .sheets
            .iter()
            .zip(&self.owners)
            .filter(|(_, block)| block.is_some())
        {
            let Owner::Pod { namespace, pod, .. } = &sheet.owner else {
                continue;
            };
            if !seen.insert((namespace, pod)) {
                continue;
            }
            let whole = Owner::Pod {
                namespace: namespace.clone(),
                pod: pod.clone(),
                container: None,
            };
            for (device, part) in held(&whole, snapshot) {
                let identity = &device.identity;
                let mut block =
                    LabelBlock::new([("gpu", &*identity.index.to_string()), ("uuid", &identity.uuid)])?;
                block.push("node", &snapshot.node)?;
                if let Some(part) = part {
                    block.push("partition", &part)?;
                }
                block.push("namespace", namespace.as_str())?;
                block.push("pod", pod.as_str())?;
                for (name, value) in settings.static_labels.iter() {
                    block.push(name, value)?;
                }
                self.infos.push(block);
            }
        }
        Ok(())
    }

    /// What the exporter says of the applications' pages.
    pub(super) fn write_health(&self, sink: &mut Sink<'_>, node: &LabelBlock, now: Timestamp) {
        if !self.shelf.is_open {
            return;
        }
        sink.family(&catalog::APPLICATION_UP, |lines| {
            for (block, page) in &self.pages {
                lines.sample(block, i32::from(page.up && now < page.valid_until));
            }
        });
        sink.family(&catalog::APPLICATION_AGE, |lines| {
            for (block, page) in &self.pages {
                if let Some(at) = page.at {
                    let age = Duration::try_from(now.duration_since(at)).unwrap_or_default();
                    lines.float(block, (age.as_secs_f64() * 1e3).round() / 1e3);
                }
            }
        });
        sink.family(&catalog::APPLICATION_DROPPED, |lines| {
            for (reason, series) in &self.dropped {
                lines.sample(node.with(&[("reason", reason.as_str())]), *series as u64);
            }
        });
    }

    /// The applications' own families, in the order of their names.
    pub(super) fn write(&self, sink: &mut Sink<'_>, now: Timestamp) {
        sink.family(&catalog::APPLICATION_INFO, |lines| {
            self.infos.iter().for_each(|block| lines.sample(block, 1));
        });
        for shown in self.families.values() {
            let parts = || {
                shown.parts.iter().filter_map(|&(at, place)| {
                    let sheet = &self.shelf.sheets[at];
                    let is_fresh = now < sheet.valid_until;
                    let owner = self.owners[at].as_ref().filter(|_| is_fresh)?;
                    Some((sheet, &sheet.content.families[place], owner))
                })
            };
            let Some((_, first, _)) = parts().next() else {
                continue;
            };
            let series = parts().map(|(_, family, _)| family.series).sum();
            sink.rendered(&first.meta(), series, |page| {
                for (sheet, family, owner) in parts() {
                    for line in sheet.content.lines(family) {
                        for piece in [line.before, owner.rendered(), "}", line.after] {
                            page.push_str(piece);
                        }
                    }
                }
            });
        }
    }
}

/// What may still be taken.
struct Room {
    total: usize,
    of_pod: usize,
    bytes: usize,
}

impl Room {
    fn new(total: usize) -> Self {
        Self {
            total,
            of_pod: MOST_SERIES_OF_POD,
            bytes: MOST_BYTES,
        }
    }

    fn next_pod(&mut self) {
        self.of_pod = MOST_SERIES_OF_POD;
    }

    fn take(&mut self, series: usize, bytes: usize) -> Result<(), Reason> {
        if series > self.of_pod {
            return Err(Reason::PodLimit);
        }
        if series > self.total || bytes > self.bytes {
            return Err(Reason::TotalLimit);
        }
        self.of_pod -= series;
        self.total -= series;
        self.bytes -= bytes;
        Ok(())
    }
}

fn is_same_pod(one: &Owner, other: &Owner) -> bool {
    let pod = |owner: &Owner| match owner {
        Owner::Node => None,
        Owner::Pod { namespace, pod, .. } => Some((namespace.clone(), pod.clone())),
    };
    pod(one) == pod(other)
}

/// The owner's name, or none where it is a pod that holds no GPU of this node.
fn named(owner: &Owner, snapshot: &NodeSnapshot) -> Result<Option<LabelBlock>, WriteError> {
    let mut block = LabelBlock::default();
    if let Owner::Pod {
        namespace,
        pod,
        container,
    } = owner
    {
        if !is_beside(owner, snapshot) && holders(owner, snapshot).next().is_none() {
            return Ok(None);
        }
        block.push("namespace", namespace.as_str())?;
        block.push("pod", pod.as_str())?;
        if let Some(container) = container {
            block.push("container", container.as_str())?;
        }
    }
    block.push("node", &snapshot.node)?;
    Ok(Some(block))
}

/// The owner's name and, where it is one, its GPU.
fn of_owner(owner: &Owner, snapshot: &NodeSnapshot) -> Result<Option<LabelBlock>, WriteError> {
    let Some(mut block) = named(owner, snapshot)? else {
        return Ok(None);
    };
    let held = held(owner, snapshot);
    let mut devices = held.iter().map(|(device, _)| &device.identity);
    let first = devices.next();
    if let Some(identity) = first
        && devices.all(|other| other.uuid == identity.uuid)
    {
        block.push("gpu", &identity.index.to_string())?;
        block.push("uuid", &identity.uuid)?;
        if let [(_, Some(part))] = &held[..] {
            block.push("partition", part)?;
        }
    }
    Ok(Some(block))
}

/// The holders that are containers of the owner's pod.
fn holders<'a>(
    owner: &'a Owner,
    snapshot: &'a NodeSnapshot,
) -> impl Iterator<Item = (&'a DeviceSnapshot, &'a Holder)> {
    let is_of = move |holder: &Holder| match owner {
        Owner::Node => false,
        Owner::Pod { namespace, pod, .. } => (&holder.namespace, &holder.pod) == (namespace, pod),
    };
    let of_device = move |device: &'a DeviceSnapshot| {
        let own = device.holders.iter().filter(move |holder| is_of(holder));
        own.map(move |holder| (device, holder))
    };
    snapshot.devices.iter().flat_map(of_device)
}

/// Whether the exporter runs beside this pod, and sees its devices alone.
fn is_beside(owner: &Owner, snapshot: &NodeSnapshot) -> bool {
    match (owner, &snapshot.workload) {
        (Owner::Pod { namespace, pod, .. }, Some(own)) => (&own.namespace, &own.pod) == (namespace, pod),
        _ => false,
    }
}

/// The devices that the owner holds, each part once, with the slice where it is one. All are the node's, and all that are seen
/// are those of the pod that a sidecar stands beside.
fn held<'a>(owner: &'a Owner, snapshot: &'a NodeSnapshot) -> Vec<(&'a DeviceSnapshot, Option<String>)> {
    let container = match owner {
        Owner::Pod { container, .. } if !is_beside(owner, snapshot) => container,
        _ => return snapshot.devices.iter().map(|device| (device, None)).collect(),
    };
    let mut held: Vec<(&DeviceSnapshot, Option<String>)> = Vec::new();
    for (device, holder) in holders(owner, snapshot) {
        if container
            .as_ref()
            .is_some_and(|container| *container != holder.container)
        {
            continue;
        }
        let slice = held_slice(holder)
            .and_then(|id| device.readings.slices.iter().find(|slice| slice.id == id))
            .map(partition);
        let is_known = held
            .iter()
            .any(|(known, part)| known.identity.uuid == device.identity.uuid && *part == slice);
        if !is_known {
            held.push((device, slice));
        }
    }
    held
}
