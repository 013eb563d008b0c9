//! Whatever sizes the driver claims, room stays bounded and nothing outside it is read.

use proptest::prelude::*;

use super::{Fill, MOST_PROCESSES, fill};
use crate::fault::Fault;

#[test]
fn room_grows_to_what_is_needed_and_is_kept() {
    let mut room: Vec<u32> = Vec::new();
    let mut asked = Vec::new();
    let answer = fill(&mut room, 100, 0, |room| {
        asked.push(room.len());
        Ok(if room.len() < 20 {
            Fill::Needs(20)
        } else {
            Fill::Filled(20)
        })
    });
    assert_eq!(answer, Ok(20));
    assert_eq!(asked, [0, 28]);
    let again = fill(&mut room, 100, 0, |room| Ok(Fill::Filled(room.len())));
    assert_eq!(again, Ok(28));
}

#[test]
fn a_list_that_never_fits_is_given_up() {
    let mut room: Vec<u8> = Vec::new();
    let answer = fill(&mut room, 100, 0, |room| Ok(Fill::Needs(room.len() + 10)));
    assert_eq!(answer, Err(Fault::NoData));
    let answer = fill(&mut room, 100, 0, |_| Ok(Fill::Needs(usize::MAX)));
    assert_eq!(answer, Err(Fault::Implausible));
    assert_eq!(room.len(), 100);
}

proptest! {
    #[test]
    fn no_claim_of_the_driver_leaves_the_bounds(
        claims in proptest::collection::vec((any::<bool>(), any::<usize>()), 1..8),
    ) {
        let mut room: Vec<u64> = Vec::new();
        let mut claims = claims.into_iter().cycle();
        let answer = fill(&mut room, MOST_PROCESSES, 0, |_| {
            let (filled, count) = claims.next().unwrap();
            Ok(if filled { Fill::Filled(count) } else { Fill::Needs(count) })
        });
        prop_assert!(room.len() <= MOST_PROCESSES);
        if let Ok(count) = answer {
            prop_assert!(count <= room.len());
        }
    }
}
