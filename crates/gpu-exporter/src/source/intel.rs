//! Intel's graphics cards under the drivers `xe` and `i915`, from the kernel's files. The graphics of a processor are left
//! alone: nothing is scheduled on them, and their memory is the host's.
//!
//! No file has a counter of busy time. The drivers count how long the graphics unit sleeps, and one that does not sleep is
//! taken for busy: an upper bound, since it falls asleep only some milliseconds after its last work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_model::{Reading, Vendor};

use super::amd::text::{PciAddress, uevent};
use super::attribute::{Attribute, Tally, Trouble, names, numbered, read_text};
use super::{DeviceReader, Driver, DriverFault, DriverLoader, FaultStream, Listed, Readers};
use crate::readings::{DeviceReadings, Field};
use crate::snapshot::{Board, Identity};

const NO_CARD: &str = "found no card of Intel's drivers xe or i915: load the kernel module, or mount the host's /sys and name \
                       it with --path.sysfs";
/// A file here holds a number or a word.
const BUFFER: usize = 64;
/// Two readings closer than this give a rate that says more about the clock than about the card.
const SHORTEST: Duration = Duration::from_millis(20);

/// Finds cards under the roots of the settings; as a driver, it lists them.
#[derive(Clone)]
pub struct IntelLoader {
    pub sysfs: PathBuf,
    pub procfs: PathBuf,
}

impl DriverLoader for IntelLoader {
    fn name(&self) -> &'static str {
        "intel"
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        match find(&self.sysfs).is_empty() {
            true => Err(DriverFault::Absent(NO_CARD.to_owned())),
            false => Ok(Arc::new(self.clone())),
        }
    }

    fn sees_hardware(&self) -> bool {
        let bus = self.sysfs.join("bus/pci/devices");
        names(&bus).unwrap_or_default().iter().any(|name| {
            let says = |file: &str, word: &str| {
                let text = read_text(&bus.join(name).join(file));
                text.is_some_and(|text| text.starts_with(word))
            };
            name.parse().is_ok_and(is_card) && says("vendor", "0x8086") && says("class", "0x03")
        })
    }
}

impl Driver for IntelLoader {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        let version = read_text(&self.procfs.join("sys/kernel/osrelease")).unwrap_or_default();
        let listed = (0..).zip(find(&self.sysfs)).map(|(index, card)| Listed {
            identity: Arc::new(card.identity(index, &version)),
            layout: Vec::new(),
        });
        Ok(listed.collect())
    }

    fn open(&self, device: &Listed) -> Result<Readers, DriverFault> {
        let mut cards = find(&self.sysfs).into_iter();
        let card = cards.find(|card| card.uuid() == device.identity.uuid);
        let (fast, slow) = Reader::pair(&card.ok_or(DriverFault::DeviceLost)?);
        Ok(Readers {
            fast: Box::new(fast),
            slow: Box::new(slow),
        })
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        None
    }
}

/// A card that a driver has taken.
struct Card {
    /// `cardN` itself, where i915 keeps its files.
    node: PathBuf,
    /// The device on the bus, where xe keeps them.
    device: PathBuf,
    address: PciAddress,
    number: u32,
    chip: String,
}

fn find(sysfs: &Path) -> Vec<Card> {
    let class = sysfs.join("class/drm");
    let names = names(&class).unwrap_or_default();
    let card = |name: &String| Card::at(class.join(name), numbered(name, "card")?);
    let mut cards: Vec<Card> = names.iter().filter_map(card).collect();
    cards.sort_by_key(|card| card.address);
    cards
}

/// Processors have their graphics on the first bus.
fn is_card(address: PciAddress) -> bool {
    address.bus != 0
}

impl Card {
    fn at(node: PathBuf, number: u32) -> Option<Self> {
        let device = node.join("device");
        let events = read_text(&device.join("uevent"))?;
        let address: PciAddress = uevent(&events, "PCI_SLOT_NAME")?.parse().ok()?;
        let chip = uevent(&events, "PCI_ID")?
            .strip_prefix("8086:")?
            .to_ascii_lowercase();
        let is_taken = matches!(uevent(&events, "DRIVER")?, "xe" | "i915");
        (is_taken && is_card(address)).then_some(Self {
            node,
            device,
            address,
            number,
            chip,
        })
    }

    /// No number of the card itself is in a file of every driver, so that a card is known by its place.
    fn uuid(&self) -> String {
        format!("intel-{}", self.address)
    }

    fn identity(&self, index: u32, driver_version: &str) -> Identity {
        let renders = names(&self.device.join("drm")).unwrap_or_default();
        let render = renders.iter().find_map(|name| numbered(name, "renderD"));
        Identity {
            vendor: Vendor::Intel,
            index,
            minor: render,
            uuid: self.uuid(),
            model: format!("Intel GPU {}", self.chip),
            pci_bus_id: format!("0000{}", self.address),
            serial: None,
            vbios: None,
            driver_version: driver_version.to_owned(),
            architecture: None,
            board: Board {
                card: Some(self.number),
                render,
                ..Board::default()
            },
        }
    }
}

/// One half of a card's files: numbers that are passed on, and counters that become rates.
struct Reader {
    /// The kernel's word on whether the card is awake. Reading anything else would wake it.
    status: Attribute,
    numbers: Vec<(Attribute, Field, f64)>,
    counters: Option<Counters>,
    tally: Tally,
}

struct Counters {
    slept_milliseconds: Attribute,
    slept: Rate,
    energy_microjoules: Attribute,
    energy: Rate,
}

