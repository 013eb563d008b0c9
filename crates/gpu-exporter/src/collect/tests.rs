//! The collector against a driver of ours that hangs, loses devices, restarts and changes on demand. Times are short and every
//! wait has a deadline.

mod fake;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_model::Reading;
use gpu_runtime::SystemClock;

use super::{Collector, Hold, Intervals, NoAttribution, Surroundings};
use crate::readings::{Field, ThrottleReason};
use crate::snapshot::{DeviceState, NodeSnapshot, Origin};
use crate::source::{Fault, FaultDevice};
use fake::Fake;

fn start(fake: &Fake) -> Collector {
    start_at(
        fake,
        Intervals {
            sample: Duration::from_millis(20),
            slow: Duration::from_millis(50),
            list: Duration::from_millis(30),
        },
    )
}

fn start_at(fake: &Fake, intervals: Intervals) -> Collector {
    let surroundings = Surroundings {
        node: "node-a".to_owned(),
        origin: Origin::Measured,
        clock: Arc::new(SystemClock),
    };
    Collector::start(
        vec![Box::new(fake.clone())],
        Box::new(NoAttribution),
        surroundings,
        intervals,
    )
    .unwrap()
}

/// Waits for a snapshot that fits, and says what was last seen when none comes.
#[track_caller]
fn wait(collector: &Collector, what: &str, fits: impl Fn(&NodeSnapshot) -> bool) -> Arc<NodeSnapshot> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let snapshot = collector.snapshot();
        if fits(&snapshot) {
            return snapshot;
        }
        assert!(
            Instant::now() < deadline,
            "no snapshot with {what}; the last one: {snapshot:#?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn states(snapshot: &NodeSnapshot) -> Vec<DeviceState> {
    snapshot.devices.iter().map(|device| device.state).collect()
}

fn sampled(snapshot: &NodeSnapshot, count: usize) -> bool {
    snapshot.devices.len() == count && snapshot.devices.iter().all(|device| device.age.is_some())
}

#[test]
fn both_halves_meet_in_one_snapshot_and_nonsense_is_refused() {
    let collector = start(&Fake::with_devices(2));
    let snapshot = wait(&collector, "slow readings", |snapshot| {
        sampled(snapshot, 2)
            && snapshot
                .devices
                .iter()
                .all(|device| device.readings.values.known(Field::PcieLinkWidth).is_some())
    });
    let device = &snapshot.devices[1];
    assert_eq!(device.identity.uuid, "GPU-1");
    assert_eq!(device.readings.values.known(Field::Utilization), Some(0.5));
    assert_eq!(device.readings.values.get(Field::Temperature), Reading::Failed);
    assert!(device.rejected_total > 0);
    assert!(snapshot.sources[0].up);
}

#[test]
fn the_first_snapshot_is_whole() {
    // So far apart that no second one comes within the test.
    let intervals = Intervals {
        sample: Duration::from_secs(60),
        ..Intervals::default()
    };
    let collector = start_at(&Fake::with_devices(2), intervals);
    let first = wait(&collector, "anything", |snapshot| snapshot.sequence > 0);
    assert_eq!(first.sequence, 1);
    assert!(sampled(&first, 2), "{first:#?}");
    for device in &first.devices {
        let slow = device.readings.values.known(Field::PcieLinkWidth);
        assert_eq!(slow, Some(16.0), "{first:#?}");
    }
}

#[test]
fn a_hung_device_costs_only_its_own_series_and_no_more_threads() {
    let fake = Fake::with_devices(3);
    let collector = start(&fake);
    wait(&collector, "all devices", |snapshot| sampled(snapshot, 3));
    fake.order(|orders| orders.hung.insert(1));
    let snapshot = wait(&collector, "a stuck device", |snapshot| {
        states(snapshot) == [DeviceState::Up, DeviceState::Stuck, DeviceState::Up]
            && snapshot.devices[1].age > Some(Duration::from_millis(100))
    });
    assert!(snapshot.devices[0].age < snapshot.devices[1].age);
    assert_eq!(
        fake.order(|orders| orders.inside[&1]),
        1,
        "one thread may be inside the driver for a device"
    );
    fake.order(|orders| orders.hung.clear());
    wait(&collector, "all up again", |snapshot| {
        states(snapshot) == [DeviceState::Up; 3]
    });
}

#[test]
fn a_lost_device_is_shown_as_lost_and_found_again() {
    let fake = Fake::with_devices(2);
    let collector = start(&fake);
    wait(&collector, "all devices", |snapshot| sampled(snapshot, 2));
    fake.order(|orders| orders.lost.insert(1));
    let lost = [DeviceState::Up, DeviceState::Lost];
    let snapshot = wait(&collector, "a lost device", |snapshot| states(snapshot) == lost);
    assert!(snapshot.devices[1].errors["device_lost"] > 0);
    fake.order(|orders| orders.devices = vec![0]);
    wait(&collector, "a departed device", |snapshot| {
        states(snapshot) == lost && snapshot.devices[1].age.is_none()
    });
    fake.order(|orders| {
        orders.devices = vec![0, 1];
        orders.lost.clear();
    });
    wait(&collector, "both again", |snapshot| {
        states(snapshot) == [DeviceState::Up; 2] && sampled(snapshot, 2)
    });
}

