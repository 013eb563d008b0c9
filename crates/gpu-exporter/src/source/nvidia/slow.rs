//! What blocks, costs much or changes slowly: limits, thresholds, bus, links, errors, fabric, licence. PCIe throughput blocks
//! for 20 ms each way, which is why this half has a thread of its own.

use gpu_model::Reading;
use gpu_nvml::{
    ALL_LINKS, Clock, CommonAncestor, Device, Direction, DriverVersion, Engine, FabricState, Fault,
    Field as NvmlField, FieldBatch, FieldQuery, FieldValue, LinkError, LinkState, Nvml, P2p, Sliced,
    Threshold,
};

use super::{Asker, spread};
use crate::readings::{DeviceReadings, Field, LinkReadings, Path, PeerPath, ThrottleReason};
use crate::source::{DeviceReader, DriverFault};

/// One question for the counters, in this order: where each goes and by what it is divided.
const COUNTERS: [(NvmlField, Field); 10] = [
    (NvmlField::EccCorrectedVolatile, Field::EccCorrectedVolatile),
    (NvmlField::EccUncorrectedVolatile, Field::EccUncorrectedVolatile),
    (NvmlField::EccCorrectedAggregate, Field::EccCorrectedAggregate),
    (NvmlField::EccUncorrectedAggregate, Field::EccUncorrectedAggregate),
    (NvmlField::RetiredSingleBit, Field::RetiredPagesSingleBit),
    (NvmlField::RetiredDoubleBit, Field::RetiredPagesDoubleBit),
    (NvmlField::RetiredPending, Field::RetiredPagesPending),
    (NvmlField::PcieReplays, Field::PcieReplays),
    (NvmlField::LinkSent, Field::LinkSentBytes),
    (NvmlField::LinkReceived, Field::LinkReceivedBytes),
];

/// Time in which a policy held the clocks down, in nanoseconds.
const VIOLATIONS: [(NvmlField, Field); 8] = [
    (NvmlField::ThrottledByPower, Field::ViolationPower),
    (NvmlField::ThrottledByThermal, Field::ViolationThermal),
    (NvmlField::ThrottledBySyncBoost, Field::ViolationSyncBoost),
    (NvmlField::ThrottledByBoardLimit, Field::ViolationBoardLimit),
    (
        NvmlField::ThrottledByLowUtilization,
        Field::ViolationLowUtilization,
    ),
    (NvmlField::ThrottledByReliability, Field::ViolationReliability),
    (NvmlField::ThrottledAppClocks, Field::ViolationAppClocks),
    (NvmlField::ThrottledBaseClocks, Field::ViolationBaseClocks),
];

/// The driver counts these reasons itself, in nanoseconds; the others are integrated from what holds at each sample.
const REASONS: [(NvmlField, ThrottleReason); 5] = [
    (NvmlField::ThrottledByPower, ThrottleReason::PowerCap),
    (NvmlField::ThrottledBySyncBoost, ThrottleReason::SyncBoost),
    (NvmlField::ReasonSoftwareThermal, ThrottleReason::SoftwareThermal),
    (NvmlField::ReasonHardwareThermal, ThrottleReason::HardwareThermal),
    (
        NvmlField::ReasonHardwarePowerBrake,
        ThrottleReason::HardwarePowerBrake,
    ),
];

/// Link counters are in KiB.
const KIBIBYTE: f64 = 1024.0;

pub(super) struct SlowReader {
    device: Device,
    asker: Asker,
    batch: FieldBatch,
    peers: Peers,
    links: u32,
}

/// The ways to the other devices of the node. They do not change while the device is open.
pub(super) struct Peers(Vec<PeerPath>);

impl Peers {
    pub(super) fn of(nvml: &Nvml, device: &Device, index: u32) -> Self {
        let links = active_links(device);
        let others = (0..nvml.device_count().unwrap_or(0)).filter(|other| *other != index);
        let path = |other: u32| {
            let peer = nvml.device(other).ok()?;
            let linked = device.nvlink_p2p(&peer) == Ok(P2p::Ok);
            let path = match linked.then_some(links).filter(|links| *links > 0) {
                Some(links) => Path::Links(links),
                None => match device.common_ancestor(&peer).ok()? {
                    CommonAncestor::SameBoard => Path::SameBoard,
                    CommonAncestor::SingleSwitch => Path::OneSwitch,
                    CommonAncestor::MultipleSwitches => Path::ManySwitches,
                    CommonAncestor::HostBridge => Path::HostBridge,
                    CommonAncestor::Node => Path::NumaNode,
                    CommonAncestor::System => Path::System,
                },
            };
            Some(PeerPath { peer: other, path })
        };
        Self(others.filter_map(path).collect())
    }
}

