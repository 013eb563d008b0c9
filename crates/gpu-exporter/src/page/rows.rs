//! The series of one family over the devices of a node.

mod parts;

use gpu_exposition::LabelBlock;
use gpu_model::Reading;

use super::amd_config::HealthThresholds;
use super::catalog::{FamilySpec, LinkError, Measure, Ownership, Shares, Sum, Supply, Vocabulary};
use super::labels::{self, DeviceLabels, Place, Sharing, held_slice};
use super::measure::{is_utilization_withheld, of_device, of_values};
use super::sink::Lines;
use super::xid;
use crate::readings::{Field, LinkReadings, Path, SliceId};
use crate::snapshot::{DeviceSnapshot, DeviceState, Holder, Unattributed};

/// Writes what one device has of a family.
pub(super) fn write(
    lines: &mut Lines<'_, '_>,
    vocabulary: Vocabulary,
    spec: &FamilySpec,
    thresholds: &HealthThresholds,
    (device, labels): (&DeviceSnapshot, &DeviceLabels),
) {
    let rows = Rows {
        vocabulary,
        spec,
        device,
        labels,
    };
    if labels.rows == labels::Rows::OfSlices && !matches!(spec.supply, Supply::One(_) | Supply::Each(_)) {
        return;
    }
    match spec.supply {
        Supply::One(measure) => rows.measure(lines, measure, None),
        Supply::Each(series) => {
            for (value, measure) in series {
                rows.measure(lines, *measure, Some(value));
            }
        }
        Supply::Info => labels.infos.iter().for_each(|block| lines.sample(block, 1)),
        Supply::Up => lines.sample(rows.whole(), i32::from(device.state == DeviceState::Up)),
        Supply::Age => {
            if let Some(age) = device.age {
                rows.float(lines, rows.whole(), &[], age.as_secs_f64());
            }
        }
        Supply::LinkBytes => rows.link_bytes(lines),
        Supply::LinkErrors => rows.link_errors(lines),
        Supply::LinkUp => rows.link_up(lines),
        Supply::LinkErrorSum(kind) => rows.link_error_sum(lines, kind),
        Supply::Faults => rows.faults(lines),
        Supply::LastFault => rows.last_fault(lines),
        Supply::Processes => {
            if let Some(processes) = device.readings.processes.as_ref().known() {
                lines.sample(rows.whole(), processes.len() as u64);
            }
        }
        Supply::ContainerUtilization if is_utilization_withheld(device) => {}
        Supply::ContainerUtilization => rows.containers(lines, |holder| holder.utilization),
        Supply::ContainerMemory => rows.containers(lines, |holder| holder.memory_bytes),
        Supply::UnattributedUtilization if is_utilization_withheld(device) => {}
        Supply::UnattributedUtilization => rows.unattributed(lines, |rest| rest.utilization),
        Supply::UnattributedMemory => rows.unattributed(lines, |rest| rest.memory_bytes),
        Supply::Topology => rows.topology(lines),
        Supply::Parts(series) => rows.parts(lines, series),
        Supply::BlockErrors => rows.block_errors(lines),
        Supply::OneBlock(block, kind) => rows.one_block(lines, block, kind),
        Supply::LinkDirection(direction) => rows.link_direction(lines, direction),
        Supply::Clocks(bound) => rows.clocks(lines, bound),
        Supply::Health => rows.health(lines, thresholds),
        Supply::Occupancy => rows.occupancy(lines),
        // It concerns the node and is written once.
        Supply::NodeCount => {}
    }
}

struct Rows<'a> {
    vocabulary: Vocabulary,
    spec: &'a FamilySpec,
    device: &'a DeviceSnapshot,
    labels: &'a DeviceLabels,
}