#[test]
fn an_unloaded_driver_is_loaded_again_and_a_changed_one_asks_for_a_restart() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "a device", |snapshot| sampled(snapshot, 1));
    fake.order(|orders| orders.gone = true);
    wait(&collector, "no driver", |snapshot| {
        snapshot.devices.is_empty()
            && snapshot.sources[0].problem.as_deref() == Some("the driver is not loaded")
            && !snapshot.sources[0].up
    });
    fake.order(|orders| orders.gone = false);
    wait(&collector, "the device again", |snapshot| sampled(snapshot, 1));
    assert_eq!(fake.order(|orders| orders.loads), 2);
    assert!(!collector.must_restart());
    fake.order(|orders| orders.version_changed = true);
    wait(&collector, "the wish for a restart", |_| collector.must_restart());
}

#[test]
fn the_driver_is_released_on_request() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "a device", |snapshot| sampled(snapshot, 1));
    collector.hold(Hold::Released);
    wait(&collector, "nothing held", |snapshot| {
        snapshot.devices.is_empty() && !snapshot.sources[0].up
    });
    collector.hold(Hold::Held);
    wait(&collector, "the device again", |snapshot| sampled(snapshot, 1));
}

#[test]
fn faults_are_counted_and_survive_the_loss_of_the_device() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "a device", |snapshot| sampled(snapshot, 1));
    let fault = Fault {
        device: FaultDevice::Uuid("GPU-0".to_owned()),
        code: 79,
    };
    fake.order(|orders| orders.faults.push(fault));
    wait(&collector, "one fault", |snapshot| {
        snapshot.devices[0].faults == [(79, 1)]
    });
    fake.order(|orders| orders.devices.clear());
    wait(&collector, "a departed device with its fault", |snapshot| {
        states(snapshot) == [DeviceState::Lost] && snapshot.devices[0].faults == [(79, 1)]
    });
}

#[test]
fn a_device_that_cannot_be_opened_hides_no_other() {
    let fake = Fake::with_devices(3);
    fake.order(|orders| orders.closed.insert(1));
    let collector = start(&fake);
    let shown = [DeviceState::Up, DeviceState::Failing("unknown"), DeviceState::Up];
    let snapshot = wait(&collector, "two of three", |snapshot| {
        states(snapshot) == shown && snapshot.devices[2].age.is_some()
    });
    assert!(snapshot.sources[0].up, "{:?}", snapshot.sources);
    assert!(snapshot.sources[0].errors["unknown"] > 0);
    fake.order(|orders| orders.closed.clear());
    wait(&collector, "all three", |snapshot| sampled(snapshot, 3));
}

#[test]
fn a_slow_half_that_hangs_shows_by_its_age_alone() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    wait(&collector, "both halves", |snapshot| {
        sampled(snapshot, 1) && snapshot.devices[0].slow_age.is_some()
    });
    fake.order(|orders| orders.slow_hung.insert(0));
    let snapshot = wait(&collector, "an old slow half", |snapshot| {
        snapshot.devices[0].slow_age > Some(Duration::from_millis(300))
    });
    assert_eq!(states(&snapshot), [DeviceState::Up]);
    assert!(snapshot.devices[0].age < Some(Duration::from_millis(300)));
    assert!(
        snapshot.devices[0]
            .readings
            .values
            .known(Field::PcieLinkWidth)
            .is_some()
    );
    fake.order(|orders| orders.slow_hung.clear());
    wait(&collector, "a new slow half", |snapshot| {
        snapshot.devices[0].slow_age < Some(Duration::from_millis(200))
    });
}

#[test]
fn a_driver_that_hangs_and_comes_back_again_and_again_costs_a_bounded_number_of_threads() {
    let fake = Fake::with_devices(1);
    let collector = start(&fake);
    fake.order(|orders| orders.slow_hung.insert(0));
    for _ in 0..6 {
        wait(&collector, "a device", |snapshot| snapshot.devices.len() == 1);
        fake.order(|orders| orders.gone = true);
        wait(&collector, "no driver", |snapshot| snapshot.devices.is_empty());
        fake.order(|orders| orders.gone = false);
    }
    wait(&collector, "a device that is not opened any more", |snapshot| {
        states(snapshot) == [DeviceState::Failing("stuck")]
    });
    let opened = fake.order(|orders| orders.opened);
    assert!(opened <= 4, "it was opened {opened} times");
    fake.order(|orders| orders.slow_hung.clear());
    wait(&collector, "the device again", |snapshot| sampled(snapshot, 1));
}

#[test]
fn the_drivers_own_count_of_throttling_wins_and_no_jump_comes_before_it() {
    let seconds = |snapshot: &NodeSnapshot| {
        snapshot.devices[0].totals.throttle_seconds[ThrottleReason::PowerCap as usize]
    };
    let fake = Fake::with_devices(1);
    fake.order(|orders| {
        orders.throttled_seconds = Some(12.0);
        orders.slow_hung.insert(0);
    });
    let collector = start(&fake);
    let snapshot = wait(&collector, "samples", |snapshot| {
        sampled(snapshot, 1) && snapshot.sequence > 5
    });
    assert_eq!(seconds(&snapshot), Reading::Unsupported);
    fake.order(|orders| orders.slow_hung.clear());
    wait(&collector, "the driver's count", |snapshot| {
        seconds(snapshot) == Reading::Known(12.0)
    });
    let summed = start(&Fake::with_devices(1));
    wait(&summed, "our own sum", |snapshot| {
        sampled(snapshot, 1) && seconds(snapshot) == Reading::Known(0.0)
    });
}
