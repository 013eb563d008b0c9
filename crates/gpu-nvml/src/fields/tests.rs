//! Ids per driver, and answers of any type.

use super::{DriverVersion, Field, FieldBatch};
use crate::fault::Fault;

#[track_caller]
fn check(driver: &str, field: Field, id: u32) {
    assert_eq!(
        field.id(DriverVersion::parse(driver)),
        id,
        "{field:?} of {driver}"
    );
}

#[test]
fn the_reasons_moved_at_580_82() {
    for old in ["535.104.05", "570.133.20", "580.65.06", "unreadable"] {
        check(old, Field::ReasonSoftwareThermal, 251);
        check(old, Field::ReasonHardwareThermal, 252);
        check(old, Field::ReasonHardwarePowerBrake, 253);
    }
    for new in ["580.82.07", "580.95.05", "590.44.01"] {
        check(new, Field::ReasonSoftwareThermal, 269);
        check(new, Field::ReasonHardwareThermal, 270);
        check(new, Field::ReasonHardwarePowerBrake, 271);
    }
    for any in ["570.133.20", "590.44.01"] {
        check(any, Field::ThrottledByPower, 74);
        check(any, Field::PowerInstant, 186);
    }
}

#[test]
fn an_unasked_batch_has_no_values() {
    let batch = FieldBatch::new(DriverVersion::default(), &[Field::Energy.into()]);
    assert_eq!(batch.get(0), Err(Fault::NoData));
    assert_eq!(batch.get(1), Err(Fault::NotFound));
}