impl<'a> Rows<'a> {
    /// The labels of the whole device, with its owner where the family is of the owner.
    fn whole(&self) -> &'a LabelBlock {
        self.block(&self.labels.whole)
    }

    fn block(&self, place: &'a Place) -> &'a LabelBlock {
        match self.spec.ownership {
            Ownership::Device => &place.bare,
            Ownership::Holder | Ownership::Container => place.of_holder(),
        }
    }

    fn float(&self, lines: &mut Lines<'_, '_>, block: &LabelBlock, extra: &[(&str, &str)], value: f64) {
        lines.float(block.with(extra), self.spec.scale.apply(value));
    }

    /// A device whose slices have the value shows it by slice: the same byte must not be counted twice.
    fn measure(&self, lines: &mut Lines<'_, '_>, measure: Measure, label: Option<&str>) {
        let name = self.spec.labels.first().copied().unwrap_or_default();
        let pair = label.map(|value| [(name, value)]);
        let extra: &[(&str, &str)] = pair.as_ref().map_or(&[], |pair| pair);
        let of_slice = |values| of_values(measure, values, self.device).filter(|value| value.is_finite());
        let mut of_slices = 0.0;
        let mut any = false;
        if self.vocabulary != Vocabulary::NvidiaSmi {
            for (slice, place) in self.device.readings.slices.iter().zip(&self.labels.slices) {
                if let (Some(place), Some(value)) = (place, of_slice(&slice.values)) {
                    any = true;
                    of_slices += value;
                    self.place(lines, place, Some(slice.id), extra, value);
                }
            }
        }
        let whole = match self.labels.rows {
            labels::Rows::All => of_device(measure, self.device),
            labels::Rows::OfSlices => None,
        };
        match whole {
            Some(whole) if !any => self.place(lines, &self.labels.whole, None, extra, whole),
            Some(whole) if self.spec.sum == Sum::WithRest && whole > of_slices => {
                self.float(lines, &self.labels.rest, extra, whole - of_slices);
            }
            _ => {}
        }
    }

    /// One value of one place; on a shared one, the measured shares and what is left of it instead.
    fn place(
        &self,
        lines: &mut Lines<'_, '_>,
        place: &'a Place,
        slice: Option<SliceId>,
        extra: &[(&str, &str)],
        value: f64,
    ) {
        let share = |holder: &Holder| match self.spec.shares {
            Shares::None => None,
            Shares::Memory => holder.memory_bytes.known(),
            Shares::Utilization => holder.utilization.known(),
        };
        let mut left = value;
        let mut any = false;
        if place.sharing == Sharing::Shared {
            for (holder, block) in self.device.holders.iter().zip(&self.labels.containers) {
                let of_here = held_slice(holder) == slice;
                if let (true, Some(block), Some(share)) = (of_here, block, share(holder)) {
                    any = true;
                    left -= share;
                    self.float(lines, block, extra, share);
                }
            }
        }
        if !any {
            self.float(lines, self.block(place), extra, value);
        } else if self.spec.scale.apply(left) > 0.0 {
            self.float(lines, &place.bare, extra, left);
        }
    }

    /// The links in order, each number once.
    fn links(&self) -> impl Iterator<Item = &'a LinkReadings> {
        let links = &self.device.readings.links;
        let is_first = |at: usize| links[..at].iter().all(|earlier| earlier.link != links[at].link);
        links
            .iter()
            .enumerate()
            .filter(move |(at, _)| is_first(*at))
            .map(|(_, link)| link)
    }

    fn link_bytes(&self, lines: &mut Lines<'_, '_>) {
        use crate::readings::Field::{LinkReceivedBytes, LinkSentBytes};
        let mut any = false;
        for link in self.links() {
            let number = Decimal::new(link.link);
            for (direction, bytes) in [("receive", link.received_bytes), ("transmit", link.sent_bytes)] {
                if let Some(bytes) = bytes.known() {
                    any = true;
                    let extra = [("link", number.as_str()), ("direction", direction)];
                    self.float(lines, self.whole(), &extra, bytes);
                }
            }
        }
        if any {
            return;
        }
        for (direction, field) in [("receive", LinkReceivedBytes), ("transmit", LinkSentBytes)] {
            if let Some(bytes) = self.device.readings.values.known(field) {
                self.float(
                    lines,
                    self.whole(),
                    &[("link", "all"), ("direction", direction)],
                    bytes,
                );
            }
        }
    }

    fn link_errors(&self, lines: &mut Lines<'_, '_>) {
        for link in self.links() {
            let number = Decimal::new(link.link);
            for kind in LinkError::ALL {
                if let Some(errors) = errors_of(link, kind).known() {
                    let extra = [("link", number.as_str()), ("type", kind.as_str())];
                    self.float(lines, self.whole(), &extra, errors);
                }
            }
        }
    }

    fn link_error_sum(&self, lines: &mut Lines<'_, '_>, kind: LinkError) {
        let known = || self.links().filter_map(|link| errors_of(link, kind).known());
        if known().next().is_some() {
            self.float(lines, self.whole(), &[], known().sum());
        }
    }

    fn link_up(&self, lines: &mut Lines<'_, '_>) {
        for link in self.links() {
            if let Some(active) = link.active.known() {
                let number = Decimal::new(link.link);
                lines.sample(self.whole().with(&[("link", number.as_str())]), i32::from(active));
            }
        }
    }

    fn faults(&self, lines: &mut Lines<'_, '_>) {
        let name = self.spec.labels.first().copied().unwrap_or("code");
        let faults = &self.device.faults;
        for (at, (code, count)) in faults.iter().enumerate() {
            if faults[..at].iter().all(|(earlier, _)| earlier != code) {
                let code = Decimal::new(*code);
                lines.sample(self.whole().with(&[(name, code.as_str())]), *count);
            }
        }
    }

    fn last_fault(&self, lines: &mut Lines<'_, '_>) {
        if let Some(code) = last_fault(self.device) {
            let digits = Decimal::new(code);
            let extra = [("err_code", digits.as_str()), ("err_msg", xid::meaning(code))];
            lines.sample(self.whole().with(&extra), code);
        }
    }

    fn containers(&self, lines: &mut Lines<'_, '_>, read: impl Fn(&Holder) -> Reading<f64>) {
        for (holder, block) in self.device.holders.iter().zip(&self.labels.containers) {
            if let (Some(block), Some(value)) = (block, read(holder).known()) {
                self.float(lines, block, &[], value);
            }
        }
    }

    /// What is unowned on the device and on each slice, each reason once.
    fn unattributed(&self, lines: &mut Lines<'_, '_>, read: impl Fn(&Unattributed) -> Reading<f64>) {
        let all = &self.device.unattributed;
        for (at, rest) in all.iter().enumerate() {
            let slice = self.shown_slice(rest.slice);
            let is_same =
                |other: &Unattributed| (self.shown_slice(other.slice), other.reason) == (slice, rest.reason);
            if all[..at].iter().any(is_same) {
                continue;
            }
            let known = || {
                all.iter()
                    .filter(|other| is_same(other))
                    .filter_map(|other| read(other).known())
            };
            if known().next().is_some() {
                let reason = [("reason", rest.reason.as_str())];
                self.float(lines, self.unowned(slice), &reason, known().sum());
            }
        }
    }

    /// The labels of what is unowned: those of the value that it is a part of, so that both can be compared.
    fn unowned(&self, slice: Option<usize>) -> &'a LabelBlock {
        let has_memory = |at: usize| {
            self.device.readings.slices[at]
                .values
                .known(Field::MemoryUsed)
                .is_some()
        };
        let mut shown = self.labels.slices.iter().enumerate();
        match slice.and_then(|at| self.labels.slices[at].as_ref()) {
            Some(place) => &place.bare,
            None if shown.any(|(at, place)| place.is_some() && has_memory(at)) => &self.labels.rest,
            None => &self.labels.whole.bare,
        }
    }

    /// The place of a slice that has labels of its own.
    fn shown_slice(&self, slice: Option<SliceId>) -> Option<usize> {
        let id = slice?;
        let at = self.device.readings.slices.iter().position(|one| one.id == id)?;
        self.labels.slices[at].as_ref().map(|_| at)
    }

    fn topology(&self, lines: &mut Lines<'_, '_>) {
        let peers = &self.device.readings.peers;
        for (at, way) in peers.iter().enumerate() {
            if peers[..at].iter().any(|earlier| earlier.peer == way.peer) {
                continue;
            }
            let peer = Decimal::new(way.peer);
            let (peer, path) = (("peer", peer.as_str()), ("path", way.path.as_str()));
            match way.path {
                Path::Links(count) => {
                    let count = Decimal::new(count);
                    lines.sample(self.whole().with(&[peer, path, ("links", count.as_str())]), 1);
                }
                _ => lines.sample(self.whole().with(&[peer, path]), 1),
            }
        }
    }
}