impl Reader {
    fn pair(card: &Card) -> (Self, Self) {
        let tile = card.device.join("tile0");
        let unit = match tile.is_dir() {
            true => tile.join("gt0"),
            false => card.node.join("gt/gt0"),
        };
        let monitor = monitor(&card.device);
        let of_unit = |xe: &str, i915: &str| first(&[unit.join(xe), unit.join(i915)]);
        let of_monitor =
            |names: &[&str]| first(&names.iter().map(|name| monitor.join(name)).collect::<Vec<_>>());
        // The size of a tile is that of the card only where there is one.
        let memory = match card.device.join("tile1").is_dir() {
            true => Attribute::absent(),
            false => first(&[
                tile.join("physical_vram_size_bytes"),
                card.node.join("lmem_total_bytes"),
            ]),
        };
        let reader = |numbers, counters| Self {
            status: Attribute::open(&card.device.join("power/runtime_status")),
            numbers,
            counters,
            tally: Tally::default(),
        };
        let fast = vec![
            (
                of_unit("freq0/act_freq", "rps_act_freq_mhz"),
                Field::GraphicsClock,
                1e6,
            ),
            (of_monitor(&["temp2_input"]), Field::Temperature, 1e-3),
            (of_monitor(&["temp3_input"]), Field::MemoryTemperature, 1e-3),
        ];
        let slow = vec![
            (
                of_unit("freq0/rp0_freq", "rps_RP0_freq_mhz"),
                Field::GraphicsClockMax,
                1e6,
            ),
            (of_monitor(&["power1_max", "power2_max"]), Field::PowerLimit, 1e-6),
            (memory, Field::MemoryTotal, 1.0),
        ];
        let counters = Counters {
            slept_milliseconds: of_unit("gtidle/idle_residency_ms", "rc6_residency_ms"),
            slept: Rate::default(),
            // That of the card, or where it does not measure itself, that of its package.
            energy_microjoules: of_monitor(&["energy1_input", "energy2_input"]),
            energy: Rate::default(),
        };
        (reader(fast, Some(counters)), reader(slow, None))
    }
}

impl DeviceReader for Reader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let mut buffer = [0; BUFFER];
        self.tally.start();
        let status = self.status.text(&mut buffer);
        let is_off = status.is_ok_and(|status| status.starts_with("suspend"));
        if is_off {
            // What a card does that is switched off is known without asking it.
            if let Some(counters) = &mut self.counters {
                into.set(Field::Utilization, Reading::Known(0.0));
                (counters.slept, counters.energy) = (Rate::default(), Rate::default());
            }
            return Ok(());
        }
        let now = Instant::now();
        if let Some(counters) = &mut self.counters {
            let slept = self
                .tally
                .note(into, counters.slept_milliseconds.integer(&mut buffer));
            let awake = slept
                .and_then(|slept| counters.slept.between(now, slept))
                .map(awake);
            into.set(Field::Utilization, awake);
            let energy = self
                .tally
                .note(into, counters.energy_microjoules.integer(&mut buffer));
            let power = energy.and_then(|energy| counters.energy.between(now, energy));
            // A card that is awake draws something: a counter that stands still was not brought up to date.
            let power = power.and_then(|power| match power > 0.0 {
                true => Reading::Known(power),
                false => Reading::Unsupported,
            });
            into.set(Field::Energy, energy.map(|microjoules| microjoules as f64 * 1e-6));
            into.set(Field::Power, power.map(|microwatts| microwatts * 1e-6));
        }
        for (attribute, field, unit) in &mut self.numbers {
            // A limit that is switched off and a sensor that was not read yet are 0.
            let value = attribute.integer(&mut buffer).and_then(|value| match value {
                0 => Err(Trouble::Unsupported),
                value => Ok(value as f64 * *unit),
            });
            let value = self.tally.note(into, value);
            into.set(*field, value);
        }
        self.tally.finish()
    }
}

/// A counter as what it grows a second.
#[derive(Default)]
struct Rate(Option<(Instant, i64)>);

impl Rate {
    /// Nothing for the first reading, and for one that is smaller than the last, because the card was reset.
    fn between(&mut self, now: Instant, count: i64) -> Reading<f64> {
        let (before, last) = *self.0.get_or_insert((now, count));
        let elapsed = now.saturating_duration_since(before);
        if elapsed < SHORTEST {
            return Reading::Unsupported;
        }
        self.0 = Some((now, count));
        match count >= last {
            true => Reading::Known((count - last) as f64 / elapsed.as_secs_f64()),
            false => Reading::Unsupported,
        }
    }
}

/// Clocks of card and host drift, so that a little more than a whole second of sleep is a whole one.
fn awake(slept_milliseconds_a_second: f64) -> f64 {
    (1.0 - slept_milliseconds_a_second / 1000.0).clamp(0.0, 1.0)
}

/// i915 has a directory for the card and others for its tiles; that of the card is called like the driver.
fn monitor(device: &Path) -> PathBuf {
    let all = names(&device.join("hwmon")).unwrap_or_default();
    let mut paths = all.iter().map(|name| device.join("hwmon").join(name));
    let of_card = |path: &PathBuf| matches!(read_text(&path.join("name")).as_deref(), Some("xe" | "i915"));
    paths.find(of_card).unwrap_or_default()
}

fn first(paths: &[PathBuf]) -> Attribute {
    let mut files = paths.iter().map(|path| Attribute::open(path));
    files.find(Attribute::is_there).unwrap_or_else(Attribute::absent)
}

#[cfg(test)]
mod tests;
