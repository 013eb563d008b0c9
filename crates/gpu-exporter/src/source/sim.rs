//! GPUs that do not exist, for people who try the exporter out: one node of the simulated fleet, second by second. Only builds
//! that ask for it have it, only `--source sim` turns it on, and every page and answer says that nothing was measured. It has
//! no pods: those of the simulation are in no kubelet.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gpu_model::{GpuView, Reading};
use gpu_sim::{FleetSpec, World};

use super::{DeviceReader, Driver, DriverFault, DriverLoader, FaultStream, Listed, Readers};
use crate::readings::{DeviceReadings, Field};
use crate::snapshot::{Board, Identity};

/// Starts the simulation.
pub struct SimLoader;

impl DriverLoader for SimLoader {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn load(&self) -> Result<Arc<dyn Driver>, DriverFault> {
        let spec = FleetSpec {
            nodes: 1,
            ..FleetSpec::default()
        };
        let world = World::new(&spec).map_err(|error| DriverFault::Absent(error.to_string()))?;
        let stage = Stage {
            gpus: gpus(&world),
            world,
            begun: Instant::now(),
            lived: 0,
        };
        Ok(Arc::new(SimDriver(Arc::new(Mutex::new(stage)))))
    }
}

/// The world and its view of this second.
struct Stage {
    world: World,
    gpus: Vec<GpuView>,
    begun: Instant,
    lived: u64,
}

impl Stage {
    /// Lets the world catch up with the clock.
    fn look(&mut self) -> &[GpuView] {
        let due = self.begun.elapsed().as_secs();
        if due > self.lived {
            self.world.advance(Duration::from_secs(due - self.lived));
            self.lived = due;
            self.gpus = gpus(&self.world);
        }
        &self.gpus
    }
}

fn gpus(world: &World) -> Vec<GpuView> {
    let first = world.observe().nodes.into_iter().next();
    first.map(|node| node.gpus).unwrap_or_default()
}

struct SimDriver(Arc<Mutex<Stage>>);

impl Driver for SimDriver {
    fn list(&self) -> Result<Vec<Listed>, DriverFault> {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(stage.look().iter().map(listed).collect())
    }

    fn open(&self, device: &Listed) -> Result<Readers, DriverFault> {
        let uuid = device.identity.uuid.clone();
        Ok(Readers {
            fast: Box::new(SimReader {
                stage: Arc::clone(&self.0),
                uuid,
            }),
            slow: Box::new(Nothing),
        })
    }

    fn faults(&self) -> Option<Box<dyn FaultStream>> {
        None
    }
}

fn listed(gpu: &GpuView) -> Listed {
    let device = &gpu.device;
    let identity = Identity {
        vendor: device.vendor,
        index: u32::from(device.index.0),
        minor: None,
        uuid: device.uuid.to_string(),
        model: device.model.clone(),
        pci_bus_id: device
            .pci_address
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        serial: None,
        vbios: None,
        driver_version: device.driver.clone().unwrap_or_default(),
        architecture: None,
        board: Board::default(),
    };
    Listed {
        identity: Arc::new(identity),
        layout: Vec::new(),
    }
}

/// Everything is quick here.
struct Nothing;

impl DeviceReader for Nothing {
    fn read(&mut self, _into: &mut DeviceReadings) -> Result<(), DriverFault> {
        Ok(())
    }
}

struct SimReader {
    stage: Arc<Mutex<Stage>>,
    uuid: String,
}

impl DeviceReader for SimReader {
    fn read(&mut self, into: &mut DeviceReadings) -> Result<(), DriverFault> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gpus = stage.look().iter();
        let gpu = gpus.find(|gpu| gpu.device.uuid.to_string() == self.uuid);
        fill(&gpu.ok_or(DriverFault::DeviceLost)?.sample, into);
        Ok(())
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "bytes and joules of a GPU stay far below what a double holds exactly"
)]
fn fill(sample: &gpu_model::GpuSample, into: &mut DeviceReadings) {
    let ratio = |share: Reading<gpu_model::Permille>| share.map(|share| f64::from(share.get()) / 1000.0);
    let bytes = |bytes: Reading<gpu_model::Bytes>| bytes.map(|bytes| bytes.0 as f64);
    let watts = |power: Reading<gpu_model::Milliwatts>| power.map(|power| f64::from(power.0) / 1e3);
    let celsius = |heat: Reading<gpu_model::Celsius>| heat.map(|heat| f64::from(heat.0));
    let hertz = |clock: Reading<gpu_model::Megahertz>| clock.map(|clock| f64::from(clock.0) * 1e6);
    let free = sample.memory_total.zip(sample.memory_used);
    let free = free.map(|(total, used)| total.0.saturating_sub(used.0) as f64);
    let values = [
        (Field::Utilization, ratio(sample.utilization)),
        (Field::MemoryBandwidthUtilization, ratio(sample.memory_bandwidth)),
        (Field::SmActive, ratio(sample.sm_active)),
        (Field::SmOccupancy, ratio(sample.sm_occupancy)),
        (Field::TensorActive, ratio(sample.tensor_active)),
        (Field::DramActive, ratio(sample.dram_active)),
        (Field::MemoryTotal, bytes(sample.memory_total)),
        (Field::MemoryUsed, bytes(sample.memory_used)),
        (Field::MemoryFree, free),
        (Field::Power, watts(sample.power)),
        (Field::PowerLimit, watts(sample.power_limit)),
        (Field::Energy, sample.energy.map(|energy| energy.0 as f64 / 1e3)),
        (Field::Temperature, celsius(sample.temperature)),
        (Field::MemoryTemperature, celsius(sample.memory_temperature)),
        (Field::GraphicsClock, hertz(sample.compute_clock)),
        (Field::SmClock, hertz(sample.compute_clock)),
        (Field::MemoryClock, hertz(sample.memory_clock)),
    ];
    for (field, reading) in values {
        into.set(field, reading);
    }
}

#[cfg(test)]
mod tests {
    //! The simulated node answers as a driver does.

    use super::SimLoader;
    use crate::readings::{DeviceReadings, Field};
    use crate::source::DriverLoader as _;

    #[test]
    fn every_listed_gpu_is_read() {
        let driver = SimLoader.load().unwrap();
        let devices = driver.list().unwrap();
        assert!(!devices.is_empty());
        for device in devices {
            let mut readings = DeviceReadings::default();
            driver.open(&device).unwrap().fast.read(&mut readings).unwrap();
            assert!(readings.values.known(Field::MemoryTotal).is_some());
            assert_eq!(readings.rejected, 0);
        }
    }
}
