//! A sampling cycle that has run once allocates nothing any more.

#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gpu_nvml::{
    Clock, Device, Engine, Field, FieldBatch, FieldQuery, GpmMetric, GpmQuery, GpmSample, Nvml, ProcessList,
    ProcessSamples,
};
use gpu_nvml_double::scenario::Scenario;

use crate::machine::Machine;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts per thread, so that tests beside this one do not disturb it. The double has an allocator of its own.
struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a worker keeps between two cycles.
struct Worker {
    device: Device,
    fields: FieldBatch,
    processes: ProcessList,
    samples: ProcessSamples,
    earlier: GpmSample,
    later: GpmSample,
    query: GpmQuery,
}

impl Worker {
    fn new(nvml: &Nvml) -> Worker {
        let mut queries: Vec<FieldQuery> = vec![
            Field::Energy.into(),
            Field::PowerInstant.into(),
            Field::MemoryTemperature.into(),
            Field::ThrottledByPower.into(),
            Field::ReasonSoftwareThermal.into(),
        ];
        queries.extend((0..18).map(|scope| FieldQuery {
            field: Field::LinkSent,
            scope,
        }));
        Worker {
            device: nvml.device(0).unwrap(),
            fields: FieldBatch::new(nvml.driver_version(), &queries),
            processes: ProcessList::default(),
            samples: ProcessSamples::default(),
            earlier: nvml.gpm_sample().unwrap(),
            later: nvml.gpm_sample().unwrap(),
            query: GpmQuery::new(&[GpmMetric::SM_ACTIVE, GpmMetric::DRAM_ACTIVE]),
        }
    }

    fn cycle(&mut self) {
        let device = &self.device;
        device.utilization().unwrap();
        device.engine_utilization(Engine::Decoder).unwrap();
        device.memory().unwrap();
        device.power().unwrap();
        device.temperature().unwrap();
        device.clock(Clock::Sm).unwrap();
        device.clock_reasons().unwrap();
        device.remapped_rows().unwrap();
        // Not supported on this GPU, which costs no more than a value.
        device.retired_pages_pending().unwrap_err();
        device.read_fields(&mut self.fields).unwrap();
        for place in 0..self.fields.len() {
            self.fields.get(place).unwrap().unsigned().unwrap();
        }
        device.processes(&mut self.processes).unwrap();
        device.process_utilization(0, &mut self.samples).unwrap();
        device.gpm_take(&mut self.earlier).unwrap();
        device.gpm_take(&mut self.later).unwrap();
        self.query.read(&self.earlier, &self.later).unwrap();
        self.query.value(0).unwrap();
    }
}

#[test]
fn a_steady_sampling_cycle_allocates_nothing() {
    let machine = Machine::new(Scenario::h100_x8());
    let mut worker = Worker::new(&machine.nvml());
    // The first cycles find out how much room the lists need.
    for _ in 0..20 {
        worker.cycle();
    }
    let before = ALLOCATIONS.get();
    for _ in 0..200 {
        worker.cycle();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn a_cycle_costs_a_bounded_number_of_calls() {
    let machine = Machine::new(Scenario::h100_x8());
    let nvml = machine.nvml();
    let mut worker = Worker::new(&nvml);
    worker.cycle();
    nvml.release();
    drop(worker);
    let first = machine.installed.tally().unwrap();
    let nvml = machine.nvml();
    let mut worker = Worker::new(&nvml);
    for _ in 0..10 {
        worker.cycle();
    }
    nvml.release();
    let calls = machine.installed.tally().unwrap().total() - first.total();
    // Seventeen questions a cycle, and fewer than ten to start, to learn the sizes of the lists and to end.
    assert!((170..180).contains(&calls), "{calls} calls");
}