fn active_links(device: &Device) -> u32 {
    let count = device.link_count().unwrap_or(0);
    let active = (0..count)
        .filter(|link| device.link_state(*link) == Ok(LinkState::Up))
        .count();
    u32::try_from(active).unwrap_or(0)
}

impl SlowReader {
    pub(super) fn new(driver: DriverVersion, device: Device, peers: Peers) -> Self {
        let counters = COUNTERS.iter().map(|(field, _)| match field {
            NvmlField::LinkSent | NvmlField::LinkReceived => FieldQuery {
                field: *field,
                scope: ALL_LINKS,
            },
            _ => FieldQuery {
                field: *field,
                scope: 0,
            },
        });
        let reasons = REASONS.iter().map(|(field, _)| FieldQuery {
            field: *field,
            scope: 0,
        });
        let violations = VIOLATIONS.iter().map(|(field, _)| FieldQuery {
            field: *field,
            scope: 0,
        });
        let queries: Vec<FieldQuery> = counters.chain(reasons).chain(violations).collect();
        let links = device.link_count().unwrap_or(0);
        Self {
            asker: Asker::default(),
            batch: FieldBatch::new(driver, &queries),
            device,
            peers,
            links,
        }
    }

    fn read_counters(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let (device, batch) = (&self.device, &mut self.batch);
        let answered = self.asker.ask(into, || device.read_fields(batch))?;
        let number =
            |place: usize| answered.and_then(|()| reading(batch.get(place).and_then(FieldValue::unsigned)));
        for (place, (asked, field)) in COUNTERS.iter().enumerate() {
            let scale = if matches!(asked, NvmlField::LinkSent | NvmlField::LinkReceived) {
                KIBIBYTE
            } else {
                1.0
            };
            into.set(*field, number(place).map(|value| value as f64 * scale));
        }
        for (place, (_, reason)) in REASONS.iter().enumerate() {
            let seconds = number(COUNTERS.len() + place).map(|nanoseconds| nanoseconds as f64 / 1e9);
            into.throttle_seconds[*reason as usize] = seconds;
        }
        let first = COUNTERS.len() + REASONS.len();
        for (place, (_, field)) in VIOLATIONS.iter().enumerate() {
            into.set(
                *field,
                number(first + place).map(|nanoseconds| nanoseconds as f64 / 1e9),
            );
        }
        Ok(())
    }

    fn read_limits(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        let asker = &mut self.asker;
        asker.number(into, Field::PowerLimit, || {
            Ok(f64::from(device.power_enforced_limit()?.0) / 1000.0)
        })?;
        asker.number(into, Field::PowerLimitManagement, || {
            Ok(f64::from(device.power_limit()?.0) / 1000.0)
        })?;
        asker.number(into, Field::PowerLimitDefault, || {
            Ok(f64::from(device.power_default_limit()?.0) / 1000.0)
        })?;
        let limits = asker.ask(into, || device.power_limits())?;
        spread(
            into,
            limits,
            &[
                (Field::PowerLimitMin, |limits| f64::from(limits.min.0) / 1000.0),
                (Field::PowerLimitMax, |limits| f64::from(limits.max.0) / 1000.0),
            ],
        );
        asker.number(into, Field::TemperatureMargin, || {
            Ok(f64::from(device.temperature_margin()?.0))
        })?;
        let thresholds = [
            (Field::TemperatureSlowdown, Threshold::Slowdown),
            (Field::TemperatureShutdown, Threshold::Shutdown),
            (Field::TemperatureMaxOperating, Threshold::GpuMax),
            (Field::MemoryTemperatureMaxOperating, Threshold::MemoryMax),
        ];
        for (field, threshold) in thresholds {
            asker.number(into, field, || {
                Ok(f64::from(device.temperature_threshold(threshold)?.0))
            })?;
        }
        let clocks = [
            (Field::SmClockMax, Clock::Sm),
            (Field::GraphicsClockMax, Clock::Graphics),
            (Field::MemoryClockMax, Clock::Memory),
            (Field::VideoClockMax, Clock::Video),
        ];
        for (field, clock) in clocks {
            asker.number(into, field, || Ok(f64::from(device.max_clock(clock)?.0) * 1e6))?;
        }
        asker.number(into, Field::VideoClock, || {
            Ok(f64::from(device.clock(Clock::Video)?.0) * 1e6)
        })
    }

