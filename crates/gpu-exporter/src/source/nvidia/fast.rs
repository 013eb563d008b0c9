//! What is cheap enough for every second.

use gpu_model::{Bytes, Reading};
use gpu_nvml::{
    Clock, ClockReason, ClockReasons, Device, Engine, Fault, Field as NvmlField, FieldBatch, FieldQuery,
    FieldValue, MemoryInfo, MigDevice, Nvml,
};

use super::gpm::Profiler;
use super::processes::ProcessReader;
use super::{Asker, spread};
use crate::readings::{DeviceReadings, Field, SliceId, SliceReadings, ThrottleReason, ThrottleSet};
use crate::source::{DeviceReader, DriverFault};

/// One question for several numbers, in this order.
const BATCH: [NvmlField; 3] = [
    NvmlField::Energy,
    NvmlField::MemoryTemperature,
    NvmlField::PowerInstant,
];

pub(super) struct FastReader {
    device: Device,
    asker: Asker,
    batch: FieldBatch,
    profiler: Option<Profiler>,
    processes: ProcessReader,
    slices: Vec<Slice>,
}

struct Slice {
    device: MigDevice,
    profiler: Option<Profiler>,
}

impl FastReader {
    pub(super) fn new(nvml: &Nvml, device: Device, slices: Vec<MigDevice>) -> Result<Self, Fault> {
        let batch = BATCH.map(|field| FieldQuery { field, scope: 0 });
        let sliced = !slices.is_empty();
        let slice = |mig: MigDevice| -> Result<Slice, Fault> {
            Ok(Slice {
                profiler: Profiler::of_slice(nvml, &device, mig.instance.gpu_instance)?,
                device: mig,
            })
        };
        Ok(Self {
            asker: Asker::default(),
            batch: FieldBatch::new(nvml.driver_version(), &batch),
            profiler: Profiler::of_device(nvml, &device)?,
            processes: ProcessReader::new(sliced),
            slices: slices.into_iter().map(slice).collect::<Result<_, _>>()?,
            device,
        })
    }

    fn read_utilization(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        let rates = self.asker.ask(into, || device.utilization())?;
        spread(
            into,
            rates,
            &[
                (Field::Utilization, |rates| f64::from(rates.gpu.0) / 100.0),
                (Field::MemoryBandwidthUtilization, |rates| {
                    f64::from(rates.memory.0) / 100.0
                }),
            ],
        );
        let engines = [
            (Field::EncoderUtilization, Engine::Encoder),
            (Field::DecoderUtilization, Engine::Decoder),
        ];
        for (field, engine) in engines {
            self.asker.number(into, field, || {
                Ok(f64::from(device.engine_utilization(engine)?.0) / 100.0)
            })?;
        }
        Ok(())
    }

    fn read_clocks(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        let clocks = [
            (Field::SmClock, Clock::Sm),
            (Field::MemoryClock, Clock::Memory),
            (Field::GraphicsClock, Clock::Graphics),
        ];
        for (field, clock) in clocks {
            self.asker
                .number(into, field, || Ok(f64::from(device.clock(clock)?.0) * 1e6))?;
        }
        self.asker.number(into, Field::PerformanceState, || {
            Ok(f64::from(device.performance_state()?.0))
        })?;
        into.throttled = self.asker.ask(into, || device.clock_reasons())?.map(throttles);
        Ok(())
    }

    fn read_board(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let device = &self.device;
        self.asker
            .number(into, Field::Power, || Ok(f64::from(device.power()?.0) / 1000.0))?;
        self.asker.number(into, Field::Temperature, || {
            Ok(f64::from(device.temperature()?.0))
        })?;
        let memory = self.asker.ask(into, || device.memory())?;
        set_memory(into, memory);
        let batch = &mut self.batch;
        let answered = self.asker.ask(into, || device.read_fields(batch))?;
        let number = |place: usize, scale: f64| match answered {
            Reading::Known(()) => match batch.get(place).and_then(FieldValue::unsigned) {
                Ok(value) => Reading::Known(value as f64 / scale),
                Err(Fault::Unsupported) => Reading::Unsupported,
                Err(_) => Reading::Failed,
            },
            Reading::Unsupported => Reading::Unsupported,
            Reading::Failed => Reading::Failed,
        };
        let (energy, memory_temperature, power) = (number(0, 1000.0), number(1, 1.0), number(2, 1000.0));
        into.set(Field::Energy, energy);
        into.set(Field::MemoryTemperature, memory_temperature);
        into.set(Field::PowerInstant, power);
        Ok(())
    }

    fn read_slices(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        into.slices.resize_with(self.slices.len(), SliceReadings::empty);
        let mut slices = std::mem::take(&mut into.slices);
        for (slice, readings) in self.slices.iter_mut().zip(&mut slices) {
            let instance = slice.device.instance;
            readings.id = SliceId {
                gi: instance.gpu_instance,
                ci: instance.compute_instance,
            };
            readings.uuid.clear();
            readings.uuid.push_str(slice.device.uuid.as_str());
            readings.profile.clone_from(&slice.device.profile);
            let memory = self.asker.ask(into, || slice.device.device.memory())?;
            let mut own = DeviceReadings::default();
            set_memory(&mut own, memory);
            if let Some(profiler) = &mut slice.profiler {
                profiler.read(&mut self.asker, &self.device, &mut own)?;
                // The driver has no utilisation of a slice; the share of time in which its engine was busy is the same thing.
                own.set(Field::Utilization, own.values.get(Field::GraphicsActive));
            }
            into.rejected += own.rejected;
            readings.values = own.values;
        }
        into.slices = slices;
        Ok(())
    }
}

impl DeviceReader for FastReader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        self.asker.start();
        self.read_utilization(into)?;
        self.read_board(into)?;
        self.read_clocks(into)?;
        if let Some(profiler) = &mut self.profiler {
            profiler.read(&mut self.asker, &self.device, into)?;
        }
        self.processes.read(&mut self.asker, &self.device, into)?;
        self.read_slices(into)?;
        self.asker.finish()
    }
}

fn set_memory(into: &mut DeviceReadings, memory: Reading<MemoryInfo>) {
    let number = |bytes: Bytes| bytes.0 as f64;
    into.set(Field::MemoryTotal, memory.map(|memory| number(memory.total)));
    into.set(Field::MemoryUsed, memory.map(|memory| number(memory.used)));
    into.set(Field::MemoryFree, memory.map(|memory| number(memory.free)));
    let reserved = memory.and_then(|memory| memory.reserved.map_or(Reading::Unsupported, Reading::Known));
    into.set(Field::MemoryReserved, reserved.map(number));
}

/// An idle GPU and one that drives a display also have low clocks; nobody holds them down.
fn throttles(reasons: ClockReasons) -> ThrottleSet {
    let mut set = ThrottleSet::default();
    for reason in reasons.iter() {
        match reason {
            ClockReason::GpuIdle | ClockReason::DisplayClocks => {}
            ClockReason::ClocksSetting => set.insert(ThrottleReason::ClocksSetting),
            ClockReason::PowerCap => set.insert(ThrottleReason::PowerCap),
            ClockReason::HardwareSlowdown => set.insert(ThrottleReason::HardwareSlowdown),
            ClockReason::SyncBoost => set.insert(ThrottleReason::SyncBoost),
            ClockReason::SoftwareThermal => set.insert(ThrottleReason::SoftwareThermal),
            ClockReason::HardwareThermal => set.insert(ThrottleReason::HardwareThermal),
            ClockReason::HardwarePowerBrake => set.insert(ThrottleReason::HardwarePowerBrake),
        }
    }
    set
}