/// The last fault as the source says it, or what the counts allow to conclude: none, or the only one there was.
fn last_fault(device: &DeviceSnapshot) -> Option<u32> {
    if let Reading::Known(code) = device.readings.last_fault {
        return Some(code);
    }
    let mut seen = device.faults.iter().filter(|(_, count)| *count > 0);
    match (seen.next(), seen.next()) {
        (None, _) if device.faults.is_empty() => None,
        (None, _) => Some(0),
        (Some((code, _)), None) => Some(*code),
        (Some(_), Some(_)) => None,
    }
}

fn errors_of(link: &LinkReadings, kind: LinkError) -> Reading<f64> {
    match kind {
        LinkError::Crc => link.crc_errors,
        LinkError::Recovery => link.recovery_errors,
        LinkError::Replay => link.replay_errors,
    }
}

/// A number as a label value, on the stack.
struct Decimal {
    digits: [u8; Self::LONGEST],
    start: usize,
}

impl Decimal {
    /// Digits of the largest `u32`.
    const LONGEST: usize = 10;

    fn new(number: u32) -> Self {
        let mut decimal = Self {
            digits: [b'0'; Self::LONGEST],
            start: Self::LONGEST,
        };
        let mut rest = number;
        loop {
            decimal.start -= 1;
            let digit = u8::try_from(rest % 10).expect("a digit is below ten");
            decimal.digits[decimal.start] = b'0' + digit;
            rest /= 10;
            if rest == 0 {
                return decimal;
            }
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[self.start..]).expect("digits are ASCII")
    }
}