    fn read_bus(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        let asker = &mut self.asker;
        let link = asker.ask(into, || device.pcie_link())?;
        spread(
            into,
            link,
            &[
                (Field::PcieLinkGeneration, |link| f64::from(link.generation)),
                (Field::PcieLinkWidth, |link| f64::from(link.width)),
            ],
        );
        let most = asker.ask(into, || device.pcie_max_link())?;
        spread(
            into,
            most,
            &[
                (Field::PcieLinkGenerationMax, |link| f64::from(link.generation)),
                (Field::PcieLinkWidthMax, |link| f64::from(link.width)),
            ],
        );
        let engines = [
            (Field::JpegUtilization, Engine::Jpeg),
            (Field::OfaUtilization, Engine::OpticalFlow),
        ];
        for (field, engine) in engines {
            asker.number(into, field, || {
                Ok(f64::from(device.engine_utilization(engine)?.0) / 100.0)
            })?;
        }
        let bar1 = asker.ask(into, || device.bar1())?;
        spread(
            into,
            bar1,
            &[
                (Field::Bar1Total, |bar1| bar1.total.0 as f64),
                (Field::Bar1Used, |bar1| bar1.used.0 as f64),
                (Field::Bar1Free, |bar1| bar1.free.0 as f64),
            ],
        );
        Ok(())
    }

    fn read_health(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        let asker = &mut self.asker;
        let rows = asker.ask(into, || device.remapped_rows())?;
        spread(
            into,
            rows,
            &[
                (Field::RemappedRowsCorrectable, |rows| f64::from(rows.correctable)),
                (Field::RemappedRowsUncorrectable, |rows| {
                    f64::from(rows.uncorrectable)
                }),
                (Field::RowRemapPending, |rows| f64::from(u8::from(rows.pending))),
                (Field::RowRemapFailure, |rows| f64::from(u8::from(rows.failure))),
            ],
        );
        let fabric = asker.ask(into, || device.fabric())?;
        spread(
            into,
            fabric,
            &[
                (Field::FabricState, |fabric| fabric_state(fabric.state)),
                (Field::FabricHealthMask, |fabric| f64::from(fabric.health_mask)),
            ],
        );
        asker.number(into, Field::VgpuLicensed, || {
            let licences = device.licences()?;
            if licences.is_empty() {
                return Err(Fault::Unsupported);
            }
            Ok(f64::from(u8::from(
                licences.iter().all(|licence| licence.licensed),
            )))
        })?;
        asker.number(into, Field::MigEnabled, || {
            Ok(f64::from(u8::from(device.mig_mode()?.current == Sliced::Yes)))
        })
    }

    fn read_links(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        into.links.clear();
        for link in 0..self.links {
            let active = self
                .asker
                .ask(into, || device.link_state(link))?
                .map(|state| state == LinkState::Up);
            let up = active == Reading::Known(true);
            let counted = |question: &dyn Fn() -> Result<u64, Fault>| {
                let answer = if up {
                    reading(question())
                } else {
                    Reading::Unsupported
                };
                answer.map(|count| count as f64)
            };
            let bytes = |field| {
                move || {
                    device
                        .field(FieldQuery { field, scope: link })
                        .and_then(FieldValue::unsigned)
                }
            };
            let readings = LinkReadings {
                link,
                active,
                sent_bytes: counted(&bytes(NvmlField::LinkSent)).map(|kib| kib * KIBIBYTE),
                received_bytes: counted(&bytes(NvmlField::LinkReceived)).map(|kib| kib * KIBIBYTE),
                replay_errors: counted(&|| device.link_errors(link, LinkError::Replay)),
                recovery_errors: counted(&|| device.link_errors(link, LinkError::Recovery)),
                crc_errors: counted(&|| device.link_errors(link, LinkError::CrcFlit)),
            };
            into.links.push(readings);
        }
        Ok(())
    }

    /// Only where the profiler does not give the rates continuously: this is 20 ms out of half a minute.
    fn read_throughput(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        let directions = [
            (Field::PcieSentSample, Direction::Sent),
            (Field::PcieReceivedSample, Direction::Received),
        ];
        for (field, direction) in directions {
            self.asker.number(into, field, || {
                Ok(f64::from(device.pcie_throughput(direction)?.0) * KIBIBYTE)
            })?;
        }
        Ok(())
    }
}

impl DeviceReader for SlowReader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        self.asker.start();
        into.peers.clone_from(&self.peers.0);
        self.read_limits(into)?;
        self.read_bus(into)?;
        self.read_health(into)?;
        self.read_counters(into)?;
        self.read_throughput(into)?;
        self.read_links(into)?;
        self.asker.finish()
    }
}

fn reading<T>(answer: Result<T, Fault>) -> Reading<T> {
    gpu_nvml::AnswerExt::reading(answer)
}

fn fabric_state(state: FabricState) -> f64 {
    match state {
        FabricState::NotSupported => 0.0,
        FabricState::NotStarted => 1.0,
        FabricState::InProgress => 2.0,
        FabricState::Completed => 3.0,
    }
}
